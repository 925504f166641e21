"""The eight methods beside a literal transcription of the paper, in one run.

The transcription is tests/reference/methods.py, which the fast methods equal. Both use two threads
where scikit-learn offers them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import intravar
from intravar.estimators import PAPER_METHODS, Observed, make_estimator

THREADS = 2
#: Weightings of the literal search that are timed, and how many the whole search tries.
WEIGHTINGS, WHOLE = 15, 1_485


def _seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def run() -> None:
    from reference import methods

    cohort = intravar.simulate("score2")
    X, y, physician = cohort.observed()
    x, y_plain = X.to_numpy(), np.asarray(y)
    who = physician.cast(pl.String).to_numpy()
    observed = Observed.of(X, y, physician)
    ours = {}
    for name in PAPER_METHODS:
        estimator = make_estimator(name)
        if "n_jobs" in estimator.get_params():
            estimator.set_params(n_jobs=THREADS)
        ours[name] = _seconds(lambda estimator=estimator: estimator.fit_observed(observed))  # type: ignore[misc]
    equal = np.full(x.shape[1], 1 / x.shape[1])
    baselines: dict[str, Callable[[], Any]] = {
        "euclidean": lambda: methods.euclidean(x, y_plain, who),
        "mahalanobis": lambda: methods.mahalanobis(x, y_plain, who),
        "learned-weights": lambda: methods.learned_weights(x, y_plain, who),
        "genetic-mahalanobis": lambda: methods.genetic_mahalanobis(x, y_plain, who, equal),
        "rf-proximity": lambda: methods.rf_proximity(x, y_plain, who),
        "lpa-guided": lambda: methods.lpa_guided(x, y_plain, who),
        "mutual-information": lambda: methods.mutual_information(x, y_plain, who),
        "glmm": lambda: methods.glmm(x, y_plain, who),
    }
    print(f"{'SCORE2, n = 10,000, J = 20':28}{'literal s':>12}{'intravar s':>12}{'ratio':>8}")
    literal = {}
    for name, baseline in baselines.items():
        literal[name] = _seconds(baseline)
        _row(name, literal[name], ours[name])
    _row("together", sum(literal.values()), sum(ours.values()))
    search = _literal_search(observed)
    _row("together, search included", sum(literal.values()) + search, sum(ours.values()))
    print(
        "\nThe score of Genetic Mahalanobis does not depend on its weights and needs no search;"
        f"\nthe literal search takes {search:.0f} s ({WEIGHTINGS} of {WHOLE:,} weightings timed)."
        "\nThe forest is counted at Learned Weights and shared with RF Proximity."
    )


def _literal_search(observed: Observed) -> float:
    from reference import balance_search

    z, treated = observed.standardised, observed.decision == 1
    weights = np.random.default_rng(0).uniform(0, 10, (WEIGHTINGS, z.shape[1]))
    timed = _seconds(
        lambda: [balance_search.loss(each, z[treated], z[~treated]) for each in weights]
    )
    return WHOLE * timed / WEIGHTINGS


def _row(name: str, slow: float, fast: float) -> None:
    print(f"{name:28}{slow:>12.2f}{fast:>12.2f}{slow / fast:>8.1f}", flush=True)
