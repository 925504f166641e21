"""Distances between the patients of one panel, some rows of their matrix at a time.

Euclidean, weighted and Mahalanobis distances are all the Euclidean distance of transformed points,
so a method only states its transformation. A panel of 20,000 patients has 200 million pairs, whose
matrix would take 3.2 GB: such a panel is paired from blocks, to the last bit those of the matrix.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from intravar.arrays import FloatArray, IntArray

# A block of this many distances (8 MB) stays near the cache and bounds the memory of a pass over
# all pairs.
BLOCK_ENTRIES = 1_000_000


@dataclass(frozen=True, eq=False)
class PanelDistances:
    """Distances between `n` patients; `between` gives those from some of them to all, in rows."""

    n: int
    between: Callable[[IntArray], FloatArray]

    def blocks(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield patients and their distances to all, a block at a time."""
        height = max(1, BLOCK_ENTRIES // max(self.n, 1))
        for start in range(0, self.n, height):
            rows = np.arange(start, min(start + height, self.n))
            yield rows, self.between(rows)

    def pairs(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return the distances of the given pairs."""
        order = np.argsort(first, kind="stable")
        distances = np.empty(len(first))
        for rows, block in self.blocks():
            begin, end = np.searchsorted(first[order], [rows[0], rows[-1] + 1])
            here = order[begin:end]
            distances[here] = block[first[here] - rows[0], second[here]]
        return distances


def matrix_distances(matrix: FloatArray) -> PanelDistances:
    """Return distances that are held in memory."""
    return PanelDistances(len(matrix), lambda rows: matrix[rows])


def point_distances(points: FloatArray) -> PanelDistances:
    """Return Euclidean distances between points, one row per patient."""
    # Differences are squared one by one: the shortcut through inner products loses half the digits
    # for close patients, and these are the ones that get paired.
    return PanelDistances(len(points), lambda rows: np.asarray(cdist(points[rows], points)))


def leaf_distances(leaves: NDArray[np.integer]) -> PanelDistances:
    """Return the share of trees in which two patients end in different leaves.

    Leaves have one row per patient. Counts are whole until the one division at the end, so equal
    distances are equal to the last bit.

    Examples
    --------
    >>> leaf_distances(np.array([[1, 5], [1, 6], [2, 6]])).between(np.arange(3))
    array([[0. , 0.5, 1. ],
           [0.5, 0. , 0.5],
           [1. , 0.5, 0. ]])
    """
    n, trees = leaves.shape
    # A column per leaf, 1 for the patients in it: products count the leaves that two share.
    number = leaves - leaves.min(initial=0)
    width = int(number.max(initial=0)) + 1
    column = number + width * np.arange(trees)
    ones = np.ones(column.size, dtype=np.uint16)
    table = sparse.csr_array(
        (ones, column.ravel(), trees * np.arange(n + 1)), shape=(n, width * trees)
    )
    patients = table.T.tocsr()
    return PanelDistances(n, lambda rows: (trees - (table[rows] @ patients).toarray()) / trees)


def hybrid_distances(memberships: FloatArray, points: FloatArray, alpha: float) -> PanelDistances:
    """Mix latent and clinical distances, each over its largest value, by `alpha`."""
    parts = []
    for share, each in ((alpha, memberships), (1.0 - alpha, points)):
        distances = point_distances(each)
        largest = max((float(block.max()) for _, block in distances.blocks()), default=0.0)
        parts.append((share, distances, largest or 1.0))

    def between(rows: IntArray) -> FloatArray:
        latent, clinical = (share * (each.between(rows) / most) for share, each, most in parts)
        return np.asarray(latent + clinical)

    return PanelDistances(len(points), between)


def covariance(covariates: FloatArray) -> FloatArray:
    """Return the covariance of the columns; all zero for fewer than two patients."""
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
