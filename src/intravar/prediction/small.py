"""Too few patients, or one decision for all: shares instead of rules."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray, IntArray

#: The share of all physicians counts as so many patients of one's own.
SHARED = 2.0


def shares_of_others(y: IntArray, code: IntArray, n_physicians: int) -> FloatArray:
    """Return for every patient the share of the physician's other patients who got the drug.

    It is drawn towards the share of all other patients, and that towards one half.

    Examples
    --------
    >>> shares_of_others(np.array([1, 1, 0]), np.array([0, 0, 0]), 1).round(2).tolist()
    [0.5, 0.5, 0.92]
    """
    n = len(y)
    everywhere = (y.sum() - y + 0.5) / n
    own = np.bincount(code, y, minlength=n_physicians)[code] - y
    size = np.bincount(code, minlength=n_physicians)[code] - 1
    return np.asarray((own + SHARED * everywhere) / (size + SHARED))


@dataclass(frozen=True)
class SharesBeyond:
    """The same for physicians who are not among those counted: how many were, and said yes."""

    n_patients: int
    n_yes: int

    def personal(self, y: IntArray, code: IntArray, n_physicians: int) -> FloatArray:
        """Return the share of the physician's other patients, drawn towards that of those counted.

        Examples
        --------
        >>> SharesBeyond(9, 4).personal(np.array([1, 0]), np.array([0, 0]), 1).round(2).tolist()
        [0.3, 0.63]
        """
        own = np.bincount(code, y, minlength=n_physicians)[code] - y
        size = np.bincount(code, minlength=n_physicians)[code] - 1
        return np.asarray((own + SHARED * self._everywhere) / (size + SHARED))

    @property
    def pooled(self) -> float:
        """The share of those counted, drawn towards one half."""
        return (self.n_yes + SHARED * self._everywhere) / (self.n_patients + SHARED)

    @property
    def _everywhere(self) -> float:
        return (self.n_yes + 0.5) / (self.n_patients + 1)
