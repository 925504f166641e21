"""Write the scores of every method on fixed cohorts: what no change of the house may move.

python scripts/golden_scores.py tests/golden/scores.json
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import intravar
from intravar.estimators import METHODS, fit_methods


class GoldenCohort(NamedTuple):
    """A cohort that is made again, the same to the bit."""

    condition: str
    n_patients: int
    n_physicians: int
    seed: int


COHORTS = (
    GoldenCohort("score2", 1200, 6, 11),
    GoldenCohort("copula", 900, 5, 12),
    GoldenCohort("pass1-w3-p3", 900, 5, 13),
    GoldenCohort("stress-personal-thresholds", 1200, 6, 14),
)


def scores_of_cohort(cohort: GoldenCohort) -> dict[str, list[float]]:
    """Return the scores of every method, physicians in order."""
    made = intravar.simulate(
        cohort.condition,
        random_state=cohort.seed,
        n_patients=cohort.n_patients,
        n_physicians=cohort.n_physicians,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = fit_methods(METHODS, *made.observed())
    return {name: model.score_.tolist() for name, model in fitted.items()}


if __name__ == "__main__":
    found = {cohort.condition: scores_of_cohort(cohort) for cohort in COHORTS}
    Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n", "utf-8")
