"""The balance search of Genetic Mahalanobis, per weighting, beside all distances at every step.

One weighting after the other, for the literal baseline (tests/reference/balance_search.py) and for
ours, in seconds of the processor. The search of ten generations tries 1,485 weightings of nine
covariates; its time is extrapolated.
"""

from __future__ import annotations

import time

import numpy as np

import intravar
from intravar.estimators import Observed
from intravar.learning.balance import balance_loss

WEIGHTINGS, WHOLE = 30, 1_485


def run() -> None:
    from reference import balance_search

    observed = Observed.of(*intravar.simulate("score2").observed())
    z, treated = observed.standardised, observed.decision == 1
    weights = np.random.default_rng(0).uniform(0, 10, (WEIGHTINGS, z.shape[1]))
    begin = time.process_time()
    expected = [balance_search.loss(each, z[treated], z[~treated]) for each in weights]
    literal = (time.process_time() - begin) / WEIGHTINGS
    begin = time.process_time()
    found = [balance_loss(each, z[treated], z[~treated]) for each in weights]
    ours = (time.process_time() - begin) / WEIGHTINGS
    assert np.allclose(found, expected)
    print(f"{'SCORE2, n = 10,000':24}{'ms a weighting':>16}{'s, whole search':>18}")
    print(f"{'literal':24}{1e3 * literal:>16.1f}{WHOLE * literal:>18.0f}")
    print(f"{'intravar':24}{1e3 * ours:>16.1f}{WHOLE * ours:>18.0f}")
    print(f"\n{literal / ours:.1f} times as fast, with the same losses.")
