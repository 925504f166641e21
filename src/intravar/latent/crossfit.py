"""Nested cross-fitting of the rule on fixed folds.

Everything that gives a patient a probability of being eligible (the learner, its starting rates,
the choice among learners, the calibration) is learned from the other folds only.  For fold k the
learners are fitted on the other folds; how to choose and calibrate them is decided on models that
left out one more fold.  One model per pair of folds serves both its folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit, logit

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError
from intravar.latent.calibration import (
    Calibration,
    calibrate,
    count,
    decision_log_likelihood,
    starting_rates,
)
from intravar.latent.rule_learners import KeptRule, LearnedRule, PreparedRule, Task
from intravar.learning.boosted_trees import Rates
from intravar.panels import PanelDecisions, Panels
from intravar.processes import in_threads

BLEND = "blend"
MOST_EXTREME_START = 3.0


@dataclass(frozen=True)
class FoldPlan:
    """How patients are dealt to folds and halves, and the logits g from which learning starts."""

    fold: IntArray
    half: IntArray
    starts: Sequence[float]
    n_threads: int = 1

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1


@dataclass(frozen=True)
class FoldRule:
    """What the patients of one fold are given: a calibrated, weighted sum of learners' scores.

    `rules` are those learned without the fold, None where a learner keeps none.
    """

    intercept: float
    slopes: dict[str, float]
    rules: dict[str, KeptRule | None]

    def logit(self, scores: Mapping[str, FloatArray]) -> FloatArray:
        """Return the logit of g, given the scores by the learners."""
        parts = [slope * scores[name] for name, slope in self.slopes.items()]
        return np.asarray(self.intercept + np.sum(parts, axis=0))


@dataclass(frozen=True)
class KeptSharedRule:
    """The shared rule as it is kept: what it says of patients that nobody learned from.

    Every fold has a rule of its own, learned without the fold's patients. Physicians who were not
    learned from taught none of them, so that their patients are given the mean over the folds.
    """

    folds: tuple[FoldRule, ...]

    def logit(self, X: FloatArray) -> FloatArray:
        """Return the mean logit of g, every patient's from their own covariates alone."""
        total = np.zeros(len(X))
        seen: dict[int, Any] = {}
        for fold in self.folds:
            scores = {}
            for name in fold.slopes:
                rule = fold.rules[name]
                if rule is None:
                    raise InputError(
                        "a learner of LatentRule keeps no rule for other physicians; give "
                        "LearnedRule its `kept`, or leave `learners` as they are"
                    )
                scores[name] = rule.logit(X, seen)
            total += fold.logit(scores)
        return np.asarray(total / len(self.folds))


@dataclass(frozen=True)
class CrossFit:
    """Held-out scores, and how well they predict held-out decisions.

    `logit` is the calibrated logit of g from the other folds, `nested` the same as it is known
    without the first fold's decisions; `chosen` the learner of every fold; `held_out` the
    log-likelihood of held-out decisions with a rule, and without; `rule` what other patients are
    given.
    """

    logit: FloatArray
    chosen: list[str]
    held_out: dict[str, float]
    nested: FloatArray
    rule: KeptSharedRule


def plan_folds(
    panels: Panels, n_folds: int, starts: Sequence[float], seed: int, n_threads: int = 1
) -> FoldPlan:
    """Deal folds and halves by a seed, never by decisions."""
    fold = panels.deal(n_folds, seed, "latent-rule")
    half = panels.deal(2, seed, "latent-rule", "half")
    return FoldPlan(np.unique(fold, return_inverse=True)[1], half, starts, n_threads)


def train(
    rule: PreparedRule, rows: IntArray, decided: PanelDecisions, plan: FoldPlan
) -> LearnedRule:
    """Learn the rule from `rows` alone; return it with scores for all patients.

    The rates come first: models of one half of the rows, with their rates learned on the way,
    score the other half; the start whose scores explain the other half best gives the rates, and
    with these the rule is learned again from all rows, starting from the estimated share.
    """
    best: Calibration | None = None
    best_score = np.empty(0)
    for start in plan.starts:
        crossed = np.empty(decided.y.size)
        for side in (0, 1):
            own = rows[plan.half[rows] == side]
            other = rows[plan.half[rows] != side]
            high, low = starting_rates(decided.take(own))
            rates = Rates(high, low, np.zeros(decided.n_physicians))
            crossed[other] = rule(Task(own, decided, rates, start, True)).logit[other]
        found = calibrate(count(crossed[rows], decided.take(rows)))
        if best is None or found.log_likelihood > best.log_likelihood:
            best, best_score = found, crossed[rows]
    assert best is not None
    rates = Rates(
        np.clip(best.mean_high, 1e-3, 1 - 1e-3), np.clip(best.mean_low, 1e-3, 1 - 1e-3), best.shift
    )
    share = float(expit(best.logit(best_score)).mean())
    centre = float(np.clip(logit(share), -MOST_EXTREME_START, MOST_EXTREME_START))
    return rule(Task(rows, decided, rates, centre, False))


def cross_fit(rules: dict[str, PreparedRule], decided: PanelDecisions, plan: FoldPlan) -> CrossFit:
    """Return for every patient the calibrated logit of g learned from the other folds."""
    scores, kept = _all_scores(rules, decided, plan)
    fold, n_folds = plan.fold, plan.n_folds
    calibrated = np.empty(decided.y.size)
    nested = np.empty(decided.y.size)
    chosen: list[str] = []
    folds: list[FoldRule] = []
    two_class = one_class = 0.0
    for k in range(n_folds):
        rest, own = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        inner = {name: np.empty(decided.y.size) for name in rules}
        for other in range(n_folds):
            if other != k:
                for name in rules:
                    at = fold == other
                    inner[name][at] = scores[frozenset([k, other])][name][at]
        outer = {name: score[own] for name, score in scores[frozenset([k])].items()}
        name, fit, rule = _choose(inner, kept[k], rest, decided)
        calibrated[own] = rule.logit(outer)
        chosen.append(name)
        folds.append(rule)
        if k == 0:
            nested[own], nested[rest] = calibrated[own], rule.logit(inner)[rest]
        here = decided.take(own)
        shifted = calibrated[own] + fit.shift[here.physician]
        two_class += decision_log_likelihood(shifted, here, fit.mean_high, fit.mean_low)
        one_class += one_class_log_likelihood(decided.take(rest), here)
    held_out = {"two classes": two_class, "one class": one_class}
    return CrossFit(calibrated, chosen, held_out, nested, KeptSharedRule(tuple(folds)))


def _all_scores(
    rules: dict[str, PreparedRule], decided: PanelDecisions, plan: FoldPlan
) -> tuple[dict[frozenset[int], dict[str, FloatArray]], list[dict[str, KeptRule | None]]]:
    """Return scores of models that left out one fold, or two, for the patients left out.

    The models that left out one fold are returned as well.
    """
    folds = range(plan.n_folds)
    out = [frozenset([k]) for k in folds]
    out += [frozenset(pair) for pair in combinations(folds, 2)]
    left = {key: np.flatnonzero(~np.isin(plan.fold, list(key))) for key in out}

    def job(rule: PreparedRule, rows: IntArray) -> Callable[[], LearnedRule]:
        return lambda: train(rule, rows, decided, plan)

    jobs = [(name, key) for name in rules for key in out]
    results = in_threads([job(rules[name], left[key]) for name, key in jobs], plan.n_threads)
    scores = {key: dict[str, FloatArray]() for key in out}
    kept: list[dict[str, KeptRule | None]] = [{} for _ in folds]
    for (name, key), learned in zip(jobs, results, strict=True):
        scores[key][name] = np.where(np.isin(plan.fold, list(key)), learned.logit, np.nan)
        if len(key) == 1:
            kept[min(key)][name] = learned.kept
    return scores, kept


def _choose(
    inner: dict[str, FloatArray],
    kept: dict[str, KeptRule | None],
    rest: IntArray,
    decided: PanelDecisions,
) -> tuple[str, Calibration, FoldRule]:
    """Choose among the learners and their mean, calibrated on the inner scores of `rest`."""

    def fit(score: FloatArray) -> Calibration:
        return calibrate(count(score[rest], decided.take(rest)))

    def rule(intercept: float, slopes: dict[str, float]) -> FoldRule:
        return FoldRule(intercept, slopes, {name: kept[name] for name in slopes})

    fits = {name: fit(score) for name, score in inner.items()}
    rules = {name: rule(found.intercept, {name: found.slope}) for name, found in fits.items()}
    if len(inner) > 1:
        intercept = float(np.mean([found.intercept for found in fits.values()]))
        slopes = {name: found.slope / len(inner) for name, found in fits.items()}
        found = fits[BLEND] = fit(rule(intercept, slopes).logit(inner))
        slopes = {name: found.slope * slope for name, slope in slopes.items()}
        rules[BLEND] = rule(found.intercept + found.slope * intercept, slopes)
    best = max(fits, key=lambda name: fits[name].log_likelihood)
    return best, fits[best], rules[best]


def one_class_log_likelihood(rest: PanelDecisions, own: PanelDecisions) -> float:
    """Return the log-likelihood of decisions, each physician's share learned from `rest`."""
    total, given = rest.per_physician()
    share = (given + 2 * rest.y.mean()) / (total + 2)
    return decision_log_likelihood(np.zeros(own.y.size), own, share, share)
