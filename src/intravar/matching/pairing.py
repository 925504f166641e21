"""Pairs of comparable patients within one panel, under a caliper.

The default is the cycle-cover procedure of the paper's Algorithm 1: an assignment of the panel to
itself, its edges without direction, then a greedy choice by (distance, a, b). Conventions that the
algorithm leaves open are settled here once:

- the caliper and the reported distances are those of the data; numbers that settle ties never
  enter them;
- equally good assignments are told apart by `intravar.matching.ties`, equal distances by (a, b);
- a panel of fewer than two patients has no pairs and no caliper (NaN);
- missing values are refused: imputing or dropping them is a decision for the caller.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from intravar.arrays import FloatArray, IntArray
from intravar.matching.assignment import solve_blocks, solve_dense, solve_points
from intravar.matching.blocks import PanelDistances, PointDistances
from intravar.matching.caliper import (
    CALIPER_PERCENTILE,
    caliper_from_blocks,
    caliper_from_matrix,
)


class Status(IntEnum):
    """What became of a patient; every patient of a panel has exactly one."""

    PAIRED = 0
    """In a pair."""
    OUTSIDE_CALIPER = 1
    """None of the patient's candidate edges is within the caliper."""
    LOST_IN_CYCLE = 2
    """A candidate edge is within the caliper, but its other end went to a closer pair."""
    PANEL_TOO_SMALL = 3
    """The panel has fewer than two patients."""


@dataclass(frozen=True)
class Pairing:
    """The pairs of one panel.

    Attributes
    ----------
    pairs : ndarray of shape (m, 2)
        Positions in the panel, the smaller one first, in the order in which they were chosen.
    distances : ndarray of shape (m,)
        The distance of each pair.
    caliper : float
        The largest distance allowed; NaN in a panel of fewer than two patients.
    status : ndarray of shape (n,)
        A `Status` per patient.
    """

    pairs: IntArray
    distances: FloatArray
    caliper: float
    status: NDArray[np.int8]

    def count(self, status: Status) -> int:
        """Return the number of patients with this status.

        Examples
        --------
        >>> from intravar.matching.pairing import Status, pair_by_assignment
        >>> pair_by_assignment([[0.0, 1.0], [1.0, 0.0]]).count(Status.PAIRED)
        2
        """
        return int(np.count_nonzero(self.status == status))


def pair_by_assignment(distances: ArrayLike, percentile: float = CALIPER_PERCENTILE) -> Pairing:
    """Pair a panel by assignment and greedy choice (Algorithm 1).

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
    Three patients form a cycle; the closest two become a pair and the third is lost.

    >>> from intravar.matching.pairing import pair_by_assignment
    >>> pairing = pair_by_assignment([[0, 1, 1.2], [1, 0, 1.1], [1.2, 1.1, 0]])
    >>> pairing.pairs
    array([[0, 1]])
    >>> pairing.caliper
    1.05
    """
    matrix = checked_distances(distances)
    if len(matrix) < 2:
        return too_small(len(matrix))
    sigma = solve_dense(matrix)
    first, second = undirected(sigma)
    return choose_greedily(
        len(matrix), first, second, matrix[first, second], caliper_from_matrix(matrix, percentile)
    )


def pair_points_by_assignment(points: ArrayLike, percentile: float = CALIPER_PERCENTILE) -> Pairing:
    """Pair a panel of points by Algorithm 1 without holding the matrix of distances.

    Parameters
    ----------
    points : array-like of shape (n, p)
        Finite coordinates in a space whose Euclidean distance is the distance of the method.
    percentile : float
        Of all distances; no pair lies farther apart.

    Returns
    -------
    Pairing
        That of `pair_by_assignment` on the matrix of distances.

    Examples
    --------
    >>> from intravar.matching.pairing import pair_points_by_assignment
    >>> pair_points_by_assignment([[0.0], [0.1], [7.0], [7.3], [30.0]]).pairs
    array([[0, 1],
           [2, 3]])
    """
    array = np.ascontiguousarray(points, dtype=np.float64)
    if array.ndim != 2:
        raise ValueError(f"points must have one row per patient, got shape {array.shape}")
    if len(array) < 2:
        return too_small(len(array))
    first, second = undirected(solve_points(array))
    distances = PointDistances(array)
    return choose_greedily(
        len(array),
        first,
        second,
        distances.pairs(first, second),
        caliper_from_blocks(distances, percentile),
    )


def pair_blocks_by_assignment(
    distances: PanelDistances, percentile: float = CALIPER_PERCENTILE
) -> Pairing:
    """Pair a panel by Algorithm 1 from distances that are computed a block at a time.

    Parameters
    ----------
    distances : PanelDistances
        Of one panel.
    percentile : float
        Of all distances; no pair lies farther apart.

    Returns
    -------
    Pairing
        That of `pair_by_assignment` on the matrix of distances.
    """
    if distances.n < 2:
        return too_small(distances.n)
    first, second = undirected(solve_blocks(distances))
    return choose_greedily(
        distances.n,
        first,
        second,
        distances.pairs(first, second),
        caliper_from_blocks(distances, percentile),
    )


def undirected(sigma: IntArray) -> tuple[IntArray, IntArray]:
    """Return the edges {i, sigma_i} of an assignment, each once, the smaller position first."""
    n = len(sigma)
    everyone = np.arange(n)
    key = np.unique(np.minimum(everyone, sigma) * n + np.maximum(everyone, sigma))
    first, second = np.divmod(key, n)
    return first, second


def choose_greedily(
    n: int, first: IntArray, second: IntArray, distances: FloatArray, caliper: float
) -> Pairing:
    """Take candidate edges within the caliper by (distance, a, b), each patient at most once."""
    within = distances <= caliper
    first, second, distances = first[within], second[within], distances[within]
    order = np.lexsort((second, first, distances))
    used = [False] * n
    taken = []
    for position, a, b in zip(
        order.tolist(), first[order].tolist(), second[order].tolist(), strict=True
    ):
        if not (used[a] or used[b]):
            used[a] = used[b] = True
            taken.append(position)
    status = np.full(n, Status.OUTSIDE_CALIPER, dtype=np.int8)
    status[first] = Status.LOST_IN_CYCLE
    status[second] = Status.LOST_IN_CYCLE
    status[np.array(used, dtype=np.bool_)] = Status.PAIRED
    pairs = np.column_stack([first[taken], second[taken]])
    return Pairing(pairs, distances[taken], caliper, status)


def too_small(n: int) -> Pairing:
    """Return the pairing of a panel of no or one patient."""
    return Pairing(
        np.empty((0, 2), dtype=np.int64),
        np.empty(0),
        float("nan"),
        np.full(n, Status.PANEL_TOO_SMALL, dtype=np.int8),
    )


def checked_distances(distances: ArrayLike) -> FloatArray:
    """Return the distances as a square float matrix, or say what is wrong with them."""
    matrix = np.asarray(distances, dtype=np.float64)
    if matrix.size == 0:
        return np.empty((0, 0))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"distances must be a square matrix, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError("distances must be finite: impute or drop missing values before matching")
    return matrix


def pair_with(
    distances: ArrayLike, choose: Callable[[FloatArray, float], Pairing], percentile: float
) -> Pairing:
    """Check the distances, compute the caliper and let ``choose`` form the pairs."""
    matrix = checked_distances(distances)
    if len(matrix) < 2:
        return too_small(len(matrix))
    return choose(matrix, caliper_from_matrix(matrix, percentile))
