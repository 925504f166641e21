"""Exact minimum-cost assignment of a panel to itself, nobody to themselves.

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

from intravar.arrays import IntArray
from intravar.matching.costs import (
    BlockCosts,
    CostSource,
    Edges,
    PointCosts,
    TiedPairs,
)
from intravar.matching.distances import PanelDistances, PointDistances

DEFAULT_NEIGHBOURS = 10
SMALL_PANEL = 128
# Pairs within about 1/16 of a typical distance of improving the result join the lists early; it
# saves rounds.
MARGIN_DIVISOR = 8
# At most this many pairs per patient join the lists in one round.
GROWTH = 8
NOTHING_KNOWN, ALL_KNOWN = -(2**62), 2**62


class _Graph(NamedTuple):
    """A symmetric cost graph, rows in order; ``start[i]`` is where row ``i`` begins."""

    row: IntArray
    column: IntArray
    cost: IntArray
    start: IntArray


def solve(distances: PanelDistances, neighbours: int = DEFAULT_NEIGHBOURS) -> IntArray:
    """Assign each patient of at least two another patient so that the total distance is least.

    `neighbours` is the length of the neighbour lists to begin with: it changes the time, never the
    answer. The undirected edges {i, sigma_i} are unique; a cycle of three or more may run either
    way, because symmetric distances give both directions the same total.

    Examples
    --------
    >>> solve(PointDistances(np.array([[0.0], [1.0], [5.0], [6.0]])))
    array([1, 0, 3, 2])
    """
    if isinstance(distances, PointDistances):
        return _solve(PointCosts(distances), neighbours)
    return _solve(BlockCosts(distances), neighbours)


def _solve(source: CostSource, neighbours: int) -> IntArray:
    """Find the optimum over all pairs, then settle ties among equals."""
    n = source.n
    # All pairs of a small panel cost less than growing its lists.
    neighbours = n - 1 if n <= SMALL_PANEL else min(max(neighbours, 1), n - 1)
    # The round through all patients makes sure that the neighbour lists admit some assignment.
    sigma, first, second = _optimum(source, neighbours, np.roll(np.arange(n), -1))
    if 2 * len(first) == n:
        return sigma
    # At optimal prices an assignment is optimal exactly when all its edges are tight.
    return _optimum(TiedPairs(n, first, second), neighbours, sigma)[0]


def _optimum(
    source: CostSource, neighbours: int, feasible: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return an optimal assignment, and both ends of all pairs that an optimal one may use.

    ``covered`` remembers what is known about the pairs outside the graph: each costs more than the
    half of ``covered[first] + covered[second]``. Only patients whose price has risen above it are
    priced again.
    """
    everyone = np.arange(source.n)
    first, second = source.neighbours(neighbours)
    graph = _graph(source, np.concatenate([first, everyone]), np.concatenate([second, feasible]))
    known = NOTHING_KNOWN if neighbours < source.n - 1 else ALL_KNOWN
    covered = np.full(source.n, known, dtype=np.int64)
    while True:
        sigma, prices = solve_sparse(graph.start, graph.column, graph.cost)
        matched = source.cost(everyone, sigma)
        doubled = matched - prices[sigma] + prices
        risen = np.flatnonzero(doubled > covered)
        limits = covered.copy()
        limits[risen] = doubled[risen] + int(np.median(matched)) // MARGIN_DIVISOR
        found = _near_pairs(source, limits, risen)
        reduced = 2 * found.cost - doubled[found.first] - doubled[found.second]
        if not (reduced < 0).any():
            return sigma, *_tight_pairs(graph, found.take(reduced == 0), doubled)
        if len(reduced) <= GROWTH * source.n:
            covered = limits
        else:
            # Heavy ties: keep the graph small and price these patients again.
            most = np.argsort(reduced, kind="stable")[: GROWTH * source.n]
            found = found.take(most[reduced[most] < 0])
        graph = _graph(
            source,
            np.concatenate([graph.row, found.first]),
            np.concatenate([graph.column, found.second]),
        )


def _near_pairs(source: CostSource, limits: IntArray, rows: IntArray) -> Edges:
    """Collect the pairs within the limits that involve one of the given patients."""
    if len(rows) == 0:
        return Edges(*(np.empty(0, dtype=np.int64) for _ in range(3)))
    parts = list(source.at_most(limits, None if len(rows) == source.n else rows))
    return Edges(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _tight_pairs(graph: _Graph, found: Edges, doubled: IntArray) -> tuple[IntArray, IntArray]:
    """Return the pairs at zero reduced cost, in the graph and outside it, each once."""
    inside = (graph.row < graph.column) & (
        2 * graph.cost == doubled[graph.row] + doubled[graph.column]
    )
    n = len(doubled)
    listed = graph.row[inside] * n + graph.column[inside]
    return np.divmod(np.unique(np.concatenate([listed, found.first * n + found.second])), n)


def _graph(source: CostSource, first: IntArray, second: IntArray) -> _Graph:
    """Build the symmetric graph of the given pairs, each once, sorted by row and column."""
    n = source.n
    key = np.unique(np.minimum(first, second) * n + np.maximum(first, second))
    low, high = np.divmod(key, n)
    cost = source.cost(low, high)
    row = np.concatenate([low, high])
    column = np.concatenate([high, low])
    order = np.argsort(row * n + column)
    row = row[order]
    start = np.searchsorted(row, np.arange(n + 1))
    return _Graph(row, column[order], np.concatenate([cost, cost])[order], start)


def solve_sparse(start: IntArray, column: IntArray, cost: IntArray) -> tuple[IntArray, IntArray]:
    """Return the assignment of least total cost, and prices of the columns that prove it.

    Row i of the graph has the edges ``start[i]`` to ``start[i + 1]``. With prices v and ``u =
    cost[sigma] - v[sigma]`` every edge has ``u + v <= cost``.

    Examples
    --------
    >>> solve_sparse(np.array([0, 2, 4]), np.array([0, 1, 0, 1]), np.array([4, 1, 1, 9]))
    (array([1, 0]), array([1, 1]))
    """
    sigma, prices, complete = _augment(start, column, cost)
    if not complete:
        raise RuntimeError("the graph admits no assignment")
    return sigma, prices


# Successive shortest augmenting paths (Jonker and Volgenant, Computing 1987;38:325-340) without
# their augmenting row reduction: on costs that nearly tie it lowers prices by one grid step at a
# time, and SciPy's sparse solver, which has it, may then run for hours. Compiled here because no
# library offers a sparse solver that is safe from that, and returns the prices.
@njit(cache=True, nogil=True)
def _augment(start, column, cost):  # type: ignore[no-untyped-def]
    n = start.size - 1
    largest = np.iinfo(np.int64).max
    price = np.full(n, largest)
    for edge in range(column.size):
        price[column[edge]] = min(price[column[edge]], cost[edge])
    gain = np.zeros(n, np.int64)
    column_of = np.full(n, -1)
    row_of = np.full(n, -1)
    # Every row takes its cheapest column if it is free; the rest is left to shortest paths.
    for row in range(n):
        best = -1
        for edge in range(start[row], start[row + 1]):
            if best < 0 or cost[edge] - price[column[edge]] < cost[best] - price[column[best]]:
                best = edge
        if best < 0:
            return column_of, price, False
        gain[row] = cost[best] - price[column[best]]
        if row_of[column[best]] < 0:
            row_of[column[best]] = row
            column_of[row] = column[best]
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
                return column_of, price, False
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
    return column_of, price, True
