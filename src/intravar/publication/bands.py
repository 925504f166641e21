"""Bands instead of nothing: where a discordance lies, when its value would give a count away.

A hidden score has 1 to 10 events behind it, minus or plus. A band is as wide as it must be for at
least three such counts to lie in it, whatever the method: at the worst, a score is an exact
function of the panel's size, which is shown, and of the count.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from intravar.arrays import FloatArray

#: Where bands begin and end, unless they are merged.
EDGES = (0.0, 0.1, 0.25, 0.4, 0.5)
#: Counts that must be possible within a band.
FEWEST_COUNTS = 3
#: Beyond so many patients any band holds many counts or none.
_LARGEST = 100_000


def band_of(score: float, n_patients: int, smallest: int) -> str | None:
    """Return the band of a hidden score in words; None where only the widest would do.

    Parameters
    ----------
    score
        A discordance.
    n_patients
        Size of the panel, which may be known.
    smallest
        The smallest count that is shown.

    Examples
    --------
    >>> band_of(0.08, 400, 11)
    'at most 0.10'
    >>> band_of(0.08, 30, 11)
    'at most 0.25'
    """
    if not np.isfinite(score):
        return None
    edges = _edges(min(n_patients, _LARGEST), smallest)
    at = int(np.searchsorted(edges, score, side="left"))
    at = min(max(at, 1), len(edges) - 1)
    low, high = edges[at - 1], edges[at]
    if low == 0 and high >= EDGES[-1]:
        return None
    if low == 0:
        return f"at most {high:.2f}"
    return f"{low:.2f} or more" if high >= EDGES[-1] else f"{low:.2f} to {high:.2f}"


@lru_cache(maxsize=4096)
def _edges(n_patients: int, smallest: int) -> tuple[float, ...]:
    """Merge bands until each holds enough counts, for both ways to count events."""
    few = np.arange(1, smallest)
    few = few[few < n_patients]
    share = few / n_patients
    # Of n patients, k decided the other way; of n / 2 pairs, k discordant ones.
    worlds = [2 * share * (1 - share), np.minimum(2 * share, 1.0)]
    edges = list(EDGES)
    at = 1
    while at < len(edges) - 1:
        if _fewest(worlds, edges[at - 1], edges[at]) < FEWEST_COUNTS:
            edges.pop(at)
        else:
            at += 1
    return tuple(edges)


def _fewest(worlds: list[FloatArray], low: float, high: float) -> int:
    return min(int(((low < world) & (world <= high)).sum()) for world in worlds)
