"""A forest of one's own for every physician: any rule, however odd, if the panel is large.

Patients to be predicted fall through the branches together with those that the tree is grown on,
so that no tree is kept. The thresholds of a node are drawn first and then held against its patients
in one pass, columns side by side; patients and their decisions are counted in one sum.
"""

import numpy as np
from numba import njit

from intravar.arrays import FloatArray, IntArray
from intravar.learning.personal_rules import Table, sorted_panels

#: Thresholds tried per covariate and node.
TRIES = 2
DEEPEST = 12
#: A patient counts one, and this much more if the decision was yes: both sums are exact in one.
_YES = 2**26
#: Trees per physician; a larger panel needs fewer, its leaves are larger.
MOST_TREES, LEAST_TREES = 50, 20
ROWS_PER_TREE = 20_000
LEAST_LEAF = 4
#: Below every number: missing values go with the smallest.
MISSING = -1e30
SEED = np.uint64(0x9E3779B97F4A7C15)


def filled(covariates: FloatArray) -> FloatArray:
    """Return the covariates with missing values below all others."""
    gaps = np.isnan(covariates)
    # A large table is not held twice for nothing.
    return np.where(gaps, MISSING, covariates) if gaps.any() else covariates


def own_forests(table: Table, asked: IntArray, share: float) -> FloatArray:
    """Return P(yes) of the rows asked about, by a forest grown on the same physician's rows.

    The design are covariates without gaps. A physician without patients to learn from has the
    `share`.
    """
    covariates, y, order, begin = table.sorted()
    wanted, first = sorted_panels(table.code, asked, table.n)
    by_physician = np.full(len(asked), share)
    for j in range(table.n):
        grown_on = order[begin[j] : begin[j + 1]]
        own = slice(first[j], first[j + 1])
        if len(grown_on) and own.stop > own.start:
            trees = min(max(ROWS_PER_TREE // len(grown_on), LEAST_TREES), MOST_TREES)
            known, given = covariates[grown_on], covariates[wanted[own]]
            shares = grow_forest(known, y[grown_on], given, trees, LEAST_LEAF, SEED)
            by_physician[own] = shares / trees
    p_yes = np.empty(len(asked))
    p_yes[np.argsort(table.code[asked], kind="stable")] = by_physician
    return p_yes


@njit(cache=True, nogil=True)
def _next(state):  # type: ignore[no-untyped-def]
    """Xorshift: a whole number that looks random."""
    state ^= (state << np.uint64(13)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    state ^= state >> np.uint64(7)
    state ^= (state << np.uint64(17)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    return state


@njit(cache=True, nogil=True)
def _best_split(X, rows, row_counts, yes, least, limits, counts, state):  # type: ignore[no-untyped-def]
    """Return column and threshold that leave the least impurity, among random thresholds.

    `row_counts` is what every row counts; `limits` and `counts` are room for thresholds and sums.
    """
    n, many = rows.size, np.uint64(rows.size)
    # Thresholds halfway between values of two rows, for every column so many in turn.
    for c in range(X.shape[1]):
        for k in range(TRIES):
            state = _next(state)
            a = X[rows[np.int64(state % many)], c]
            state = _next(state)
            b = X[rows[np.int64(state % many)], c]
            # Equal values part nothing.
            limits[k, c] = -np.inf if a == b else 0.5 * a + 0.5 * b
    # What rows count that do not exceed the thresholds.
    counts[:] = 0.0
    for t in range(n):
        x, one = X[rows[t]], row_counts[rows[t]]
        for k in range(TRIES):
            for c in range(x.size):
                counts[k, c] += one if x[c] <= limits[k, c] else 0.0
    best, column, limit = 1e-9, -1, 0.0
    whole = yes * (n - yes) / n
    for c in range(X.shape[1]):
        for k in range(TRIES):
            counted = np.int64(counts[k, c])
            left, left_yes = counted % _YES, counted // _YES
            right = n - left
            if left < least or right < least:
                continue
            right_yes = yes - left_yes
            gain = whole - left_yes * (left - left_yes) / left
            gain -= right_yes * (right - right_yes) / right
            if gain > best:
                best, column, limit = gain, c, limits[k, c]
    return column, limit, state


@njit(cache=True, nogil=True)
def _divide(X, rows, place, column, limit):  # type: ignore[no-untyped-def]
    """Bring rows at or below the limit, and their places, to the front; return how many."""
    front = 0
    for t in range(rows.size):
        if X[rows[t], column] <= limit:
            rows[front], rows[t] = rows[t], rows[front]
            place[front], place[t] = place[t], place[front]
            front += 1
    return front


@njit(cache=True, nogil=True)
def grow_forest(known, y, wanted, trees, least, state):  # type: ignore[no-untyped-def]
    """Return the sum of the trees' shares for the rows wanted.

    `known` and `y` are covariates and decisions to grow on.
    """
    n, m = len(known), len(wanted)
    sums = np.zeros(m)
    row_counts, limits = np.zeros(n), np.zeros((TRIES, known.shape[1]))
    counts = np.zeros((TRIES, known.shape[1]))
    base = 0.0
    for t in range(n):
        row_counts[t] = 1 + _YES * y[t]
        base += y[t]
    base /= n
    rows, goes, place = np.zeros(n, np.int64), np.zeros(m, np.int64), np.zeros(m, np.int64)
    unused = np.zeros(n, np.int64)
    for _ in range(trees):
        for t in range(n):
            rows[t] = t
        for t in range(m):
            goes[t] = place[t] = t
        stack = [(0, n, 0, m, 0)]
        while stack:
            a, b, c, d, depth = stack.pop()
            if d == c:
                continue
            # A plain 0 would be a type of its own, for which all of this is compiled twice.
            yes = np.int64(0)
            for t in range(a, b):
                yes += y[rows[t]]
            column = -1
            if depth < DEEPEST and b - a >= 2 * least and 0 < yes < b - a:
                column, limit, state = _best_split(
                    known, rows[a:b], row_counts, yes, least, limits, counts, state
                )
            if column < 0:
                share = (yes + base) / (b - a + 1)
                for t in range(c, d):
                    sums[place[t]] += share
                continue
            cut = a + _divide(known, rows[a:b], unused, column, limit)
            fork = c + _divide(wanted, goes[c:d], place[c:d], column, limit)
            stack.append((a, cut, c, fork, depth + 1))
            stack.append((cut, b, fork, d, depth + 1))
    return sums
