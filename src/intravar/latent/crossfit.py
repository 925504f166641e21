"""Nested cross-fitting of the rule on fixed folds.

Everything that gives a patient a probability of being eligible (the learner, the choice among
learners, the calibration) is learned from the other folds only. For fold k the learners are fitted
on the other folds; how to choose and calibrate them is decided on models that left out one more
fold. One model per pair of folds serves both its folds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.latent.calibration import Calibration, calibrate, count, decision_log_likelihood
from intravar.latent.rule_learners import PreparedRule, Rule
from intravar.observed import Observed
from intravar.processes import in_threads

BLEND = "blend"


@dataclass(frozen=True)
class FoldRule:
    """What the patients of one fold are given: a calibrated, weighted sum of learners' rules."""

    intercept: float
    slopes: dict[str, float]
    rules: Mapping[str, Rule]

    def logit(self, X: FloatArray) -> FloatArray:
        """Return the logit of g, every patient's from their own covariates alone."""
        return self.of_scores({name: self.rules[name].logit(X) for name in self.slopes})

    def of_scores(self, scores: Mapping[str, FloatArray]) -> FloatArray:
        """Return the logit of g, given the scores by the learners."""
        parts = [slope * scores[name] for name, slope in self.slopes.items()]
        return np.asarray(self.intercept + np.sum(parts, axis=0))


@dataclass(frozen=True)
class CrossFit:
    """Held-out scores, and how well they predict held-out decisions.

    `logit` is the calibrated logit of g from the other folds, `nested` the same as it is known
    without the first fold's decisions; `chosen` the learner of every fold; `held_out` the
    log-likelihood of held-out decisions with a rule, and without; `rules` those of the folds.
    """

    logit: FloatArray
    chosen: list[str]
    held_out: dict[str, float]
    nested: FloatArray
    rules: tuple[FoldRule, ...]


def cross_fit(
    learners: Mapping[str, PreparedRule], decided: Observed, fold: IntArray, n_threads: int = 1
) -> CrossFit:
    """Return for every patient the calibrated logit of g learned from the other folds."""
    X, folds = decided.covariates, range(int(fold.max()) + 1)
    out = [frozenset([k]) for k in folds] + [frozenset(pair) for pair in combinations(folds, 2)]
    jobs = [(name, key) for name in learners for key in out]
    left = {key: np.flatnonzero(~np.isin(fold, list(key))) for key in out}
    work = [partial(learners[name], decided, left[key]) for name, key in jobs]
    learned = dict(zip(jobs, in_threads(work, n_threads), strict=True))
    calibrated, nested = np.empty(len(X)), np.empty(len(X))
    chosen, rules = [], []
    held_out = {"two classes": 0.0, "one class": 0.0}
    for k in folds:
        rest, own = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        inner = {name: np.empty(len(X)) for name in learners}
        for name, score in inner.items():
            for other in set(folds) - {k}:
                at = fold == other
                score[at] = learned[name, frozenset([k, other])].logit(X[at])
        models = {name: learned[name, frozenset([k])] for name in learners}
        name, fit, rule = _choose(inner, models, rest, decided)
        calibrated[own] = rule.logit(X[own])
        chosen.append(name)
        rules.append(rule)
        if k == 0:
            nested[own], nested[rest] = calibrated[own], rule.of_scores(inner)[rest]
        rates = fit.mean_high, fit.mean_low
        held_out["two classes"] += decision_log_likelihood(calibrated[own], decided, own, *rates)
        held_out["one class"] += one_class_log_likelihood(decided, rest, own)
    return CrossFit(calibrated, chosen, held_out, nested, tuple(rules))


def _choose(
    inner: dict[str, FloatArray], models: Mapping[str, Rule], rest: IntArray, decided: Observed
) -> tuple[str, Calibration, FoldRule]:
    """Choose among the learners and their mean, calibrated on the inner scores of `rest`."""
    fits = {name: calibrate(count(score, decided, rest)) for name, score in inner.items()}
    rules = {name: FoldRule(fit.intercept, {name: fit.slope}, models) for name, fit in fits.items()}
    if len(inner) > 1:
        intercept = float(np.mean([fit.intercept for fit in fits.values()]))
        slopes = {name: fit.slope / len(inner) for name, fit in fits.items()}
        mean = FoldRule(intercept, slopes, models).of_scores(inner)
        fit = fits[BLEND] = calibrate(count(mean, decided, rest))
        slopes = {name: fit.slope * slope for name, slope in slopes.items()}
        rules[BLEND] = FoldRule(fit.intercept + fit.slope * intercept, slopes, models)
    best = max(fits, key=lambda name: fits[name].log_likelihood)
    return best, fits[best], rules[best]


def one_class_log_likelihood(decided: Observed, rest: IntArray, own: IntArray) -> float:
    """Return the log-likelihood of decisions, each physician's share learned from `rest`."""
    total, given = decided.counts_of(rest)
    share = (given + 2 * decided.y[rest].mean()) / (total + 2)
    return decision_log_likelihood(np.zeros(len(own)), decided, own, share, share)
