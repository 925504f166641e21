"""Distances between the patients of one panel, as blocks of rows and as single pairs.

Euclidean, weighted and Mahalanobis distances are all the Euclidean distance of transformed points,
so a method only states its transformation. A panel of 20,000 patients has 200 million pairs, whose
matrix would take 3.2 GB: such a panel is paired from blocks, to the last bit those of the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from intravar.arrays import FloatArray, IntArray

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


def blocks_of_others(distances: PanelDistances) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield patients and their distances to all, infinite to themselves, a block at a time."""
    height = max(1, BLOCK_ENTRIES // distances.n)
    for start in range(0, distances.n, height):
        rows = np.arange(start, min(start + height, distances.n))
        block = distances.block(rows, 0)
        block[np.arange(len(rows)), rows] = np.inf
        yield rows, block


class MatrixDistances:
    """Distances that are held in memory."""

    def __init__(self, matrix: FloatArray) -> None:
        self.n = len(matrix)
        self._matrix = matrix

    def block(self, rows: IntArray, first_column: int) -> FloatArray:
        """See :class:`PanelDistances`."""
        return self._matrix[rows, first_column:]

    def pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """See :class:`PanelDistances`."""
        return np.asarray(self._matrix[first, second])


class PointDistances:
    """Euclidean distances between points, one row per patient."""

    def __init__(self, points: FloatArray) -> None:
        self.n = len(points)
        self.points = points

    def block(self, rows: IntArray, first_column: int) -> FloatArray:
        """See :class:`PanelDistances`."""
        # Differences are squared one by one: the shortcut through inner products loses half the
        # digits for close patients, and these are the ones that get paired.
        return np.asarray(cdist(self.points[rows], self.points[first_column:]))

    def pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """See :class:`PanelDistances`."""
        # Coordinate by coordinate, because that is the order in which cdist adds up.
        total = np.zeros(len(first))
        for coordinate in self.points.T:
            difference = coordinate[first] - coordinate[second]
            total += difference * difference
        return np.sqrt(total)


class LeafDistances:
    """Share of trees in which two patients end in different leaves; one row of leaves each.

    Counts are whole until the one division at the end, so equal distances are equal to the last
    bit.

    Examples
    --------
    >>> LeafDistances(np.array([[1, 5], [1, 6], [2, 6]])).block(np.arange(3), 0)
    array([[0. , 0.5, 1. ],
           [0.5, 0. , 0.5],
           [1. , 0.5, 0. ]])
    """

    def __init__(self, leaves: NDArray[np.integer]) -> None:
        self.n, self._trees = leaves.shape
        self._by_tree = np.ascontiguousarray(leaves.T)
        # A column per leaf, 1 for the patients in it: products count the leaves that two share.
        number = leaves - leaves.min(initial=0)
        width = int(number.max(initial=0)) + 1
        column = number + width * np.arange(self._trees)
        starts = self._trees * np.arange(self.n + 1)
        ones = np.ones(column.size, dtype=np.uint16)
        shape = (self.n, width * self._trees)
        self._leaves = sparse.csr_array((ones, column.ravel(), starts), shape=shape)
        self._patients = self._leaves.T.tocsr()

    def block(self, rows: IntArray, first_column: int) -> FloatArray:
        """See :class:`PanelDistances`."""
        shared = (self._leaves[rows] @ self._patients).toarray()[:, first_column:]
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
        latent, clinical = (
            share * (distances.block(rows, first_column) / most)
            for share, distances, most in self._parts
        )
        return latent + clinical

    def pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """See :class:`PanelDistances`."""
        latent, clinical = (
            share * (distances.pairs(first, second) / most)
            for share, distances, most in self._parts
        )
        return latent + clinical


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


def covariance(covariates: FloatArray) -> FloatArray:
    """Return the covariance of the columns; all zero for fewer than two patients.

    Examples
    --------
    >>> covariance(np.array([[0.0], [2.0]]))
    array([[2.]])
    """
    n, p = covariates.shape
    if n < 2:
        return np.zeros((p, p))
    return np.atleast_2d(np.cov(covariates, rowvar=False))


def mahalanobis_points(covariates: FloatArray, covariance: FloatArray) -> FloatArray:
    """Transform so that Euclidean distances are Mahalanobis distances under the pseudo-inverse.

    The covariance is symmetric and positive semi-definite; directions without variance are left
    out, as in the Moore-Penrose inverse.

    Examples
    --------
    >>> np.abs(mahalanobis_points(np.array([[2.0, 3.0]]), np.diag([4.0, 0.0])))
    array([[1.]])
    """
    variances, directions = np.linalg.eigh(covariance)
    smallest = len(variances) * np.finfo(np.float64).eps * variances.max(initial=0.0)
    kept = variances > smallest
    return np.asarray(covariates @ (directions[:, kept] / np.sqrt(variances[kept])))
