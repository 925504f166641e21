"""Boosted trees on binned columns: what all physicians have in common, whatever its shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from intravar.arrays import FloatArray
from intravar.prediction.trees_kernel import MISSING_BIN, boost, score_rows

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


@dataclass(frozen=True, eq=False)
class Trees:
    """Trees that were grown: F is the start and what each of them adds.

    Attributes
    ----------
    start
        F before the first tree.
    columns, cuts, missing
        By tree and node, the root first and then level by level: the column that is looked at, the
        last bin that goes to the left, and whether missing values do.
    values
        By tree and leaf.
    """

    start: float
    columns: npt.NDArray[np.uint16]
    cuts: npt.NDArray[np.uint8]
    missing: npt.NDArray[np.bool_]
    values: FloatArray

    @classmethod
    def none(cls, start: float) -> Trees:
        """Return no trees: F is the same everywhere."""
        nodes = (0, 2**DEPTH - 1)
        return cls(
            start,
            np.zeros(nodes, np.uint16),
            np.zeros(nodes, np.uint8),
            np.zeros(nodes, np.bool_),
            np.zeros((0, 2**DEPTH)),
        )

    def scores(self, bins: Bins) -> FloatArray:
        """Return F of some rows; that of a row does not depend on the others."""
        if not len(self.values):
            return np.full(len(bins), self.start)
        found: FloatArray = score_rows(
            bins, self.start, self.columns, self.cuts, self.missing, self.values
        )
        return found


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


def grown(bins: Bins, y: npt.NDArray[Any], rates: TreeRates | None = None) -> Trees:
    """Boost F on some rows.

    Parameters
    ----------
    bins, y
        Binned columns and outcome of the rows to learn from; the outcome may be a share.
    rates
        TreeRates of the rows to learn from; by default those of a logistic model.
    """
    n = len(bins)
    if n == 0:
        return Trees.none(0.0)
    share = (float(np.sum(y)) + 0.5) / (n + 1)
    start = float(np.clip(logit(share), -LARGEST_START, LARGEST_START))
    if rates is not None:
        start = 0.0
    known = rates or TreeRates.logistic(n)
    trees = int(np.clip(n // ROWS_PER_TREE, FEWEST, MOST))
    if bins.shape[1] == 0:
        return Trees.none(start)
    return Trees(
        start,
        *boost(
            bins, y.astype(np.float64), known.low, known.high,
            start, trees, DEPTH, RATE, RIDGE, LEAST_INFORMATION,
        ),
    )  # fmt: skip


def boosted(
    bins: Bins, y: npt.NDArray[Any], asked: Bins, rates: TreeRates | None = None
) -> FloatArray:
    """Return F of the rows asked about, boosted on other rows; see :func:`grown`."""
    return grown(bins, y, rates).scores(asked)
