"""What the average colleague would score on the same patients: hard cases are no reproach."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.trees import Bins, boosted
from intravar.seeds import stream

#: Physicians are dealt into so many groups; what to expect of one is learned from the others.
GROUPS = 5
#: Losses are learned from at most so many patients of colleagues.
MOST_ROWS = 40_000


def expected_losses(
    bins: Bins, loss: FloatArray, code: IntArray, n_physicians: int, seed: int
) -> FloatArray:
    """Return the loss that other physicians have with a patient like this one, for every patient.

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
        return np.full(len(loss), np.nan)
    random = stream(seed, "prediction", "colleagues")
    group = random.permutation(n_physicians) % min(GROUPS, n_physicians)
    found = np.empty(len(loss))
    for number in range(int(group.max()) + 1):
        own = group[code] == number
        others = np.flatnonzero(~own)
        if len(others) > MOST_ROWS:
            others = np.sort(random.choice(others, MOST_ROWS, replace=False))
        found[own] = expit(boosted(bins[others], loss[others], bins[own]))
    return found
