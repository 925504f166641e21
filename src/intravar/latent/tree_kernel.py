"""Newton boosting of shallow trees on the observed-data likelihood, compiled.

The score of patient i is F(x_i), the logit of g(x_i).  With q = p_low + (p_high - p_low) g the
derivative of the log-likelihood of one decision is r - g (r: probability of being eligible given
the decision) and its Fisher information is (p_high - p_low)^2 g^2 (1 - g)^2 / (q (1 - q)).  A
patient of a physician who does not discriminate therefore weighs nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from intravar.arrays import BoolArray, FloatArray
from intravar.learning.screening import LOOK_AGAIN, MOST_SEEN, column_gains, largest

Bins = npt.NDArray[np.uint8]
IntArray32 = npt.NDArray[np.int32]

MISSING_BIN = 255
MAX_BINS = 254
LARGEST_STEP = 1.0
EMPTY = 1e-12
ROWS_AT_A_TIME = 512


class Rates(NamedTuple):
    """Probabilities of a decision for, and the shift of a personal threshold, per physician."""

    p_high: FloatArray
    p_low: FloatArray
    shift: FloatArray


class Growth(NamedTuple):
    """How trees are grown; a tuple, because that is what compiled code takes.

    Attributes
    ----------
    start
        Logit g before the first tree.
    trees, depth, rate
        Number of trees, their depth, and the share of a Newton step that each takes.
    hold
        Trees before the rates are learned too; as many as there are trees if they are known.
    ridge, least
        Ridge on the value of a leaf, and the least Fisher information in it.
    strength
        Patients that the prior of a rate is worth.
    cap
        Largest logit.
    """

    start: float
    trees: int
    depth: int
    rate: float
    hold: int
    ridge: float
    least: float
    strength: float
    cap: float


class RuleTrees(NamedTuple):
    """Boosted trees, one row each; the nodes of a level follow those of the level above.

    Attributes
    ----------
    column, cut, missing_left
        By inner node: column to look at, -1 for none; last bin that goes left; whether missing
        values go left.
    value
        By leaf: what the tree adds to logit g.
    """

    column: IntArray32
    cut: IntArray32
    missing_left: BoolArray
    value: FloatArray


def cuts_of(X: FloatArray) -> list[FloatArray]:
    """Return where every column is cut into at most 254 bins."""
    cuts = []
    for column in range(X.shape[1]):
        known = np.isfinite(X[:, column])
        values = np.unique(X[known, column])
        if values.size > MAX_BINS:
            levels = np.arange(1, MAX_BINS) / MAX_BINS
            values = np.unique(np.quantile(X[known, column], levels))
        cuts.append(values)
    return cuts


def bins_of(X: FloatArray, cuts: list[FloatArray]) -> Bins:
    """Return bin numbers given the cuts, see :func:`bin_columns`."""
    bins = np.full(X.shape, MISSING_BIN, dtype=np.uint8)
    for column, values in enumerate(cuts):
        known = np.isfinite(X[:, column])
        bins[known, column] = np.searchsorted(values, X[known, column], side="left")
    return bins


def bin_columns(X: FloatArray) -> Bins:
    """Cut every column into at most 254 bins; missing values get a bin of their own.

    Parameters
    ----------
    X
        Covariates, one row per patient; NaN marks a missing value.

    Returns
    -------
    ndarray of uint8
        Bin numbers in the order of the values; 255 where the value is missing.

    Examples
    --------
    >>> bin_columns(np.array([[1.0], [3.0], [np.nan], [1.0]])).ravel().tolist()
    [0, 1, 255, 0]
    """
    return bins_of(X, cuts_of(X))


@njit(cache=True, nogil=True)
def _histograms(bins, rows, node, gradient, curvature, parent, width):  # type: ignore[no-untyped-def]
    """Sum gradients and curvatures per node, column and bin.

    Of two siblings only the smaller is summed; the larger is what is left of the parent.
    """
    p = bins.shape[1]
    sums = np.zeros((width, p, 256, 2))
    size = np.zeros(width, np.int64)
    for t in range(rows.size):
        size[node[rows[t]]] += 1
    counted = np.ones(width, np.bool_)
    for k in range(0, width - 1, 2):
        counted[k if size[k] > size[k + 1] else k + 1] = False
    for t in range(rows.size):
        i = rows[t]
        k = node[i]
        if counted[k]:
            for c in range(p):
                b = bins[i, c]
                sums[k, c, b, 0] += gradient[i]
                sums[k, c, b, 1] += curvature[i]
    for k in range(width):
        if not counted[k]:
            sums[k] = parent[k // 2] - sums[k ^ 1]
    return sums


@njit(cache=True, nogil=True)
def _best_split(sums, ridge, least):  # type: ignore[no-untyped-def]
    """Return column, bin and side of the missing values of the best split; column -1 if none."""
    p = sums.shape[0]
    total_g = sums[0, :, 0].sum()
    total_h = sums[0, :, 1].sum()
    parent = total_g * total_g / (total_h + ridge)
    best = 1e-9
    column = -1
    cut = 0
    missing_left = False
    for c in range(p):
        for side in range(2):
            if side == 1 and sums[c, 255, 1] < EMPTY:
                break
            g = sums[c, 255, 0] if side == 1 else 0.0
            h = sums[c, 255, 1] if side == 1 else 0.0
            for b in range(255):
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
                    best = gain
                    column = c
                    cut = b
                    missing_left = side == 1
    return column, cut, missing_left


@njit(cache=True, nogil=True)
def _tree_values(bins, rows, gradient, curvature, growth, trees, t):  # type: ignore[no-untyped-def]
    """Grow one tree on `rows`, write it down and return its values for everybody."""
    n = bins.shape[0]
    node = np.zeros(n, np.int32)
    width = 1
    sums = np.zeros((1, bins.shape[1], 256, 2))
    for _ in range(growth.depth):
        sums = _histograms(bins, rows, node, gradient, curvature, sums, width)
        column = np.full(width, -1, np.int32)
        cut = np.zeros(width, np.int32)
        missing_left = np.zeros(width, np.bool_)
        for k in range(width):
            column[k], cut[k], missing_left[k] = _best_split(sums[k], growth.ridge, growth.least)
            trees.column[t, width - 1 + k] = column[k]
            trees.cut[t, width - 1 + k] = cut[k]
            trees.missing_left[t, width - 1 + k] = missing_left[k]
        for i in range(n):
            k = node[i]
            left = True
            if column[k] >= 0:
                b = bins[i, column[k]]
                left = missing_left[k] if b == 255 else b <= cut[k]
            node[i] = 2 * k if left else 2 * k + 1
        width *= 2
    g = np.zeros(width)
    h = np.zeros(width)
    for s in range(rows.size):
        i = rows[s]
        g[node[i]] += gradient[i]
        h[node[i]] += curvature[i]
    value = trees.value[t]
    for k in range(width):
        step = growth.rate * g[k] / (h[k] + growth.ridge)
        value[k] = min(max(step, -LARGEST_STEP), LARGEST_STEP)
    return value[node]


@njit(cache=True, nogil=True)
def _posterior(rows, y, physician, score, rates, gradient, curvature):  # type: ignore[no-untyped-def]
    """Fill in gradient and curvature; return the expected decisions by class and physician."""
    eligible = np.zeros((rates.p_high.size, 2))
    other = np.zeros((rates.p_high.size, 2))
    for s in range(rows.size):
        i = rows[s]
        j = physician[i]
        high, low = rates.p_high[j], rates.p_low[j]
        g = 1.0 / (1.0 + np.exp(-score[i] - rates.shift[j]))
        contrast = high - low
        q = low + contrast * g
        r = g * high / q if y[i] == 1 else g * (1.0 - high) / (1.0 - q)
        v = g * (1.0 - g)
        gradient[i] = r - g
        curvature[i] = contrast * contrast * v * v / (q * (1.0 - q))
        eligible[j, y[i]] += r
        other[j, y[i]] += 1.0 - r
    return eligible, other


@njit(cache=True, nogil=True)
def _new_rates(expected, strength):  # type: ignore[no-untyped-def]
    """Return the rates of one class under a prior that peaks at the mean of all."""
    mean = expected[:, 1].sum() / expected.sum()
    rates = np.empty(expected.shape[0])
    for j in range(rates.size):
        p = (expected[j, 1] + strength * mean) / (expected[j].sum() + strength)
        rates[j] = min(max(p, 1e-3), 1.0 - 1e-3)
    return rates


@njit(cache=True, nogil=True)
def boost(bins, y, physician, rows, rates, growth):  # type: ignore[no-untyped-def]
    """Boost logit g on `rows`; from tree `hold` on, update the rates by EM steps.

    A physician's shift moves that physician's threshold. Returns the scores of all patients,
    without the shifts, the rates as they were left, and the trees. Of very many columns those are
    looked at that part best what the trees before have left.
    """
    seen, looked_at = np.arange(bins.shape[1]), bins
    n = y.size
    score = np.full(n, growth.start)
    gradient = np.zeros(n)
    curvature = np.zeros(n)
    learned = Rates(rates.p_high, rates.p_low, rates.shift)
    leaves = 2**growth.depth
    inner = (growth.trees, leaves - 1)
    trees = RuleTrees(
        np.full(inner, -1, np.int32),
        np.zeros(inner, np.int32),
        np.zeros(inner, np.bool_),
        np.zeros((growth.trees, leaves)),
    )
    for t in range(growth.trees):
        eligible, other = _posterior(rows, y, physician, score, learned, gradient, curvature)
        if t >= growth.hold:
            high = _new_rates(eligible, growth.strength)
            low = _new_rates(other, growth.strength)
            learned = Rates(high, low, rates.shift)
        if bins.shape[1] > MOST_SEEN and t % LOOK_AGAIN == 0:
            gains = column_gains(
                bins, rows, gradient, curvature, MISSING_BIN, growth.ridge, growth.least
            )
            seen = largest(gains, MOST_SEEN)
            looked_at = np.ascontiguousarray(bins[:, seen])
        score += _tree_values(looked_at, rows, gradient, curvature, growth, trees, t)
        for k in range(leaves - 1):
            if trees.column[t, k] >= 0:
                trees.column[t, k] = seen[trees.column[t, k]]
        for i in range(n):
            score[i] = min(max(score[i], -growth.cap), growth.cap)
    return score, learned, trees


@njit(cache=True, nogil=True)
def tree_scores(bins, trees, start, cap):  # type: ignore[no-untyped-def]
    """Return logit g of any rows: of those that were boosted, the very scores of `boost`."""
    n, inner = bins.shape[0], trees.column.shape[1]
    score = np.full(n, start)
    # A block of rows at a time, so that neither rows nor trees are fetched again and again.
    for begin in range(0, n, ROWS_AT_A_TIME):
        end = min(begin + ROWS_AT_A_TIME, n)
        for t in range(trees.value.shape[0]):
            column, cut, missing_left = trees.column[t], trees.cut[t], trees.missing_left[t]
            for i in range(begin, end):
                node = 0
                while node < inner:
                    left = True
                    if column[node] >= 0:
                        b = bins[i, column[node]]
                        left = missing_left[node] if b == 255 else b <= cut[node]
                    node = 2 * node + 1 if left else 2 * node + 2
                value = score[i] + trees.value[t, node - inner]
                score[i] = min(max(value, -cap), cap)
    return score
