"""Distances between the patients of one panel.

Euclidean, weighted and Mahalanobis distances are all the Euclidean distance of transformed points,
so a method only states its transformation; a large panel can then be paired from the points alone.
"""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from intravar.arrays import FloatArray, IntArray

# Rows are counted in tiles of about this many entries.
TILE_ENTRIES = 250_000
# A byte counts up to here before it has to be emptied into a wider counter.
BYTE_TREES = 255


def covariance(covariates: FloatArray) -> FloatArray:
    """Return the covariance of the columns; all zero for fewer than two patients.

    Examples
    --------
    >>> import numpy as np
    >>> from intravar.matching.distances import covariance
    >>> covariance(np.array([[0.0], [2.0]]))
    array([[2.]])
    """
    n, p = covariates.shape
    if n < 2:
        return np.zeros((p, p))
    return np.atleast_2d(np.cov(covariates, rowvar=False))


def mahalanobis_points(covariates: FloatArray, covariance: FloatArray) -> FloatArray:
    """Transform so that Euclidean distances are Mahalanobis distances under the pseudo-inverse.

    Directions without variance are left out, as in the Moore-Penrose inverse.

    Parameters
    ----------
    covariates : ndarray of shape (n, p)
        One row per patient.
    covariance : ndarray of shape (p, p)
        Symmetric and positive semi-definite.

    Returns
    -------
    ndarray of shape (n, rank)

    Examples
    --------
    >>> import numpy as np
    >>> from intravar.matching.distances import mahalanobis_points
    >>> np.abs(mahalanobis_points(np.array([[2.0, 3.0]]), np.diag([4.0, 0.0])))
    array([[1.]])
    """
    variances, directions = np.linalg.eigh(covariance)
    smallest = len(variances) * np.finfo(np.float64).eps * variances.max(initial=0.0)
    kept = variances > smallest
    return np.asarray(covariates @ (directions[:, kept] / np.sqrt(variances[kept])))


def point_distances(points: FloatArray) -> FloatArray:
    """Return the matrix of Euclidean distances.

    Differences are squared one by one: the shortcut through inner products loses half the digits
    for close patients, and these are the ones that get paired.

    Examples
    --------
    >>> import numpy as np
    >>> from intravar.matching.distances import point_distances
    >>> point_distances(np.array([[0.0, 0.0], [3.0, 4.0]]))
    array([[0., 5.],
           [5., 0.]])
    """
    return np.asarray(cdist(points, points))


def shared_leaves(leaves: ArrayLike) -> NDArray[np.uint16]:
    """Count for each two patients the trees in which they fall into the same leaf.

    Parameters
    ----------
    leaves : array-like of shape (n, T)
        Leaf number of each patient in each tree.

    Returns
    -------
    ndarray of shape (n, n)
        Whole numbers from 0 to T; T on the diagonal.

    Examples
    --------
    >>> from intravar.matching.distances import shared_leaves
    >>> shared_leaves([[1, 5], [1, 6], [2, 6]])
    array([[2, 1, 0],
           [1, 2, 1],
           [0, 1, 2]], dtype=uint16)
    """
    by_tree = narrow_leaves(np.asarray(leaves))
    trees, n = by_tree.shape
    if trees > np.iinfo(np.uint16).max:
        raise ValueError(f"at most {np.iinfo(np.uint16).max} trees can be counted, got {trees}")
    counts = np.zeros((n, n), dtype=np.uint16)
    start = 0
    while start < n:
        stop = min(n, start + max(1, TILE_ENTRIES // (n - start)))
        counts[start:stop, start:] = count_shared_leaves(by_tree, np.arange(start, stop), start)
        # The tile's own square is complete; what lies right of it is mirrored.
        counts[stop:, start:stop] = counts[start:stop, stop:].T
        start = stop
    return counts


def proximity_distances(leaves: ArrayLike) -> FloatArray:
    """Return the share of trees in which two patients fall into different leaves.

    Counts are whole until the one division at the end, so equal distances are equal to the last
    bit.

    Parameters
    ----------
    leaves : array-like of shape (n, T)
        Leaf number of each patient in each tree, as a forest's ``apply`` returns them.

    Returns
    -------
    ndarray of shape (n, n)

    Examples
    --------
    >>> from intravar.matching.distances import proximity_distances
    >>> proximity_distances([[1, 5], [1, 6], [2, 6]])
    array([[0. , 0.5, 1. ],
           [0.5, 0. , 0.5],
           [1. , 0.5, 0. ]])
    """
    array = np.asarray(leaves)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"leaves need one column per tree, got shape {array.shape}")
    trees = array.shape[1]
    return np.asarray((trees - shared_leaves(array)) / trees)


def hybrid_distances(
    memberships: FloatArray, clinical_points: FloatArray, alpha: float = 0.5
) -> FloatArray:
    """Mix latent and clinical distances, each divided by its largest value in the panel.

    A part whose distances are all zero says nothing and adds nothing.

    Parameters
    ----------
    memberships : ndarray of shape (n, K)
        Posterior probabilities of the latent profiles.
    clinical_points : ndarray of shape (n, p)
        Scaled covariates.
    alpha : float
        Share of the latent part, between 0 and 1.

    Returns
    -------
    ndarray of shape (n, n)

    Examples
    --------
    >>> import numpy as np
    >>> from intravar.matching.distances import hybrid_distances
    >>> hybrid_distances(np.array([[1.0], [1.0]]), np.array([[0.0], [8.0]]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha must lie between 0 and 1, got {alpha}")
    latent, clinical = point_distances(memberships), point_distances(clinical_points)
    return alpha * _share_of_largest(latent) + (1.0 - alpha) * _share_of_largest(clinical)


def _share_of_largest(distances: FloatArray) -> FloatArray:
    largest = distances.max(initial=0.0)
    return distances / largest if largest > 0.0 else distances


def narrow_leaves(leaves: NDArray[np.integer]) -> NDArray[np.uint8] | NDArray[np.uint16] | IntArray:
    """Renumber each tree's leaves from zero, in the narrowest type; one row per tree."""
    numbers = leaves.T - leaves.min(initial=0)
    if numbers.max(initial=0) <= np.iinfo(np.uint16).max:
        # Node numbers are small: one table of those in use replaces a sort per tree.
        tree = np.arange(len(numbers))[:, None]
        used = np.zeros((len(numbers), int(numbers.max(initial=0)) + 1), dtype=np.bool_)
        used[tree, numbers] = True
        by_tree: IntArray = (np.cumsum(used, axis=1) - 1)[tree, numbers]
    else:
        by_tree = np.array([np.unique(row, return_inverse=True)[1] for row in numbers])
    most = by_tree.max(initial=0)
    if most <= np.iinfo(np.uint8).max:
        return by_tree.astype(np.uint8, order="C")
    if most <= np.iinfo(np.uint16).max:
        return by_tree.astype(np.uint16, order="C")
    return np.ascontiguousarray(by_tree)


def count_shared_leaves(
    by_tree: NDArray[np.integer], rows: IntArray, first_column: int
) -> NDArray[np.uint16]:
    """Count shared leaves between some patients and all from `first_column` on.

    Parameters
    ----------
    by_tree : ndarray of shape (T, n)
        Leaves, one row per tree.
    rows : ndarray
        The patients.
    first_column : int
        Where the others begin.
    """
    mine = np.ascontiguousarray(by_tree[:, rows].T)
    return np.asarray(_count_shared(mine, by_tree, first_column))


@njit(cache=True, nogil=True)
def _count_shared(rows, by_tree, first):  # type: ignore[no-untyped-def]
    # Compiled: a row of byte-sized counters stays in the nearest cache while all trees pass over
    # it, three times as fast as whole blocks in NumPy and much more where blocks outgrow the cache.
    n, trees = rows.shape
    width = by_tree.shape[1] - first
    total = np.zeros((n, width), np.uint16)
    count = np.zeros(width, np.uint8)
    for i in range(n):
        start = 0
        while start < trees:
            stop = min(trees, start + BYTE_TREES)
            count[:] = 0
            for tree in range(start, stop):
                leaf = rows[i, tree]
                leaves = by_tree[tree, first:]
                for j in range(width):
                    count[j] += np.uint8(leaves[j] == leaf)
            for j in range(width):
                total[i, j] += count[j]
            start = stop
    return total
