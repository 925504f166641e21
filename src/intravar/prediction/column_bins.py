"""Columns that rules are written in: covariates on one scale, marks of missing values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray, IntArray

#: Covariates are cut at these shares of their distribution: one slip of the pen sets no scale.
EDGES = (0.005, 0.995)
#: A personal rule weighs at most so many columns.
MOST_COLUMNS = 30
#: A covariate that is missing in a smaller share of the rows gets no mark for it.
LEAST_MISSING = 0.01


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
    columns, owner = [], []
    for number, values in enumerate(covariates.T):
        missing = np.isnan(values)
        candidates = [_cut(values, missing)] if not missing.all() else []
        if LEAST_MISSING <= missing.mean() < 1:
            candidates.append(missing.astype(np.float64))
        for column in candidates:
            spread = column.std()
            if spread > 0 and np.ptp(column) > 0:
                columns.append((column - column.mean()) / spread)
                owner.append(number)
    table = np.column_stack(columns) if columns else np.empty((len(covariates), 0))
    return np.ascontiguousarray(table), np.array(owner, dtype=np.int64)


def _cut(values: FloatArray, missing: npt.NDArray[np.bool_]) -> FloatArray:
    known = values[~missing]
    low, high = np.quantile(known, EDGES)
    if low < high:
        values = np.clip(values, low, high)
        known = values[~missing]
    # Divided before it is squared: large numbers have large squares.
    scale = np.abs(known).max() or 1.0
    return np.where(missing, known.mean() / scale, values / scale)


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
