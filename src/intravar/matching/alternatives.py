"""Other ways to pair a panel under the same caliper, to hold beside the default."""

import numpy as np
from numpy.typing import ArrayLike

from intravar.arrays import FloatArray, IntArray
from intravar.matching.blocks import BLOCK_ENTRIES, PanelDistances
from intravar.matching.caliper import CALIPER_PERCENTILE, caliper_from_blocks
from intravar.matching.costs import MatrixCosts
from intravar.matching.pairing import (
    Pairing,
    Status,
    choose_greedily,
    pair_with,
    too_small,
)


def greedy_matching(distances: ArrayLike, percentile: float = CALIPER_PERCENTILE) -> Pairing:
    """Pair the closest two patients, then the closest two of the others, up to the caliper.

    A patient is `Status.OUTSIDE_CALIPER` if nobody is within the caliper, and
    `Status.LOST_IN_CYCLE` if everybody within it was taken by a closer pair.

    Parameters
    ----------
    distances : array-like of shape (n, n)
        Symmetric, finite distances.
    percentile : float
        Of all distances; no pair lies farther apart.

    Returns
    -------
    Pairing

    Examples
    --------
    >>> from intravar.matching.alternatives import greedy_matching
    >>> greedy_matching([[0, 1, 5, 6], [1, 0, 4, 5], [5, 4, 0, 1], [6, 5, 1, 0]]).pairs
    array([[0, 1],
           [2, 3]])
    """
    return pair_with(distances, _choose_among_all, percentile)


def exact_matching(distances: ArrayLike, percentile: float = CALIPER_PERCENTILE) -> Pairing:
    """Pair as many patients as the caliper allows, with the least total distance.

    The edges within the caliper form a graph; among its matchings of maximum size, one of minimum
    weight is taken (Edmonds' blossom algorithm). A panel of 500 takes a second or two. Needs
    ``rustworkx``.

    Parameters
    ----------
    distances : array-like of shape (n, n)
        Symmetric, finite distances.
    percentile : float
        Of all distances; no pair lies farther apart.

    Returns
    -------
    Pairing
        Pairs ordered by (distance, a, b). Nobody is lost in a cycle; a patient with somebody
        within the caliper who stays unpaired has that status nevertheless, as in `greedy_matching`.

    Examples
    --------
    >>> from intravar.matching.alternatives import exact_matching
    >>> exact_matching([[0, 1, 5, 6], [1, 0, 4, 5], [5, 4, 0, 1], [6, 5, 1, 0]]).pairs
    array([[0, 1],
           [2, 3]])
    """
    return pair_with(distances, _choose_optimally, percentile)


def nearest_with_replacement(
    distances: ArrayLike, percentile: float = CALIPER_PERCENTILE
) -> Pairing:
    """Give each patient its nearest other patient, the lowest position among equals.

    Parameters
    ----------
    distances : array-like of shape (n, n)
        Symmetric, finite distances.
    percentile : float
        Of all distances; nobody farther away is taken.

    Returns
    -------
    Pairing
        One pair (patient, nearest other) for each patient whose nearest other is within the
        caliper; one patient may serve many.

    Examples
    --------
    >>> from intravar.matching.alternatives import nearest_with_replacement
    >>> nearest_with_replacement([[0, 1, 1], [1, 0, 4], [1, 4, 0]]).pairs
    array([[0, 1],
           [1, 0],
           [2, 0]])
    """
    return pair_with(distances, _choose_nearest, percentile)


def nearest_in_blocks(distances: PanelDistances, percentile: float = CALIPER_PERCENTILE) -> Pairing:
    """Do the same from distances that are computed a block at a time.

    Parameters
    ----------
    distances : PanelDistances
        Of one panel.
    percentile : float
        Of all distances; nobody farther away is taken.
    """
    if distances.n < 2:
        return too_small(distances.n)
    height = max(1, BLOCK_ENTRIES // distances.n)
    neighbour, nearest = [], []
    for start in range(0, distances.n, height):
        rows = np.arange(start, min(start + height, distances.n))
        block = distances.block(rows, 0)
        block[np.arange(len(rows)), rows] = np.inf
        neighbour.append(block.argmin(axis=1))
        nearest.append(block.min(axis=1))
    return keep_nearest(
        np.concatenate(neighbour),
        np.concatenate(nearest),
        caliper_from_blocks(distances, percentile),
    )


def _choose_nearest(matrix: FloatArray, caliper: float) -> Pairing:
    others = matrix.copy()
    np.fill_diagonal(others, np.inf)
    return keep_nearest(others.argmin(axis=1), others.min(axis=1), caliper)


def keep_nearest(neighbour: IntArray, distances: FloatArray, caliper: float) -> Pairing:
    """Pair each patient with the given neighbour if it is within the caliper."""
    kept = distances <= caliper
    status = np.where(kept, Status.PAIRED, Status.OUTSIDE_CALIPER).astype(np.int8)
    pairs = np.column_stack([np.flatnonzero(kept), neighbour[kept]])
    return Pairing(pairs, distances[kept], caliper, status)


def _choose_among_all(matrix: FloatArray, caliper: float) -> Pairing:
    first, second = _within(matrix, caliper)
    return choose_greedily(len(matrix), first, second, matrix[first, second], caliper)


def _choose_optimally(matrix: FloatArray, caliper: float) -> Pairing:
    # Imported here because only this alternative needs it.
    from rustworkx import PyGraph, max_weight_matching

    n = len(matrix)
    first, second = _within(matrix, caliper)
    if len(first) == 0:
        return _with_status(n, first, second, too_small(0).pairs, matrix, caliper)
    # The solver maximises over whole numbers, so costs are turned round.
    cost = MatrixCosts(matrix).cost(first, second)
    gain = cost.max() + 1 - cost
    graph: PyGraph[int, int] = PyGraph(multigraph=False)
    graph.add_nodes_from(range(n))
    graph.add_edges_from(list(zip(first.tolist(), second.tolist(), gain.tolist(), strict=True)))
    chosen = max_weight_matching(graph, max_cardinality=True, weight_fn=int)
    pairs = np.sort(np.array(sorted(chosen), dtype=np.int64), axis=1)
    return _with_status(n, first, second, pairs, matrix, caliper)


def _with_status(
    n: int,
    first: IntArray,
    second: IntArray,
    pairs: IntArray,
    matrix: FloatArray,
    caliper: float,
) -> Pairing:
    """Order the pairs by (distance, a, b) and say what became of each patient."""
    distances = matrix[pairs[:, 0], pairs[:, 1]]
    order = np.lexsort((pairs[:, 1], pairs[:, 0], distances))
    status = np.full(n, Status.OUTSIDE_CALIPER, dtype=np.int8)
    status[first] = Status.LOST_IN_CYCLE
    status[second] = Status.LOST_IN_CYCLE
    status[pairs.ravel()] = Status.PAIRED
    return Pairing(pairs[order], distances[order], caliper, status)


def _within(matrix: FloatArray, caliper: float) -> tuple[IntArray, IntArray]:
    """Return all pairs (a < b) within the caliper."""
    first, second = np.nonzero(np.triu(matrix <= caliper, k=1))
    return first.astype(np.int64), second.astype(np.int64)
