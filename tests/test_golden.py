"""Scores of every method on fixed cohorts: what no change of the house may move."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from golden_scores import COHORTS, scores_of_cohort  # noqa: E402

STORED = json.loads((ROOT / "tests" / "golden" / "scores.json").read_text("utf-8"))
#: Methods that iterate: their last bits depend on the processor's mathematics.
ITERATING = ("glmm", "latent-rule", "predictability")


@pytest.mark.parametrize("condition", [cohort.condition for cohort in COHORTS])
def test_scores_are_those_stored(condition: str) -> None:
    (cohort,) = (each for each in COHORTS if each.condition == condition)
    found = scores_of_cohort(cohort)
    assert found.keys() == STORED[condition].keys()
    for method, scores in found.items():
        tolerance = 1e-7 if method in ITERATING else 0.0
        np.testing.assert_allclose(
            scores, STORED[condition][method], rtol=tolerance, atol=0, err_msg=method
        )
