"""Learners of a rule g(x): boosted trees for sharp rules, a spline logit for smooth ones.

A learner is prepared once on the covariates (never on decisions) and then fitted many times on
subsets of patients.  It maximises the observed-data likelihood of the decisions, in which the
eligibility is summed out, given or together with the physicians' rates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from intravar.arrays import FloatArray, IntArray
from intravar.latent.personal.panel_rows import Standard
from intravar.learning.boosted_trees import (
    MOST_SEEN,
    Bins,
    Growth,
    Rates,
    Trees,
    bin_edges,
    binned,
    coarse_bins,
    grow_trees,
    telling,
)
from intravar.panels import PanelDecisions

#: What a column of the basis is: a value, a hinge, a product, the mark of a missing value.
VALUE, HINGE, PRODUCT, MARK = range(4)


class SplineTerms(NamedTuple):
    """How the basis is made of standardised covariates.

    Every column of the basis has a kind, the two covariates it is made of and where a hinge bends,
    and beside that a mean and a spread.
    """

    standard: Standard
    columns: tuple[tuple[int, int, int, float], ...]
    mean: FloatArray
    spread: FloatArray


def _column(
    X: FloatArray, z: FloatArray, kind: int, first: int, second: int, knot: float
) -> FloatArray:
    """Return a column of the basis, each row by its own values."""
    if kind == MARK:
        return np.asarray(~np.isfinite(X[:, first]), dtype=np.float64)
    if kind == HINGE:
        return np.maximum(z[:, first] - knot, 0)
    return z[:, first] if kind == VALUE else z[:, first] * z[:, second]


def spline_basis(
    X: FloatArray, knots: tuple[float, ...], max_products: int
) -> tuple[FloatArray, SplineTerms]:
    """Return the standardised basis, values, hinges, products and marks, and its terms."""
    known, standard = np.isfinite(X), Standard.of(X)
    z = standard.scaled(X)
    terms: list[tuple[int, int, int, float]] = [(VALUE, c, c, 0.0) for c in range(z.shape[1])]
    distinct = np.array([np.unique(z[:, c]).size for c in range(z.shape[1])])
    for c in np.flatnonzero(distinct > 10).tolist():
        terms += [(HINGE, c, c, float(k)) for k in np.quantile(z[:, c], knots)]
    chosen = np.sort(np.argsort(distinct, kind="stable")[:max_products]).tolist()
    terms += [(PRODUCT, a, b, 0.0) for a in chosen for b in chosen if a < b]
    terms += [(MARK, c, c, 0.0) for c, k in enumerate(known.T) if not k.all()]
    basis = np.column_stack([_column(X, z, *term) for term in terms])
    spread = basis.std(axis=0)
    keep = np.flatnonzero(spread > 1e-9)
    basis, spread = basis[:, keep], spread[keep]
    mean = basis.mean(axis=0)
    made = SplineTerms(standard, tuple(terms[at] for at in keep), mean, spread)
    return np.asarray((basis - mean) / spread), made


#: Trees before the rates are learned too, and patients that a rate's prior is worth.
HOLD, STRENGTH = 15, 4.0
#: Bins of a covariate, and the number of the bin of missing values: sharp rules ask for many.
MOST_BINS, MISSING_BIN = 254, 255
#: Covariates that splines are made of where there are very many.
MOST_SPLINED = 40


def _spline_loss(
    theta: FloatArray, basis: FloatArray, decided: PanelDecisions, rates: Rates, penalty: float
) -> tuple[float, FloatArray]:
    """Return minus the penalised log-likelihood of decisions, and its gradient.

    The basis has one row per patient. In theta are the intercept and a coefficient for every column
    of it and, if rates are learned, logits of p_high and p_low of every physician. These have
    priors around the mean of `rates`.
    """
    width, y, who = basis.shape[1] + 1, decided.y, decided.physician
    slopes, learn = theta[1:width], theta.size > width
    high, low = expit(np.split(theta[width:], 2)) if learn else rates[:2]
    g = expit(theta[0] + basis @ slopes + rates.shift[who])
    q = np.clip(low[who] + (high - low)[who] * g, 1e-9, 1 - 1e-9)
    r = g * np.where(y == 1, high[who] / q, (1 - high[who]) / (1 - q))
    value = np.sum(np.log(np.where(y == 1, q, 1 - q))) - 0.5 * penalty * np.sum(slopes**2)
    gradient = [np.array([np.sum(r - g)]), basis.T @ (r - g) - penalty * slopes]
    if learn:
        for p, start, weight in zip((high, low), rates[:2], (r, 1 - r), strict=True):
            mean, safe = start.mean(), np.clip(p, 1e-9, 1 - 1e-9)
            own = np.bincount(who, weight * (y - p[who]), minlength=len(p))
            gradient.append(own + STRENGTH * (mean - p))
            value += STRENGTH * np.sum(mean * np.log(safe) + (1 - mean) * np.log(1 - safe))
    return -float(value), -np.concatenate(gradient)


@dataclass(frozen=True)
class Task:
    """What a rule is learned from: `rows` of the patients; other decisions are not looked at.

    `rates` are the physicians', or where to begin if they are learned too; `start` is the logit g
    to begin with.
    """

    rows: IntArray
    decided: PanelDecisions
    rates: Rates
    start: float
    learn_rates: bool


class KeptRule(Protocol):
    """A learned rule that gives any patients their logit g, each by their own covariates alone."""

    def logit(self, X: FloatArray, seen: dict[int, Any]) -> FloatArray:
        """Return logit g; what rules of one preparation look at is kept in `seen` for the next."""
        ...


@dataclass(frozen=True)
class LearnedRule:
    """Logit g of all patients, without personal shifts, and the rates beside it.

    `kept` is the rule itself, None if it cannot be asked about other patients.
    """

    logit: FloatArray
    rates: Rates
    kept: KeptRule | None = None


#: A learner that has seen the covariates: fits on a task's rows.
PreparedRule = Callable[[Task], LearnedRule]


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
    trees, pilot_trees
        Number of trees with known rates, and while the rates are learned too.
    depth, learning_rate, ridge, least_information
        The usual ones; `least_information` is the least Fisher information in a leaf.
    """

    trees: int = 150
    pilot_trees: int = 50
    depth: int = 4
    learning_rate: float = 0.1
    ridge: float = 5.0
    least_information: float = 10.0
    name: str = "trees"

    def prepare(self, X: FloatArray) -> PreparedRule:
        """Bin the covariates."""
        edges = bin_edges(X, MOST_BINS)
        return partial(self._learn, binned(X, edges, MISSING_BIN), edges)

    def _learn(self, bins: Bins, edges: list[FloatArray], task: Task) -> LearnedRule:
        trees = self.pilot_trees if task.learn_rates else self.trees
        growth = Growth(
            start=float(task.start),
            trees=trees,
            depth=self.depth,
            rate=float(self.learning_rate),
            ridge=float(self.ridge),
            least=float(self.least_information),
            missing=MISSING_BIN,
            hold=HOLD if task.learn_rates else trees,
            strength=STRENGTH,
        )
        rows, decided = task.rows, task.decided
        grown, rates = grow_trees(
            bins[rows], decided.y[rows], decided.physician[rows], task.rates, growth
        )
        return LearnedRule(grown.scores(bins), rates, KeptTrees(edges, grown))


@dataclass(frozen=True)
class KeptTrees:
    """Trees, and where covariates are cut for them."""

    edges: list[FloatArray]
    trees: Trees

    def logit(self, X: FloatArray, seen: dict[int, Any]) -> FloatArray:
        """See :class:`KeptRule`."""
        at = id(self.edges)
        if at not in seen:
            seen[at] = binned(X, self.edges, MISSING_BIN)
        return self.trees.scores(seen[at])


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
    iterations, pilot_iterations
        Steps of the optimiser with known rates, and while the rates are learned too.
    """

    penalty: float = 2.0
    knots: tuple[float, ...] = (0.15, 0.5, 0.85)
    max_products: int = 12
    iterations: int = 50
    pilot_iterations: int = 25
    name: str = "splines"

    def prepare(self, X: FloatArray) -> PreparedRule:
        """Build the basis; of very many covariates, not before it is known which ones tell."""
        if X.shape[1] > MOST_SEEN:
            return partial(self._learn_of_many, X, coarse_bins(X))
        return partial(self._learn, *spline_basis(X, self.knots, self.max_products), None)

    def _learn_of_many(self, X: FloatArray, bins: Bins, task: Task) -> LearnedRule:
        """Learn from the covariates that tell most of the decisions on the rows of a task."""
        decided = task.decided
        seen = telling(bins, decided.y, task.rows, MOST_SPLINED, decided.physician)
        return self._learn(*spline_basis(X[:, seen], self.knots, self.max_products), seen, task)

    def _learn(
        self, basis: FloatArray, terms: SplineTerms, columns: IntArray | None, task: Task
    ) -> LearnedRule:
        width, rates = basis.shape[1] + 1, task.rates
        begin, steps = np.append(task.start, np.zeros(width - 1)), self.iterations
        if task.learn_rates:
            begin = np.append(begin, logit(np.clip(np.concatenate(rates[:2]), 0.01, 0.99)))
            steps = self.pilot_iterations
        given = basis[task.rows], task.decided.take(task.rows), rates, self.penalty
        found = minimize(
            _spline_loss, begin, given, jac=True, method="L-BFGS-B", options={"maxiter": steps}
        ).x
        if task.learn_rates:
            high, low = np.clip(expit(np.split(found[width:], 2)), 1e-3, 1 - 1e-3)
            rates = Rates(high, low, rates.shift)
        score = np.asarray(found[0] + basis @ found[1:width])
        return LearnedRule(score, rates, KeptSplines(terms, columns, found[:width]))


@dataclass(frozen=True)
class KeptSplines:
    """The terms of a basis, the columns it is made of, None for all, and coefficients."""

    terms: SplineTerms
    columns: IntArray | None
    coefficients: FloatArray

    def logit(self, X: FloatArray, seen: dict[int, Any]) -> FloatArray:
        """Sum column by column: no row's sum depends on its neighbours."""
        if self.columns is not None:
            X = X[:, self.columns]
        z = self.terms.standard.scaled(X)
        total = np.full(len(X), self.coefficients[0])
        _, columns, means, spreads = self.terms
        for term, weight, mean, spread in zip(
            columns, self.coefficients[1:], means, spreads, strict=True
        ):
            total += weight * ((_column(X, z, *term) - mean) / spread)
        return total
