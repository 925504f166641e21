"""Growing a tree of a random forest, compiled: scikit-learn's, to the last bit.

Nodes are gone through from the left, depth first; draws of columns, thresholds, ties between splits
and the order in which impurities are added up are scikit-learn's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from intravar.learning.split_search import PATIENTS, WEIGHT, Desk, Node, best_split, gini

#: An impurity, or the loss by a split, that is not told from zero.
EPSILON = float(np.finfo(np.float64).eps)


class Growing(NamedTuple):
    """How a tree is grown: its depth, the least patients of a leaf, columns tried at a node."""

    depth: int
    leaf: int
    tried: int


@njit(cache=True, nogil=True)
def _last_left(value, split):  # type: ignore[no-untyped-def]
    """Return the last rank that goes left; whoever is not in the sample may lie in between."""
    threshold = value[split.below] / 2.0 + value[split.above] / 2.0
    last = split.below
    while value[last + 1] <= threshold:
        last += 1
    return last


@njit(cache=True, nogil=True)
def _parted(rank, rows, last):  # type: ignore[no-untyped-def]
    """Bring those who go left to the front; return how many."""
    low, high = 0, rows.size
    while low < high:
        if rank[rows[low]] <= last:
            low += 1
        else:
            high -= 1
            rows[low], rows[high] = rows[high], rows[low]
    return low


@njit(cache=True, nogil=True)
def _send(ranks, tree, packed, leaves):  # type: ignore[no-untyped-def]
    """Write down the leaves of those whom the tree was not grown on."""
    for i in range(packed.size):
        if packed[i] == 0:
            at = 0
            while tree[at, 0] >= 0:
                right = ranks.rank[tree[at, 0], i] > tree[at, 1]
                at = tree[at, 3] if right else tree[at, 2]
            leaves[i] = -1 - tree[at, 0]


@njit(cache=True, nogil=True)
def _counts(decision, drawn):  # type: ignore[no-untyped-def]
    """Return every patient's count, and the weight of those decided for."""
    packed = np.zeros(decision.size, np.int64)
    given = np.int64(0)
    for i in drawn:
        packed[i] += (1 << WEIGHT) | np.int64(decision[i])
        given += np.int64(decision[i])
    for i in range(packed.size):
        if packed[i] != 0:
            packed[i] |= 1 << PATIENTS
    return packed, given


@njit(cache=True, nogil=True)
def grow_tree(ranks, decision, drawn, seed, growing, leaves, importances):  # type: ignore[no-untyped-def]
    """Grow one tree and return the number of its leaves.

    Parameters
    ----------
    ranks, decision
        Covariates by rank, and 0 or 1 per patient.
    drawn
        Patients of the bootstrap sample, each as often as drawn.
    seed
        Of the draws of columns.
    growing
        How the tree is grown.
    leaves, importances
        Filled in: leaf of every patient, numbered from the left, and importance of every column,
        not yet normalised.
    """
    packed, given = _counts(decision, drawn)
    rows = np.flatnonzero(packed)
    p, total = ranks.rank.shape[0], drawn.size
    longest = np.max(ranks.first[1:] - ranks.first[:-1])
    desk = Desk(
        np.array([seed], np.int64),
        np.arange(p),
        np.zeros(p, np.int64),
        np.zeros(longest, np.int64),
        np.empty((2, max(longest, rows.size)), np.int64),
    )
    # Of every node that waits: start, end, weight, weight decided for, constants; depth, where the
    # number of the node is to be written; and its impurity.
    deepest = min(growing.depth, rows.size) + 2
    waiting = np.zeros((deepest, 8), np.int64)
    impurity = np.zeros(deepest)
    waiting[0, :4] = 0, rows.size, total, given
    waiting[0, 6] = -1
    impurity[0] = gini(total, given)
    # Of every node: column, last rank that goes left, and the two nodes below; of a leaf: -1 - its
    # number.
    tree = np.zeros((2 * (rows.size // max(growing.leaf, 1)) + 1, 4), np.int64)
    waits, n_nodes, n_leaves = 1, 0, 0
    while waits > 0:
        waits -= 1
        start, end, weight, given, known, depth, above, side = waiting[waits]
        before = impurity[waits]
        if above >= 0:
            tree[above, 2 + side] = n_nodes
        here = rows[start:end]
        column = -1
        may = depth < growing.depth and here.size >= max(2, 2 * growing.leaf)
        if may and before > EPSILON:
            node = Node(start, end, weight, given, known)
            split = best_split(ranks, here, packed, desk, node, growing)
            column = split.column
        if column >= 0:
            on_left, on_right = split.weight, weight - split.weight
            left = gini(on_left, split.given)
            right = gini(on_right, given - split.given)
            gain = before - on_right / weight * right - on_left / weight * left
            if weight / total * gain + EPSILON < 0.0:
                column = -1
        if column < 0:
            tree[n_nodes, 0] = -1 - n_leaves
            for i in here:
                leaves[i] = n_leaves
            n_leaves += 1
        else:
            importances[column] += weight * before - on_left * left - on_right * right
            last = _last_left(ranks.value[ranks.first[column] : ranks.first[column + 1]], split)
            middle = start + _parted(ranks.rank[column], here, last)
            tree[n_nodes, 0], tree[n_nodes, 1] = column, last
            for at, begin, stop, own, own_given, its in (
                (1, middle, end, on_right, given - split.given, right),
                (0, start, middle, on_left, split.given, left),
            ):
                waiting[waits, :4] = begin, stop, own, own_given
                waiting[waits, 4:] = split.known, depth + 1, n_nodes, at
                impurity[waits] = its
                waits += 1
        n_nodes += 1
    _send(ranks, tree, packed, leaves)
    return n_leaves
