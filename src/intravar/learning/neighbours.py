"""Clusters of neighbouring patients within a panel.

A held-out prediction limits the discordance of a physician only if it was made without the
decision itself and without a copy of it. Rows that belong to one patient are such copies: visits
of one person, or a record that was exported twice with small changes. Where no column identifies
the patient, rows that lie close together are kept in one fold, so that no row is predicted from its
nearest neighbours. With independent rows this costs next to nothing, because a few neighbours of
several hundred patients carry little information.

Distances are Euclidean on mid-ranks: every covariate counts between 0 and 1, whatever its unit. The
clusters come from single linkage with a maximum size: pairs of neighbours are visited from the
closest to the farthest, and two clusters are merged if they do not become too large together. The
maximum matters for coarse data. With a few yes-or-no columns many patients are equal by chance, and
a cluster of all of them would leave nobody to learn from.

A rare level of a category with many levels, a postcode say, may stand for a patient. Rows of a
panel that share a level with hardly any other row are merged before all others, however far apart
they are. Patients of other physicians still tell what the level means.

References
----------
Roberts et al., Cross-validation strategies for data with temporal, spatial, hierarchical, or
phylogenetic structure, Ecography 2017;40:913-929 (blocks of neighbours as folds).
"""

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.spatial.distance import cdist

from intravar.arrays import FloatArray, IntArray
from intravar.learning.boosted_trees import MISSING_BIN, Bins

#: Largest cluster of neighbours. Most patients with repeat visits have no more rows than this.
CLUSTER_SIZE = 5
#: Largest cluster once dependence between rows has been detected: patients may have many visits.
LARGE_CLUSTER_SIZE = 12
#: Neighbours of a row that are considered, per row of the largest cluster.
NEIGHBOURS_PER_ROW = 2
#: Larger panels are divided into blocks, whose distances fit into a few megabytes.
BLOCK_SIZE = 1_500
#: Where a missing value lies on the scale of mid-ranks, whose other values are between 0 and 1.
MISSING_RANK = -0.5


def learn_mid_ranks(bins: Bins) -> FloatArray:
    """Learn the mid-rank of every bin of every covariate.

    Parameters
    ----------
    bins
        Bin of every value, one row per patient and one column per covariate.

    Returns
    -------
    ndarray of shape (n_covariates, MISSING_BIN + 1)
        Share of the recorded values below the bin, plus half of the share within it.
    """
    n_covariates = bins.shape[1]
    ranks = np.full((n_covariates, MISSING_BIN + 1), MISSING_RANK)
    for column in range(n_covariates):
        counts = np.bincount(bins[:, column], minlength=MISSING_BIN + 1)[:MISSING_BIN]
        total = max(int(counts.sum()), 1)
        ranks[column, :MISSING_BIN] = (np.cumsum(counts) - counts / 2) / total
    return ranks


def rank_points(bins: Bins, mid_ranks: FloatArray) -> FloatArray:
    """Return the patients as points on the scale of mid-ranks."""
    return np.ascontiguousarray(mid_ranks[np.arange(bins.shape[1]), bins])


def cluster_neighbours(
    points: FloatArray,
    first: IntArray,
    tie_breaker: npt.NDArray[np.uint64],
    copy_of: IntArray,
    largest: int = CLUSTER_SIZE,
    levels: IntArray | None = None,
) -> IntArray:
    """Assign every row to a cluster of neighbours of the same panel.

    Parameters
    ----------
    points
        Patients on the scale of mid-ranks, panel after panel.
    first
        Row at which every panel begins, and the number of rows.
    tie_breaker
        A number per row that is unrelated to the decision. It settles ties between equal
        distances, which are common in coarse data.
    copy_of
        Number per row that exact copies of one patient share. Copies are always in one cluster.
    largest
        Largest cluster. Only copies of one patient may exceed it.
    levels
        Numbers of the rows' levels, one column per category with many levels, if there are any.

    Returns
    -------
    ndarray of shape (n_patients,)
        Number of the cluster, the position of one of its rows.

    Examples
    --------
    >>> points = np.array([[0.1], [0.8], [0.11], [0.81]])
    >>> order = np.arange(4, dtype=np.uint64)
    >>> cluster_neighbours(points, np.array([0, 4]), order, np.arange(4), largest=2).tolist()
    [0, 1, 0, 1]
    """
    cluster = np.empty(len(points), dtype=np.int64)
    for begin, end in itertools.pairwise(first):
        panel = np.arange(begin, end)
        shuffled = panel[np.argsort(tie_breaker[begin:end], kind="stable")]
        for block in divide_panel(points, shuffled):
            left, right = _closest_pairs(points[block], NEIGHBOURS_PER_ROW * largest)
            if levels is not None:
                first_left, first_right = _pairs_with_rare_levels(levels[block], largest)
                left = np.concatenate([first_left, left])
                right = np.concatenate([first_right, right])
            _, copies = np.unique(copy_of[block], return_inverse=True)
            cluster[block] = block[_merge_pairs(left, right, copies, largest)]
    return cluster


def divide_panel(points: FloatArray, rows: IntArray) -> Iterator[IntArray]:
    """Divide a large panel into blocks by splitting it at medians.

    Each split is along the covariate with the largest variance. A panel of at most
    ``BLOCK_SIZE`` rows is one block.
    """
    if len(rows) <= BLOCK_SIZE:
        if len(rows):
            yield rows
        return
    widest = int(np.argmax(points[rows].var(axis=0)))
    order = np.argsort(points[rows, widest], kind="stable")
    middle = len(rows) // 2
    # Sorted positions keep the order in which ties are settled.
    yield from divide_panel(points, rows[np.sort(order[:middle])])
    yield from divide_panel(points, rows[np.sort(order[middle:])])


def neighbour_distances(
    points: FloatArray, others: FloatArray, ranks: tuple[int, ...], *, same: bool
) -> FloatArray:
    """Return the distance of every point to its nearest neighbours among others.

    Parameters
    ----------
    points, others
        Patients on the scale of mid-ranks.
    ranks
        Which neighbours: 1 is the nearest.
    same
        Whether both are the same rows. Then a row is not its own neighbour.

    Returns
    -------
    ndarray of shape (len(points), len(ranks))
    """
    distances = cdist(points, others)
    if same:
        np.fill_diagonal(distances, np.inf)
    positions = [rank - 1 for rank in ranks]
    return np.asarray(np.partition(distances, positions, axis=1)[:, positions])


def _closest_pairs(points: FloatArray, n_neighbours: int) -> tuple[IntArray, IntArray]:
    """Return pairs of a row and one of its nearest neighbours, the closest pairs first."""
    n_rows = len(points)
    n_neighbours = min(n_neighbours, n_rows - 1)
    if n_neighbours < 1:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing
    distances = cdist(points, points, metric="sqeuclidean")
    np.fill_diagonal(distances, np.inf)
    nearest = np.argpartition(distances, n_neighbours - 1, axis=1)[:, :n_neighbours]
    left = np.repeat(np.arange(n_rows), n_neighbours)
    right = nearest.ravel()
    order = np.lexsort((right, left, distances[left, right]))
    return left[order], right[order]


def _pairs_with_rare_levels(levels: IntArray, largest: int) -> tuple[IntArray, IntArray]:
    """Return pairs of rows that share a level with few other rows, the rarest levels first.

    Examples
    --------
    >>> _pairs_with_rare_levels(np.array([[7, 4, 4, 7, 1, 4]]).T, 2)
    (array([0]), array([3]))
    """
    pairs = []
    for column in levels.T:
        _, level, counts = np.unique(column, return_inverse=True, return_counts=True)
        size = counts[level]
        order = np.lexsort((np.arange(len(level)), level, size))
        left = order[:-1]
        right = order[1:]
        alike = (level[left] == level[right]) & (size[left] <= largest)
        pairs.append(np.column_stack([size[left], left, right])[alike])
    together = np.concatenate(pairs)
    together = together[np.argsort(together[:, 0], kind="stable")]
    return together[:, 1], together[:, 2]


@njit(cache=True, nogil=True)
def _root(parent, row):  # type: ignore[no-untyped-def]
    """Return the representative of a row's cluster, halving the path to it."""
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = parent[row]
    return row


@njit(cache=True, nogil=True)
def _merge_pairs(left, right, copies, largest):  # type: ignore[no-untyped-def]
    """Merge pairs in their order unless a cluster becomes too large; return the representatives.

    Compiled: one pass over ten pairs per row takes 0.1 s per million rows, and 15 s in Python.
    """
    n_rows = len(copies)
    parent = np.arange(n_rows)
    size = np.ones(n_rows, np.int64)
    representative = np.full(n_rows, -1)
    for row in range(n_rows):
        copied = representative[copies[row]]
        if copied < 0:
            representative[copies[row]] = row
        else:
            parent[row] = copied
            size[copied] += 1
    for pair in range(len(left)):
        one = _root(parent, left[pair])
        other = _root(parent, right[pair])
        if one != other and size[one] + size[other] <= largest:
            parent[other] = one
            size[one] += size[other]
    for row in range(n_rows):
        parent[row] = _root(parent, row)
    return parent
