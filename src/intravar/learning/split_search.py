"""The best split of a node of a tree, compiled: scikit-learn's to the bit, without its sorting.

A tree sees only the order of values. Every column is therefore ranked once for all trees. In a node
decisions are counted by rank or, where a node has few patients for the ranks, ranks are sorted by
their digits; scikit-learn sorts numbers anew in every node. Counts are whole numbers, so that it
does not matter in which order they are added up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from intravar.arrays import IntArray

#: Values no further apart count as equal, as scikit-learn has it.
EQUAL = np.float32(1e-7)
#: A count is one number: patients, their weight, and the weight of those decided for, from here on.
PATIENTS, WEIGHT, PART = 42, 21, 2**21 - 1
#: With more patients a count does not hold them, and ranks are always sorted.
MOST_COUNTED = PART
#: Ranks are counted where there are at most this many for each patient of the node.
RANKS_A_PATIENT = 2


class Ranked(NamedTuple):
    """Columns by rank; a tuple, because that is what compiled code takes.

    Attributes
    ----------
    rank
        Rank of every patient's value, one row per column.
    value
        The values in order, column after column.
    first
        Where the values of a column begin; one entry more than there are columns.
    """

    rank: npt.NDArray[np.int32]
    value: npt.NDArray[np.float32]
    first: IntArray


class Desk(NamedTuple):
    """What the search works on.

    Attributes
    ----------
    state
        Of the draws of columns.
    columns, constant
        The columns as they are drawn; those found constant in the nodes above.
    counts, keys
        Room for counts by rank, and for ranks and counts in order.
    """

    state: IntArray
    columns: IntArray
    constant: IntArray
    counts: IntArray
    keys: IntArray


class Node(NamedTuple):
    """A node: where its patients lie, their weight, that of those decided for, known constants."""

    start: int
    end: int
    weight: int
    given: int
    known: int


class Split(NamedTuple):
    """A split: its column, -1 for none; ranks at the cut; weights on the left; known constants."""

    column: int
    below: int
    above: int
    weight: int
    given: int
    known: int


def ranked(x: npt.NDArray[np.float32]) -> Ranked:
    """Rank every column.

    Examples
    --------
    >>> ranked(np.array([[5.0], [2.0], [5.0]], dtype=np.float32)).rank.tolist()
    [[1, 0, 1]]
    """
    values, ranks = [], np.empty((x.shape[1], x.shape[0]), dtype=np.int32)
    for column in range(x.shape[1]):
        value, ranks[column] = np.unique(x[:, column], return_inverse=True)
        values.append(value)
    first = np.concatenate([[0], np.cumsum([len(value) for value in values])])
    return Ranked(ranks, np.concatenate(values), first.astype(np.int64))


@njit(cache=True, nogil=True)
def gini(weight, given):  # type: ignore[no-untyped-def]
    """Return the impurity of a node by its weight and that of those decided for."""
    one, none, total = float(given), float(weight - given), float(weight)
    return 1.0 - (none * none + one * one) / (total * total)


@njit(cache=True, nogil=True)
def _drawn(state, low, high):  # type: ignore[no-untyped-def]
    """Draw from low to high - 1 by xorshift, in 32 bits, and move the state on."""
    s = state[0] if state[0] != 0 else 1
    s ^= (s << 13) & 0xFFFFFFFF
    s ^= s >> 17
    s ^= (s << 5) & 0xFFFFFFFF
    state[0] = s
    return low + (s & 0x7FFFFFFF) % (high - low)


@njit(cache=True, nogil=True)
def _counted(rank, rows, packed, desk, n_ranks):  # type: ignore[no-untyped-def]
    """Write the ranks that occur and their counts into the keys; return how many."""
    counts, keys = desk.counts, desk.keys
    for i in rows:
        counts[rank[i]] += packed[i]
    found = 0
    for r in range(n_ranks):
        if counts[r] != 0:
            keys[0, found] = r
            keys[1, found] = counts[r]
            counts[r] = 0
            found += 1
    return found


@njit(cache=True, nogil=True)
def _sorted(rank, rows, packed, desk, n_ranks):  # type: ignore[no-untyped-def]
    """Do what `_counted` does by sorting; a rank may then come more than once, in a row."""
    keys, other = desk.keys[0], desk.keys[1]
    for t in range(rows.size):
        # The number of the patient follows the rank.
        keys[t] = (np.int64(rank[rows[t]]) << 32) | rows[t]
    bits = 1
    while (1 << bits) < n_ranks:
        bits += 1
    half = (bits + 1) // 2
    mask = (1 << half) - 1
    for shift in (32, 32 + half):
        place = np.zeros((1 << half) + 1, np.int64)
        for t in range(rows.size):
            place[((keys[t] >> shift) & mask) + 1] += 1
        for digit in range(1 << half):
            place[digit + 1] += place[digit]
        for t in range(rows.size):
            digit = (keys[t] >> shift) & mask
            other[place[digit]] = keys[t]
            place[digit] += 1
        keys, other = other, keys
    # After two passes they lie where they began.
    for t in range(rows.size):
        other[t] = packed[keys[t] & 0xFFFFFFFF]
        keys[t] >>= 32
    return rows.size


@njit(cache=True, nogil=True)
def _best_cut(keys, found, value, node, least, best):  # type: ignore[no-untyped-def]
    """Return the best cut of one column if it beats `best`.

    That is minus the impurity it leaves, the ranks below and above it, and the weights on its left.
    """
    patients = node.end - node.start
    n = weight = given = np.int64(0)
    cut = (np.int64(-1), np.int64(-1), np.int64(0), np.int64(0))
    for t in range(found):
        apart = t > 0 and value[keys[0, t]] > value[keys[0, t - 1]] + EQUAL
        if apart and n >= least and patients - n >= least:
            right = node.weight - weight
            # As scikit-learn words it: rounding settles ties between splits.
            left_over = -right * gini(right, node.given - given) - weight * gini(weight, given)
            if left_over > best:
                best = left_over
                cut = (keys[0, t - 1], keys[0, t], weight, given)
        n += keys[1, t] >> PATIENTS
        weight += (keys[1, t] >> WEIGHT) & PART
        given += keys[1, t] & PART
    return best, cut


@njit(cache=True, nogil=True)
def best_split(ranks, rows, packed, desk, node, growing):  # type: ignore[no-untyped-def]
    """Return the best split among columns drawn by Fisher and Yates, none of them constant.

    Parameters
    ----------
    ranks
        Covariates by rank.
    rows, packed
        The patients of the node; every patient's count.
    desk
        What the search works on.
    node, growing
        The node, and how the tree is grown.
    """
    columns, constant, known = desk.columns, desk.constant, node.known
    best, split = -np.inf, Split(-1, 0, 0, 0, 0, 0)
    left = columns.size
    visited = new = skipped = 0
    while left > known + new and (visited < growing.tried or visited <= new + skipped):
        visited += 1
        j = _drawn(desk.state, skipped, left - new)
        if j < known:
            columns[skipped], columns[j] = columns[j], columns[skipped]
            skipped += 1
            continue
        j += new
        c = columns[j]
        value = ranks.value[ranks.first[c] : ranks.first[c + 1]]
        few = packed.size <= MOST_COUNTED and value.size <= RANKS_A_PATIENT * rows.size
        if few:
            found = _counted(ranks.rank[c], rows, packed, desk, value.size)
        else:
            found = _sorted(ranks.rank[c], rows, packed, desk, value.size)
        if value[desk.keys[0, found - 1]] <= value[desk.keys[0, 0]] + EQUAL:
            columns[j], columns[known + new] = columns[known + new], columns[j]
            new += 1
            continue
        left -= 1
        columns[left], columns[j] = columns[j], columns[left]
        best, cut = _best_cut(desk.keys, found, value, node, growing.leaf, best)
        if cut[0] >= 0:
            split = Split(c, cut[0], cut[1], cut[2], cut[3], 0)
    # Constants known before stay in their order, for the nodes beside and below.
    columns[:known] = constant[:known]
    constant[known : known + new] = columns[known : known + new]
    return Split(split.column, split.below, split.above, split.weight, split.given, known + new)
