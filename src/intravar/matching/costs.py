"""Where the costs of an assignment come from, and how ties between equally good ones are settled.

Costs are whole numbers: distances rounded to a grid of 2**-46 of the panel's spread. On whole
numbers below 2**53 every sum a solver forms in double precision is exact, so "optimal" and "tied"
have one meaning for all solvers. The rounding moves the total by less than a double-precision sum
over the panel would.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from scipy.spatial import KDTree

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.matching.distances import (
    BLOCK_ENTRIES,
    PanelDistances,
    PointDistances,
    blocks_of_others,
    row_blocks,
)

GRID_BITS = 46
# Sums over thousands of these numbers are still exact in double precision: 2**40 * 2**13 = 2**53.
TIE_BITS = 40


class Edges(NamedTuple):
    """Pairs of patients (``first < second``) and their whole-number costs."""

    first: IntArray
    second: IntArray
    cost: IntArray

    def take(self, chosen: BoolArray | IntArray) -> "Edges":
        """Select some pairs."""
        return Edges(*(each[chosen] for each in self))


class CostSource(Protocol):
    """What the assignment needs to know about a panel."""

    n: int

    def cost(self, first: IntArray, second: IntArray) -> IntArray:
        """Return the costs of the given pairs."""

    def neighbours(self, k: int) -> tuple[IntArray, IntArray]:
        """Return pairs that join each patient to about ``k`` of its nearest others."""

    def at_most(self, doubled_limits: IntArray, rows: IntArray | None) -> Iterator[Edges]:
        """Yield, block by block, all pairs with ``2 cost <= limit[first] + limit[second]``.

        With ``rows`` only pairs that involve one of these patients; a pair may come twice.
        """


def grid_unit(distances_from_first: FloatArray) -> float:
    """Return the power of two to which a panel's distances are rounded.

    In a metric space no two patients lie farther apart than twice the largest distance from the
    first one, so one row fixes the grid, and the matrix and the points of a panel arrive at the
    same one.
    """
    reach = 2.0 * float(distances_from_first.max(initial=0.0))
    if reach == 0.0:
        return 1.0
    _, exponent = np.frexp(reach)
    return float(np.ldexp(1.0, int(exponent) - GRID_BITS))


def _tiles(n: int, rows: IntArray | None) -> Iterator[tuple[IntArray, int]]:
    """Yield rows and the first column beside them: of all pairs one side, of chosen rows both."""
    if rows is None:
        yield from ((np.arange(start, stop), start) for start, stop in row_blocks(n))
        return
    height = max(1, BLOCK_ENTRIES // n)
    for start in range(0, len(rows), height):
        yield rows[start : start + height], 0


class BlockCosts:
    """Costs from the distances of a panel, a block at a time."""

    def __init__(self, distances: PanelDistances) -> None:
        self.n = distances.n
        self._distances = distances
        self._unit = grid_unit(distances.block(np.arange(1), 0)[0])

    def cost(self, first: IntArray, second: IntArray) -> IntArray:
        """Return the costs of the given pairs."""
        return np.rint(self._distances.pairs(first, second) / self._unit).astype(np.int64)

    def neighbours(self, k: int) -> tuple[IntArray, IntArray]:
        """Return each patient with its ``k`` nearest others."""
        # Copies: views would keep whole blocks, and all blocks are the matrix.
        nearest = [
            np.argpartition(block, k - 1, axis=1)[:, :k].copy()
            for _, block in blocks_of_others(self._distances)
        ]
        second = np.concatenate(nearest).astype(np.int64)
        return np.repeat(np.arange(self.n), k), second.ravel()

    def at_most(self, doubled_limits: IntArray, rows: IntArray | None) -> Iterator[Edges]:
        """Yield all pairs with ``2 cost <= limit[first] + limit[second]``."""
        limits = doubled_limits * (self._unit / 2.0)
        padded = limits + self._unit
        for chosen, first_column in _tiles(self.n, rows):
            block = self._distances.block(chosen, first_column)
            row, column = np.nonzero(block <= padded[chosen, None] + limits[None, first_column:])
            row, column = chosen[row], column + first_column
            apart = row != column
            first, second = np.minimum(row, column)[apart], np.maximum(row, column)[apart]
            cost = self.cost(first, second)
            within = 2 * cost <= doubled_limits[first] + doubled_limits[second]
            yield Edges(first, second, cost).take(within)


class PointCosts(BlockCosts):
    """Costs from points in a Euclidean space: a tree finds the nearest."""

    def __init__(self, distances: PointDistances) -> None:
        super().__init__(distances)
        self._points = np.ascontiguousarray(distances.points)

    def neighbours(self, k: int) -> tuple[IntArray, IntArray]:
        """Return each patient with its ``k`` nearest others."""
        # Sliding midpoints: medians would degrade when many patients share one point.
        tree = KDTree(self._points, balanced_tree=False, compact_nodes=False)
        _, nearest = tree.query(self._points, k=k + 1)
        # Among duplicates a patient need not come first in its own list, so it is removed by name.
        first = np.repeat(np.arange(self.n), k + 1)
        second = np.asarray(nearest, dtype=np.int64).ravel()
        other = first != second
        # Chained in sorted order, all patients at one point can be assigned among themselves.
        chain = np.lexsort(self._points.T)
        return (
            np.concatenate([first[other], chain[:-1], chain[:-2]]),
            np.concatenate([second[other], chain[1:], chain[2:]]),
        )


def tie_breaker(first: IntArray, second: IntArray) -> IntArray:
    """Return a whole number in [1, 2**40] for each pair, the same for (a, b) and (b, a).

    The finaliser of SplitMix64 scatters the bits of the pair's two positions in the panel.

    Examples
    --------
    >>> bool(tie_breaker(np.array([3]), np.array([8])) == tie_breaker(np.array([8]), np.array([3])))
    True
    """
    low = np.minimum(first, second).astype(np.uint64)
    high = np.maximum(first, second).astype(np.uint64)
    mixed = (low << np.uint64(32)) + high + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return (mixed >> np.uint64(64 - TIE_BITS)).astype(np.int64) + 1


class TiedPairs:
    """The pairs that some optimal assignment may use, with `tie_breaker` for their cost."""

    def __init__(self, n: int, first: IntArray, second: IntArray) -> None:
        self.n = n
        self._first = first
        self._second = second

    def cost(self, first: IntArray, second: IntArray) -> IntArray:
        """Return the tie-breaking numbers of the given pairs."""
        return tie_breaker(first, second)

    def neighbours(self, k: int) -> tuple[IntArray, IntArray]:
        """Return about ``k`` pairs per patient, those with the least numbers."""
        # The numbers are uniform, so a share of their range is a share of the pairs.
        degree = np.bincount(self._first, minlength=self.n) + np.bincount(
            self._second, minlength=self.n
        )
        fewest = np.minimum(degree[self._first], degree[self._second])
        few = tie_breaker(self._first, self._second) * (fewest / k) <= 2.0**TIE_BITS
        return self._first[few], self._second[few]

    def at_most(self, doubled_limits: IntArray, rows: IntArray | None) -> Iterator[Edges]:
        """Yield the pairs with ``2 cost <= limit[first] + limit[second]``."""
        chosen = np.ones(self.n, dtype=np.bool_)
        if rows is not None:
            chosen[:] = False
            chosen[rows] = True
        for start in range(0, len(self._first), BLOCK_ENTRIES):
            first = self._first[start : start + BLOCK_ENTRIES]
            second = self._second[start : start + BLOCK_ENTRIES]
            cost = tie_breaker(first, second)
            within = 2 * cost <= doubled_limits[first] + doubled_limits[second]
            within &= chosen[first] | chosen[second]
            yield Edges(first, second, cost).take(within)
