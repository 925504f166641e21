"""What may be told of all physicians together: over everybody, so that nobody follows from it.

Whoever has a score that may be shown counts with it. Whoever has a band counts with its middle,
and the interval holds its ends. The others, whose panels are too small for a band, count with one
number: the mean of all their patients, rounded from a secret point, so that nobody can tell which
patient took it across an edge. All figures of the group follow from these, and from no hidden
count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm

from intravar.arrays import FloatArray, IntArray
from intravar.estimators.evidence import Evidence
from intravar.inference.group import Group, group_of
from intravar.inference.intervals import LEVEL
from intravar.measurement.scores import Scores
from intravar.publication.bands import FEWEST_PATIENTS, MOST
from intravar.publication.publish import ShownScores

#: The common number of small panels is rounded to this, or coarser.
STEP = 0.05
#: Coarser than this it would say nothing.
COARSEST = 0.25


@dataclass(frozen=True, eq=False)
class _Known:
    """What is known of every physician: a score or the middle of a band, and how surely."""

    value: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray
    size: IntArray


def shown_group(
    scores: Scores, evidence: Evidence, published: ShownScores, smallest: int, phase: float = 0.5
) -> Group | None:
    """Return the group as far as it follows from what may be told of its members.

    Parameters
    ----------
    scores, evidence
        Of the method that measures.
    published
        What is told of the physicians.
    smallest
        The smallest count that is shown.
    phase
        Between 0 and 1: the secret point from which the common number of small panels is rounded.
    """
    known = _known(scores, evidence, published, smallest)
    found = group_of(known.value, known.error, known.size, (known.low, known.high))
    rest = np.flatnonzero(np.isfinite(scores.discordance) & ~np.isfinite(known.value))
    n = scores.n_patients[rest]
    if not n.sum():
        return found
    step = max(STEP, STEP * math.ceil(2 * (smallest + 1) / float(n.sum()) / STEP))
    if step > COARSEST:
        return found
    common = float(n @ scores.discordance[rest]) / float(n.sum())
    common = min(step * math.floor(common / step + phase), MOST)
    return _joined(found, known, common, step, float(known.size[rest].sum()))


def _known(scores: Scores, evidence: Evidence, published: ShownScores, smallest: int) -> _Known:
    hidden = published.hidden
    size = np.where(hidden.size, FEWEST_PATIENTS, scores.n_patients)
    if evidence.caliper is not None:
        in_pairs = 2 * evidence.trials(scores.n_patients)
        size = np.where(hidden.size & ~hidden.score, in_pairs, size)
    few = hidden.size & (hidden.least == 0)
    size = np.where(few, (smallest + 1) // 2, size)
    value = np.where(hidden.score, np.nan, scores.discordance)
    error = np.where(hidden.score, np.nan, scores.interval.standard_error)
    ends = scores.identified or (value, value)
    low, high = (np.where(hidden.score, np.nan, end) for end in ends)
    for at, band in enumerate(published.bands):
        if band is not None:
            value[at], low[at], high[at] = band.middle, band.low, band.high
            chance = 2 * band.middle * (1 - 2 * band.middle) / size[at]
            error[at] = math.sqrt(chance + (band.high - band.low) ** 2 / 12)
    return _Known(value, error, low, high, size)


def _joined(
    found: Group | None, known: _Known, common: float, step: float, patients: float
) -> Group:
    """Add the small panels, of which one number is known, to the mean and its interval."""
    chance = float(norm.ppf(0.5 + LEVEL / 2)) * math.sqrt(MOST * MOST / patients)
    low, high = max(common - step - chance, 0.0), min(common + step + chance, MOST)
    if found is None:
        nan = float("nan")
        return Group(common, low, high, nan, nan, nan, nan, 0)
    share = patients / (patients + float(known.size[np.isfinite(known.value)].sum()))
    return replace(
        found,
        discordance=(1 - share) * found.discordance + share * common,
        low=(1 - share) * found.low + share * low,
        high=(1 - share) * found.high + share * high,
    )
