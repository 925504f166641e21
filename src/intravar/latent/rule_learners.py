"""Learners of the shared rule g(x): boosted trees for sharp rules, a spline logit for smooth ones.

A learner is prepared once on the covariates (never on decisions) and then fitted many times on
subsets of patients.  It maximises the observed-data likelihood of the decisions, in which the
eligibility is summed out, given or together with the physicians' rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from intravar.latent.tree_kernel import Bins, bin_columns, boost

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class Rates:
    """Probabilities of a prescription per physician, and the shift of a personal threshold."""

    p_high: Floats
    p_low: Floats
    shift: Floats

    def copy(self) -> Rates:
        """Return a copy whose arrays can be written."""
        return Rates(self.p_high.copy(), self.p_low.copy(), self.shift.copy())


class PreparedRule(Protocol):
    """A learner that has seen the covariates."""

    def scores(
        self, rows: Ints, y: Ints, physician: Ints, rates: Rates, start: float, learn_rates: bool
    ) -> Floats:
        """Fit on `rows`; return logit g for all patients, update `rates` if asked to."""
        ...


class RuleLearner(Protocol):
    """Anything that can learn g: a name, and a preparation step on the covariates."""

    name: str

    def prepare(self, X: Floats) -> PreparedRule:
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

    def prepare(self, X: Floats) -> PreparedRule:
        """Bin the covariates."""
        return _PreparedTrees(self, bin_columns(X))


@dataclass
class _PreparedTrees:
    learner: BoostedTrees
    bins: Bins

    def scores(
        self, rows: Ints, y: Ints, physician: Ints, rates: Rates, start: float, learn_rates: bool
    ) -> Floats:
        learner = self.learner
        trees = learner.pilot_trees if learn_rates else learner.trees
        score: Floats = boost(
            self.bins, y, physician, rows, start, rates.shift, rates.p_high, rates.p_low,
            trees, 15 if learn_rates else trees, learner.depth, learner.learning_rate,
            learner.ridge, learner.least_information, 4.0, 8.0,
        )  # fmt: skip
        return score


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

    def prepare(self, X: Floats) -> PreparedRule:
        """Build the basis."""
        return _PreparedSplines(self, spline_basis(X, self.knots, self.max_products))


def spline_basis(X: Floats, knots: tuple[float, ...], max_products: int) -> Floats:
    """Return the standardised basis: values, hinges, products and marks of missing values."""
    known = np.isfinite(X)
    centre = np.array([X[k, c].mean() if k.any() else 0.0 for c, k in enumerate(known.T)])
    filled = np.where(known, X, centre)
    scale = filled.std(axis=0)
    z = np.clip((filled - centre) / np.where(scale > 0, scale, 1.0), -4, 4)
    columns = [z[:, c] for c in range(z.shape[1])]
    distinct = np.array([np.unique(z[:, c]).size for c in range(z.shape[1])])
    for c in np.flatnonzero(distinct > 10):
        columns += [np.maximum(z[:, c] - k, 0) for k in np.quantile(z[:, c], knots)]
    chosen = np.sort(np.argsort(distinct, kind="stable")[:max_products])
    columns += [z[:, a] * z[:, b] for a in chosen for b in chosen if a < b]
    columns += [(~k).astype(float) for k in known.T if not k.all()]
    basis = np.column_stack(columns)
    spread = basis.std(axis=0)
    keep = spread > 1e-9
    return np.asarray((basis[:, keep] - basis[:, keep].mean(axis=0)) / spread[keep])


@dataclass
class _PreparedSplines:
    learner: SplineLogit
    basis: Floats

    def scores(
        self, rows: Ints, y: Ints, physician: Ints, rates: Rates, start: float, learn_rates: bool
    ) -> Floats:
        learner = self.learner
        Z, decided, who = self.basis[rows], y[rows].astype(float), physician[rows]
        J, width = rates.p_high.size, Z.shape[1] + 1
        prior_high, prior_low = rates.p_high.mean(), rates.p_low.mean()

        def objective(theta: Floats) -> tuple[float, Floats]:
            high, low = rates.p_high, rates.p_low
            if learn_rates:
                high, low = expit(theta[width : width + J]), expit(theta[width + J :])
            g = expit(theta[0] + Z @ theta[1:width] + rates.shift[who])
            q = np.clip(low[who] + (high - low)[who] * g, 1e-9, 1 - 1e-9)
            value = np.sum(np.log(np.where(decided == 1, q, 1 - q)))
            r = g * np.where(decided == 1, high[who] / q, (1 - high[who]) / (1 - q))
            slope = np.zeros(theta.size)
            slope[0] = np.sum(r - g)
            slope[1:width] = Z.T @ (r - g) - learner.penalty * theta[1:width]
            value -= 0.5 * learner.penalty * np.sum(theta[1:width] ** 2)
            if learn_rates:
                for at, p, mean, w in (
                    (width, high, prior_high, r),
                    (width + J, low, prior_low, 1 - r),
                ):
                    slope[at : at + J] = np.bincount(who, w * (decided - p[who]), minlength=J)
                    slope[at : at + J] += 4.0 * (mean - p)
                    safe = np.clip(p, 1e-9, 1 - 1e-9)
                    value += 4.0 * np.sum(mean * np.log(safe) + (1 - mean) * np.log(1 - safe))
            return -float(value), -slope

        theta = np.zeros(width + (2 * J if learn_rates else 0))
        theta[0] = start
        if learn_rates:
            theta[width:] = logit(np.clip(np.concatenate([rates.p_high, rates.p_low]), 0.01, 0.99))
        found = minimize(
            objective, theta, jac=True, method="L-BFGS-B",
            options={"maxiter": learner.pilot_iterations if learn_rates else learner.iterations},
        ).x  # fmt: skip
        if learn_rates:
            rates.p_high[:] = np.clip(expit(found[width : width + J]), 1e-3, 1 - 1e-3)
            rates.p_low[:] = np.clip(expit(found[width + J :]), 1e-3, 1 - 1e-3)
        return np.asarray(found[0] + self.basis @ found[1:width])
