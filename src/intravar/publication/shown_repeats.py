"""Cases seen twice, as far as they may be told of each physician.

Beside the size of a panel, an exact number of cases seen twice tells how many were seen once;
beside that number, an exact share tells how many were decided differently. So both are rounded, for
everybody alike: the number to tens, and so far below the panel's size that few cases seen once
cannot be told from none; the share to two digits, with ends that follow from the rounded figures
and carry nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.inference.intervals import share_interval
from intravar.measurement.scores import SeenTwice
from intravar.publication.suppression import is_few

#: Numbers of cases are rounded to this.
TENS = 10
#: In panels of as many a share of two digits fits every number of cases near the rounded one.
MANY = 100


def shown_repeats(seen: SeenTwice, n_patients: IntArray, smallest: int) -> Mapping[str, FloatArray]:
    """Return the columns of repeated cases as they may be told; as they are if nothing is hidden.

    Parameters
    ----------
    seen
        Self-contradiction of the physicians.
    n_patients
        Panel sizes, which are told beside it.
    smallest
        The smallest count that is shown.
    """
    if smallest <= 1:
        return seen.columns()
    # Where one case or a few were seen once, the number says no more than "nearly all".
    most = TENS * np.floor((n_patients - smallest) / TENS)
    n = np.maximum(np.minimum(TENS * np.rint(seen.n_repeats / TENS), most), 0.0)
    share = np.round(seen.contradiction, 2)
    ends = share_interval(np.nan_to_num(share) * n, n)
    return {
        "contradiction": share,
        "contradiction_low": np.round(np.where(n > 0, ends.low, np.nan), 2),
        "contradiction_high": np.round(np.where(n > 0, ends.high, np.nan), 2),
        "n_repeats": n,
    }


def hidden_repeats(seen: SeenTwice, n_patients: IntArray, smallest: int) -> BoolArray:
    """Tell of whom nothing may be told: few contradictions or agreements, or too little to blur.

    Parameters
    ----------
    seen, n_patients, smallest
        As in :func:`shown_repeats`.
    """
    evidence = seen.evidence
    differ, alike = evidence.n_contradictions, seen.n_repeats - evidence.n_contradictions
    once = n_patients - seen.n_repeats
    return np.array(
        [
            is_few(least, smallest) or (is_few(left, smallest) and n < MANY)  # the size is known
            for least, left, n in zip(
                np.minimum(differ, alike).tolist(),
                once.tolist(),
                n_patients.tolist(),
                strict=True,
            )
        ],
        dtype=np.bool_,
    )
