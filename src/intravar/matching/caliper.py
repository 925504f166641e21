"""The caliper: a quantile of all distances within one panel, exact with or without the matrix."""

import math
from typing import NamedTuple

import numpy as np

from intravar.arrays import FloatArray
from intravar.matching.distances import PanelDistances, row_blocks

CALIPER_PERCENTILE = 25.0
SAMPLE_PATIENTS = 1_000


def caliper_of(distances: PanelDistances, percentile: float = CALIPER_PERCENTILE) -> float:
    """Return the percentile of all distances between two patients, to the last bit.

    A large panel is passed over in blocks: distances below a bracket are counted, those inside it
    are kept. The bracket comes from a sample of the patients; should it miss, the pass is repeated
    with a wider one.

    Parameters
    ----------
    distances : PanelDistances
        Of a panel of at least two patients.
    percentile : float
        Between 0 and 100.

    Returns
    -------
    float
        What ``numpy.percentile`` returns on the matrix of distances.

    Examples
    --------
    >>> from intravar.matching.distances import PointDistances
    >>> caliper_of(PointDistances(np.array([[0.0], [1.0], [5.0]])))
    2.5
    """
    if distances.n <= SAMPLE_PATIENTS:
        whole = distances.block(np.arange(distances.n), 0)
        above = np.concatenate([row[i + 1 :] for i, row in enumerate(whole)])
        return float(np.percentile(above, percentile, overwrite_input=True))
    last = distances.n * (distances.n - 1) // 2 - 1
    position = last * (percentile / 100.0)
    rank = math.floor(position)
    sample = _sampled(distances)
    share, half_width = percentile / 100.0, 0.005
    while True:
        low = sample[int(max(share - half_width, 0.0) * (len(sample) - 1))]
        high = sample[int(min(share + half_width, 1.0) * (len(sample) - 1))]
        bracket = _count_and_keep(
            distances,
            -math.inf if share <= half_width else float(low),
            math.inf if share + half_width >= 1.0 else float(high),
        )
        lower, upper = bracket.at(rank), bracket.at(min(rank + 1, last))
        if lower is not None and upper is not None:
            return _interpolate(lower, upper, position - rank)
        half_width *= 4.0


def _sampled(distances: PanelDistances) -> FloatArray:
    """Return the sorted distances of every k-th patient."""
    # Deterministic, and blind to nothing but an order with exactly this period.
    chosen = np.arange(0, distances.n, max(1, distances.n // SAMPLE_PATIENTS))
    among = distances.block(chosen, 0)[:, chosen]
    return np.sort(among[np.triu_indices(len(chosen), k=1)])


class _Bracket(NamedTuple):
    """How many distances lie below and at the low end, and those above it up to the high end."""

    low: float
    below: int
    at_low: int
    inside: FloatArray

    def at(self, rank: int) -> float | None:
        """Return the distance of this rank; None if it lies outside the bracket."""
        if self.below <= rank < self.below + self.at_low:
            return self.low
        position = rank - self.below - self.at_low
        if not 0 <= position < len(self.inside):
            return None
        return float(np.partition(self.inside, position)[position])


def _count_and_keep(distances: PanelDistances, low: float, high: float) -> _Bracket:
    below = at_low = 0
    kept = []
    for start, stop in row_blocks(distances.n):
        block = distances.block(np.arange(start, stop), start)
        # Only entries above the diagonal: the leading square holds the others.
        block[np.tril_indices(stop - start)] = np.nan
        below += int(np.count_nonzero(block < low))
        # Ties at the low end are counted, not kept: they may be nearly all there is.
        at_low += int(np.count_nonzero(block == low))
        kept.append(block[(block > low) & (block <= high)])
    return _Bracket(low, below, at_low, np.concatenate(kept))


def _interpolate(lower: float, upper: float, fraction: float) -> float:
    """Interpolate as numpy does: from the nearer end, so that rounding is the same."""
    if fraction >= 0.5:
        return upper - (upper - lower) * (1.0 - fraction)
    return lower + (upper - lower) * fraction
