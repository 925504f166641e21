"""What may be told of a physician's decisions together, by how patients fall into combinations.

Whoever knows how many got each decision learns from a joint figure how many got them together. A
number is therefore told only where no combination of decisions is that of few patients, and where
those of whom a decision is missing are none or many.

Elsewhere there is a band. It follows from what is published of each decision by itself, and so
tells nothing more: two patients differ in at least one decision at least as often as in any one of
them, and at most as often as in all of them added up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from intravar.arrays import BoolArray, IntArray
from intravar.outcomes import positions
from intravar.publication.suppression import is_few

#: Two decisions differ with probability one half at the most.
ANY = (0.0, 0.5)


def combinations_of(decided: IntArray, code: IntArray, n_physicians: int) -> IntArray:
    """Return per physician how many patients got every combination of decisions."""
    n_combinations = 2 ** decided.shape[1]
    cell = code * n_combinations + positions(decided)
    counts = np.bincount(cell, minlength=n_physicians * n_combinations)
    return counts.reshape(n_physicians, n_combinations)


def outside_of(decided: IntArray, known: BoolArray, code: IntArray, n_physicians: int) -> IntArray:
    """Return per physician, of patients with a decision missing, how those known were decided.

    One column per decision and answer.
    """
    partly = ~known.all(axis=1)
    columns = [
        np.bincount(code[partly & known[:, k] & (decided[:, k] == answer)], minlength=n_physicians)
        for k in range(decided.shape[1])
        for answer in (0, 1)
    ]
    return np.column_stack(columns)


def may_be_told(combinations: Sequence[int], outside: Sequence[int], smallest: int) -> bool:
    """Tell whether a joint figure may be a number.

    Parameters
    ----------
    combinations
        Patients of whom all decisions are known, by what they got.
    outside
        The others, by decision and answer.
    smallest
        The smallest count that is shown.

    Examples
    --------
    >>> may_be_told([40, 30, 20, 12], [0, 0], 11), may_be_told([40, 30, 20, 11], [0, 0], 11)
    (True, False)
    >>> may_be_told([40, 30, 20, 12], [0, 3], 11)
    False
    """
    return not any(is_few(count, smallest) for count in combinations) and not any(
        count > 0 and is_few(count, smallest) for count in outside
    )


def joint_band(ends: Sequence[tuple[float, float]]) -> str | None:
    """Return in words where the probability to differ in at least one decision lies.

    Parameters
    ----------
    ends
        For each decision where its published discordance lies: a number twice, the ends of a band,
        or :data:`ANY`.

    Returns
    -------
    str or None
        Nothing where no decision says anything.

    Examples
    --------
    >>> joint_band([(0.301, 0.301), (0.0, 0.05)]), joint_band([(0.0, 0.25), (0.0, 0.05)])
    ('0.30 to 0.36', 'at most 0.30')
    >>> joint_band([(0.42, 0.42), ANY]), joint_band([ANY, ANY]) is None
    ('0.42 or more', True)
    """
    if all(each == ANY for each in ends):
        return None
    most = 1 - 0.5 ** len(ends)
    low = math.floor(100 * max(low for low, _ in ends) + 1e-9) / 100
    high = math.ceil(100 * sum(high for _, high in ends) - 1e-9) / 100
    if high >= most:
        return f"{low:.2f} or more"
    return f"at most {high:.2f}" if low == 0 else f"{low:.2f} to {high:.2f}"
