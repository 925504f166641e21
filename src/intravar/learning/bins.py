"""Columns cut into bins of about equal counts, as trees look at them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray

Bins = npt.NDArray[np.uint8]

#: Bins of a column, and the number of the bin of missing values: for a common score.
MOST_BINS, MISSING_BIN = 62, 63


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
