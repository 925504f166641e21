"""The decisions that everything latent is learned from: who decided what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import IntArray


@dataclass(frozen=True)
class Decided:
    """Decisions and who made them, one entry per patient.

    Parameters
    ----------
    y
        0 or 1 per patient.
    physician
        Position of the patient's physician.
    n_physicians
        Number of physicians; some may be without a patient here.

    Examples
    --------
    >>> decided = Decided(np.array([1, 0, 1]), np.array([0, 0, 1]), 2)
    >>> decided.take(np.array([0, 2])).y.tolist()
    [1, 1]
    """

    y: IntArray
    physician: IntArray
    n_physicians: int

    def take(self, rows: IntArray) -> Decided:
        """Return the decisions on some patients; the physicians stay the same."""
        return Decided(self.y[rows], self.physician[rows], self.n_physicians)

    def per_physician(self) -> tuple[IntArray, IntArray]:
        """Return every physician's number of patients, and of decisions for."""
        size = np.bincount(self.physician, minlength=self.n_physicians)
        given = np.bincount(self.physician, self.y, minlength=self.n_physicians)
        return size.astype(np.int64), given.astype(np.int64)
