"""The balance search of Genetic Mahalanobis, per weighting, beside all distances at every step.

One weighting after the other for the literal baseline (tests/reference/balance_search.py); a
population on two threads for ours. The search of ten generations tries 1,485 weightings of nine
covariates; its time is extrapolated.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

import intravar
from intravar.estimators import Observed
from intravar.learning.balance import BalanceLoss

WEIGHTINGS, THREADS, WHOLE = 30, 2, 1_485


def run() -> None:
    from reference import balance_search

    observed = Observed.of(*intravar.simulate("score2").observed())
    z, treated = observed.standardised, observed.decision == 1
    weights = np.random.default_rng(0).uniform(0, 10, (WEIGHTINGS, z.shape[1]))
    begin = time.perf_counter()
    expected = [balance_search.loss(each, z[treated], z[~treated]) for each in weights]
    literal = (time.perf_counter() - begin) / WEIGHTINGS
    loss = BalanceLoss(z[treated], z[~treated])
    begin = time.perf_counter()
    with threadpool_limits(1), ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(loss, weights))
    ours = (time.perf_counter() - begin) / WEIGHTINGS
    assert np.allclose(found, expected)
    print(f"{'SCORE2, n = 10,000':24}{'ms a weighting':>16}{'s, whole search':>18}")
    print(f"{'literal':24}{1e3 * literal:>16.1f}{WHOLE * literal:>18.0f}")
    print(f"{'intravar, two threads':24}{1e3 * ours:>16.1f}{WHOLE * ours:>18.0f}")
    print(f"\n{literal / ours:.1f} times as fast, with the same losses.")
