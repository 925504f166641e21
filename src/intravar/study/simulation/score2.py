"""SCORE2 and SCORE2-OP: ten-year risk of fatal and non-fatal cardiovascular disease.

References
----------
SCORE2 working group. Eur Heart J 2021;42(25):2439-2454, doi 10.1093/eurheartj/ehab309.
SCORE2-OP working group. Eur Heart J 2021;42(25):2455-2467, doi 10.1093/eurheartj/ehab312.
"""

import json
from importlib.resources import files
from itertools import product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from intravar.errors import unknown_name

Region = Literal["low", "moderate", "high", "very_high"]
REGIONS: tuple[Region, ...] = ("low", "moderate", "high", "very_high")
#: From this age on the older persons' model applies.
OLDER_PERSONS_FROM = 70.0
_MODELS: dict[str, Any] = json.loads(
    files("intravar.study.simulation").joinpath("data/score2.json").read_text("utf-8")
)["models"]


def score2_risk(
    *,
    age: npt.ArrayLike,
    male: npt.ArrayLike,
    smoker: npt.ArrayLike,
    sbp: npt.ArrayLike,
    total_cholesterol: npt.ArrayLike,
    hdl: npt.ArrayLike,
    diabetes: npt.ArrayLike = 0,
    region: Region = "low",
    coefficients: Literal["published", "unrounded"] = "published",
) -> npt.NDArray[np.float64]:
    """Return the ten-year cardiovascular risk as a share between 0 and 1.

    Ages below 70 use SCORE2, 70 and above SCORE2-OP. Ages outside 40 to 89 are outside the range
    on which the models were derived; the formula is evaluated all the same.

    Parameters
    ----------
    age
        Years.
    male, smoker, diabetes
        1 or true, 0 or false.
    sbp
        Systolic blood pressure in mmHg.
    total_cholesterol, hdl
        mmol/L.
    region
        Risk region of the country: low, moderate, high or very_high.
    coefficients
        "published" as printed in the articles, or "unrounded" as in the authors' own program.

    Examples
    --------
    The example of the SCORE2 abstract, a smoking man of 50 in a low-risk region: 5.9 %.

    >>> risk = score2_risk(age=50, male=1, smoker=1, sbp=140, total_cholesterol=5.5, hdl=1.3)
    >>> print(f"{100 * risk:.1f} %")
    5.9 %
    """
    if region not in REGIONS:
        raise unknown_name("risk region", region, REGIONS, remedy=f"one of {', '.join(REGIONS)}")
    given = {"age": age, "male": male, "smoker": smoker, "diabetes": diabetes}
    given |= {"sbp": sbp, "tchol": total_cholesterol, "hdl": hdl}
    arrays = np.broadcast_arrays(*(np.asarray(each, np.float64) for each in given.values()))
    columns = {name: array.ravel() for name, array in zip(given, arrays, strict=True)}
    older = columns["age"] >= OLDER_PERSONS_FROM
    man = columns["male"] > 0.5
    risk = np.empty(older.size)
    for model, sex in product(("score2", "score2_op"), ("male", "female")):
        rows = np.flatnonzero((older == (model == "score2_op")) & (man == (sex == "male")))
        x = {name: values[rows] for name, values in columns.items()}
        centre, unit = _MODELS[model]["centre"], _MODELS[model]["unit"]
        for key in centre:
            x[key] = (x[key] - centre[key]) / unit[key]
        fitted = _MODELS[model][coefficients][sex]
        beta = fitted["coefficients"]
        predictor = beta["age"] * x["age"]
        for key in ("smoker", "sbp", "tchol", "hdl", "diabetes"):
            predictor += (beta[key] + beta[f"{key}_age"] * x["age"]) * x[key]
        # ln(-ln(1 - p0)) in a form that neither overflows nor rounds p0 to 0 or 1.
        log_hazard = np.log(-np.log(fitted["baseline_survival_10y"]))
        uncalibrated = log_hazard + predictor - fitted["mean_linear_predictor"]
        scale = fitted["recalibration"][region]
        risk[rows] = -np.expm1(-np.exp(scale["scale1"] + scale["scale2"] * uncalibrated))
    return risk.reshape(arrays[0].shape)
