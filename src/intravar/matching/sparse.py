"""Minimum-cost assignment on a sparse graph, compiled, in whole numbers.

Successive shortest augmenting paths (Jonker and Volgenant, Computing 1987;38:325-340) without
their augmenting row reduction: on costs that nearly tie it lowers prices by one grid step at a
time, and SciPy's sparse solver, which has it, may then run for hours. Compiled here because no
library offers a sparse solver that is safe from that; the prices, which SciPy does not return,
come along.
"""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numba import njit

from intravar.arrays import IntArray


def solve_sparse(start: IntArray, column: IntArray, cost: IntArray) -> tuple[IntArray, IntArray]:
    """Return the assignment of least total cost, and prices of the columns that prove it.

    Parameters
    ----------
    start, column, cost
        The graph by rows: row i has the edges ``start[i]`` to ``start[i + 1]``.

    Returns
    -------
    sigma : ndarray of shape (n,)
        Column of every row.
    prices : ndarray of shape (n,)
        v such that with ``u = cost[sigma] - v[sigma]`` every edge has ``u + v <= cost``.

    Raises
    ------
    RuntimeError
        If the graph admits no assignment.

    Examples
    --------
    >>> solve_sparse(np.array([0, 2, 4]), np.array([0, 1, 0, 1]), np.array([4, 1, 1, 9]))
    (array([1, 0]), array([1, 1]))
    """
    sigma, prices, complete = _augment(start, column, cost)
    if not complete:
        raise RuntimeError("the graph admits no assignment")
    return sigma, prices


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
