"""Bayesian logistic regression with a random intercept per physician, by variational Bayes.

The posterior is approximated by independent Gaussians: one per fixed effect, one per random
intercept, one for the log standard deviation of the random intercepts. Objective, priors and
quadrature are those of statsmodels' ``BinomialBayesMixedGLM.fit_vb``. SciPy's L-BFGS finds the
optimum from a fixed start; unlike statsmodels it needs no dense matrix over physicians.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import brentq, minimize
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray

# Beyond this the logistic function is 0 or 1 in double precision and a residual has no meaning.
_PROBABILITY_FLOOR = 1e-12
# Ten Gauss-Legendre nodes on (-5, 5) standard deviations, as statsmodels has them. The weights sum
# to 0.99999..., not to one; keeping that small error gives the same optimum to many digits.
_HALF_RANGE = 5.0
_LEGENDRE_NODES, _LEGENDRE_WEIGHTS = np.polynomial.legendre.leggauss(10)
_NODES = _HALF_RANGE * _LEGENDRE_NODES
_WEIGHTS = _HALF_RANGE * _LEGENDRE_WEIGHTS * np.exp(-0.5 * _NODES**2) / np.sqrt(2.0 * np.pi)
# Rows per block: the temporary vectors of a block stay in the processor's cache.
_BLOCK_ROWS = 8192
# Pairs of steps and gradients that L-BFGS remembers.
_MEMORY = 30


@dataclass(frozen=True)
class MixedModelFit:
    """Variational posterior of the mixed model: means and standard deviations.

    The intercept comes first among the fixed effects; `log_sd` is the log standard deviation of the
    physicians' intercepts. `elbo` is without the constants that no parameter touches.
    """

    fixed_effects: FloatArray
    fixed_sd: FloatArray
    random_effects: FloatArray
    random_sd: FloatArray
    log_sd_mean: float
    log_sd_sd: float
    elbo: float
    n_iterations: int
    converged: bool

    def fitted_probability(self, z: FloatArray, code: IntArray) -> FloatArray:
        """Probability of a positive decision at the posterior means, random effects included."""
        predictor = self.fixed_effects[0] + z @ self.fixed_effects[1:]
        return np.asarray(expit(predictor + self.random_effects[code]))


def expected_logistic_loss(
    mean: FloatArray, variance: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Sum ``E log(1 + exp(m + sqrt(v) e))`` over rows, with derivatives in m and v per row."""
    sd = np.sqrt(variance)
    total, d_m, d_sd = 0.0, np.zeros_like(mean), np.zeros_like(mean)
    for start in range(0, mean.size, _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            predictor = mean[rows] + node * sd[rows]
            total += weight * float(np.logaddexp(0.0, predictor).sum())
            probability = weight * expit(predictor)
            d_m[rows] += probability
            d_sd[rows] += node * probability
    return total, d_m, d_sd / (2.0 * sd)


class VariationalProblem:
    """Negative evidence lower bound of a Bernoulli model with a random intercept per physician.

    The parameters are one vector: mean and log-sd of every fixed effect, mean and log-sd of every
    random effect. The posterior of the random effects' log-sd has its optimum given these, and is
    taken there.
    """

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

    def start(self) -> FloatArray:
        """Zero means; each standard deviation at its own optimum for a flat predictor."""
        # E log(1 + exp(.)) has the derivative 1/8 in the variance at mean and variance zero.
        fixed = 1.0 / (self.fixed_precision + 0.25 * self.squared.sum(axis=0))
        own = 1.0 / (1.0 + 0.25 * self.sum_by_physician.sum(axis=1))
        return np.concatenate(
            [np.zeros_like(fixed), 0.5 * np.log(fixed), np.zeros_like(own), 0.5 * np.log(own)]
        )

    def units(self) -> FloatArray:
        """Give every parameter's typical step: the search runs in these units."""
        steps = self.start()
        mean, log_sd, own_mean, own_log_sd = self.split(steps)
        for means, log_sds in ((mean, log_sd), (own_mean, own_log_sd)):
            means[:] = np.exp(log_sds)
            log_sds[:] = np.sqrt(0.5)
        return steps

    def split(self, parameters: FloatArray) -> list[FloatArray]:
        """Cut the vector into its four parts."""
        p, j = self.design.shape[1], self.n_physicians
        return np.split(parameters, np.cumsum([p, p, j]))

    def best_scale(self, squares: float) -> tuple[float, float]:
        """Mean and variance of the log-sd at their optimum, for the expected sum of squares.

        The variance follows from the mean t, ``1 / (2 J + (2 t + 1) / prior^2)``, and t is the root
        of a decreasing function.
        """
        count, prior = float(self.n_physicians), self.scale_precision

        def variance(t: float) -> float:
            return 1.0 / (2.0 * (count + prior * t) + prior)

        def excess(t: float) -> float:
            return float(np.log(squares) + 2.0 * (variance(t) - t) - np.log(count + prior * t))

        lowest = -count / prior
        low, high = 0.5 * lowest, 1.0
        while excess(low) < 0.0:
            low = 0.5 * (low + lowest)
        while excess(high) > 0.0:
            high *= 2.0
        mean = brentq(excess, low, high, xtol=1e-14, rtol=1e-14)
        return mean, variance(mean)

    def value_and_gradient(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Negative evidence lower bound, constants left out, and its gradient."""
        mean, log_sd, own_mean, own_log_sd = self.split(parameters)
        variance, own_variance = np.exp(2.0 * log_sd), np.exp(2.0 * own_log_sd)
        total, d_m, d_v = expected_logistic_loss(
            self.design @ mean + own_mean[self.code],
            self.squared @ variance + own_variance[self.code],
        )
        squares = float(np.sum(own_mean**2 + own_variance))
        scale_mean, scale_variance = self.best_scale(squares)
        # The expected inverse variance of the random effects.
        precision = np.exp(2.0 * (scale_variance - scale_mean))
        value = (
            total
            - self.y_design @ mean
            - self.y_physician @ own_mean
            + 0.5 * self.fixed_precision * np.sum(mean**2 + variance)
            + 0.5 * precision * squares
            + self.n_physicians * scale_mean
            + 0.5 * self.scale_precision * (scale_mean**2 + scale_variance)
            - np.sum(log_sd)
            - np.sum(own_log_sd)
            - 0.5 * np.log(scale_variance)
        )
        own_d_m, own_d_v = self.sum_by_physician @ d_m, self.sum_by_physician @ d_v
        gradient = [
            self.design.T @ d_m - self.y_design + self.fixed_precision * mean,
            variance * (2.0 * (self.squared.T @ d_v) + self.fixed_precision) - 1.0,
            own_d_m - self.y_physician + precision * own_mean,
            own_variance * (2.0 * own_d_v + precision) - 1.0,
        ]
        return float(value), np.concatenate(gradient)


def fit_mixed_model(
    z: FloatArray,
    y: npt.ArrayLike,
    physician_code: IntArray,
    n_physicians: int,
    *,
    fixed_prior_sd: float = 2.0,
    log_sd_prior_sd: float = 1.0,
    max_iterations: int = 2000,
    tolerance: float = 1e-7,
) -> MixedModelFit:
    """Fit ``logit P(y = 1) = b0 + z b + u[physician]`` with ``u ~ N(0, sd^2)``.

    `z` are standardised covariates without intercept, perhaps none; a physician without patients
    keeps a random effect of mean zero. Fixed effects, and the log standard deviation, have Gaussian
    priors of mean zero: they are proper, so that the posterior is finite on separated data and when
    all decisions are equal. The search ends where no parameter's slope, per posterior standard
    deviation, is larger than the tolerance.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(400, 1))
    >>> physician = np.repeat([0, 1, 2, 3], 100)
    >>> y = rng.random(400) < 1 / (1 + np.exp(-z[:, 0] - np.array([-1, 0, 0, 1])[physician]))
    >>> fit = fit_mixed_model(z, y, physician, 4)
    >>> fit.converged
    True
    >>> bool(fit.random_effects[0] < fit.random_effects[3])
    True
    """
    if fixed_prior_sd <= 0.0 or log_sd_prior_sd <= 0.0:
        raise ValueError("prior standard deviations must be positive")
    design = np.column_stack((np.ones(len(z)), z))
    decision = np.asarray(y, dtype=np.float64)
    problem = VariationalProblem(
        design, decision, physician_code, n_physicians, fixed_prior_sd, log_sd_prior_sd
    )
    start, units = problem.start(), problem.units()

    def scaled(steps: FloatArray) -> tuple[float, FloatArray]:
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = problem.value_and_gradient(start + units * steps)
        return value, gradient * units

    found = minimize(
        scaled,
        np.zeros_like(start),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": max_iterations,
            "maxfun": 10 * max_iterations,
            "maxcor": _MEMORY,
            "gtol": tolerance,
            "ftol": 0.0,
        },
    )
    mean, log_sd, own_mean, own_log_sd = problem.split(start + units * found.x)
    squares = float(np.sum(own_mean**2 + np.exp(2.0 * own_log_sd)))
    scale_mean, scale_variance = problem.best_scale(squares)
    return MixedModelFit(
        fixed_effects=mean,
        fixed_sd=np.exp(log_sd),
        random_effects=own_mean,
        random_sd=np.exp(own_log_sd),
        log_sd_mean=scale_mean,
        log_sd_sd=float(np.sqrt(scale_variance)),
        elbo=-float(found.fun),
        n_iterations=int(found.nit),
        # Where rounding ends the line search before the slopes are small, the optimum is reached.
        converged=found.nit < max_iterations and float(np.abs(found.jac).max()) < 1e-3,
    )


def pearson_residuals(y: npt.ArrayLike, probability: npt.ArrayLike) -> FloatArray:
    """Residual over its standard deviation, ``(y - p) / sqrt(p (1 - p))``.

    Probabilities are kept at least 1e-12 away from 0 and 1, where the ratio would be 0/0 for a
    decision that agrees and infinite for one that does not.

    Examples
    --------
    >>> pearson_residuals([1, 0], [0.5, 0.2]).tolist()
    [1.0, -0.5]
    """
    kept = np.clip(
        np.asarray(probability, dtype=np.float64), _PROBABILITY_FLOOR, 1.0 - _PROBABILITY_FLOOR
    )
    return np.asarray((np.asarray(y, dtype=np.float64) - kept) / np.sqrt(kept * (1.0 - kept)))
