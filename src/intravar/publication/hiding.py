"""What must be hidden of a physician, by what stands behind the score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.evidence import EligibleRates, Evidence, Pairs, RepeatedCases
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

    A share of pairs is the number of discordant ones over that of all: both, and the concordant
    rest, can be worked out from it. Panel size and number of pairs together tell how many patients
    stayed without a pair; where these are few, the size is hidden and the score is kept. How many
    were decided for, less the discordant pairs, are the patients decided for who have no discordant
    pair: where these are few, the rate is hidden.

    The latent rule's p_high, and the score that follows from it, are the eligible patients decided
    for over the eligible; p_low is the same of the others. Where the eligible decided one way are
    few the score is hidden, where the others are, p_low is and the rate; where the others are few
    on the whole, the panel size is hidden too, because it tells them by subtraction.

    Any other score is taken to tell how many were decided for.
    """
    n, n_for = scores.n_patients, scores.n_for
    few_patients, few_for = _few(smallest, n), _few(smallest, n_for, n - n_for)
    nobody = np.zeros(len(n), dtype=np.bool_)
    size, least = few_patients, np.where(few_patients, 0, n)
    if isinstance(evidence, Pairs):
        pairs, discordant = evidence.n_pairs, evidence.n_discordant
        score = few_patients | _few(smallest, pairs, discordant, pairs - discordant)
        rate = ~score & _few(smallest, n_for - discordant, n - n_for - discordant)
        size = size | _few(smallest, n - 2 * pairs)
        return HiddenParts(size, np.where(size, 2 * pairs, n), score, score, rate)
    if isinstance(evidence, RepeatedCases):
        seen, differ = evidence.n_repeats, evidence.n_contradictions
        score = few_patients | _few(smallest, seen, differ, seen - differ)
        return HiddenParts(size, least, score, score, nobody)
    score = few_patients | few_for
    if isinstance(evidence, EligibleRates):
        eligible, eligible_for = evidence.n_eligible, evidence.n_eligible_for
        others, others_for = n - eligible, n_for - eligible_for
        score = score | _few(smallest, eligible_for, eligible - eligible_for)
        low = score | _few(smallest, others_for, others - others_for)
        size = size | _few(smallest, others)
        least = np.where(size, np.floor(eligible).astype(np.int64), n)
        return HiddenParts(size, least, score, low, ~score & low)
    return HiddenParts(size, least, score, score, nobody)


def _few(smallest: int, *counts: IntArray | FloatArray) -> BoolArray:
    """Tell where one of the counts is few."""
    least = np.min(np.stack([np.asarray(each, dtype=np.float64) for each in counts]), axis=0)
    return np.array([is_few(count, smallest) for count in least.tolist()], dtype=np.bool_)
