"""The eight methods beside a literal transcription of the paper, in one run.

The transcription is tests/reference/methods.py, which the fast methods equal. Seconds are those
of the processor, in one thread, so that other work on the machine does not count. What costs most
is then taken apart.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

import intravar
from intravar.estimators import PAPER_METHODS, Observed, make_estimator
from intravar.estimators.matching import Comparison, between_points
from intravar.estimators.supervised import RFProximity
from intravar.learning.profiles import kmeans_labels, robustly_scaled, select_profiles
from intravar.matching.distances import hybrid_distances, leaf_distances
from intravar.matching.pairing import pair_panel

#: Weightings of the literal search that are timed, and how many the whole search tries.
WEIGHTINGS, WHOLE = 15, 1_485


def _seconds(work: Callable[[], Any]) -> float:
    begin = time.process_time()
    with threadpool_limits(limits=1):
        work()
    return time.process_time() - begin


def run() -> None:
    from reference import methods

    cohort = intravar.simulate("score2")
    X, y, physician = cohort.observed()
    x, y_plain = X.to_numpy(), np.asarray(y)
    who = physician.cast(pl.String).to_numpy()
    observed = Observed.of(X, y, physician)
    ours = {}
    few = Observed.of(*intravar.simulate("score2", n_patients=600, n_physicians=5).observed())
    for name in PAPER_METHODS:
        # What is compiled is loaded first.
        make_estimator(name).fit_observed(few)
        estimator = make_estimator(name)
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
    _parts(observed)


def _literal_search(observed: Observed) -> float:
    from reference import balance_search

    z, treated = observed.standardised, observed.decision == 1
    weights = np.random.default_rng(0).uniform(0, 10, (WEIGHTINGS, z.shape[1]))
    timed = _seconds(
        lambda: [balance_search.loss(each, z[treated], z[~treated]) for each in weights]
    )
    return WHOLE * timed / WEIGHTINGS


def _parts(observed: Observed) -> None:
    """Print what the methods that cost most are made of."""
    x, y = observed.covariates, observed.decision
    z = robustly_scaled(x)
    candidates = range(2, 11)
    importances, leaves = RFProximity().grow(x, y)
    model = select_profiles(z, candidates=candidates, random_state=0)
    starts = _seconds(lambda: [kmeans_labels(z, k, 10, 0) for k in candidates])
    mixtures = _seconds(lambda: select_profiles(z, candidates=candidates, random_state=0))
    shares = model.memberships(z)
    compared: dict[str, Comparison] = {
        "forest": lambda rows: leaf_distances(leaves[rows]),
        "importances": between_points(observed.standardised * np.sqrt(importances)),
        "profiles": lambda rows: hybrid_distances(shares[rows], z[rows], 0.5),
    }
    pairs = {name: _seconds(lambda by=by: _pair(observed, by)) for name, by in compared.items()}  # type: ignore[misc]
    parts = {
        "the forest, scikit-learn's": _seconds(lambda: RFProximity().grow(x, y)),
        "pairs by its leaves": pairs["forest"],
        "pairs by its importances": pairs["importances"],
        "k-means starts, scikit-learn's": starts,
        "iterations of 90 mixtures": mixtures - starts,
        "pairs by profiles": pairs["profiles"],
    }
    print(f"\n{'What they are made of':32}{'s':>8}")
    for name, seconds in parts.items():
        print(f"{name:32}{seconds:>8.2f}", flush=True)


def _pair(observed: Observed, comparison: Comparison) -> None:
    for rows in observed.panels:
        pair_panel(comparison(rows), caliper=0.25, strategy="algorithm-1")


def _row(name: str, slow: float, fast: float) -> None:
    print(f"{name:28}{slow:>12.2f}{fast:>12.2f}{slow / fast:>8.1f}", flush=True)
