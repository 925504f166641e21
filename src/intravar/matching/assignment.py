"""Exact minimum-cost assignment of a panel to itself, nobody to themselves.

Costs are whole numbers: distances rounded to a grid of 2**-46 of the panel's spread. On whole
numbers below 2**53 every sum a solver forms in double precision is exact, so "optimal" and "tied"
have one meaning for all solvers. The rounding moves the total by less than a double-precision sum
over the panel would.

Nearly all edges of an optimal assignment join near neighbours, so the problem is solved on short
neighbour lists first. The dual prices of that small problem then either prove that no other edge
could improve the result, or name the edges that could; those join the lists and the small problem
is solved again. The answer is the optimum over all pairs although an n x n matrix is never needed.

Ties are settled by a second assignment: among all optimal assignments, the one with the least
total of a hash of (a, b) is taken. The result therefore does not depend on the solver or on the
neighbour lists.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numba import njit

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.matching.distances import PanelDistances

DEFAULT_NEIGHBOURS = 10
SMALL_PANEL = 128
# Pairs within about 1/16 of a typical distance of improving the result join the lists early; it
# saves rounds.
MARGIN_DIVISOR = 8
# At most this many pairs per patient join the lists in one round.
GROWTH = 8
GRID_BITS = 46
# Sums over thousands of these numbers are still exact in double precision: 2**40 * 2**13 = 2**53.
TIE_BITS = 40


class Edges(NamedTuple):
    """Pairs of patients and their whole-number costs."""

    first: IntArray
    second: IntArray
    cost: IntArray

    def take(self, chosen: BoolArray | IntArray) -> Edges:
        """Select some pairs."""
        return Edges(*(each[chosen] for each in self))


def solve(distances: PanelDistances, neighbours: int = DEFAULT_NEIGHBOURS) -> IntArray:
    """Assign each patient of at least two another patient so that the total distance is least.

    `neighbours` is the length of the neighbour lists to begin with: it changes the time, never the
    answer. The undirected edges {i, sigma_i} are unique; a cycle of three or more may run either
    way, because symmetric distances give both directions the same total.

    Examples
    --------
    >>> from intravar.matching.distances import point_distances
    >>> solve(point_distances(np.array([[0.0], [1.0], [5.0], [6.0]])))
    array([1, 0, 3, 2])
    """
    n = distances.n
    # All pairs of a small panel cost less than growing its lists.
    neighbours = n - 1 if n <= SMALL_PANEL else min(max(neighbours, 1), n - 1)
    # The round through all patients makes sure that the neighbour lists admit some assignment.
    sigma, tight = _optimum(GridCosts(distances), neighbours, np.roll(np.arange(n), -1))
    if 2 * len(tight.first) == n:
        return sigma
    # At optimal prices an assignment is optimal exactly when all its edges are tight.
    return _optimum(TieBreakers(n, tight), neighbours, sigma)[0]


class GridCosts:
    """Costs from the distances of a panel, a block at a time."""

    def __init__(self, distances: PanelDistances) -> None:
        self.n = distances.n
        self._distances = distances
        # In a metric space no two patients lie farther apart than twice the largest distance from
        # the first one, so one row fixes the grid.
        reach = 2.0 * float(distances.between(np.arange(1)).max())
        _, exponent = np.frexp(reach)
        self._unit = float(np.ldexp(1.0, int(exponent) - GRID_BITS)) if reach > 0 else 1.0

    def rounded(self, distances: FloatArray) -> IntArray:
        """Return distances on the grid."""
        return np.rint(distances / self._unit).astype(np.int64)

    def cost(self, first: IntArray, second: IntArray) -> IntArray:
        """Return the costs of the given pairs."""
        return self.rounded(self._distances.pairs(first, second))

    def neighbours(self, k: int) -> Edges:
        """Return pairs that join each patient to about ``k`` of its nearest others."""
        parts = []
        # Of patients who are alike each gets others by lot: lists of the same few admit nothing.
        random = np.random.default_rng(0)
        for rows, block in self._distances.blocks():
            block[np.arange(len(rows)), rows] = np.inf
            order = block + self._unit * random.random(block.shape)
            # A copy: a view would keep the whole block, and all blocks are the matrix.
            nearest = np.argpartition(order, k - 1, axis=1)[:, :k].copy()
            cost = self.rounded(np.take_along_axis(block, nearest, axis=1))
            parts.append(Edges(np.repeat(rows, k), nearest.ravel(), cost.ravel()))
        return _joined(parts)

    def at_most(self, limits: IntArray) -> Edges:
        """Return all pairs, ``first < second``, with ``2 cost <= limit[first] + limit[second]``."""
        parts, column = [], np.arange(self.n)
        for rows, block in self._distances.blocks():
            cost = self.rounded(block)
            near = 2 * cost <= limits[rows, None] + limits
            at, second = np.nonzero(near & (column > rows[:, None]))
            parts.append(Edges(rows[at], second, cost[at, second]))
        return _joined(parts)


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


class TieBreakers:
    """The pairs that some optimal assignment may use, with `tie_breaker` for their cost."""

    def __init__(self, n: int, pairs: Edges) -> None:
        self.n = n
        self._pairs = pairs._replace(cost=tie_breaker(pairs.first, pairs.second))

    def cost(self, first: IntArray, second: IntArray) -> IntArray:
        """See :class:`GridCosts`."""
        return tie_breaker(first, second)

    def neighbours(self, k: int) -> Edges:
        """See :class:`GridCosts`."""
        first, second, cost = self._pairs
        # The numbers are uniform, so a share of their range is a share of the pairs.
        degree = np.bincount(first, minlength=self.n) + np.bincount(second, minlength=self.n)
        fewest = np.minimum(degree[first], degree[second])
        return self._pairs.take(cost * (fewest / k) <= 2.0**TIE_BITS)

    def at_most(self, limits: IntArray) -> Edges:
        """See :class:`GridCosts`."""
        first, second, cost = self._pairs
        return self._pairs.take(2 * cost <= limits[first] + limits[second])


def _optimum(
    source: GridCosts | TieBreakers, neighbours: int, feasible: IntArray
) -> tuple[IntArray, Edges]:
    """Return an optimal assignment, and all pairs that an optimal one may use, each once."""
    everyone = np.arange(source.n)
    cycle = Edges(everyone, feasible, source.cost(everyone, feasible))
    graph = _symmetric(_joined([source.neighbours(neighbours), cycle]), source.n)
    while True:
        start = np.searchsorted(graph.first, np.arange(source.n + 1))
        sigma, gains, prices = solve_sparse(start, graph.second, graph.cost)
        doubled = gains + prices
        margin = int(np.median(gains + prices[sigma])) // MARGIN_DIVISOR
        near = source.at_most(doubled + margin)
        reduced = 2 * near.cost - doubled[near.first] - doubled[near.second]
        if not (reduced < 0).any():
            return sigma, near.take(reduced == 0)
        if len(reduced) > GROWTH * source.n:
            # Heavy ties: keep the graph small.
            most = np.argsort(reduced, kind="stable")[: GROWTH * source.n]
            near = near.take(most[reduced[most] < 0])
        graph = _symmetric(_joined([graph, near]), source.n)


def _joined(parts: list[Edges]) -> Edges:
    return Edges(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _symmetric(edges: Edges, n: int) -> Edges:
    """Return both directions of the given pairs, each once, sorted by row and column."""
    first, second = (np.concatenate(ends) for ends in (edges[:2], edges[1::-1]))
    key, at = np.unique(first * n + second, return_index=True)
    return Edges(*np.divmod(key, n), np.tile(edges.cost, 2)[at])


def solve_sparse(
    start: IntArray, column: IntArray, cost: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the assignment of least total cost, and prices of rows and columns that prove it.

    Row i of the graph has the edges ``start[i]`` to ``start[i + 1]``. With prices u and v every
    edge has ``u + v <= cost``, and those of the assignment ``u + v = cost``.

    Examples
    --------
    >>> solve_sparse(np.array([0, 2, 4]), np.array([0, 1, 0, 1]), np.array([4, 1, 1, 9]))
    (array([1, 0]), array([0, 0]), array([1, 1]))
    """
    sigma, gains, prices, complete = _augment(start, column, cost)
    if not complete:
        raise RuntimeError("the graph admits no assignment")
    return sigma, gains, prices


@njit(cache=True, nogil=True)
def _cheapest(start, column, cost, price, gain, column_of, row_of):  # type: ignore[no-untyped-def]
    """Give every row its cheapest column if that is free, in place; false if a row has none."""
    for edge in range(column.size):
        price[column[edge]] = min(price[column[edge]], cost[edge])
    for row in range(start.size - 1):
        best = -1
        for edge in range(start[row], start[row + 1]):
            if best < 0 or cost[edge] - price[column[edge]] < cost[best] - price[column[best]]:
                best = edge
        if best < 0:
            return False
        gain[row] = cost[best] - price[column[best]]
        if row_of[column[best]] < 0:
            row_of[column[best]] = row
            column_of[row] = column[best]
    return True


# Successive shortest augmenting paths (Jonker and Volgenant, Computing 1987;38:325-340) without
# their augmenting row reduction: on costs that nearly tie it lowers prices by one grid step at a
# time, and SciPy's sparse solver, which has it, may then run for hours. Compiled here because no
# library offers a sparse solver that is safe from that, and returns the prices.
@njit(cache=True, nogil=True)
def _augment(start, column, cost):  # type: ignore[no-untyped-def]
    n = start.size - 1
    largest = np.iinfo(np.int64).max
    price, gain = np.full(n, largest), np.zeros(n, np.int64)
    column_of, row_of = np.full(n, -1), np.full(n, -1)
    if not _cheapest(start, column, cost, price, gain, column_of, row_of):
        return column_of, gain, price, False
    distance = np.full(n, largest)
    origin = np.full(n, -1)
    done = np.zeros(n, np.bool_)
    for free in range(n):
        if column_of[free] >= 0:
            continue
        reached = [np.int64(-1) for _ in range(0)]
        heap = [(np.int64(0), np.int64(0)) for _ in range(0)]
        here, travelled, last = np.int64(free), np.int64(0), np.int64(-1)
        while last < 0:
            for edge in range(start[here], start[here + 1]):
                j = column[edge]
                if done[j]:
                    continue
                length = travelled + cost[edge] - gain[here] - price[j]
                if length < distance[j]:
                    if distance[j] == largest:
                        reached.append(j)
                    distance[j] = length
                    origin[j] = here
                    heappush(heap, (length, j))
            j = np.int64(-1)
            while len(heap) > 0:
                travelled, j = heappop(heap)
                if not done[j] and distance[j] == travelled:
                    break
                j = np.int64(-1)
            if j < 0:
                return column_of, gain, price, False
            done[j] = True
            if row_of[j] < 0:
                last = j
            else:
                here = row_of[j]
        gain[free] += travelled
        for j in reached:
            if done[j] and j != last:
                gain[row_of[j]] += travelled - distance[j]
                price[j] -= travelled - distance[j]
        j = last
        while True:
            here = origin[j]
            row_of[j] = here
            j, column_of[here] = column_of[here], j
            if here == free:
                break
        for j in reached:
            distance[j] = largest
            done[j] = False
    return column_of, gain, price, True
