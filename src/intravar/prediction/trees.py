"""Boosted trees on binned columns: what all physicians have in common, whatever its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from intravar.arrays import FloatArray
from intravar.prediction.trees_kernel import MISSING_BIN, boost

Bins = npt.NDArray[np.uint8]

MOST_BINS = 62
DEPTH = 4
RATE = 0.15
RIDGE = 5.0
LEAST_INFORMATION = 5.0
#: One tree per so many rows, within limits: few patients do not bear many trees.
ROWS_PER_TREE, FEWEST, MOST = 25, 12, 90
LARGEST_START = 3.0


@dataclass(frozen=True, eq=False)
class TreeRates:
    """P(yes) of every row where the rule says no, and where it says yes."""

    low: FloatArray
    high: FloatArray

    @classmethod
    def logistic(cls, n_rows: int) -> TreeRates:
        """Return rates of 0 and 1."""
        return cls(np.zeros(n_rows), np.ones(n_rows))

    def take(self, rows: npt.NDArray[Any]) -> TreeRates:
        """Return those of some rows."""
        return TreeRates(self.low[rows], self.high[rows])


def bin_edges(table: FloatArray) -> list[FloatArray]:
    """Return where every column is cut into bins of about equal counts.

    Examples
    --------
    >>> [edges.tolist() for edges in bin_edges(np.array([[1.0], [3.0], [np.nan], [1.0]]))]
    [[1.0, 3.0]]
    """
    found = []
    for values in table.T:
        known = values[~np.isnan(values)]
        edges = np.unique(known)
        if len(edges) > MOST_BINS:
            levels = np.arange(1, MOST_BINS) / MOST_BINS
            edges = np.unique(np.quantile(known, levels, method="lower"))
        found.append(edges)
    return found


def binned(table: FloatArray, edges: list[FloatArray]) -> Bins:
    """Return the bin of every value; missing values have one of their own."""
    bins = np.full(table.shape, MISSING_BIN, dtype=np.uint8)
    for column, cuts in enumerate(edges):
        known = ~np.isnan(table[:, column])
        bins[known, column] = np.searchsorted(cuts, table[known, column], side="left")
    return bins


def boosted(
    bins: Bins, y: npt.NDArray[Any], asked: Bins, rates: TreeRates | None = None
) -> FloatArray:
    """Return F of the rows asked about, boosted on other rows.

    Parameters
    ----------
    bins, y
        Binned columns and outcome of the rows to learn from; the outcome may be a share.
    asked
        Binned columns of the rows to score.
    rates
        TreeRates of the rows to learn from; by default those of a logistic model.
    """
    n = len(bins)
    if n == 0:
        return np.zeros(len(asked))
    share = (float(np.sum(y)) + 0.5) / (n + 1)
    start = float(np.clip(logit(share), -LARGEST_START, LARGEST_START))
    if rates is not None:
        start = 0.0
    known = rates or TreeRates.logistic(n)
    trees = int(np.clip(n // ROWS_PER_TREE, FEWEST, MOST))
    if bins.shape[1] == 0:
        return np.full(len(asked), start)
    found: FloatArray = boost(
        bins, y.astype(np.float64), known.low, known.high, asked,
        start, trees, DEPTH, RATE, RIDGE, LEAST_INFORMATION,
    )  # fmt: skip
    return found
