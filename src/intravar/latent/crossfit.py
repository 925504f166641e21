"""Nested cross-fitting of the rule on fixed folds.

Everything that gives a patient a probability of being eligible (the learner, its starting rates,
the choice among learners, the calibration) is learned from the other folds only.  For fold k the
learners are fitted on the other folds; how to choose and calibrate them is decided on models that
left out one more fold.  One model per pair of folds serves both its folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from intravar.latent.calibration import (
    Calibration,
    calibrate,
    count,
    decision_log_likelihood,
    starting_rates,
)  # fmt: skip
from intravar.latent.rule_learners import PreparedRule, Rates

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BLEND = "blend"
MOST_EXTREME_START = 3.0


@dataclass
class CrossFit:
    """Held-out scores, and how well they predict held-out decisions."""

    logit: Floats
    chosen: list[str]
    held_out: dict[str, float]
    fold: Ints


def physician_folds(
    physician: Ints, n_folds: int, n_physicians: int, rng: np.random.Generator
) -> Ints:
    """Deal every physician's patients to the folds in turn, in random order."""
    order = rng.permutation(physician.size)
    order = order[np.argsort(physician[order], kind="stable")]
    first = np.concatenate([[0], np.cumsum(np.bincount(physician, minlength=n_physicians))[:-1]])
    within = np.arange(physician.size) - first[physician[order]]
    offset = rng.integers(0, n_folds, n_physicians)
    fold = np.empty(physician.size, dtype=np.int64)
    fold[order] = (within + offset[physician[order]]) % n_folds
    return fold


def train(
    rule: PreparedRule, rows: Ints, half: Ints, y: Ints, physician: Ints, n_physicians: int,
    starts: Sequence[float],
) -> Floats:  # fmt: skip
    """Learn the rule from `rows` alone; return scores for all patients.

    The rates come first: models of one half of the rows, with their rates learned on the way,
    score the other half; the start whose scores explain the other half best gives the rates, and
    with these the rule is learned again from all rows, starting from the estimated share.
    """
    best: Calibration | None = None
    best_score = np.empty(0)
    for start in starts:
        crossed = np.empty(y.size)
        for side in (0, 1):
            own, other = rows[half[rows] == side], rows[half[rows] != side]
            high, low = starting_rates(y[own], physician[own], n_physicians)
            rates = Rates(high, low, np.zeros(n_physicians))
            crossed[other] = rule.scores(own, y, physician, rates, start, True)[other]
        found = calibrate(count(crossed[rows], y[rows], physician[rows], n_physicians))
        if best is None or found.log_likelihood > best.log_likelihood:
            best, best_score = found, crossed[rows]
    assert best is not None
    rates = Rates(
        np.clip(best.mean_high, 1e-3, 1 - 1e-3), np.clip(best.mean_low, 1e-3, 1 - 1e-3), best.shift
    )
    share = float(expit(best.logit(best_score)).mean())
    centre = float(np.clip(logit(share), -MOST_EXTREME_START, MOST_EXTREME_START))
    return rule.scores(rows, y, physician, rates, centre, False)


def _in_threads(jobs: list[Callable[[], Floats]], n_threads: int) -> list[Floats]:
    if n_threads == 1:
        return [job() for job in jobs]
    with ThreadPoolExecutor(n_threads) as pool:
        return [future.result() for future in [pool.submit(job) for job in jobs]]


def cross_fit(
    rules: dict[str, PreparedRule], y: Ints, physician: Ints, n_physicians: int, *,
    fold: Ints, half: Ints, starts: Sequence[float], n_threads: int = 1,
) -> CrossFit:  # fmt: skip
    """Return for every patient the calibrated logit of g learned from the other folds."""
    n_folds = int(fold.max()) + 1
    out = [frozenset([k]) for k in range(n_folds)]
    out += [frozenset(pair) for pair in combinations(range(n_folds), 2)]
    left = {key: np.flatnonzero(~np.isin(fold, list(key))) for key in out}

    def job(rule: PreparedRule, rows: Ints) -> Callable[[], Floats]:
        return lambda: train(rule, rows, half, y, physician, n_physicians, starts)

    jobs = [(name, key) for name in rules for key in out]
    results = _in_threads([job(rules[name], left[key]) for name, key in jobs], n_threads)
    scores = {key: dict[str, Floats]() for key in out}
    for (name, key), score in zip(jobs, results, strict=True):
        scores[key][name] = np.where(np.isin(fold, list(key)), score, np.nan)

    calibrated = np.empty(y.size)
    chosen: list[str] = []
    two_class = one_class = 0.0
    for k in range(n_folds):
        rest, own = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        inner = {name: np.empty(y.size) for name in rules}
        for other in range(n_folds):
            if other != k:
                for name in rules:
                    at = fold == other
                    inner[name][at] = scores[frozenset([k, other])][name][at]
        name, value, found = _choose(
            inner, scores[frozenset([k])], rest, own, y, physician, n_physicians
        )
        calibrated[own] = value
        chosen.append(name)
        two_class += decision_log_likelihood(
            value + found.shift[physician[own]], y[own], physician[own],
            found.mean_high, found.mean_low,
        )  # fmt: skip
        one_class += _one_class(y, physician, rest, own, n_physicians)
    return CrossFit(calibrated, chosen, {"two classes": two_class, "one class": one_class}, fold)


def _choose(
    inner: dict[str, Floats], outer: dict[str, Floats], rest: Ints, own: Ints,
    y: Ints, physician: Ints, n_physicians: int,
) -> tuple[str, Floats, Calibration]:  # fmt: skip
    """Choose and calibrate on the inner scores of `rest`; apply to the outer scores of `own`."""

    def fit(score: Floats) -> Calibration:
        return calibrate(count(score[rest], y[rest], physician[rest], n_physicians))

    fits = {name: fit(score) for name, score in inner.items()}
    values = {name: found.logit(outer[name][own]) for name, found in fits.items()}
    if len(inner) > 1:
        mixed = np.mean([fits[name].logit(inner[name]) for name in inner], axis=0)
        fits[BLEND] = fit(mixed)
        values[BLEND] = fits[BLEND].logit(np.mean([values[name] for name in inner], axis=0))
    best = max(fits, key=lambda name: fits[name].log_likelihood)
    return best, values[best], fits[best]


def _one_class(y: Ints, physician: Ints, rest: Ints, own: Ints, n_physicians: int) -> float:
    total = np.bincount(physician[rest], minlength=n_physicians)
    share = (np.bincount(physician[rest], y[rest], minlength=n_physicians) + 2 * y[rest].mean()) / (
        total + 2
    )
    zero = np.zeros(own.size)
    return decision_log_likelihood(zero, y[own], physician[own], share, share)
