"""The common score: boosted trees on all physicians' decisions.

First blind to who decided; then, once rates of the physicians are known, from the same decisions
weighed by how much each physician discriminates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray, IntArray
from intravar.learning.bins import Bins
from intravar.learning.boosted_trees import Rates, Trees
from intravar.learning.screening import MOST_SEEN
from intravar.prediction.trees import grown


@dataclass(frozen=True, eq=False)
class CommonTrees:
    """Trees of either half of the patients learned from."""

    halves: tuple[Trees, Trees]

    def crossed(self, bins: Bins, rows: IntArray, half: npt.NDArray[np.bool_]) -> FloatArray:
        """Return the score of all patients, given those learned from and everybody's half.

        A model of one half of the rows scores the other half, so that no score has seen its own
        patient's decision; patients that were not learned from get the mean of both models.
        """
        one, other = (trees.scores(bins) for trees in self.halves)
        score = 0.5 * (one + other)
        score[rows] = np.where(half, one, other)[rows]
        return score

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
            often += trees.splits(n_columns)
        often[told] = np.inf
        found = np.argsort(-often, kind="stable")[:MOST_SEEN]
        return np.sort(found[often[found] > 0])


def common_trees(
    bins: Bins,
    y: IntArray,
    code: IntArray,
    rows: IntArray,
    half: npt.NDArray[np.bool_],
    rates: Rates | None = None,
) -> CommonTrees:
    """Grow the trees of either half.

    Parameters
    ----------
    bins, y, code
        Binned covariates, decisions and physicians of all patients.
    rows
        Patients to learn from.
    half
        Half to which every patient belongs.
    rates
        The physicians' rates; by default it is not known who decides.
    """
    one, other = (
        grown(bins[own], y[own], None if rates is None else code[own], rates)
        for own in (rows[half[rows] == which] for which in (False, True))
    )
    return CommonTrees((one, other))
