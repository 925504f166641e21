"""Columns cut into bins of about equal counts, as trees look at them, and which are looked at.

A tree, a forest or a spline looks at every column again and again. With hundreds of them, most of
which tell nothing, nearly all the time goes into those. One pass over all columns says how well the
best cut of each parts what is to be explained; the best of them are then looked at closely. Tables
with no more columns than that are learned from as they are.

Columns are chosen from the very rows that a model is grown on, never from others: whatever is held
out from the model is held out from the choice. A column that tells nothing on its own, and much
together with another, is not found this way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from intravar.arrays import FloatArray, IntArray

Bins = npt.NDArray[np.uint8]

#: Bins of a column, and the number of the bin of missing values: for a common score.
MOST_BINS, MISSING_BIN = 62, 63

#: Columns that a model looks at closely.
MOST_SEEN = 64
#: Boosting looks at all columns anew after so many trees: what is left to explain has changed.
LOOK_AGAIN = 15
#: Bins of columns that were not binned for trees, their last number that of missing values.
COARSE, COARSE_MISSING = 16, 16
_RIDGE = 5.0


def bin_edges(table: FloatArray, most: int = MOST_BINS) -> list[FloatArray]:
    """Return where every column is cut into at most so many bins of about equal counts.

    Examples
    --------
    >>> [edges.tolist() for edges in bin_edges(np.array([[1.0], [3.0], [np.nan], [1.0]]))]
    [[1.0, 3.0]]
    """
    found = []
    for values in table.T:
        known = values[~np.isnan(values)]
        edges = np.unique(known)
        if len(edges) > most:
            edges = np.unique(np.quantile(known, np.arange(1, most) / most, method="lower"))
        found.append(edges)
    return found


def binned(table: FloatArray, edges: list[FloatArray], missing: int = MISSING_BIN) -> Bins:
    """Return the bin of every value; missing values have the number `missing`.

    Examples
    --------
    >>> binned(np.array([[1.0], [2.0], [np.nan]]), [np.array([1.0, 3.0])]).ravel().tolist()
    [0, 1, 63]
    """
    bins = np.full(table.shape, missing, dtype=np.uint8)
    for column, cuts in enumerate(edges):
        known = ~np.isnan(table[:, column])
        bins[known, column] = np.searchsorted(cuts, table[known, column], side="left")
    return bins


@njit(cache=True, nogil=True)
def column_gains(  # type: ignore[no-untyped-def]
    bins, rows, gradient, curvature, missing, ridge, least
):
    """Return by how much the best cut of every column betters a Newton step, in one pass.

    `missing` is the number of the bin of missing values; all others are smaller.
    """
    p = bins.shape[1]
    sums = np.zeros((p, missing + 1, 2))
    for t in range(rows.size):
        i = rows[t]
        for c in range(p):
            b = bins[i, c]
            sums[c, b, 0] += gradient[i]
            sums[c, b, 1] += curvature[i]
    gains = np.zeros(p)
    for c in range(p):
        total_g, total_h = 0.0, 0.0
        for b in range(missing + 1):
            total_g += sums[c, b, 0]
            total_h += sums[c, b, 1]
        parent = total_g * total_g / (total_h + ridge)
        for side in range(2):
            if side == 1 and sums[c, missing, 0] == 0 and sums[c, missing, 1] == 0:
                break
            g = sums[c, missing, 0] if side == 1 else 0.0
            h = sums[c, missing, 1] if side == 1 else 0.0
            for b in range(missing):
                g += sums[c, b, 0]
                h += sums[c, b, 1]
                if h < least or total_h - h < least:
                    continue
                rest = total_g - g
                gain = g * g / (h + ridge) + rest * rest / (total_h - h + ridge) - parent
                gains[c] = max(gains[c], gain)
    return gains


def coarse_bins(table: FloatArray) -> Bins:
    """Return the bin of every value in few bins; missing values have one of their own.

    Examples
    --------
    >>> coarse_bins(np.array([[1.0], [3.0], [np.nan], [1.0]])).ravel().tolist()
    [0, 1, 16, 0]
    """
    return binned(table, bin_edges(table, COARSE), COARSE_MISSING)


def telling(
    bins: Bins,
    y: npt.NDArray[Any],
    rows: IntArray,
    most: int = MOST_SEEN,
    who: IntArray | None = None,
) -> IntArray:
    """Return the columns that part decisions on `rows` best, in rising order, at most so many.

    `bins` are those of :func:`coarse_bins`. Given `who` decided, a decision counts by how it
    departs from the physician's share.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> table = random.normal(size=(500, 40))
    >>> y = (np.abs(table[:, 7]) > 1).astype(int)
    >>> telling(coarse_bins(table), y, np.arange(500), most=1).tolist()
    [7]
    """
    if bins.shape[1] <= most:
        return np.arange(bins.shape[1])
    given = y.astype(np.float64)
    group = np.zeros(len(rows), dtype=np.int64) if who is None else who[rows]
    size = np.bincount(group)
    share = (np.bincount(group, given[rows]) / np.maximum(size, 1))[group]
    gradient, curvature = np.zeros(len(given)), np.zeros(len(given))
    gradient[rows] = given[rows] - share
    curvature[rows] = share * (1 - share)
    gains = column_gains(bins, rows, gradient, curvature, COARSE_MISSING, _RIDGE, _RIDGE)
    # Of equal gains the first.
    return np.sort(np.argsort(-gains, kind="stable")[:most])
