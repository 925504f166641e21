"""Scales on which a score's error does not depend on its size.

Shrinkage weighs physicians by their standard errors. A small share has a small standard error, so
that on the plain scale low scores would pull the mean down and be shrunk too little. On the arcsine
scale the error of a share depends on its count alone; on the log scale the error of a mean square
is close to that.

References
----------
Anscombe, The transformation of Poisson, binomial and negative-binomial data, Biometrika
1948;35:246-254.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray
from intravar.errors import unknown_name

#: A discordance is a share, an overdispersion a mean square; "plain" leaves numbers as they are.
Scale = Literal["discordance", "overdispersion", "plain"]
SCALES: tuple[Scale, ...] = ("discordance", "overdispersion", "plain")

#: Bisection of the logarithm of a count between 1e-6 and 1e18, to the last bit.
_LOG_COUNTS = (-6.0, 18.0)
_HALVINGS = 64


def to_scale(
    score: npt.ArrayLike, standard_error: npt.ArrayLike, scale: Scale
) -> tuple[FloatArray, FloatArray]:
    """Return score and standard error on the scale that suits them.

    Parameters
    ----------
    score, standard_error
        One entry per physician, the errors not negative.
    scale
        "discordance" takes the arcsine of the root, at the count to which the standard error
        belongs; "overdispersion" the logarithm; "plain" nothing.

    Examples
    --------
    >>> to_scale([0.5], [0.05], "plain")
    (array([0.5]), array([0.05]))
    >>> value, error = to_scale([0.0, 0.5], [0.0137, 0.0694], "discordance")
    >>> error.round(3).tolist()
    [0.07, 0.07]
    """
    s = np.asarray(score, dtype=np.float64)
    error = np.asarray(standard_error, dtype=np.float64)
    if scale == "plain":
        return s, error
    if scale == "overdispersion":
        return np.log(s), error / s
    if scale == "discordance":
        n = effective_count(s, error)
        with np.errstate(invalid="ignore"):
            centre = np.where(np.isinf(n), s, (s * n + 0.375) / (n + 0.75))
        return np.arcsin(np.sqrt(centre)), 1 / np.sqrt(4 * n + 2)
    raise unknown_name("scale", scale, SCALES, remedy=f"one of {', '.join(SCALES)}")


def from_scale(value: npt.ArrayLike, scale: Scale) -> FloatArray:
    """Return a number of the scale as a score again.

    Examples
    --------
    >>> from_scale([-0.1, np.pi / 4], "discordance").round(3).tolist()
    [0.0, 0.5]
    """
    found = np.asarray(value, dtype=np.float64)
    if scale == "overdispersion":
        return np.asarray(np.exp(found))
    if scale == "discordance":
        return np.asarray(np.sin(np.clip(found, 0.0, np.pi / 2)) ** 2)
    return found


def effective_count(share: npt.ArrayLike, standard_error: npt.ArrayLike) -> FloatArray:
    """Return the count n at which Jeffreys' posterior of this share has this standard deviation.

    Examples
    --------
    >>> from intravar.inference.intervals import share_interval
    >>> error = share_interval([0, 12], [50, 40]).standard_error
    >>> effective_count([0, 0.3], error).round(6).tolist()
    [50.0, 40.0]
    """
    s, error = np.broadcast_arrays(
        np.asarray(share, dtype=np.float64), np.asarray(standard_error, dtype=np.float64)
    )
    low, high = (np.full(s.shape, end) for end in _LOG_COUNTS)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        n = 10.0**middle
        mean = (s * n + 0.5) / (n + 1)
        too_few = mean * (1 - mean) / (n + 2) > error**2
        low, high = np.where(too_few, middle, low), np.where(too_few, high, middle)
    count = np.where(error > 0, 10.0**low, np.inf)
    return np.asarray(np.where(np.isnan(s) | np.isnan(error), np.nan, count))
