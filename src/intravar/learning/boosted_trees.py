"""Newton boosting of shallow trees, compiled: decisions that follow a rule at rates of their own.

P(yes) of a patient x of physician j is low + (high - low) g, g = 1 / (1 + exp(-F(x))), with the
rates of j. With rates of 0 and 1 that is the logistic model; with a physician's own rates, a
decision of someone who hardly discriminates weighs next to nothing. Rates may be learned on the
way.

Columns are cut into bins of about equal counts. A tree, a forest or a spline looks at every column
again and again. With hundreds of them, most of which tell nothing, nearly all the time goes into
those. One pass over all columns says how well the best cut of each parts what is to be explained;
the best of them are then looked at closely. Tables with no more columns than that are learned from
as they are. Columns are chosen from the very rows that a model is grown on, never from others:
whatever is held out from the model is held out from the choice. A column that tells nothing on its
own, and much together with another, is not found this way.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from intravar.arrays import FloatArray, IntArray
from intravar.processes import interrupts_wait

Bins = npt.NDArray[np.uint8]

#: Bins of a column, and the number of the bin of missing values: for a common score.
MOST_BINS, MISSING_BIN = 62, 63

#: Columns that a model looks at closely.
MOST_SEEN = 64
#: Boosting looks at all columns anew after so many trees: what is left to explain has changed.
LOOK_AGAIN = 15
#: Bins of columns that were not binned for trees, their last number that of missing values.
COARSE, COARSE_MISSING = 16, 16
_RIDGE = 5.0


def bin_edges(table: FloatArray, most: int = MOST_BINS) -> list[FloatArray]:
    """Return where every column is cut into at most so many bins of about equal counts.

    Examples
    --------
    >>> [edges.tolist() for edges in bin_edges(np.array([[1.0], [3.0], [np.nan], [1.0]]))]
    [[1.0, 3.0]]
    """
    by_column = []
    for values in table.T:
        known = values[~np.isnan(values)]
        edges = np.unique(known)
        if len(edges) > most:
            edges = np.unique(np.quantile(known, np.arange(1, most) / most, method="lower"))
        by_column.append(edges)
    return by_column


def binned(table: FloatArray, edges: list[FloatArray], missing: int = MISSING_BIN) -> Bins:
    """Return the bin of every value; missing values have the number `missing`.

    Examples
    --------
    >>> binned(np.array([[1.0], [2.0], [np.nan]]), [np.array([1.0, 3.0])]).ravel().tolist()
    [0, 1, 63]
    """
    bins = np.full(table.shape, missing, dtype=np.uint8)
    for column, cuts in enumerate(edges):
        known = ~np.isnan(table[:, column])
        bins[known, column] = np.searchsorted(cuts, table[known, column], side="left")
    return bins


def coarse_bins(table: FloatArray) -> Bins:
    """Return the bin of every value in few bins; missing values have one of their own.

    Examples
    --------
    >>> coarse_bins(np.array([[1.0], [3.0], [np.nan], [1.0]])).ravel().tolist()
    [0, 1, 16, 0]
    """
    return binned(table, bin_edges(table, COARSE), COARSE_MISSING)


def telling(
    bins: Bins,
    y: npt.NDArray[Any],
    rows: IntArray,
    most: int = MOST_SEEN,
    who: IntArray | None = None,
) -> IntArray:
    """Return the columns that part decisions on `rows` best, in rising order, at most so many.

    `bins` are those of :func:`coarse_bins`. Given `who` decided, a decision counts by how it
    departs from the physician's share.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> table = random.normal(size=(500, 40))
    >>> y = (np.abs(table[:, 7]) > 1).astype(int)
    >>> telling(coarse_bins(table), y, np.arange(500), most=1).tolist()
    [7]
    """
    if bins.shape[1] <= most:
        return np.arange(bins.shape[1])
    given = y[rows].astype(np.float64)
    group = np.zeros(len(rows), dtype=np.int64) if who is None else who[rows]
    share = (np.bincount(group, given) / np.maximum(np.bincount(group), 1))[group]
    slopes = given - share, share * (1 - share)
    gains = column_gains(bins[rows], *slopes, COARSE_MISSING, _RIDGE, _RIDGE)
    # Of equal gains the first.
    return np.sort(np.argsort(-gains, kind="stable")[:most])


LARGEST_STEP = 1.0
LARGEST_SCORE = 8.0
EDGE = 1e-9
EMPTY = 1e-12
LEAST_GAIN = 1e-9
#: Rates that are learned on the way stay this far from 0 and 1.
RATE_EDGE = 1e-3
ROWS_AT_A_TIME = 512


class Rates(NamedTuple):
    """Per physician: P(yes) where the rule says yes, and where it says no; by default 1 and 0."""

    p_high: FloatArray = np.ones(1)
    p_low: FloatArray = np.zeros(1)


class Growth(NamedTuple):
    """How trees are grown.

    F begins at `start`; every tree takes a share `rate` of a Newton step. `ridge` is that on the
    value of a leaf, `least` the least Fisher information in it, `missing` the number of the bin of
    missing values: all others are smaller. After `hold` trees the rates are learned too, their
    priors worth `strength` patients; by default rates are known.
    """

    start: float
    trees: int
    depth: int
    rate: float
    ridge: float
    least: float
    missing: int
    hold: int = 2**31
    strength: float = 0.0


class Trees(NamedTuple):
    """Trees that were grown: F is the start and what each of them adds.

    By tree and node, the root first and then level by level: the column that is looked at, the last
    bin that goes to the left, and whether missing values do. Values are by tree and leaf.
    """

    start: float
    missing_bin: int
    columns: npt.NDArray[np.uint16]
    cuts: npt.NDArray[np.uint8]
    missing: npt.NDArray[np.bool_]
    values: FloatArray

    def scores(self, bins: Bins) -> FloatArray:
        """Return F of some rows; that of a row does not depend on the others."""
        return np.asarray(score_rows(bins, *self))

    def splits(self, n_columns: int) -> IntArray:
        """Return how often the trees look at every column."""
        looked_at = self.columns[self.cuts < self.missing_bin]
        return np.bincount(looked_at, minlength=n_columns).astype(np.int64)


class CutTrees(NamedTuple):
    """Trees, and where the columns that they look at are cut into bins."""

    edges: list[FloatArray]
    trees: Trees

    def logit(self, X: FloatArray) -> FloatArray:
        """Return F of some rows, each by the own values alone."""
        return self.trees.scores(binned(X, self.edges, self.trees.missing_bin))


@njit(cache=True, nogil=True)
def _histograms(bins, node, gradient, curvature, width, parent, sums, size):  # type: ignore[no-untyped-def]
    """Sum gradients and curvatures per node, column and bin into `sums`.

    Of two siblings only the smaller is summed; the larger is what is left of the parent. Loops
    rather than whole arrays, room handed in: both are a fraction of the time to compile.
    """
    n, p = bins.shape
    for k in range(width):
        size[k] = 0
    for i in range(n):
        size[node[i]] += 1
    for k in range(0, width - 1, 2):
        size[k if size[k] > size[k + 1] else k + 1] = -1
    for k in range(width):
        if size[k] >= 0:
            for c in range(p):
                for b in range(sums.shape[2]):
                    sums[k, c, b, 0] = 0.0
                    sums[k, c, b, 1] = 0.0
    for i in range(n):
        k, g, h = node[i], gradient[i], curvature[i]
        if size[k] >= 0:
            for c in range(p):
                b = bins[i, c]
                sums[k, c, b, 0] += g
                sums[k, c, b, 1] += h
    for k in range(width):
        if size[k] < 0:
            for c in range(p):
                for b in range(sums.shape[2]):
                    sums[k, c, b, 0] = parent[k // 2, c, b, 0] - sums[k ^ 1, c, b, 0]
                    sums[k, c, b, 1] = parent[k // 2, c, b, 1] - sums[k ^ 1, c, b, 1]


@njit(cache=True, nogil=True)
def _best_split(sums, k, ridge, least):  # type: ignore[no-untyped-def]
    """Return gain, column, bin and side of missing values of a node's best split.

    Where there is none the gain is 0 and the column -1.
    """
    missing = sums.shape[2] - 1
    total_g, total_h = 0.0, 0.0
    for b in range(missing + 1):
        total_g += sums[k, 0, b, 0]
        total_h += sums[k, 0, b, 1]
    parent = total_g * total_g / (total_h + ridge)
    best, column, cut, missing_left = 0.0, -1, 0, 0
    if total_h < 2 * least:
        return best, column, cut, missing_left
    for c in range(sums.shape[1]):
        for side in range(2):
            if side == 1 and sums[k, c, missing, 1] < EMPTY:
                break
            g = sums[k, c, missing, 0] if side == 1 else 0.0
            h = sums[k, c, missing, 1] if side == 1 else 0.0
            for b in range(missing):
                if sums[k, c, b, 1] < EMPTY:
                    continue
                g += sums[k, c, b, 0]
                h += sums[k, c, b, 1]
                if h < least:
                    continue
                if total_h - h < least:
                    break
                rest = total_g - g
                gain = g * g / (h + ridge) + rest * rest / (total_h - h + ridge) - parent
                if gain > max(best, LEAST_GAIN):
                    best, column, cut, missing_left = gain, c, b, side
    return best, column, cut, missing_left


def column_gains(
    bins: Bins,
    gradient: FloatArray,
    curvature: FloatArray,
    missing: int,
    ridge: float,
    least: float,
) -> FloatArray:
    """Return by how much the best cut of every column betters a Newton step, in one pass.

    `missing` is the number of the bin of missing values; all others are smaller.
    """
    sums = np.zeros((1, bins.shape[1], missing + 1, 2))
    node, size = np.zeros(len(bins), np.int64), np.zeros(1, np.int64)
    _histograms(bins, node, gradient, curvature, 1, sums, sums, size)
    # One column at a time, in the layout that the loop is compiled for already.
    columns = np.ascontiguousarray(np.swapaxes(sums, 0, 1))[:, None]
    return np.array([_best_split(column, 0, ridge, least)[0] for column in columns])


@njit(cache=True, nogil=True)
def _add_tree(  # type: ignore[no-untyped-def]
    bins, gradient, curvature, rate, ridge, least, node, sums, other, size, leaves, score,
    columns, cuts, missing, values,
):  # fmt: skip
    """Grow a tree on the rows of `bins`, add its values to their scores and write it down.

    `node`, `sums`, `other`, `size` and `leaves` are room to work in.
    """
    # A plain 1 would be a type of its own, for which the loops below are compiled once more.
    missing_bin, width = sums.shape[2] - 1, np.int64(1)
    node[:] = 0
    while width <= columns.size:
        _histograms(bins, node, gradient, curvature, width, other, sums, size)
        for k in range(width):
            _, column, cut, missing_left = _best_split(sums, k, ridge, least)
            at = width - 1 + k
            size[k] = column
            if column >= 0:
                columns[at], cuts[at], missing[at] = column, cut, missing_left == 1
        for i in range(node.size):
            k = node[i]
            left = True
            if size[k] >= 0:
                b, at = bins[i, size[k]], width - 1 + k
                left = missing[at] if b == missing_bin else b <= cuts[at]
            node[i] = 2 * k if left else 2 * k + 1
        sums, other = other, sums
        width *= 2
    leaves[:] = 0.0
    for i in range(node.size):
        leaves[0, node[i]] += gradient[i]
        leaves[1, node[i]] += curvature[i]
    for k in range(width):
        step = rate * leaves[0, k] / (leaves[1, k] + ridge)
        values[k] = min(max(step, -LARGEST_STEP), LARGEST_STEP)
    for i in range(node.size):
        score[i] = min(max(score[i] + values[node[i]], -LARGEST_SCORE), LARGEST_SCORE)


@njit(cache=True, nogil=True)
def _slopes(y, code, score, high, low, gradient, curvature, learn, expected):  # type: ignore[no-untyped-def]
    """Fill in gradient and curvature; add up the expected decisions by class and physician.

    The last axis is that of decisions against and for; nothing is counted unless rates are learned.
    """
    for i in range(y.size):
        j = code[i]
        g = 1 / (1 + np.exp(-score[i]))
        q = min(max(low[j] + (high[j] - low[j]) * g, EDGE), 1 - EDGE)
        steep = (high[j] - low[j]) * g * (1 - g)
        gradient[i] = (y[i] - q) * steep / (q * (1 - q))
        curvature[i] = steep * steep / (q * (1 - q))
        if learn:
            yes, no = y[i] * g * high[j] / q, (1 - y[i]) * g * (1 - high[j]) / (1 - q)
            expected[0, j, 0] += no
            expected[0, j, 1] += yes
            expected[1, j, 0] += 1 - y[i] - no
            expected[1, j, 1] += y[i] - yes


def _new_rates(expected: FloatArray, strength: float) -> FloatArray:
    """Return the rates of one class under a prior that peaks at the mean of all."""
    # Summed one after the other, whatever the number of physicians.
    mean = np.cumsum(expected[:, 1])[-1] / np.cumsum(expected)[-1]
    own = (expected[:, 1] + strength * mean) / (expected[:, 0] + expected[:, 1] + strength)
    rates: FloatArray = np.clip(own, RATE_EDGE, 1.0 - RATE_EDGE)
    return rates


@interrupts_wait()
def grow_trees(
    bins: Bins, y: npt.NDArray[Any], code: IntArray, rates: Rates, growth: Growth
) -> Trees:
    """Boost F on some rows.

    The outcome may be a share; `code` is the position of every row's physician among the rates,
    which are known or where to begin. Where a node does not split, every row goes to the left. Of
    very many columns those are looked at that part best what the trees before have left.
    """
    if not bins.size:
        growth = growth._replace(trees=0)
    y = y.astype(np.float64)
    n, inner = len(bins), 2**growth.depth - 1
    columns = np.zeros((growth.trees, inner), np.uint16)
    cuts = np.full((growth.trees, inner), growth.missing, np.uint8)
    missing = np.ones((growth.trees, inner), np.bool_)
    values = np.zeros((growth.trees, inner + 1))
    score, gradient, curvature = np.full(n, growth.start), np.zeros(n), np.zeros(n)
    high, low = rates.p_high.copy(), rates.p_low.copy()
    chosen, looked_at = np.arange(bins.shape[1]), bins
    many = bins.shape[1] > MOST_SEEN
    sums = np.zeros(((inner + 1) // 2, min(bins.shape[1], MOST_SEEN), growth.missing + 1, 2))
    how = growth.rate, growth.ridge, growth.least
    room = np.zeros(n, np.int64), sums, sums.copy(), np.zeros(inner + 1, np.int64)
    leaves, expected = np.zeros((2, inner + 1)), np.zeros((2, high.size, 2))
    for t in range(growth.trees):
        learn = t >= growth.hold
        _slopes(y, code, score, high, low, gradient, curvature, learn, expected)
        if learn:
            high, low = (_new_rates(own, growth.strength) for own in expected)
            expected[:] = 0.0
        if many and t % LOOK_AGAIN == 0:
            gains = column_gains(
                bins, gradient, curvature, growth.missing, growth.ridge, growth.least
            )
            # Of equal gains the first.
            chosen = np.sort(np.argsort(-gains, kind="stable")[:MOST_SEEN])
            looked_at = np.ascontiguousarray(bins[:, chosen])
        tree = columns[t], cuts[t], missing[t], values[t]
        _add_tree(looked_at, gradient, curvature, *how, *room, leaves, score, *tree)
        columns[t] = chosen[columns[t]]
    return Trees(growth.start, growth.missing, columns, cuts, missing, values)


@njit(cache=True, nogil=True)
def score_rows(bins, start, missing_bin, columns, cuts, missing, values):  # type: ignore[no-untyped-def]
    """Return F of any rows: of those that were boosted, the very scores they were left with."""
    n, inner = len(bins), columns.shape[1]
    score = np.full(n, start)
    # A block of rows at a time, so that neither rows nor trees are fetched again and again.
    for begin in range(0, n, ROWS_AT_A_TIME):
        end = min(begin + ROWS_AT_A_TIME, n)
        for t in range(values.shape[0]):
            for i in range(begin, end):
                node = 0
                while node < inner:
                    b = bins[i, columns[t, node]]
                    left = missing[t, node] if b == missing_bin else b <= cuts[t, node]
                    node = 2 * node + (1 if left else 2)
                value = score[i] + values[t, node - inner]
                score[i] = min(max(value, -LARGEST_SCORE), LARGEST_SCORE)
    return score
