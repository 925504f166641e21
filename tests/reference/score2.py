"""SCORE2 and SCORE2-OP for one person, transcribed from the articles' formulas.

Uncalibrated risk: 1 - S0 ^ exp(lp - mean lp). Recalibrated risk:
1 - exp(-exp(scale1 + scale2 * ln(-ln(1 - uncalibrated risk)))).
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _models() -> Any:
    return json.loads(
        files("intravar.study.simulation").joinpath("data/score2.json").read_text("utf-8")
    )["models"]


def score2_of_one_person(
    age: float,
    male: bool,
    smoker: float,
    sbp: float,
    total_cholesterol: float,
    hdl: float,
    diabetes: float = 0,
    region: str = "low",
    coefficients: str = "published",
) -> float:
    """Return the ten-year risk as a share."""
    if age < 70:
        model = _models()["score2"]
        c_age, c_sbp = (age - 60) / 5, (sbp - 120) / 20
        c_tchol, c_hdl = total_cholesterol - 6, (hdl - 1.3) / 0.5
    else:
        model = _models()["score2_op"]
        c_age, c_sbp = age - 73, sbp - 150
        c_tchol, c_hdl = total_cholesterol - 6, hdl - 1.4
    fitted = model[coefficients]["male" if male else "female"]
    beta = fitted["coefficients"]
    linear = (
        beta["age"] * c_age
        + beta["smoker"] * smoker
        + beta["sbp"] * c_sbp
        + beta["tchol"] * c_tchol
        + beta["hdl"] * c_hdl
        + beta["diabetes"] * diabetes
        + beta["smoker_age"] * smoker * c_age
        + beta["sbp_age"] * c_sbp * c_age
        + beta["tchol_age"] * c_tchol * c_age
        + beta["hdl_age"] * c_hdl * c_age
        + beta["diabetes_age"] * diabetes * c_age
    )
    survival = fitted["baseline_survival_10y"] ** math.exp(linear - fitted["mean_linear_predictor"])
    scale = fitted["recalibration"][region]
    return 1 - math.exp(
        -math.exp(scale["scale1"] + scale["scale2"] * math.log(-math.log(survival)))
    )
