"""Learners of a rule g(x): boosted trees for sharp rules, a spline logit for smooth ones.

A learner is prepared once on the covariates (never on decisions) and then fitted many times on
subsets of patients.  It maximises the observed-data likelihood of the decisions, in which the
eligibility is summed out, given or together with the physicians' rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.latent.decided import Decided
from intravar.latent.spline_logit import SplineObjective, fit_splines, spline_basis
from intravar.latent.tree_kernel import Bins, Growth, Rates, bin_columns, boost

#: Trees before the rates are learned too, patients that a rate's prior is worth, largest logit.
HOLD, STRENGTH, CAP = 15, 4.0, 8.0


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
    decided: Decided
    rates: Rates
    start: float
    learn_rates: bool


@dataclass(frozen=True)
class LearnedRule:
    """Logit g of all patients, without personal shifts, and the rates beside it."""

    logit: FloatArray
    rates: Rates


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
        return _PreparedTrees(self, bin_columns(X))


@dataclass
class _PreparedTrees:
    learner: BoostedTrees
    bins: Bins

    def learn(self, task: Task) -> LearnedRule:
        learner = self.learner
        trees = learner.pilot_trees if task.learn_rates else learner.trees
        growth = Growth(
            start=float(task.start),
            trees=trees,
            depth=learner.depth,
            rate=float(learner.learning_rate),
            hold=HOLD if task.learn_rates else trees,
            ridge=float(learner.ridge),
            least=float(learner.least_information),
            strength=STRENGTH,
            cap=CAP,
        )
        decided = task.decided
        found = boost(self.bins, decided.y, decided.physician, task.rows, task.rates, growth)
        return LearnedRule(*found)


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
        """Build the basis."""
        return _PreparedSplines(self, spline_basis(X, self.knots, self.max_products))


@dataclass
class _PreparedSplines:
    learner: SplineLogit
    basis: FloatArray

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
        return LearnedRule(np.asarray(coefficients[0] + self.basis @ coefficients[1:]), rates)
