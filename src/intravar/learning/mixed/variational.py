"""Objective of the variational mixed model, with its arrow-shaped Newton system.

Parameters are split in two. The *shared* ones: mean and log-sd of every fixed effect, mean and
log-sd of the log-sd of the random effects. And, per physician, mean and log-sd of the random
effect. Two physicians never meet in the objective, so the Hessian is a dense shared block, a 2 x 2
block per physician, and the cross terms: a Newton step costs O(n p^2 + J p^2).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from intravar.arrays import FloatArray, IntArray
from intravar.learning.mixed.arrow_system import ArrowSystem
from intravar.learning.mixed.expected_loss import ExpectedLoss, expected_logistic_loss

# Bound on the one-dimensional search for the random scale; it needs about six.
_SCALE_ITERATIONS = 100


@dataclass(frozen=True)
class VariationalState:
    """Means and log standard deviations of the factorised Gaussian posterior."""

    fixed_mean: FloatArray
    fixed_log_sd: FloatArray
    scale_mean: float
    scale_log_sd: float
    random_mean: FloatArray
    random_log_sd: FloatArray

    def moved(self, shared: FloatArray, physicians: FloatArray) -> "VariationalState":
        """Add a step, given as ``shared`` (2p + 2,) and ``physicians`` (J, 2)."""
        p = self.fixed_mean.size
        return VariationalState(
            self.fixed_mean + shared[:p],
            self.fixed_log_sd + shared[p : 2 * p],
            self.scale_mean + float(shared[2 * p]),
            self.scale_log_sd + float(shared[2 * p + 1]),
            self.random_mean + physicians[:, 0],
            self.random_log_sd + physicians[:, 1],
        )


class VariationalProblem:
    """Negative evidence lower bound of a Bernoulli model with a random intercept per physician."""

    def __init__(
        self,
        design: FloatArray,
        y: FloatArray,
        physician_code: IntArray,
        n_physicians: int,
        fixed_prior_sd: float,
        log_sd_prior_sd: float,
    ) -> None:
        # Rows in physician order make the sums per physician sequential in memory.
        order = np.argsort(physician_code, kind="stable")
        self.design = np.ascontiguousarray(design[order])
        self.squared = self.design**2
        self.code = physician_code[order]
        self.n_physicians = n_physicians
        starts = np.searchsorted(self.code, np.arange(n_physicians + 1))
        n = order.size
        self.sum_by_physician = sparse.csr_array(
            (np.ones(n), np.arange(n), starts), shape=(n_physicians, n)
        )
        self.y_design = self.design.T @ y[order]
        self.y_physician = self.sum_by_physician @ y[order]
        self.fixed_precision = 1.0 / fixed_prior_sd**2
        self.scale_precision = 1.0 / log_sd_prior_sd**2

    def start(self) -> VariationalState:
        """Zero means; each standard deviation at its own optimum for a flat predictor."""
        p = self.design.shape[1]
        # E log(1 + exp(.)) has the derivative 1/8 in the variance at mean and variance zero.
        fixed = 1.0 / (self.fixed_precision + 0.25 * self.squared.sum(axis=0))
        panel = self.sum_by_physician.sum(axis=1)
        scale = 1.0 / (2.0 * self.n_physicians + self.scale_precision)
        return VariationalState(
            np.zeros(p),
            0.5 * np.log(fixed),
            0.0,
            0.5 * float(np.log(scale)),
            np.zeros(self.n_physicians),
            -0.5 * np.log(1.0 + 0.25 * panel),
        )

    def with_best_scale(self, state: VariationalState) -> VariationalState:
        """Optimum in mean and sd of the log-sd, the rest of ``state`` held.

        The sd follows from the mean t, ``sd^2 = 1 / (2 J + (2 t + 1) / prior^2)``, and t is the
        root of a decreasing convex function, so that Newton from its left side cannot overshoot.
        """
        count, prior = float(self.n_physicians), self.scale_precision
        squares = np.sum(state.random_mean**2 + np.exp(2.0 * state.random_log_sd))
        log_squares = float(np.log(squares))

        def excess(t: float) -> tuple[float, float]:
            variance = 1.0 / (2.0 * (count + prior * t) + prior)
            value = log_squares + 2.0 * (variance - t) - float(np.log(count + prior * t))
            slope = -4.0 * prior * variance**2 - 2.0 - prior / (count + prior * t)
            return value, slope

        lowest = -count / prior
        t = max(state.scale_mean, 0.5 * lowest)
        for _ in range(_SCALE_ITERATIONS):
            if not excess(t)[0] < 0.0:
                break
            t = max(t - 1.0, 0.5 * (t + lowest))
        for _ in range(_SCALE_ITERATIONS):
            value, slope = excess(t)
            t -= value / slope
            if abs(value) < 1e-14 * (1.0 + abs(log_squares)):
                break
        variance = 1.0 / (2.0 * (count + prior * t) + prior)
        return replace(state, scale_mean=t, scale_log_sd=0.5 * float(np.log(variance)))

    def loss(self, state: VariationalState) -> ExpectedLoss:
        """Compute the expected logistic loss of the linear predictors under the posterior."""
        mean = self.design @ state.fixed_mean + state.random_mean[self.code]
        variance = self.squared @ np.exp(2.0 * state.fixed_log_sd)
        variance += np.exp(2.0 * state.random_log_sd)[self.code]
        return expected_logistic_loss(mean, variance)

    def objective(self, state: VariationalState, loss: ExpectedLoss) -> float:
        """Negative evidence lower bound, without the constants that no parameter touches."""
        fixed_squares = np.sum(state.fixed_mean**2 + np.exp(2.0 * state.fixed_log_sd))
        random_squares = np.sum(state.random_mean**2 + np.exp(2.0 * state.random_log_sd))
        scale_variance = np.exp(2.0 * state.scale_log_sd)
        value = (
            loss.total
            - self.y_design @ state.fixed_mean
            - self.y_physician @ state.random_mean
            + 0.5 * self.fixed_precision * fixed_squares
            + 0.5 * random_squares * np.exp(2.0 * (scale_variance - state.scale_mean))
            + self.n_physicians * state.scale_mean
            + 0.5 * self.scale_precision * (state.scale_mean**2 + scale_variance)
            - np.sum(state.fixed_log_sd)
            - np.sum(state.random_log_sd)
            - state.scale_log_sd
        )
        return float(value)

    def system(self, state: VariationalState, loss: ExpectedLoss) -> ArrowSystem:
        """Gradient and Hessian at ``state``, whose expected loss is ``loss``."""
        terms = _Terms.of(self, state, loss)
        cross = self._cross(state, loss, terms)
        # The first column of the design is the intercept: its sums are the sums over patients.
        blocks = np.empty((self.n_physicians, 2, 2))
        blocks[:, 0, 0] = cross[:, 0, 0] + terms.precision
        blocks[:, 0, 1] = blocks[:, 1, 0] = cross[:, 1, 0]
        blocks[:, 1, 1] = terms.own_reach * (
            terms.own_reach * (self.sum_by_physician @ loss.d_vv)
            + 2.0 * terms.own_pull
            + terms.precision
        )
        block_gradient = np.column_stack(
            (
                self.sum_by_physician @ loss.d_m
                - self.y_physician
                + terms.precision * state.random_mean,
                terms.own_reach * (terms.own_pull + 0.5 * terms.precision) - 1.0,
            )
        )
        gradient = self._shared_gradient(state, loss, terms)
        return ArrowSystem(gradient, block_gradient, self._shared(loss, terms), blocks, cross)

    def _shared_gradient(
        self, state: VariationalState, loss: ExpectedLoss, terms: "_Terms"
    ) -> FloatArray:
        fixed_mean = self.design.T @ loss.d_m - self.y_design
        fixed_mean += self.fixed_precision * state.fixed_mean
        fixed_log_sd = terms.reach * (terms.pull + 0.5 * self.fixed_precision) - 1.0
        scale_mean = self.n_physicians - terms.energy + self.scale_precision * state.scale_mean
        scale_log_sd = terms.scale_variance * (2.0 * terms.energy + self.scale_precision) - 1.0
        return np.concatenate((fixed_mean, fixed_log_sd, [scale_mean, scale_log_sd]))

    def _shared(self, loss: ExpectedLoss, terms: "_Terms") -> FloatArray:
        p = self.design.shape[1]
        means, log_sds, fixed = slice(p), slice(p, 2 * p), np.arange(p)
        shared = np.zeros((2 * p + 2, 2 * p + 2))
        shared[means, means] = self.design.T @ (loss.d_mm[:, None] * self.design)
        shared[means, log_sds] = (self.design.T @ (loss.d_mv[:, None] * self.squared)) * terms.reach
        shared[log_sds, means] = shared[means, log_sds].T
        shared[log_sds, log_sds] = self.squared.T @ (loss.d_vv[:, None] * self.squared)
        shared[log_sds, log_sds] *= np.outer(terms.reach, terms.reach)
        shared[fixed, fixed] += self.fixed_precision
        shared[p + fixed, p + fixed] += terms.reach * (2.0 * terms.pull + self.fixed_precision)
        shared[-2, -2] = 2.0 * terms.energy + self.scale_precision
        shared[-2, -1] = shared[-1, -2] = -4.0 * terms.scale_variance * terms.energy
        shared[-1, -1] = terms.scale_variance * (
            4.0 * terms.energy * (1.0 + 2.0 * terms.scale_variance) + 2.0 * self.scale_precision
        )
        return shared

    def _cross(self, state: VariationalState, loss: ExpectedLoss, terms: "_Terms") -> FloatArray:
        p = self.design.shape[1]
        sums, own_reach = self.sum_by_physician, terms.own_reach[:, None]
        cross = np.empty((self.n_physicians, 2, 2 * p + 2))
        cross[:, 0, :p] = sums @ (loss.d_mm[:, None] * self.design)
        cross[:, 0, p:-2] = (sums @ (loss.d_mv[:, None] * self.squared)) * terms.reach
        cross[:, 1, :p] = (sums @ (loss.d_mv[:, None] * self.design)) * own_reach
        cross[:, 1, p:-2] = (sums @ (loss.d_vv[:, None] * self.squared)) * own_reach * terms.reach
        cross[:, 0, -2] = -2.0 * terms.precision * state.random_mean
        cross[:, 1, -2] = -terms.precision * terms.own_reach
        cross[:, :, -1] = -2.0 * terms.scale_variance * cross[:, :, -2]
        return cross


@dataclass(frozen=True)
class _Terms:
    """Quantities that gradient and Hessian share.

    ``reach`` and ``own_reach`` are the derivatives of a predictor's variance in the log standard
    deviations of the fixed and random effects; ``pull`` and ``own_pull`` sum the derivative of the
    loss in the variance; ``precision`` is the expected inverse variance of the random effects, and
    ``energy`` their expected sum of squares times it.
    """

    reach: FloatArray
    own_reach: FloatArray
    pull: FloatArray
    own_pull: FloatArray
    scale_variance: float
    precision: float
    energy: float

    @classmethod
    def of(
        cls, problem: VariationalProblem, state: VariationalState, loss: ExpectedLoss
    ) -> "_Terms":
        own_reach = 2.0 * np.exp(2.0 * state.random_log_sd)
        scale_variance = float(np.exp(2.0 * state.scale_log_sd))
        precision = float(np.exp(2.0 * (scale_variance - state.scale_mean)))
        return cls(
            reach=2.0 * np.exp(2.0 * state.fixed_log_sd),
            own_reach=own_reach,
            pull=problem.squared.T @ loss.d_v,
            own_pull=problem.sum_by_physician @ loss.d_v,
            scale_variance=scale_variance,
            precision=precision,
            energy=precision * float(np.sum(state.random_mean**2 + 0.5 * own_reach)),
        )
