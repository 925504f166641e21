"""A forest for every physician, grown on the own patients, compiled.

Patients to be predicted fall through the branches together with those that the tree is grown on,
so that no tree is kept.
"""

from __future__ import annotations

import numpy as np
from numba import njit

#: Thresholds tried per covariate and node.
TRIES = 2
DEEPEST = 12


@njit(cache=True, nogil=True)
def _next(state):  # type: ignore[no-untyped-def]
    """Xorshift: a whole number that looks random."""
    state ^= (state << np.uint64(13)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    state ^= state >> np.uint64(7)
    state ^= (state << np.uint64(17)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    return state


@njit(cache=True, nogil=True)
def _best_split(X, y, rows, yes, least, state):  # type: ignore[no-untyped-def]
    """Return column and threshold that leave the least impurity, among random thresholds."""
    n, p = rows.size, X.shape[1]
    best, column, limit = 1e-9, -1, 0.0
    whole = yes * (n - yes) / n
    for c in range(p):
        for _ in range(TRIES):
            state = _next(state)
            a = X[rows[np.int64(state % np.uint64(n))], c]
            state = _next(state)
            b = X[rows[np.int64(state % np.uint64(n))], c]
            if a == b:
                continue
            threshold = 0.5 * a + 0.5 * b
            left, left_yes = 0, 0
            for t in range(n):
                if X[rows[t], c] <= threshold:
                    left += 1
                    left_yes += y[rows[t]]
            right = n - left
            if left < least or right < least:
                continue
            right_yes = yes - left_yes
            gain = whole - left_yes * (left - left_yes) / left
            gain -= right_yes * (right - right_yes) / right
            if gain > best:
                best, column, limit = gain, c, threshold
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
def grow_forest(X, y, grown_on, asked, trees, least, state):  # type: ignore[no-untyped-def]
    """Return the mean of the trees' shares for the rows asked about."""
    n, m = grown_on.size, asked.size
    found = np.zeros(m)
    base = 0.0
    for t in range(n):
        base += y[grown_on[t]]
    base /= n
    stack = np.empty((2 * DEEPEST + 4, 5), np.int64)
    for _ in range(trees):
        rows, goes, place = grown_on.copy(), asked.copy(), np.arange(m)
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3], stack[0, 4] = 0, n, 0, m, 0
        top = 1
        while top > 0:
            top -= 1
            a, b, c, d, depth = stack[top]
            if d == c:
                continue
            yes = 0
            for t in range(a, b):
                yes += y[rows[t]]
            column = -1
            if depth < DEEPEST and b - a >= 2 * least and 0 < yes < b - a:
                column, limit, state = _best_split(X, y, rows[a:b], yes, least, state)
            if column < 0:
                share = (yes + base) / (b - a + 1)
                for t in range(c, d):
                    found[place[t]] += share
                continue
            cut = a + _divide(X, rows[a:b], np.arange(b - a), column, limit)
            fork = c + _divide(X, goes[c:d], place[c:d], column, limit)
            for s in range(2):
                stack[top, 0] = a if s == 0 else cut
                stack[top, 1] = cut if s == 0 else b
                stack[top, 2] = c if s == 0 else fork
                stack[top, 3] = fork if s == 0 else d
                stack[top, 4] = depth + 1
                top += 1
    return found / trees
