"""How much physicians differ, where scores are pulled towards those of all."""

import numpy as np
import polars as pl

from intravar.estimators.evidence import EligibleRates
from intravar.inference.intervals import Interval
from intravar.measurement.grounds import concluded
from intravar.measurement.scores import Scores
from intravar.measurement.verdict import Grounds
from intravar.request import Request

TRUE_SPREAD, CHANCE = 0.06, 0.08


def spread_of(random: np.random.Generator, n_physicians: int) -> tuple[float, float, float]:
    """Return the true spread, and the ends of its interval, of physicians who are drawn."""
    true = random.normal(0.25, TRUE_SPREAD, n_physicians)
    seen = true + random.normal(0.0, CHANCE, n_physicians)
    kept = TRUE_SPREAD**2 / (TRUE_SPREAD**2 + CHANCE**2)
    score = 0.25 + kept * (seen - 0.25)
    error = np.full(n_physicians, CHANCE * np.sqrt(kept))
    nobody, size = np.empty(0), np.full(n_physicians, 80)
    evidence = EligibleRates(nobody, nobody, nobody, nobody, np.empty(0, dtype=np.bool_), None)
    appraisal = concluded(
        Grounds(evidence, None, None, rule_found=1e9),
        Scores(
            pl.Series([str(at) for at in range(n_physicians)]),
            size,
            size // 2,
            score,
            [None] * n_physicians,
            Interval(score - 2 * error, score + 2 * error, error),
            {},
        ),
        Request(physician="doctor", decision="drug"),
    )
    group = appraisal.grounds.group
    assert group is not None
    return float(np.std(true, ddof=1)), group.spread_low, group.spread_high


def test_the_interval_of_the_spread_holds_that_of_true_values() -> None:
    random = np.random.default_rng(7)
    held = 0
    for n_physicians in (10, 20, 40):
        for _ in range(60):
            true, low, high = spread_of(random, n_physicians)
            held += low <= true <= high
    assert held >= 0.93 * 180
