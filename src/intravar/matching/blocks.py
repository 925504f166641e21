"""Distances of a panel computed when they are asked for, a block at a time.

A panel of 20,000 patients has 200 million pairs; their matrix would take 3.2 GB. What pairs such a
panel needs blocks of rows, and single pairs, both to the last bit those of the whole matrix.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from intravar.arrays import FloatArray, IntArray
from intravar.matching.distances import count_shared_leaves, narrow_leaves

# A block of this many distances (8 MB) stays near the cache and bounds the memory of a pass over
# all pairs.
BLOCK_ENTRIES = 1_000_000


class PanelDistances(Protocol):
    """Distances between the patients of one panel."""

    n: int

    def block(self, rows: IntArray, first_column: int) -> FloatArray:
        """Return the distances from these patients to all from ``first_column`` on."""

    def pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return the distances of the given pairs."""


def row_blocks(n: int) -> Iterator[tuple[int, int]]:
    """Yield row ranges whose part right of the diagonal holds about ``BLOCK_ENTRIES`` entries."""
    start = 0
    while start < n:
        stop = min(n, start + max(1, BLOCK_ENTRIES // (n - start)))
        yield start, stop
        start = stop


class PointDistances:
    """Euclidean distances between points, one row per patient."""

    def __init__(self, points: FloatArray) -> None:
        self.n = len(points)
        self._points = points

    def block(self, rows: IntArray, first_column: int) -> FloatArray:
        """See :class:`PanelDistances`."""
        return np.asarray(cdist(self._points[rows], self._points[first_column:]))

    def pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """See :class:`PanelDistances`."""
        return paired_distances(self._points, first, second)


class LeafDistances:
    """Share of trees in which two patients end in different leaves; one row of leaves each."""

    def __init__(self, leaves: NDArray[np.integer]) -> None:
        self.n, self._trees = leaves.shape
        self._by_tree = narrow_leaves(leaves)

    def block(self, rows: IntArray, first_column: int) -> FloatArray:
        """See :class:`PanelDistances`."""
        shared = count_shared_leaves(self._by_tree, rows, first_column)
        return np.asarray((self._trees - shared) / self._trees)

    def pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """See :class:`PanelDistances`."""
        shared = np.zeros(len(first), dtype=np.uint16)
        for leaf in self._by_tree:
            shared += leaf[first] == leaf[second]
        return np.asarray((self._trees - shared) / self._trees)


class HybridDistances:
    """Latent and clinical distances, each over its largest value, mixed by ``alpha``."""

    def __init__(self, memberships: FloatArray, points: FloatArray, alpha: float) -> None:
        self.n = len(points)
        self._parts = [
            (share, distances, _largest(distances))
            for share, distances in (
                (alpha, PointDistances(memberships)),
                (1.0 - alpha, PointDistances(points)),
            )
        ]

    def block(self, rows: IntArray, first_column: int) -> FloatArray:
        """See :class:`PanelDistances`."""
        (share, latent, most), (other_share, clinical, other_most) = self._parts
        mixed = share * (latent.block(rows, first_column) / most)
        mixed += other_share * (clinical.block(rows, first_column) / other_most)
        return mixed

    def pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """See :class:`PanelDistances`."""
        (share, latent, most), (other_share, clinical, other_most) = self._parts
        mixed = share * (latent.pairs(first, second) / most)
        mixed += other_share * (clinical.pairs(first, second) / other_most)
        return mixed


def _largest(distances: PointDistances) -> float:
    """Return the largest distance; 1 where all are zero, which leaves zeros as they are."""
    largest = max(
        (
            float(distances.block(np.arange(start, stop), start).max(initial=0.0))
            for start, stop in row_blocks(distances.n)
        ),
        default=0.0,
    )
    return largest if largest > 0.0 else 1.0


def paired_distances(points: FloatArray, first: IntArray, second: IntArray) -> FloatArray:
    """Return the Euclidean distances of the given pairs, to the last bit those of ``cdist``."""
    # Coordinate by coordinate, because that is the order in which cdist adds up.
    total = np.zeros(len(first))
    for coordinate in points.T:
        difference = coordinate[first] - coordinate[second]
        total += difference * difference
    return np.sqrt(total)
