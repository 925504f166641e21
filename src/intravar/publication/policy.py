"""The disclosure policy: every threshold, and every rule as one short function with its reason.

The policy protects patients and events behind a figure, and a physician whose figure is not
published. The attacker knows the method, everything that is published, and the exact data of
everybody else, and may have two publications that differ by one patient.

1. A count of 1 to 10 patients or events is not shown (:func:`is_small`).
2. What follows from a count of 11 or less, zero included, is not shown (:func:`is_few`).
3. A part of a known whole is shown if the rest is not small either (:func:`part_is_safe`).
4. A figure over many patients is rounded to what two dozen of them move (:func:`moved`), where it
   would tell about a hidden physician from a secret point.
5. A figure that one physician makes up is coarse or left out (:func:`is_dominated`).
6. A hidden score of a panel that is large enough is told as one of two ranges that overlap (`FROM`
   and `TO`).

`docs/privacy.md` explains the policy for readers, and lists the rule of every published field. The
other modules of this package apply it; the smallest count is the user's choice, and with 1 nothing
is hidden or rounded.
"""

from __future__ import annotations

import numpy as np

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.request import SMALLEST_CELL

# --- rounding ---

#: Digits of a published fraction. More would tell apart what is meant to look the same: with three,
#: shares of panels of a hundred patients or more do not tell the count.
DIGITS = 3
#: Digits of figures over all physicians. One patient of a thousand does not move them.
GROUP_DIGITS = 2
#: Steps to one of which figures over many patients are rounded: 1, 2 and 5, as people round.
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
#: Patients whose exceptions a rounding step covers: two of the largest hidden counts and their
#: neighbours, so that a hidden physician with all of them, or none, gives the same figure.
TWO_DOZEN = 24
#: Up to this step, of 1,200 patients or more, figures over all patients are told of everybody; with
#: a coarser one they follow from what is told of each.
FINE = 0.02
#: Noise is left out with a coarser step: its parts are seldom larger than that.
COARSEST_NOISE = 0.05
#: The finest step of a published spread.
TRACE = 0.001
#: Counts of rows are rounded to a multiple of this that two dozen rows do not exceed.
ROWS_STEP = 5
#: Physicians without a score or range count with one number, which is rounded to this...
SMALL_PANELS_STEP = 0.05
#: ... and is left out with a coarser step than this: it would say nothing.
SMALL_PANELS_COARSEST = 0.25

# --- one physician who makes up a figure of all ---

#: From this share on one physician makes up a figure of all: the others, with discordances of 0 to
#: 0.5, move it by 0.1 at most, so that it is within 0.1 of the physician's own.
DOMINANT = 0.8
#: Figures of all physicians that one makes up are rounded to this, which is as coarse as that.
DOMINATED_STEP = 0.1

# --- ranges of hidden scores ---

#: Where the upper of the two ranges begins and the lower one ends. Between them lie at least two
#: counts of every panel that gets a range, so that even a score that crosses tells no count.
FROM = 0.10
TO = 0.25
#: Ends that follow from the size of a panel are rounded up to this.
RANGE_STEP = 0.05
#: Hidden counts that must lie in the upper range; with fewer there is only the lower one. One of
#: them is no small count, and another could be told from a second publication.
FEWEST_COUNTS = 4
#: In smaller panels fewer counts would lie where the ranges overlap.
FEWEST_PATIENTS = 30

# --- several decisions, pairs, columns ---

#: Figures from pairs whose number is hidden: three digits of a share and of its interval would tell
#: the number.
PAIRS_COARSE = ("discordance", "low", "high", "shrunken", "reliability")
PAIRS_DIGITS = 2
#: Joint figures of all patients are no coarser than this.
JOINT_COARSEST = 0.1
#: To this correlations of single physicians are rounded: each patient weighs several times as much
#: as in a share.
CORRELATION_STEP = 0.05
#: Shares of patients who got two decisions are told if their step is no coarser.
JOINT_SHARE_COARSEST = 0.05
#: Different values beyond which their number comes close to that of the rows.
MOST_DISTINCT = 100
#: Times the smallest count that is shown from which on all but so few patients are nearly all.
LARGE_TABLE = 20


def is_small(count: float, smallest: int = SMALLEST_CELL) -> bool:
    """Tell whether a count must be hidden: it can point at a person, and zero at nobody."""
    return 0 < count < smallest


def is_few(count: float, smallest: int = SMALLEST_CELL) -> bool:
    """Tell whether a count is small, or would be with one patient more or less.

    Whoever sees two publications that differ by one patient, and one of them tells more, knows that
    the count crossed a bar: it must not be small on either side, and so zero is few as well.
    """
    return smallest > 1 and count < smallest + 1


def part_is_safe(part: int, whole: int, smallest: int = SMALLEST_CELL) -> bool:
    """Tell whether a part of a known whole may be shown: neither it nor the rest is small."""
    return not is_small(part, smallest) and not is_small(whole - part, smallest)


def moved(n: float, smallest: int = SMALLEST_CELL) -> float:
    """Return how far few exceptions of one physician move a figure over so many patients.

    Two dozen patients are taken, or more where larger counts are hidden. A figure that is rounded
    to as much looks the same whether a hidden physician has all of these exceptions or none.
    """
    return max(TWO_DOZEN, 2 * (smallest + 1)) / max(n, 1) if smallest > 1 else 0.0


def is_dominated(
    patients: IntArray | FloatArray, discordance: FloatArray, published: BoolArray
) -> bool:
    """Tell whether one physician, whose own figure is not published, makes up that of all.

    The physician has most of the patients, or nearly all of the discordance: whoever knows or
    guesses that of the others, colleagues for example, would work out the physician's own.

    Parameters
    ----------
    patients, discordance
        Of every physician; those without a discordance do not count.
    published
        Whose own discordance is published. These reveal nothing more in a figure of all.

    Examples
    --------
    >>> patients, discordance = np.array([900, 50, 50]), np.array([0.1, 0.2, 0.2])
    >>> is_dominated(patients, discordance, np.array([False, True, True]))
    True
    >>> is_dominated(patients, discordance, np.array([True, False, False]))
    False
    """
    counted = np.isfinite(discordance) & (patients > 0)
    weight = np.where(counted, patients, 0.0)
    for contribution in (weight, weight * np.where(counted, discordance, 0.0)):
        total = float(contribution.sum())
        largest = float(np.max(contribution, initial=0.0, where=counted & ~published))
        if total > 0 and largest >= DOMINANT * total:
            return True
    return False
