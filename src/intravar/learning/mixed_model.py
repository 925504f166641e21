"""Bayesian logistic regression with a random intercept per physician, by variational Bayes.

The model, its objective and its gradient are statsmodels'. The search is SciPy's L-BFGS, begun at
a fixed point and run in the parameters' own units: statsmodels begins at random, its BFGS needs a
dense matrix over physicians, and without units the search stops early when physicians are many.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import Bounds, OptimizeResult, minimize
from statsmodels.genmod import families
from statsmodels.genmod.bayes_mixed_glm import BayesMixedGLMResults, BinomialBayesMixedGLM

from intravar.arrays import FloatArray, IntArray

# Beyond this the logistic function is 0 or 1 in double precision and a residual has no meaning.
_PROBABILITY_FLOOR = 1e-12
# Pairs of steps and gradients that L-BFGS remembers.
_MEMORY = 30
# Where rounding ends the search before its tolerance, slopes below this are those of the optimum.
_SMALL_SLOPE = 1e-3


class _MixedModel(BinomialBayesMixedGLM):  # type: ignore[misc]
    """The model of statsmodels, which refuses decisions that are all alike; priors are proper."""

    def __init__(self, *data: Any, **priors: float) -> None:
        # Past the constructor that refuses them.
        super(BinomialBayesMixedGLM, self).__init__(*data, family=families.Binomial(), **priors)

    def vb_elbo(self, vb_mean: FloatArray, vb_sd: FloatArray) -> float:
        """Return the objective; that of statsmodels overflows, which would end the search."""
        mean, sd = self._unpack(vb_mean), self._unpack(vb_sd)
        middle, variance = self._lp_stats(mean[0], sd[0], mean[2], sd[2])
        root = np.sqrt(variance)

        def log_rest(z: float) -> FloatArray:
            return np.asarray(-np.logaddexp(0.0, middle + root * z))

        return float(self.vb_elbo_base(log_rest, middle, *mean, *sd))


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
) -> BayesMixedGLMResults:
    """Fit ``logit P(y = 1) = b0 + z b + u[physician]`` with ``u ~ N(0, sd^2)``.

    `z` are standardised covariates without intercept, perhaps none; a physician without patients
    keeps a random effect of mean zero. Fixed effects, and the log standard deviation, have Gaussian
    priors of mean zero: they are proper, so that the posterior is finite on separated data and when
    all decisions are equal. The search ends where no parameter's slope, per posterior standard
    deviation, is larger than the tolerance.

    Returns
    -------
    BayesMixedGLMResults
        Means and standard deviations of the fixed effects, the intercept first (`fe_mean`,
        `fe_sd`), of the physicians' intercepts (`vc_mean`, `vc_sd`) and of the log standard
        deviation of these (`vcp_mean`, `vcp_sd`); the search as `optim_retvals`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(400, 1))
    >>> physician = np.repeat([0, 1, 2, 3], 100)
    >>> y = rng.random(400) < 1 / (1 + np.exp(-z[:, 0] - np.array([-1, 0, 0, 1])[physician]))
    >>> fit = fit_mixed_model(z, y, physician, 4)
    >>> fit.optim_retvals.success
    True
    >>> bool(fit.vc_mean[0] < fit.vc_mean[3])
    True
    """
    if fixed_prior_sd <= 0.0 or log_sd_prior_sd <= 0.0:
        raise ValueError("prior standard deviations must be positive")
    n = len(z)
    design = np.column_stack((np.ones(n), z))
    own = sparse.csr_array((np.ones(n), physician_code, np.arange(n + 1)), shape=(n, n_physicians))
    model = _MixedModel(
        np.asarray(y, dtype=np.float64),
        design,
        own,
        np.zeros(n_physicians, dtype=np.int64),
        fe_p=fixed_prior_sd,
        vcp_p=log_sd_prior_sd,
    )
    # Each standard deviation at its own optimum for a flat predictor, where E log(1 + exp(.)) has
    # the derivative 1/8 in the variance.
    precision = [
        fixed_prior_sd**-2 + 0.25 * (design**2).sum(axis=0),
        [log_sd_prior_sd**-2 + 2.0 * n_physicians],
        1.0 + 0.25 * np.bincount(physician_code, minlength=n_physicians),
    ]
    sd = np.concatenate(precision) ** -0.5
    # At the optimum the log standard deviation is surer than its prior. Far beyond, the objective
    # overflows, which would end the search.
    highest = np.full_like(sd, np.inf)
    highest[design.shape[1]] = log_sd_prior_sd
    search = _search(sd, highest, max_iterations, tolerance)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return model.fit_vb(mean=np.zeros_like(sd), sd=sd, fit_method=search)


def _search(
    sd: FloatArray, highest_sd: FloatArray, max_iterations: int, tolerance: float
) -> Callable[..., OptimizeResult]:
    """Return L-BFGS from zero means and these standard deviations, in units of the parameters.

    It takes the place of a method of ``scipy.optimize.minimize``; statsmodels would begin with
    larger standard deviations. A search is a success where slopes are small.
    """
    start = np.append(np.zeros_like(sd), np.log(sd))
    units = np.append(sd, np.full_like(sd, np.sqrt(0.5)))
    highest = np.append(np.full_like(sd, np.inf), np.log(highest_sd))
    options = {"maxiter": max_iterations, "maxfun": 10 * max_iterations, "maxcor": _MEMORY}

    def search(loss: Any, _: FloatArray, *, jac: Any, **unused: Any) -> OptimizeResult:
        result = minimize(
            lambda steps: loss(start + units * steps),
            np.zeros_like(start),
            jac=lambda steps: jac(start + units * steps) * units,
            method="L-BFGS-B",
            bounds=Bounds(ub=(highest - start) / units),
            options=options | {"gtol": tolerance, "ftol": 0.0},
        )
        result.x = start + units * result.x
        small = float(np.abs(result.jac).max()) < _SMALL_SLOPE
        result.success = result.nit < max_iterations and small
        return result

    return search


def pearson_residuals(y: npt.ArrayLike, probability: npt.ArrayLike) -> FloatArray:
    """Residual over its standard deviation, ``(y - p) / sqrt(p (1 - p))``.

    Probabilities are kept at least 1e-12 away from 0 and 1, where the ratio would be 0/0 for a
    decision that agrees and infinite for one that does not.
    """
    kept = np.clip(
        np.asarray(probability, dtype=np.float64), _PROBABILITY_FLOOR, 1.0 - _PROBABILITY_FLOOR
    )
    return np.asarray((np.asarray(y, dtype=np.float64) - kept) / np.sqrt(kept * (1.0 - kept)))
