"""What the average colleague would score on the same patients: hard cases are no reproach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.learning.bins import Bins
from intravar.learning.boosted_trees import Trees
from intravar.prediction.trees import grown
from intravar.seeds import stream

#: Physicians are dealt into so many groups; what to expect of one is learned from the others.
GROUPS = 5
#: Losses are learned from at most so many patients of colleagues.
MOST_ROWS = 40_000


@dataclass(frozen=True, eq=False)
class ColleaguesLosses:
    """Trees of the losses of all groups but one; none where there is no colleague."""

    trees: tuple[Trees, ...]

    def expected(self, bins: Bins) -> FloatArray:
        """Return the loss to expect with patients of physicians outside all groups.

        None of the trees has seen them, so that all count alike: logits are averaged.
        """
        if not self.trees:
            return np.full(len(bins), np.nan)
        total = np.zeros(len(bins))
        for each in self.trees:
            total += each.scores(bins)
        return np.asarray(expit(total / len(self.trees)))


def expected_losses(
    bins: Bins, loss: FloatArray, code: IntArray, n_physicians: int, seed: int
) -> tuple[FloatArray, ColleaguesLosses]:
    """Return the loss that other physicians have with a patient like this one, for every patient.

    Beside it the trees that say so, for physicians who were not learned from.

    Parameters
    ----------
    bins
        Binned covariates.
    loss
        Held-out squared error per patient.
    code, n_physicians
        Physician per patient, and how many there are; NaN where there is no colleague.
    seed
        Of the groups.
    """
    if n_physicians < 2:
        return np.full(len(loss), np.nan), ColleaguesLosses(())
    random = stream(seed, "prediction", "colleagues")
    group = random.permutation(n_physicians) % min(GROUPS, n_physicians)
    found, trees = np.empty(len(loss)), []
    for number in range(int(group.max()) + 1):
        own = group[code] == number
        others = np.flatnonzero(~own)
        if len(others) > MOST_ROWS:
            others = np.sort(random.choice(others, MOST_ROWS, replace=False))
        trees.append(grown(bins[others], loss[others]))
        found[own] = expit(trees[-1].scores(bins[own]))
    return found, ColleaguesLosses(tuple(trees))
