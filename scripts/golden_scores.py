"""Write the scores of every method on fixed cohorts: what a refactoring must not move.

python scripts/golden_scores.py tests/golden/scores.json
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import intravar
from intravar.estimators import METHODS, fit_methods

#: Condition, patients, physicians, seed.
COHORTS = (
    ("score2", 1200, 6, 11),
    ("copula", 900, 5, 12),
    ("pass1-w3-p3", 900, 5, 13),
    ("stress-personal-thresholds", 1200, 6, 14),
)


def golden_scores() -> dict[str, dict[str, list[float]]]:
    """Return every method's scores by cohort, physicians in order."""
    found: dict[str, dict[str, list[float]]] = {}
    for condition, n_patients, n_physicians, seed in COHORTS:
        cohort = intravar.simulate(
            condition, seed=seed, n_patients=n_patients, n_physicians=n_physicians
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = fit_methods(METHODS, *cohort.observed())
        found[condition] = {name: model.score_.tolist() for name, model in fitted.items()}
    return found


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(golden_scores(), indent=1) + "\n", "utf-8")
