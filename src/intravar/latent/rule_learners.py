"""Learners of a rule g(x): boosted trees for sharp rules, a spline logit for smooth ones.

A learner is prepared once on the covariates (never on decisions) and then fitted many times on
subsets of patients. It maximises the observed-data likelihood of the decisions, in which the
eligibility is summed out, together with the physicians' rates.

Cross-fitting is nested, on fixed folds. Everything that gives a patient a probability of being
eligible (the learner, the choice among learners, the calibration) is learned from the other folds
only. For fold k the learners are fitted on the other folds; how to choose and calibrate them is
decided on models that left out one more fold. One model per pair of folds serves both its folds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.latent.calibration import (
    Calibration,
    calibrate,
    count,
    decision_log_likelihood,
    one_class_log_likelihood,
    starting_rates,
)
from intravar.learning import boosted_trees
from intravar.observed import Observed
from intravar.processes import in_threads

#: The word for the mean of all learners.
BLEND = "blend"
#: Trees before the rates are learned too, and patients that a rate's prior is worth.
HOLD, STRENGTH = 15, 4.0
#: Bins of a covariate, and the number of the bin of missing values: sharp rules ask for many.
MOST_BINS, MISSING_BIN = 254, 255
#: Covariates that splines are made of where there are very many.
MOST_SPLINED = 40
#: Standardised values are held within this many standard deviations.
FURTHEST = 4.0
#: What a column of the basis is: a value, a hinge, a product, the mark of a missing value.
VALUE, HINGE, PRODUCT, MARK = range(4)
Term = tuple[int, int, int, float]


@dataclass(frozen=True)
class Standard:
    """How columns are brought to mean 0 and spread 1: missing values take the centre.

    `keep` says which columns are not constant.
    """

    centre: FloatArray
    scale: FloatArray
    keep: BoolArray

    @classmethod
    def of(cls, X: FloatArray) -> Standard:
        """Learn centre and scale."""
        known = np.isfinite(X)
        centre = np.array([X[k, c].mean() if k.any() else 0.0 for c, k in enumerate(known.T)])
        filled = np.where(known, X, centre)
        scale = filled.std(axis=0)
        # A constant column has a rounding error for a spread, not zero.
        keep = (np.ptp(filled, axis=0) > 0) & (scale > 0)
        return cls(centre, np.where(scale > 0, scale, 1.0), keep)

    def scaled(self, X: FloatArray) -> FloatArray:
        """Return all columns standardised."""
        filled = np.where(np.isfinite(X), X, self.centre)
        return np.asarray(np.clip((filled - self.centre) / self.scale, -FURTHEST, FURTHEST))

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the columns that are not constant, standardised."""
        return np.ascontiguousarray(self.scaled(X)[:, self.keep])


class Rule(Protocol):
    """A learned rule."""

    def logit(self, X: FloatArray) -> FloatArray:
        """Return logit g of any patients, each by their own covariates alone."""
        ...


#: Learns a rule from the decisions on some rows, covariates being prepared.
PreparedRule = Callable[[Observed, IntArray], Rule]


class RuleLearner(Protocol):
    """Anything that can learn g: a name, and a preparation step on the covariates."""

    name: str

    def prepare(self, X: FloatArray) -> PreparedRule:
        """Look at the covariates once."""
        ...


@dataclass
class BoostedTrees:
    """Newton-boosted trees of fixed depth on binned covariates.

    Parameters
    ----------
    trees
        Number of trees.
    depth, learning_rate, ridge, least_information
        The usual ones; `least_information` is the least Fisher information in a leaf.
    """

    trees: int = 150
    depth: int = 4
    learning_rate: float = 0.1
    ridge: float = 5.0
    least_information: float = 10.0
    name: str = "trees"

    def prepare(self, X: FloatArray) -> PreparedRule:
        """Bin the covariates."""
        edges = boosted_trees.bin_edges(X, MOST_BINS)
        return partial(self._learn, boosted_trees.binned(X, edges, MISSING_BIN), edges)

    def _learn(
        self, bins: boosted_trees.Bins, edges: list[FloatArray], decided: Observed, rows: IntArray
    ) -> boosted_trees.CutTrees:
        rate, ridge, least = map(float, (self.learning_rate, self.ridge, self.least_information))
        size = 0.0, self.trees, self.depth
        growth = boosted_trees.Growth(*size, rate, ridge, least, MISSING_BIN, HOLD, STRENGTH)
        rates = boosted_trees.Rates(*starting_rates(decided, rows))
        table = bins[rows], decided.y[rows], decided.code[rows]
        return boosted_trees.CutTrees(edges, boosted_trees.grow_trees(*table, rates, growth))


@dataclass
class SplineLogit:
    """A ridge logit on linear splines and products of covariates.

    Parameters
    ----------
    penalty
        Ridge penalty on the coefficients of the standardised columns.
    knots
        Quantiles at which the slope of a covariate may change.
    max_products
        Products are taken among this many covariates at most (those with most distinct values
        come last, so that binary covariates always take part).
    iterations
        Steps of the optimiser.
    """

    penalty: float = 2.0
    knots: tuple[float, ...] = (0.15, 0.5, 0.85)
    max_products: int = 12
    iterations: int = 50
    name: str = "splines"

    def prepare(self, X: FloatArray) -> PreparedRule:
        """Build the basis; of very many covariates, not before it is known which ones tell."""
        if X.shape[1] <= boosted_trees.MOST_SEEN:
            return partial(self._learn, *self._basis(X, np.arange(X.shape[1])))
        bins = boosted_trees.coarse_bins(X)

        def learn(decided: Observed, rows: IntArray) -> KeptSplines:
            columns = boosted_trees.telling(bins, decided.y, rows, MOST_SPLINED, decided.code)
            return self._learn(*self._basis(X, columns), decided, rows)

        return learn

    def _basis(self, X: FloatArray, covariates: IntArray) -> tuple[FloatArray, KeptSplines]:
        """Return the columns, and how they are made: values, hinges, products and marks."""
        X = X[:, covariates]
        standard = Standard.of(X)
        z = standard.scaled(X)
        terms: list[Term] = [(VALUE, c, c, 0.0) for c in range(z.shape[1])]
        distinct = np.array([np.unique(z[:, c]).size for c in range(z.shape[1])])
        for c in np.flatnonzero(distinct > 10).tolist():
            terms += [(HINGE, c, c, float(k)) for k in np.quantile(z[:, c], self.knots)]
        chosen = np.sort(np.argsort(distinct, kind="stable")[: self.max_products]).tolist()
        terms += [(PRODUCT, a, b, 0.0) for a in chosen for b in chosen if a < b]
        terms += [(MARK, c, c, 0.0) for c, k in enumerate(np.isfinite(X).T) if not k.all()]
        columns = np.column_stack(list(_columns(X, standard, terms)))
        keep = np.flatnonzero(columns.std(axis=0) > 1e-9)
        columns, terms = columns[:, keep], [terms[at] for at in keep]
        mean, spread = columns.mean(axis=0), columns.std(axis=0)
        basis = KeptSplines(covariates, standard, tuple(terms), mean, spread, np.empty(0))
        return np.asarray((columns - mean) / spread), basis

    def _learn(
        self, columns: FloatArray, basis: KeptSplines, decided: Observed, rows: IntArray
    ) -> KeptSplines:
        rates = starting_rates(decided, rows)
        width = columns.shape[1] + 1
        begin = np.append(np.zeros(width), logit(np.clip(np.concatenate(rates), 0.01, 0.99)))
        prior = float(rates[0].mean()), float(rates[1].mean())
        given = columns[rows], decided.y[rows], decided.code[rows], prior, self.penalty
        steps = {"maxiter": self.iterations}
        best = minimize(_spline_loss, begin, given, jac=True, method="L-BFGS-B", options=steps).x
        return basis._replace(coefficients=best[:width])


class KeptSplines(NamedTuple):
    """How columns are made of the covariates that are looked at, and what they weigh.

    Covariates are standardised; a term is a kind, the two covariates it is made of and where a
    hinge bends; `mean` and `spread` standardise the columns. The intercept comes first.
    """

    covariates: IntArray
    standard: Standard
    terms: tuple[Term, ...]
    mean: FloatArray
    spread: FloatArray
    coefficients: FloatArray

    def logit(self, X: FloatArray) -> FloatArray:
        """Sum column by column: no row's sum depends on its neighbours."""
        total = np.full(len(X), self.coefficients[0])
        weights = self.coefficients[1:] / self.spread
        for at, column in enumerate(_columns(X[:, self.covariates], self.standard, self.terms)):
            total += weights[at] * (column - self.mean[at])
        return total


def _columns(X: FloatArray, standard: Standard, terms: Iterable[Term]) -> Iterator[FloatArray]:
    """Return every column of a basis, each row by its own values."""
    z = standard.scaled(X)
    for kind, first, second, knot in terms:
        if kind == MARK:
            yield np.asarray(~np.isfinite(X[:, first]), dtype=np.float64)
        elif kind == HINGE:
            yield np.maximum(z[:, first] - knot, 0)
        else:
            yield z[:, first] if kind == VALUE else z[:, first] * z[:, second]


def _spline_loss(
    theta: FloatArray,
    columns: FloatArray,
    y: IntArray,
    who: IntArray,
    prior: tuple[float, float],
    penalty: float,
) -> tuple[float, FloatArray]:
    """Return minus the penalised log-likelihood of decisions, and its gradient.

    In theta are the intercept, a coefficient for every column, and logits of p_high and p_low of
    every physician, whose priors have the means `prior`.
    """
    width = columns.shape[1] + 1
    slopes = theta[1:width]
    high, low = expit(np.split(theta[width:], 2))
    g = expit(theta[0] + columns @ slopes)
    q = np.clip(low[who] + (high - low)[who] * g, 1e-9, 1 - 1e-9)
    r = g * np.where(y == 1, high[who] / q, (1 - high[who]) / (1 - q))
    value = np.sum(np.log(np.where(y == 1, q, 1 - q))) - 0.5 * penalty * np.sum(slopes**2)
    gradient = [np.array([np.sum(r - g)]), columns.T @ (r - g) - penalty * slopes]
    for p, mean, weight in zip((high, low), prior, (r, 1 - r), strict=True):
        safe = np.clip(p, 1e-9, 1 - 1e-9)
        own = np.bincount(who, weight * (y - p[who]), minlength=len(p))
        gradient.append(own + STRENGTH * (mean - p))
        value += STRENGTH * np.sum(mean * np.log(safe) + (1 - mean) * np.log(1 - safe))
    return -float(value), -np.concatenate(gradient)


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


class CrossFit(NamedTuple):
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
        # Zeros where nothing is known: what memory happens to hold could be no number.
        inner = {name: np.zeros(len(X)) for name in learners}
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
