"""Newton boosting of shallow trees, compiled: decisions that follow a rule at rates of their own.

P(yes) of row i is low_i + (high_i - low_i) g, g = 1 / (1 + exp(-F(x_i))). With rates of 0 and 1
that is the logistic model; with a physician's own rates, a decision of someone who hardly
discriminates weighs next to nothing.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from intravar.learning.screening import LOOK_AGAIN, MOST_SEEN, column_gains, largest

#: Bins are numbered from 0; the last number is that of missing values.
MISSING_BIN = 63
LARGEST_STEP = 1.0
LARGEST_SCORE = 8.0
EDGE = 1e-9
EMPTY = 1e-12


@njit(cache=True, nogil=True)
def _histograms(bins, node, gradient, curvature, parent, width):  # type: ignore[no-untyped-def]
    """Sum gradients and curvatures per node, column and bin.

    Of two siblings only the smaller is summed; the larger is what is left of the parent.
    """
    n, p = bins.shape
    sums = np.zeros((width, p, MISSING_BIN + 1, 2))
    size = np.zeros(width, np.int64)
    for i in range(n):
        size[node[i]] += 1
    counted = np.ones(width, np.bool_)
    for k in range(0, width - 1, 2):
        counted[k if size[k] > size[k + 1] else k + 1] = False
    for i in range(n):
        k = node[i]
        if counted[k]:
            for c in range(p):
                sums[k, c, bins[i, c], 0] += gradient[i]
                sums[k, c, bins[i, c], 1] += curvature[i]
    for k in range(width):
        if not counted[k]:
            sums[k] = parent[k // 2] - sums[k ^ 1]
    return sums


@njit(cache=True, nogil=True)
def _best_split(sums, ridge, least):  # type: ignore[no-untyped-def]
    """Return column, bin and side of the missing values of the best split; column -1 if none."""
    total_g, total_h = sums[0, :, 0].sum(), sums[0, :, 1].sum()
    parent = total_g * total_g / (total_h + ridge)
    best, column, cut, missing_left = 1e-9, -1, 0, False
    for c in range(sums.shape[0]):
        for side in range(2):
            if side == 1 and sums[c, MISSING_BIN, 1] < EMPTY:
                break
            g = sums[c, MISSING_BIN, 0] if side == 1 else 0.0
            h = sums[c, MISSING_BIN, 1] if side == 1 else 0.0
            for b in range(MISSING_BIN):
                if sums[c, b, 1] < EMPTY:
                    continue
                g += sums[c, b, 0]
                h += sums[c, b, 1]
                if h < least:
                    continue
                if total_h - h < least:
                    break
                rest = total_g - g
                gain = g * g / (h + ridge) + rest * rest / (total_h - h + ridge) - parent
                if gain > best:
                    best, column, cut, missing_left = gain, c, b, side == 1
    return column, cut, missing_left


@njit(cache=True, nogil=True)
def _descend(bins, node, column, cut, missing_left):  # type: ignore[no-untyped-def]
    """Send every row one level down."""
    for i in range(node.size):
        k = node[i]
        left = True
        if column[k] >= 0:
            b = bins[i, column[k]]
            left = missing_left[k] if b == MISSING_BIN else b <= cut[k]
        node[i] = 2 * k if left else 2 * k + 1


@njit(cache=True, nogil=True)
def _add_tree(  # type: ignore[no-untyped-def]
    bins, gradient, curvature, depth, ridge, least, rate, score, columns, cuts, missing, values
):
    """Grow a tree on the rows of `bins`, add its values to their scores and write it down."""
    node = np.zeros(len(bins), np.int64)
    width = 1
    sums = np.zeros((1, bins.shape[1], MISSING_BIN + 1, 2))
    for _ in range(depth):
        sums = _histograms(bins, node, gradient, curvature, sums, width)
        column, cut = np.full(width, -1, np.int64), np.zeros(width, np.int64)
        missing_left = np.zeros(width, np.bool_)
        for k in range(width):
            column[k], cut[k], missing_left[k] = _best_split(sums[k], ridge, least)
            if column[k] >= 0:
                columns[width - 1 + k], cuts[width - 1 + k] = column[k], cut[k]
                missing[width - 1 + k] = missing_left[k]
        _descend(bins, node, column, cut, missing_left)
        width *= 2
    g, h = np.zeros(width), np.zeros(width)
    for i in range(len(bins)):
        g[node[i]] += gradient[i]
        h[node[i]] += curvature[i]
    for k in range(width):
        values[k] = min(max(rate * g[k] / (h[k] + ridge), -LARGEST_STEP), LARGEST_STEP)
    for i in range(len(bins)):
        score[i] = min(max(score[i] + values[node[i]], -LARGEST_SCORE), LARGEST_SCORE)


@njit(cache=True, nogil=True)
def boost(  # type: ignore[no-untyped-def]
    bins, y, low, high, start, trees, depth, rate, ridge, least
):
    """Boost F on the rows of `bins`; return the trees: columns, cuts, missing values, leaves.

    The nodes of a tree are numbered from the root, level by level. Where a node does not split,
    every row goes to the left. Of very many columns those are looked at that part best what the
    trees before have left.
    """
    everybody, seen, looked_at = np.arange(len(bins)), np.arange(bins.shape[1]), bins
    inner = 2**depth - 1
    columns = np.zeros((trees, inner), np.uint16)
    cuts = np.full((trees, inner), MISSING_BIN, np.uint8)
    missing = np.ones((trees, inner), np.bool_)
    values = np.zeros((trees, inner + 1))
    score = np.full(len(bins), start)
    gradient, curvature = np.zeros(len(bins)), np.zeros(len(bins))
    for t in range(trees):
        for i in range(len(bins)):
            g = 1 / (1 + np.exp(-score[i]))
            q = min(max(low[i] + (high[i] - low[i]) * g, EDGE), 1 - EDGE)
            steep = (high[i] - low[i]) * g * (1 - g)
            gradient[i] = (y[i] - q) * steep / (q * (1 - q))
            curvature[i] = steep * steep / (q * (1 - q))
        if bins.shape[1] > MOST_SEEN and t % LOOK_AGAIN == 0:
            gains = column_gains(bins, everybody, gradient, curvature, MISSING_BIN, ridge, least)
            seen = largest(gains, MOST_SEEN)
            looked_at = np.ascontiguousarray(bins[:, seen])
        _add_tree(
            looked_at, gradient, curvature, depth, ridge, least, rate, score,
            columns[t], cuts[t], missing[t], values[t],
        )  # fmt: skip
        for k in range(inner):
            columns[t, k] = seen[columns[t, k]]
    return columns, cuts, missing, values


@njit(cache=True, nogil=True)
def score_rows(bins, start, columns, cuts, missing, values):  # type: ignore[no-untyped-def]
    """Return F of some rows by trees that were grown before."""
    trees, inner = columns.shape
    found = np.empty(len(bins))
    for i in range(len(bins)):
        score = start
        for t in range(trees):
            node = 0
            while node < inner:
                b = bins[i, columns[t, node]]
                left = missing[t, node] if b == MISSING_BIN else b <= cuts[t, node]
                node = 2 * node + (1 if left else 2)
            score = min(max(score + values[t, node - inner], -LARGEST_SCORE), LARGEST_SCORE)
        found[i] = score
    return found
