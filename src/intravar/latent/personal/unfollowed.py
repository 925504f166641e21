"""What can be said of a physician whose rule cannot be followed: little, and safely.

Whatever the rule, no group of patients is decided for more often than the eligible are. So the
share of decisions for, among those patients for whom they are likeliest, bounds p_high from below,
and nothing bounds it from above.
"""

from __future__ import annotations

import numpy as np

from intravar.arrays import FloatArray
from intravar.inference.intervals import share_interval
from intravar.latent.decided import Decided

#: Share of a panel, and the least number of patients, that counts as the likeliest.
LIKELIEST, LEAST = 0.2, 10


def safe_interval(q: FloatArray, decided: Decided, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of every physician's discordance, any rule allowed.

    Parameters
    ----------
    q
        Probability of a decision for, predicted without the patient's own decision.
    decided
        The decisions.
    level
        Nominal coverage.

    Examples
    --------
    >>> decided = Decided(np.repeat([1, 0], 100), np.zeros(200, dtype=np.int64), 1)
    >>> low, high = safe_interval(np.repeat([0.9, 0.1], 100), decided, 0.95)
    >>> low.tolist(), high.round(2).tolist()
    ([0.0], [0.11])
    """
    order = np.lexsort((-q, decided.physician))
    size, _ = decided.per_physician()
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    place = np.arange(len(q)) - first[decided.physician[order]]
    wanted = np.maximum(np.ceil(LIKELIEST * size), LEAST)
    likeliest = order[place < wanted[decided.physician[order]]]
    n, k = decided.take(likeliest).per_physician()
    least = np.nan_to_num(share_interval(k, n, level).low)
    return np.zeros(len(size)), np.where(least > 0.5, 2 * least * (1 - least), 0.5)
