"""Differences between periods or subgroups: within physicians, and of each of them.

Of every physician, class of patients and stratum (a period, a level) there is a mean loss. The
effect of a stratum on all is estimated within physicians, so that it does not matter who sees how
many; the change of one physician is a weighted sum of that physician's means. Classes are weighed
alike in all strata: whoever sees more patients of a class that is harder has not changed.

References
----------
Zou and Donner, Construction of confidence limits about effect measures: a general approach, Stat
Med 2008;27:1693-1702 (the interval of a weighted sum from the intervals of its parts).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import chi2, norm

from intravar.arrays import FloatArray, IntArray
from intravar.inference.intervals import Interval
from intravar.inference.shrinkage import shrink


class Effects(NamedTuple):
    """What strata have to do with it.

    Effects are told apart by their differences alone. They are NaN of strata that cannot be
    compared with the others within physicians.
    """

    value: FloatArray
    covariance: FloatArray

    def take(self, chosen: IntArray) -> Effects:
        """Return the effects of some strata."""
        return Effects(self.value[chosen], self.covariance[np.ix_(chosen, chosen)])

    @property
    def p_value(self) -> float:
        """That of the test that strata do not differ, NaN where some cannot be compared."""
        free = len(self.value) - 1
        if free < 1 or not np.isfinite(self.value).all():
            return float("nan")
        contrast = np.eye(free + 1)[1:] - np.eye(free + 1)[0]
        differ, spread = contrast @ self.value, contrast @ self.covariance @ contrast.T
        if np.linalg.matrix_rank(spread) < free:
            return 1.0 if np.allclose(differ, 0) else float("nan")
        return float(chi2.sf(differ @ np.linalg.solve(spread, differ), free))


def stratum_effects(
    n: FloatArray, mean: FloatArray, variance: FloatArray, share: FloatArray
) -> Effects:
    """Estimate the effects of strata within physicians and classes.

    `n` and `mean` are by class, physician and stratum, the mean of nobody is ignored; `variance`,
    of a single patient's value, is by class and stratum; `share` is what each class weighs.

    Examples
    --------
    >>> n = np.full((1, 3, 2), 50.0)
    >>> mean = np.array([[[0.1, 0.2], [0.3, 0.4], [0.2, 0.3]]])
    >>> effects = stratum_effects(n, mean, np.full((1, 2), 0.04), np.ones(1))
    >>> float(np.diff(effects.value)[0].round(6))
    0.1
    """
    n_strata = n.shape[2]
    value, covariance = np.zeros(n_strata), np.zeros((n_strata, n_strata))
    linked = np.ones((n_strata, n_strata), dtype=np.bool_)
    for weight, own, means, spread in zip(share, n, mean, variance, strict=True):
        if weight == 0:
            continue
        seen = own.sum(axis=1) > 0
        effect, its_covariance = _within(own[seen], np.where(own > 0, means, 0.0)[seen], spread)
        value += weight * effect
        covariance += weight**2 * its_covariance
        # Strata are linked by who has patients in both, and by strata in between.
        shared = (own > 0).astype(np.float64)
        linked &= np.linalg.matrix_power(shared.T @ shared > 0, n_strata)
    several = linked.sum(axis=1) > 1
    most = np.argmax(several * (linked @ n.sum(axis=(0, 1))))
    return Effects(np.where(linked[most] & several, value, np.nan), covariance)


def _within(n: FloatArray, mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return effects within physicians, and their covariance."""
    # Weighted least squares with an effect of every physician, which drops out.
    share = n / n.sum(axis=1, keepdims=True)
    laplacian = np.diag(n.sum(axis=0)) - share.T @ n
    right = (n * (mean - (share * mean).sum(axis=1, keepdims=True))).sum(axis=0)
    inverse = np.linalg.pinv(laplacian, rcond=1e-10, hermitian=True)
    # n (mean - own mean) is linear in the means, of variance variance / n each.
    noisy = n * variance
    middle = np.diag(noisy.sum(axis=0)) - share.T @ noisy - noisy.T @ share
    middle += (share * noisy.sum(axis=1, keepdims=True)).T @ share
    return inverse @ right, inverse @ middle @ inverse


def weighted_sum(weight: FloatArray, part: Interval, value: FloatArray) -> tuple[FloatArray, ...]:
    """Return sums of independent parts with their intervals, from the intervals of the parts.

    Weights are of any sign, a row for each sum; parts are in rows alike.

    Examples
    --------
    >>> ends = Interval(np.array([[0.1, 0.2]]), np.array([[0.3, 0.5]]), np.array([[0.05, 0.07]]))
    >>> total = weighted_sum(np.array([[-1.0, 1.0]]), ends, np.array([[0.2, 0.3]]))
    >>> [round(float(end[0]), 3) for end in total]
    [0.1, -0.041, 0.324]
    """
    total = (weight * value).sum(axis=1)
    below = np.where(weight > 0, value - part.low, part.high - value)
    above = np.where(weight > 0, part.high - value, value - part.low)
    reach = [np.sqrt(((weight * side) ** 2).sum(axis=1)) for side in (below, above)]
    return total, total - reach[0], total + reach[1]


def changes_together(
    change: FloatArray, error: FloatArray, matters: float
) -> dict[str, FloatArray]:
    """Say of every change how probable it is that it matters, given those of all others.

    Changes are NaN where there are none; `matters` is the smallest that does. Changes are shrunken
    towards the mean change of all: many were looked at, and the largest is partly luck. The
    probability is that of a change at least as large as the smallest that matters, in its
    direction.

    Examples
    --------
    >>> moved = changes_together(np.array([0.2, 0.0, 0.01, -0.01]), np.full(4, 0.02), 0.02)
    >>> (moved["probability"] > 0.95).tolist()
    [True, False, False, False]
    """
    value, probability = np.full((2, len(change)), np.nan)
    known = np.flatnonzero(np.isfinite(change) & np.isfinite(error))
    if len(known):
        shrunken = shrink(change[known], error[known])
        value[known] = shrunken.value
        beyond = (np.abs(shrunken.value) - matters) / np.maximum(shrunken.standard_error, 1e-9)
        probability[known] = norm.cdf(beyond)
    return {"shrunken": value, "probability": probability}
