"""Percentile bootstrap intervals, as the paper has them: 2,000 resamples, seed 42."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray

#: From resampled values, one resample per row, to one statistic per row.
Statistic = Callable[[FloatArray], FloatArray]

RESAMPLES = 2_000
SEED = 42


class BootstrapInterval(NamedTuple):
    """A point estimate with a 95 % interval; NaN where there was nothing to estimate from."""

    value: float
    low: float
    high: float


def row_mean(values: FloatArray) -> FloatArray:
    """Return the mean of every row."""
    return np.asarray(values.mean(axis=1))


def row_mean_absolute(values: FloatArray) -> FloatArray:
    """Return the mean absolute value of every row."""
    return np.asarray(np.abs(values).mean(axis=1))


def row_median(values: FloatArray) -> FloatArray:
    """Return the median of every row."""
    return np.asarray(np.median(values, axis=1))


def row_percent_positive(values: FloatArray) -> FloatArray:
    """Return in per cent how many values of every row are above zero."""
    return np.asarray(100 * (values > 0).mean(axis=1))


def percentile_interval(
    values: npt.ArrayLike, statistic: Statistic = row_mean
) -> BootstrapInterval:
    """Return a statistic of the values with its 95 % percentile bootstrap interval.

    Undefined values (NaN) are left out.

    Examples
    --------
    >>> percentile_interval([0.1, 0.2, 0.3, 0.4]).value
    0.25
    """
    found = np.asarray(values, dtype=np.float64)
    found = found[np.isfinite(found)]
    if found.size == 0:
        return BootstrapInterval(np.nan, np.nan, np.nan)
    rows = np.random.default_rng(SEED).integers(found.size, size=(RESAMPLES, found.size))
    low, high = np.percentile(statistic(found[rows]), (2.5, 97.5))
    return BootstrapInterval(float(statistic(found[None, :])[0]), float(low), float(high))
