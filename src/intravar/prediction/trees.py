"""Boosted trees as predictions use them: a common score, and what colleagues would lose.

The common score is learned from all physicians' decisions: first blind to who decided; then, once
rates of the physicians are known, weighed by how much each physician discriminates. Losses of
colleagues say what to expect with a patient: hard cases are no reproach.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.learning import boosted_trees
from intravar.learning.boosted_trees import MOST_SEEN, Bins, Rates, Trees, grow_trees
from intravar.seeds import stream

DEPTH = 4
RATE = 0.15
RIDGE = 5.0
LEAST_INFORMATION = 5.0
#: One tree per so many rows, within limits: few patients do not bear many trees.
ROWS_PER_TREE, FEWEST, MOST = 25, 12, 90
LARGEST_START = 3.0
#: Physicians are dealt into so many groups; what to expect of one is learned from the others.
GROUPS = 5
#: Losses are learned from at most so many patients of colleagues.
MOST_ROWS = 40_000


def grown(
    bins: Bins,
    y: npt.NDArray[Any],
    code: IntArray | None = None,
    rates: Rates | None = None,
) -> Trees:
    """Boost F on some rows; the outcome may be a share.

    Without the physicians' rates it is a logistic model.
    """
    n = len(bins)
    trees = int(np.clip(n // ROWS_PER_TREE, FEWEST, MOST))
    start = 0.0
    if rates is None and n:
        share = (float(np.sum(y)) + 0.5) / (n + 1)
        start = float(np.clip(logit(share), -LARGEST_START, LARGEST_START))
    who = np.zeros(n, dtype=np.int64) if code is None else code
    growth = boosted_trees.Growth(
        start, trees, DEPTH, RATE, RIDGE, LEAST_INFORMATION, boosted_trees.MISSING_BIN
    )
    return grow_trees(bins, y, who, rates or Rates(), growth)


class CommonTrees(NamedTuple):
    """Trees of either half of the patients learned from."""

    one: Trees
    other: Trees

    def scores(
        self, bins: Bins, rows: IntArray | None = None, half: BoolArray | None = None
    ) -> FloatArray:
        """Return the score of all patients, given those learned from, if any, and their halves.

        A model of one half of the rows scores the other half, so that no score has seen its own
        patient's decision; patients that were not learned from get the mean of both models.
        """
        one, other = (trees.scores(bins) for trees in self)
        score = np.asarray(0.5 * (one + other))
        if rows is not None and half is not None:
            score[rows] = np.where(half, one, other)[rows]
        return score

    def worth_a_look(self, always: IntArray, n_columns: int) -> IntArray:
        """Return the columns at which forests look: all, unless they are very many.

        Then it is `always`, those that go with decisions, and beside them those at which the trees
        look most often.
        """
        if n_columns <= MOST_SEEN:
            return np.arange(n_columns)
        often = (self.one.splits(n_columns) + self.other.splits(n_columns)).astype(np.float64)
        often[always] = np.inf
        columns = np.argsort(-often, kind="stable")[:MOST_SEEN]
        return np.sort(columns[often[columns] > 0])


def common_trees(
    bins: Bins,
    y: IntArray,
    code: IntArray,
    rows: IntArray,
    half: BoolArray,
    rates: Rates | None = None,
) -> CommonTrees:
    """Grow the trees of either half of `rows`; without rates it is not known who decides."""
    one, other = (
        grown(bins[own], y[own], None if rates is None else code[own], rates)
        for own in (rows[half[rows] == which] for which in (False, True))
    )
    return CommonTrees(one, other)


def colleagues_loss(trees: Sequence[Trees], bins: Bins) -> FloatArray:
    """Return the loss to expect with patients of physicians outside all groups.

    None of the trees has seen them, so that all count alike: logits are averaged. NaN without any.
    """
    if not trees:
        return np.full(len(bins), np.nan)
    return np.asarray(expit(np.sum([each.scores(bins) for each in trees], axis=0) / len(trees)))


def expected_losses(
    bins: Bins, loss: FloatArray, code: IntArray, n_physicians: int, seed: int
) -> tuple[FloatArray, list[Trees]]:
    """Return the loss that other physicians have with a patient like this one, for every patient.

    `loss` is the held-out squared error; NaN where there is no colleague. Beside it the trees of
    the losses of all groups but one, for physicians who were not learned from.
    """
    if n_physicians < 2:
        return np.full(len(loss), np.nan), []
    random = stream(seed, "prediction", "colleagues")
    group = random.permutation(n_physicians) % min(GROUPS, n_physicians)
    expected, trees = np.empty(len(loss)), []
    for number in range(int(group.max()) + 1):
        own = group[code] == number
        others = np.flatnonzero(~own)
        if len(others) > MOST_ROWS:
            others = np.sort(random.choice(others, MOST_ROWS, replace=False))
        trees.append(grown(bins[others], loss[others]))
        expected[own] = expit(trees[-1].scores(bins[own]))
    return expected, trees
