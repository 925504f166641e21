"""Empirical-Bayes shrinkage: each physician's score drawn towards the mean of all.

The score of physician i is y_i = theta_i + error, the error normal with known variance s_i^2, and
theta_i is normal around mu with variance tau^2. Given mu and tau^2, theta_i has the posterior mean
mu + (1 - B_i)(y_i - mu) with B_i = s_i^2 / (s_i^2 + tau^2), and the posterior variance
(1 - B_i) s_i^2. Both mu and tau^2 are estimated from all physicians. Were tau^2 taken for known,
intervals would collapse on the mean whenever it is estimated as zero, so that intervals weigh all
values of tau by their restricted likelihood.

References
----------
Morris, Parametric empirical Bayes inference, J Am Stat Assoc 1983;78:47-55.
Gelman et al., Bayesian data analysis, 3rd ed., 2013, section 5.4 (a flat prior of tau).
DerSimonian and Laird, Meta-analysis in clinical trials, Control Clin Trials 1986;7:177-188.
Paule and Mandel, Consensus values and weighting factors, J Res Natl Bur Stand 1982;87:377-385.
Viechtbauer, Bias and efficiency of meta-analytic variance estimators, J Educ Behav Stat
2005;30:261-293 (REML).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import norm

from intravar.arrays import FloatArray
from intravar.errors import InputError, unknown_name
from intravar.inference.intervals import LEVEL, checked_level

Method = Literal["paule-mandel", "reml", "dersimonian-laird"]
METHODS: tuple[Method, ...] = ("paule-mandel", "reml", "dersimonian-laird")

#: A standard error below this share of the largest number is taken as this: weights stay finite.
_SMALLEST_ERROR = 1e-9
#: Values of tau that intervals average over, and how far they reach in standard deviations.
_GRID = 200
_REACH = 5.0


@dataclass(frozen=True)
class Shrunken:
    """Scores drawn towards their mean.

    Attributes
    ----------
    value, low, high
        Per physician.
    standard_error
        Per physician; what `low` and `high` come from.
    spread
        Per physician: posterior standard deviation for known mean and between variance. It is
        what ranks need, because an error of the mean moves all physicians together.
    mean, between_variance
        mu and tau^2; the variance is NaN with fewer than two physicians.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    standard_error: FloatArray
    spread: FloatArray
    mean: float
    between_variance: float


def shrink(
    estimate: npt.ArrayLike,
    standard_error: npt.ArrayLike,
    *,
    level: float = LEVEL,
    method: Method = "paule-mandel",
) -> Shrunken:
    """Shrink scores with known standard errors towards their mean.

    The value is that of the estimated tau^2. Its mean squared error is, for a given tau,
    (1 - B) s^2 + B^2 Var(mu) plus the squared distance to the value of that tau; it is averaged
    over tau with a flat prior and the restricted likelihood.

    Parameters
    ----------
    estimate, standard_error
        One finite entry per physician; errors not negative.
    level
        Nominal coverage of the intervals.
    method
        How the between variance is estimated; see :func:`between_variance`.

    Examples
    --------
    >>> shrunken = shrink([0.1, 0.2, 0.6, 0.7], [0.1, 0.1, 0.1, 0.3])
    >>> shrunken.value.round(3).tolist()
    [0.137, 0.223, 0.564, 0.489]
    """
    y, s = _checked(estimate, standard_error)
    z = float(norm.ppf((1 + checked_level(level)) / 2))
    if len(y) < 2:
        # Nobody to borrow from: the score stays what it is.
        mean = float(y[0]) if len(y) else float("nan")
        return Shrunken(y, y - z * s, y + z * s, s, s, mean, float("nan"))
    tau2 = between_variance(y, s, method=method)
    mean, _ = _weighted_mean(y, _floored(y, s) ** 2 + tau2)
    # Without noise there is nothing to shrink.
    kept = np.divide(tau2, tau2 + s**2, out=np.ones_like(s), where=s > 0)
    spread = np.sqrt(kept) * s
    value = mean + kept * (y - mean)
    error = _standard_error(y, s, value)
    return Shrunken(value, value - z * error, value + z * error, error, spread, mean, tau2)


def between_variance(
    estimate: npt.ArrayLike, standard_error: npt.ArrayLike, *, method: Method = "paule-mandel"
) -> float:
    """Return the variance tau^2 of the physicians' true scores, at least 0.

    Parameters
    ----------
    estimate, standard_error
        One finite entry per physician.
    method
        "paule-mandel" solves sum w_i (y_i - mu)^2 = J - 1 with w_i = 1 / (s_i^2 + tau^2): no
        normality is assumed, the root is unique and errors of zero are no obstacle. "reml"
        maximises the restricted likelihood. "dersimonian-laird" is the closed formula.

    Returns
    -------
    float
        NaN with fewer than two physicians.

    Examples
    --------
    >>> round(between_variance([0.1, 0.2, 0.6, 0.7], [0.1, 0.1, 0.1, 0.3]), 4)
    0.0579
    """
    y, s = _checked(estimate, standard_error)
    if len(y) < 2:
        return float("nan")
    variance = _floored(y, s) ** 2
    if method == "paule-mandel":
        return between_at(len(y) - 1, y, variance)
    if method == "reml":
        return _root_of_decreasing(lambda tau2: _reml_slope(tau2, y, variance), y)
    if method == "dersimonian-laird":
        w = 1 / variance
        scale = np.sum(w) - np.sum(w**2) / np.sum(w)
        return float(max(0.0, (q_statistic(0.0, y, variance) - (len(y) - 1)) / scale))
    raise unknown_name("method", method, METHODS, remedy=f"one of {', '.join(METHODS)}")


def _standard_error(y: FloatArray, s: FloatArray, value: FloatArray) -> FloatArray:
    """Return the root mean squared error of the values, over all tau."""
    floored = _floored(y, s)
    largest = _REACH * float(np.hypot(np.std(y), np.median(floored)))
    squares, total, best = np.zeros_like(y), 0.0, -np.inf
    for tau2 in np.linspace(0.0, largest, _GRID) ** 2:
        variance = floored**2 + tau2
        mean, mean_variance = _weighted_mean(y, variance)
        fit = -0.5 * float(
            np.sum(np.log(variance) + (y - mean) ** 2 / variance) - np.log(mean_variance)
        )
        # Weights relative to the best tau so far, lest all of them vanish.
        if fit > best:
            shift = np.exp(best - fit)
            squares, total, best = squares * shift, total * shift, fit
        weight = float(np.exp(fit - best))
        kept = np.where(s > 0, tau2 / variance, 1.0)
        there = mean + kept * (y - mean)
        own = kept * s**2 + (1 - kept) ** 2 * mean_variance
        squares, total = squares + weight * (own + (there - value) ** 2), total + weight
    return np.asarray(np.sqrt(squares / total))


def _weighted_mean(y: FloatArray, variance: FloatArray) -> tuple[float, float]:
    """Return the inverse-variance mean and its variance."""
    w = 1 / variance
    return float(np.sum(w * y) / np.sum(w)), float(1 / np.sum(w))


def q_statistic(tau2: float, y: FloatArray, variance: FloatArray) -> float:
    """Return the sum of squared distances from the mean, each over its variance."""
    mean, _ = _weighted_mean(y, variance + tau2)
    return float(np.sum((y - mean) ** 2 / (variance + tau2)))


def between_at(wanted: float, y: FloatArray, variance: FloatArray) -> float:
    """Return the variance between physicians at which Q has the wanted value; 0 if none has."""
    return _root_of_decreasing(lambda tau2: q_statistic(tau2, y, variance) - wanted, y)


def _reml_slope(tau2: float, y: FloatArray, variance: FloatArray) -> float:
    """Return twice the derivative of the restricted log likelihood."""
    w = 1 / (variance + tau2)
    mean, _ = _weighted_mean(y, variance + tau2)
    likelihood = np.sum(w**2 * (y - mean) ** 2) - np.sum(w)
    return float(likelihood + np.sum(w**2) / np.sum(w))


def _root_of_decreasing(function: Callable[[float], float], y: FloatArray) -> float:
    """Return where a function that ends negative crosses zero; 0 if it starts there or below."""
    if function(0.0) <= 0:
        return 0.0
    high = float(np.var(y)) or 1.0
    while function(high) > 0:
        high *= 4
    return float(brentq(function, 0.0, high, xtol=1e-14 * high, rtol=1e-12, maxiter=500))


def _floored(y: FloatArray, s: FloatArray) -> FloatArray:
    largest = float(np.max(np.abs(np.concatenate([y, s])), initial=0.0)) or 1.0
    return np.maximum(s, _SMALLEST_ERROR * largest)


def _checked(
    estimate: npt.ArrayLike, standard_error: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    y = np.asarray(estimate, dtype=np.float64)
    s = np.asarray(standard_error, dtype=np.float64)
    if y.ndim != 1 or y.shape != s.shape:
        raise InputError(
            f"estimate has shape {y.shape} and standard_error {s.shape}; give one entry of each "
            "per physician"
        )
    bad = ~(np.isfinite(y) & np.isfinite(s) & (s >= 0))
    if bad.any():
        position = int(bad.argmax())
        raise InputError(
            f"physician {position} has estimate {y[position]} and standard error {s[position]}; "
            "leave undefined physicians out, as `assess` does"
        )
    return y, s
