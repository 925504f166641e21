"""The SCORE2 cohort patient by patient: what the vectorised simulation must equal.

Each covariate takes its scalars from the stream that the fast twin reads as one array. And the
components of noise of a simulated cohort, from every patient with every physician.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from intravar.seeds import stream
from intravar.study.simulation import Scenario, find_condition
from reference.score2 import score2_of_one_person


class Patient(NamedTuple):
    """One row of the cohort."""

    covariates: dict[str, float]
    eligible: bool
    decision: int


#: Table 2: mean, SD, lowest, highest, whole number.
NORMAL_COVARIATES = {
    "age": (60, 12, 40, 90, True),
    "hba1c": (6.5, 1.5, 4, 12, False),
    "non_hdl": (3.6, 0.95, 1, 8, False),
    "hdl": (1.35, 0.38, 0.4, 2.8, False),
    "ldl": (1.3, 0.35, 0.4, 2.2, False),
    "sbp": (130, 20, 90, 200, True),
    "egfr": (90, 25, 15, 140, False),
}
BINARY_COVARIATES = {"smoker": 0.20, "male": 0.60}


def score2_eligible(x: dict[str, float]) -> bool:
    """Apply the paper's three age bands to one patient."""
    risk = score2_of_one_person(
        age=x["age"],
        male=x["male"] == 1,
        smoker=x["smoker"],
        sbp=x["sbp"],
        total_cholesterol=x["non_hdl"] + x["hdl"],
        hdl=x["hdl"],
    )
    if x["age"] < 50:
        return risk >= 0.025
    if x["age"] <= 69:
        return risk >= 0.05
    return risk >= 0.075


def score2_cohort(
    seed: int,
    name: str,
    assigned: Sequence[int],
    p_high: Sequence[float],
    p_low: Sequence[float],
) -> list[Patient]:
    """Simulate the patients of a scenario with SCORE2's rule, given each one's physician."""
    covariates = [*NORMAL_COVARIATES, *BINARY_COVARIATES]
    draws = {covariate: stream(seed, name, "covariate", covariate) for covariate in covariates}
    decisions = stream(seed, name, "decision")
    patients = []
    for physician in assigned:
        x: dict[str, float] = {}
        for covariate, (mean, sd, lowest, highest, whole) in NORMAL_COVARIATES.items():
            value = mean + sd * draws[covariate].standard_normal()
            if whole:
                value = round(value)
            x[covariate] = float(min(max(value, lowest), highest))
        for covariate, share in BINARY_COVARIATES.items():
            normal = draws[covariate].standard_normal()
            uniform = 0.5 * math.erfc(-normal / math.sqrt(2))
            x[covariate] = 1.0 if uniform > 1 - share else 0.0
        eligible = score2_eligible(x)
        probability = p_high[physician] if eligible else p_low[physician]
        patients.append(Patient(x, eligible, int(decisions.random() < probability)))
    return patients


def noise_truth(
    condition: str | Scenario,
    *,
    seed: int | None = None,
    n_patients: int | None = None,
    n_physicians: int | None = None,
) -> dict[str, float]:
    """Return the components of noise of the cohort that `simulate` makes of the same.

    They are those of :class:`intravar.estimators.Noise`: system, level, pattern and occasion. Every
    patient with every physician: p_j(x) is known for all pairs. What is hidden from the record is
    not hidden here.
    """
    chosen = find_condition(condition) if isinstance(condition, str) else condition
    resized = chosen.resized(n_patients, n_physicians)
    p = np.stack(list(resized.probabilities(chosen.seed if seed is None else seed)))
    between, occasion = float(p.var(axis=0).mean()), float(np.mean(p * (1 - p)))
    level = float(p.mean(axis=1).var())
    whole = {"system": occasion + between, "level": level, "pattern": between - level}
    return {**whole, "occasion": occasion}
