"""The common score: boosted trees on all physicians' decisions.

First blind to who decided; then, once rates of the physicians are known, from the same decisions
weighed by how much each physician discriminates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray, IntArray
from intravar.learning.screening import MOST_SEEN
from intravar.prediction.trees import Bins, TreeRates, Trees, grown
from intravar.prediction.trees_kernel import MISSING_BIN


@dataclass(frozen=True, eq=False)
class CommonTrees:
    """Trees of either half of the patients learned from."""

    halves: tuple[Trees, Trees]

    def crossed(
        self, bins: Bins, rows: IntArray, half: npt.NDArray[np.bool_], asked: IntArray
    ) -> FloatArray:
        """Return the score of patients; see :func:`common_score`."""
        learned = np.zeros(len(bins), dtype=np.bool_)
        learned[rows] = True
        one, other = (trees.scores(bins[asked]) for trees in self.halves)
        crossed = np.where(half[asked], one, other)
        return np.where(learned[asked], crossed, 0.5 * (one + other))

    def scores(self, bins: Bins) -> FloatArray:
        """Return the score of patients of whom none was learned from."""
        one, other = (trees.scores(bins) for trees in self.halves)
        return np.asarray(0.5 * (one + other))

    def worth_a_look(self, told: IntArray, n_columns: int) -> IntArray:
        """Return the columns at which forests look: all, unless they are very many.

        Then it is `told`, and beside them those at which the trees look most often.

        Parameters
        ----------
        told
            Columns that go with decisions.
        n_columns
            How many there are.
        """
        if n_columns <= MOST_SEEN:
            return np.arange(n_columns)
        often = np.zeros(n_columns)
        for trees in self.halves:
            parts = trees.columns[trees.cuts < MISSING_BIN]
            often += np.bincount(parts, minlength=n_columns)
        often[told] = np.inf
        found = np.argsort(-often, kind="stable")[:MOST_SEEN]
        return np.sort(found[often[found] > 0])


def common_trees(
    bins: Bins,
    y: IntArray,
    rows: IntArray,
    half: npt.NDArray[np.bool_],
    rates: TreeRates | None = None,
) -> CommonTrees:
    """Grow the trees of either half; see :func:`common_score`."""
    one, other = (
        grown(bins[own], y[own], None if rates is None else rates.take(own))
        for own in (rows[half[rows] == which] for which in (False, True))
    )
    return CommonTrees((one, other))


def common_score(
    bins: Bins,
    y: IntArray,
    rows: IntArray,
    half: npt.NDArray[np.bool_],
    asked: IntArray,
    rates: TreeRates | None = None,
) -> FloatArray:
    """Return the score of patients learned from and of others.

    A model of one half of the rows scores the other half, so that no score has seen its own
    patient's decision; patients that were not learned from get the mean of both models.

    Parameters
    ----------
    bins, y
        Binned covariates and decisions of all patients.
    rows
        Patients to learn from.
    half
        Half to which every patient belongs.
    asked
        Patients to score.
    rates
        TreeRates of all patients; by default none.
    """
    return common_trees(bins, y, rows, half, rates).crossed(bins, rows, half, asked)
