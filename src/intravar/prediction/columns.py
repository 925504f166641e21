"""Columns that rules are written in: covariates on one scale, marks of missing values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from intravar.arrays import FloatArray, IntArray

#: Covariates are cut at these shares of their distribution: one slip of the pen sets no scale.
EDGES = (0.005, 0.995)
#: A personal rule weighs at most so many columns.
MOST_COLUMNS = 30
#: A covariate that is missing in a smaller share of the rows gets no mark for it.
LEAST_MISSING = 0.01


class ColumnScale(NamedTuple):
    """How a column of a rule comes from a covariate.

    Attributes
    ----------
    covariate
        Number of the covariate.
    marks
        Whether the column marks missing values.
    low, high
        Where values are cut.
    scale, filled
        By what values are divided, and what a missing one is then.
    mean, spread
        Of the column before it is centred and scaled.
    """

    covariate: int
    marks: bool
    low: float = 0.0
    high: float = 0.0
    scale: float = 1.0
    filled: float = 0.0
    mean: float = 0.0
    spread: float = 1.0

    def rough(self, values: FloatArray) -> FloatArray:
        """Return the column before it is centred and scaled."""
        missing = np.isnan(values)
        if self.marks:
            return missing.astype(np.float64)
        return np.where(missing, self.filled, np.clip(values, self.low, self.high) / self.scale)

    def column(self, values: FloatArray) -> FloatArray:
        """Return the column."""
        return np.asarray((self.rough(values) - self.mean) / self.spread)


def column_scales(covariates: FloatArray) -> tuple[ColumnScale, ...]:
    """Learn the columns of a rule; see :func:`standard_columns`."""
    found = []
    for number, values in enumerate(covariates.T):
        missing = np.isnan(values)
        candidates = [_cut(number, values[~missing])] if not missing.all() else []
        if LEAST_MISSING <= missing.mean() < 1:
            candidates.append(ColumnScale(number, True))
        for each in candidates:
            column = each.rough(values)
            spread = column.std()
            if spread > 0 and np.ptp(column) > 0:
                found.append(each._replace(mean=float(column.mean()), spread=float(spread)))
    return tuple(found)


def scaled_columns(
    covariates: FloatArray, scales: Sequence[ColumnScale]
) -> tuple[FloatArray, IntArray]:
    """Return the columns of a rule by scales that were learned before; others may have them."""
    columns = [each.column(covariates[:, each.covariate]) for each in scales]
    table = np.column_stack(columns) if columns else np.empty((len(covariates), 0))
    owner = np.array([each.covariate for each in scales], dtype=np.int64)
    return np.ascontiguousarray(table), owner


def standard_columns(covariates: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the columns of a rule, and the covariate that each belongs to.

    Covariates are cut at their outer half per cents, centred and scaled; missing values are 0, the
    mean, with a column that marks them. Constant columns are left out.

    Examples
    --------
    >>> columns, owner = standard_columns(np.array([[1.0, 5.0], [2.0, 5.0], [np.nan, 5.0]]))
    >>> columns.round(2).tolist(), owner.tolist()
    ([[-1.22, -0.71], [1.22, -0.71], [0.0, 1.41]], [0, 0])
    """
    return scaled_columns(covariates, column_scales(covariates))


def _cut(number: int, known: FloatArray) -> ColumnScale:
    low, high = np.quantile(known, EDGES)
    if not low < high:
        low, high = known.min(), known.max()
    known = np.clip(known, low, high)
    # Divided before it is squared: large numbers have large squares.
    scale = np.abs(known).max() or 1.0
    return ColumnScale(
        number, False, float(low), float(high), float(scale), float(known.mean() / scale)
    )


def telling_columns(
    Z: FloatArray, y: IntArray, code: IntArray, rows: IntArray, n_physicians: int
) -> IntArray:
    """Return the columns that go with decisions most, within physicians, in rising order.

    Sum over physicians of the squared score of a personal weight: large where all weigh a column
    and where some do.
    """
    if Z.shape[1] <= MOST_COLUMNS:
        return np.arange(Z.shape[1])
    who = code[rows]
    size = np.maximum(np.bincount(who, minlength=n_physicians), 1)
    mean = np.bincount(who, y[rows], minlength=n_physicians) / size
    residual = y[rows] - mean[who]
    said = np.array(
        [
            np.sum(np.bincount(who, residual * Z[rows, c], minlength=n_physicians) ** 2 / size)
            for c in range(Z.shape[1])
        ]
    )
    return np.sort(np.argsort(-said, kind="stable")[:MOST_COLUMNS])
