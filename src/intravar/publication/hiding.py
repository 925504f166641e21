"""What must be hidden of a physician, by what stands behind the score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.evidence import EligibleRates, Evidence, Pairs, RepeatedCases
from intravar.measurement.scores import Scores
from intravar.publication.suppression import is_small, is_small_expectation, part_is_safe


@dataclass(frozen=True)
class HiddenParts:
    """What must be hidden, one entry per physician.

    Attributes
    ----------
    size
        The panel size.
    score
        The score, with all that comes from it.
    others
        What the latent rule says about the patients who are not eligible.
    """

    size: BoolArray
    score: BoolArray
    others: BoolArray


def hidden_parts(scores: Scores, evidence: Evidence, smallest: int) -> HiddenParts:
    """Tell for every physician what must be hidden.

    A share of pairs is the number of discordant ones over that of all: both, and the concordant
    rest, can be worked out from it. Panel size and number of pairs together tell how many patients
    stayed without a pair; where these are few, the size is hidden and the score is kept.

    The latent rule's p_high, and the score that follows from it, are the eligible patients decided
    for over the eligible; p_low is the same of the others. Where the eligible decided one way are
    few the score is hidden, where the others are, p_low is; where the others are few on the whole,
    the panel size is hidden too, because it tells them by subtraction.

    Any other score is taken to tell how many were decided for.
    """
    if isinstance(evidence, Pairs):
        found = _of_pairs(scores.n_patients, evidence.n_pairs, evidence.n_discordant, smallest)
    elif isinstance(evidence, RepeatedCases):
        found = _of_repeats(
            scores.n_patients, evidence.n_repeats, evidence.n_contradictions, smallest
        )
    elif isinstance(evidence, EligibleRates):
        found = _of_rates(scores, evidence.n_eligible, evidence.n_eligible_for, smallest)
    else:
        counts = zip(scores.n_patients.tolist(), scores.n_for.tolist(), strict=True)
        told = [(n, _tells_few(n, decided_for, smallest)) for n, decided_for in counts]
        found = [(is_small(n, smallest), tells, tells) for n, tells in told]
    columns = np.array(found, dtype=np.bool_).reshape(-1, 3)
    return HiddenParts(columns[:, 0], columns[:, 1], columns[:, 2])


def _tells_few(n: int, decided_for: int, smallest: int) -> bool:
    # Probabilities fitted to few decisions come close to their count.
    return is_small(n, smallest) or not part_is_safe(decided_for, n, smallest)


def _of_pairs(
    n_patients: IntArray, n_pairs: IntArray, n_discordant: IntArray, smallest: int
) -> list[tuple[bool, bool, bool]]:
    found = []
    for n, pairs, discordant in zip(
        n_patients.tolist(), n_pairs.tolist(), n_discordant.tolist(), strict=True
    ):
        few = is_small(n, smallest)
        events = (pairs, discordant, pairs - discordant)
        score = few or any(is_small(count, smallest) for count in events)
        found.append((few or (not score and is_small(n - 2 * pairs, smallest)), score, score))
    return found


def _of_repeats(
    n_patients: IntArray, n_repeats: IntArray, n_contradictions: IntArray, smallest: int
) -> list[tuple[bool, bool, bool]]:
    found = []
    for n, repeats, differ in zip(
        n_patients.tolist(), n_repeats.tolist(), n_contradictions.tolist(), strict=True
    ):
        few = is_small(n, smallest)
        events = (repeats, differ, repeats - differ)
        score = few or any(is_small(count, smallest) for count in events)
        found.append((few, score, score))
    return found


def _of_rates(
    scores: Scores, n_eligible: FloatArray, n_eligible_for: FloatArray, smallest: int
) -> list[tuple[bool, bool, bool]]:
    return [
        _with_rates(n, decided_for, eligible, eligible_for, smallest)
        for n, decided_for, eligible, eligible_for in zip(
            scores.n_patients.tolist(),
            scores.n_for.tolist(),
            n_eligible.tolist(),
            n_eligible_for.tolist(),
            strict=True,
        )
    ]


def _with_rates(
    n: int, decided_for: int, eligible: float, eligible_for: float, smallest: int
) -> tuple[bool, bool, bool]:
    few = is_small(n, smallest)
    score = _tells_few(n, decided_for, smallest)
    others, others_for = n - eligible, decided_for - eligible_for
    of_eligible = (eligible_for, eligible - eligible_for)
    of_others = (others_for, others - others_for)
    score = score or any(is_small_expectation(count, smallest) for count in of_eligible)
    low = score or any(is_small_expectation(count, smallest) for count in of_others)
    # Where all the eligible were decided alike, all exceptions of the panel are the others'; that
    # there are not few of them leaves too little to guess unless the others are many.
    score = score or (low and min(of_eligible) < 0.5 and others < 2 * smallest)
    return few or (not score and is_small_expectation(others, smallest)), score, low
