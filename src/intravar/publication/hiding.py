"""What must be hidden of a physician, by what stands behind the score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.evidence import Evidence
from intravar.measurement.scores import Scores
from intravar.publication.suppression import is_few


@dataclass(frozen=True)
class HiddenParts:
    """What must be hidden, one entry per physician.

    Attributes
    ----------
    size
        The panel size.
    least
        What the panel is known to hold at the least: its size, or where that is hidden the patients
        in pairs, or the eligible. What needs so and so many patients is held against it, lest a
        hidden size be told by crossing that bar.
    score
        The score, with all that comes from it.
    others
        What the latent rule says about the patients who are not eligible.
    rate
        How often the physician decides for a patient, because it would tell a small count beside
        the score.
    """

    size: BoolArray
    least: IntArray
    score: BoolArray
    others: BoolArray
    rate: BoolArray


def hidden_parts(scores: Scores, evidence: Evidence, smallest: int) -> HiddenParts:
    """Tell for every physician what must be hidden.

    The evidence says which counts follow from what is shown; see
    :meth:`intravar.estimators.evidence.Evidence.told`. Where one of those that follow from the
    score is few, the score is hidden; where one follows from the panel's size, from the rate or
    from what is said of the others, that is.
    """
    n, n_for = scores.n_patients, scores.n_for
    told = evidence.told(n, n_for)
    few_patients = _few(smallest, n)
    size = few_patients | _few(smallest, *told.size)
    score = few_patients | _few(smallest, *told.score)
    return HiddenParts(
        size,
        np.where(size, told.least, n),
        score,
        score | _few(smallest, *told.others),
        ~score & _few(smallest, *told.rate),
    )


def _few(smallest: int, *counts: IntArray | FloatArray) -> BoolArray:
    """Tell where one of the counts is few; nowhere without counts."""
    if not counts:
        return np.zeros(1, dtype=np.bool_)
    least = np.min(np.stack([np.asarray(each, dtype=np.float64) for each in counts]), axis=0)
    return np.array([is_few(count, smallest) for count in least.tolist()], dtype=np.bool_)
