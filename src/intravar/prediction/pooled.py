"""The common score: boosted trees on all physicians' decisions.

First blind to who decided; then, once rates of the physicians are known, from the same decisions
weighed by how much each physician discriminates.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.trees import Bins, TreeRates, boosted


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
    learned = np.zeros(len(y), dtype=np.bool_)
    learned[rows] = True
    scores = []
    for which in (False, True):
        own = rows[half[rows] == which]
        known = None if rates is None else rates.take(own)
        scores.append(boosted(bins[own], y[own], bins[asked], known))
    crossed = np.where(half[asked], scores[0], scores[1])
    return np.where(learned[asked], crossed, 0.5 * (scores[0] + scores[1]))
