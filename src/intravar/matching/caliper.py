"""The caliper: a quantile of all distances within one panel, exact with or without the matrix."""

import math

import numpy as np
from scipy.spatial.distance import cdist, pdist

from intravar.matching.costs import FloatArray, row_blocks

CALIPER_PERCENTILE = 25.0
# Up to this many patients the condensed distances fit in 64 MB and are sorted out at once.
SMALL_PANEL = 4_000
SAMPLE_PATIENTS = 1_000


def caliper_from_matrix(distances: FloatArray, percentile: float = CALIPER_PERCENTILE) -> float:
    """Return the percentile of the entries above the diagonal.

    Parameters
    ----------
    distances : ndarray of shape (n, n)
        Symmetric distances, n >= 2.
    percentile : float
        Between 0 and 100.

    Returns
    -------
    float
        What ``numpy.percentile`` returns with its default interpolation.

    Examples
    --------
    >>> import numpy as np
    >>> from intravar.matching.caliper import caliper_from_matrix
    >>> caliper_from_matrix(np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 4.0], [5.0, 4.0, 0.0]]))
    2.5
    """
    upper = np.concatenate([row[i + 1 :] for i, row in enumerate(distances)])
    return float(np.percentile(upper, percentile, overwrite_input=True))


def caliper_from_points(points: FloatArray, percentile: float = CALIPER_PERCENTILE) -> float:
    """Return the percentile of all Euclidean distances between two patients, to the last bit.

    A large panel is passed over in blocks: distances below a bracket are counted, those inside it are kept.
    The bracket comes from a sample of the patients; should it miss, the pass is repeated with a wider one.

    Parameters
    ----------
    points : ndarray of shape (n, p)
        One row per patient, n >= 2.
    percentile : float
        Between 0 and 100.

    Returns
    -------
    float
        What ``numpy.percentile`` returns on the matrix of distances.

    Examples
    --------
    >>> import numpy as np
    >>> from intravar.matching.caliper import caliper_from_points
    >>> caliper_from_points(np.array([[0.0], [1.0], [5.0]]))
    2.5
    """
    n = len(points)
    if n <= SMALL_PANEL:
        return float(np.percentile(pdist(points), percentile, overwrite_input=True))
    last = n * (n - 1) // 2 - 1
    position = last * (percentile / 100.0)
    rank = math.floor(position)
    # Every k-th patient: deterministic, and blind to nothing but an order with exactly this period.
    sample = np.sort(pdist(points[:: n // SAMPLE_PATIENTS]))
    half_width = 0.005
    while True:
        share = percentile / 100.0
        low = sample[int(max(share - half_width, 0.0) * (len(sample) - 1))]
        high = sample[int(min(share + half_width, 1.0) * (len(sample) - 1))]
        low = -math.inf if share <= half_width else low
        high = math.inf if share + half_width >= 1.0 else high
        below, inside = _count_and_keep(points, float(low), float(high))
        if below <= rank and min(rank + 1, last) < below + len(inside):
            break
        half_width *= 4.0
    wanted = [rank - below, min(rank + 1, last) - below]
    inside.partition(wanted)
    return _interpolate(float(inside[wanted[0]]), float(inside[wanted[1]]), position - rank)


def _count_and_keep(points: FloatArray, low: float, high: float) -> tuple[int, FloatArray]:
    """Count the distances below ``low`` and return those from ``low`` to ``high``."""
    below = 0
    kept = []
    for start, stop in row_blocks(len(points)):
        block = cdist(points[start:stop], points[start:])
        # Only entries above the diagonal: the leading square holds the others.
        block[np.tril_indices(stop - start)] = np.nan
        under = block < low
        below += int(np.count_nonzero(under))
        kept.append(block[(block <= high) & ~under])
    return below, np.concatenate(kept)


def _interpolate(lower: float, upper: float, fraction: float) -> float:
    """Interpolate as numpy does: from the nearer end, so that rounding is the same."""
    if fraction >= 0.5:
        return upper - (upper - lower) * (1.0 - fraction)
    return lower + (upper - lower) * fraction
