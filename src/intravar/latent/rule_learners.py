"""Learners of a rule g(x): boosted trees for sharp rules, a spline logit for smooth ones.

A learner is prepared once on the covariates (never on decisions) and then fitted many times on
subsets of patients.  It maximises the observed-data likelihood of the decisions, in which the
eligibility is summed out, given or together with the physicians' rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.latent.spline_logit import (
    SplineObjective,
    SplineTerms,
    fit_splines,
    spline_basis,
    spline_scores,
)
from intravar.learning.bins import MOST_SEEN, Bins, bin_edges, binned, coarse_bins, telling
from intravar.learning.boosted_trees import Growth, Rates, Trees, grow_trees
from intravar.panels import PanelDecisions

#: Trees before the rates are learned too, and patients that a rate's prior is worth.
HOLD, STRENGTH = 15, 4.0
#: Bins of a covariate, and the number of the bin of missing values: sharp rules ask for many.
MOST_BINS, MISSING_BIN = 254, 255
#: Covariates that splines are made of where there are very many.
MOST_SPLINED = 40


@dataclass(frozen=True)
class Task:
    """What a rule is learned from.

    Parameters
    ----------
    rows
        Patients to learn from.
    decided
        The decisions on all patients; those beyond `rows` are not looked at.
    rates
        The physicians' rates, or where to begin if they are learned too.
    start
        Logit g to begin with.
    learn_rates
        Whether the rates are learned on the way.
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


class PreparedRule(Protocol):
    """A learner that has seen the covariates."""

    def learn(self, task: Task) -> LearnedRule:
        """Fit on the task's rows; return logit g for all patients, and the rates."""
        ...


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
        return _PreparedTrees(self, binned(X, edges, MISSING_BIN), edges)


@dataclass(frozen=True)
class _KeptTrees:
    edges: list[FloatArray]
    trees: Trees

    def logit(self, X: FloatArray, seen: dict[int, Any]) -> FloatArray:
        at = id(self.edges)
        if at not in seen:
            seen[at] = binned(X, self.edges, MISSING_BIN)
        return self.trees.scores(seen[at])


@dataclass
class _PreparedTrees:
    learner: BoostedTrees
    bins: Bins
    edges: list[FloatArray]

    def learn(self, task: Task) -> LearnedRule:
        learner = self.learner
        trees = learner.pilot_trees if task.learn_rates else learner.trees
        growth = Growth(
            start=float(task.start),
            trees=trees,
            depth=learner.depth,
            rate=float(learner.learning_rate),
            ridge=float(learner.ridge),
            least=float(learner.least_information),
            missing=MISSING_BIN,
            hold=HOLD if task.learn_rates else trees,
            strength=STRENGTH,
        )
        rows, decided = task.rows, task.decided
        grown, rates = grow_trees(
            self.bins[rows], decided.y[rows], decided.physician[rows], task.rates, growth
        )
        return LearnedRule(grown.scores(self.bins), rates, _KeptTrees(self.edges, grown))


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
            return _PreparedOfMany(self, X, coarse_bins(X))
        basis, terms = spline_basis(X, self.knots, self.max_products)
        return _PreparedSplines(self, basis, terms)


@dataclass(frozen=True)
class _KeptSplines:
    terms: SplineTerms
    columns: IntArray | None
    coefficients: FloatArray

    def logit(self, X: FloatArray, seen: dict[int, Any]) -> FloatArray:
        if self.columns is not None:
            X = np.ascontiguousarray(X[:, self.columns])
        return np.asarray(spline_scores(X, self.terms, self.coefficients))


@dataclass
class _PreparedSplines:
    learner: SplineLogit
    basis: FloatArray
    terms: SplineTerms
    columns: IntArray | None = None

    def learn(self, task: Task) -> LearnedRule:
        learner = self.learner
        objective = SplineObjective(
            basis=self.basis[task.rows],
            decided=task.decided.take(task.rows),
            rates=task.rates,
            penalty=learner.penalty,
            learn_rates=task.learn_rates,
            strength=STRENGTH,
        )
        steps = learner.pilot_iterations if task.learn_rates else learner.iterations
        coefficients, rates = fit_splines(objective, task.start, steps)
        logit = np.asarray(coefficients[0] + self.basis @ coefficients[1:])
        kept = _KeptSplines(self.terms, self.columns, coefficients)
        return LearnedRule(logit, rates, kept)


@dataclass
class _PreparedOfMany:
    """Splines of the covariates that tell most of the decisions on the rows of a task."""

    learner: SplineLogit
    X: FloatArray
    bins: Bins

    def learn(self, task: Task) -> LearnedRule:
        learner, decided = self.learner, task.decided
        seen = telling(self.bins, decided.y, task.rows, MOST_SPLINED, decided.physician)
        basis, terms = spline_basis(self.X[:, seen], learner.knots, learner.max_products)
        return _PreparedSplines(learner, basis, terms, seen).learn(task)
