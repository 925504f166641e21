"""What personal rules look at, and what they say of a panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from intravar.arrays import BoolArray, FloatArray

#: Standardised values are held within this many standard deviations.
FURTHEST = 4.0


class PanelDraws(NamedTuple):
    """What is known of one panel's rules and rates, by draw.

    `laws` are parameters of the Beta laws of p_high and p_low, and the share of the eligible;
    `camp` is the most frequent one; `g` and `q` the probabilities of being eligible and of a
    decision for, as known without the own decision; `drawn` the latter under single draws, draw x
    patient.
    """

    laws: FloatArray
    camp: int
    g: FloatArray
    q: FloatArray
    drawn: FloatArray


@dataclass(frozen=True)
class Standard:
    """How columns are brought to mean 0 and spread 1: missing values take the centre.

    `keep` says which columns are not constant.
    """

    centre: FloatArray
    scale: FloatArray
    keep: BoolArray

    @classmethod
    def of(cls, X: FloatArray) -> Standard:
        """Learn centre and scale."""
        known = np.isfinite(X)
        centre = np.array([X[k, c].mean() if k.any() else 0.0 for c, k in enumerate(known.T)])
        filled = np.where(known, X, centre)
        scale = filled.std(axis=0)
        # A constant column has a rounding error for a spread, not zero.
        keep = (np.ptp(filled, axis=0) > 0) & (scale > 0)
        return cls(centre, np.where(scale > 0, scale, 1.0), keep)

    def scaled(self, X: FloatArray) -> FloatArray:
        """Return all columns standardised."""
        filled = np.where(np.isfinite(X), X, self.centre)
        return np.asarray(np.clip((filled - self.centre) / self.scale, -FURTHEST, FURTHEST))

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the columns that are not constant, standardised."""
        return np.ascontiguousarray(self.scaled(X)[:, self.keep])


def design_of(z: FloatArray, shared: FloatArray, standard: Standard) -> FloatArray:
    """Return an intercept, the covariates, and the shared rule's logit where there is one.

    `standard` is that of the logit.

    Examples
    --------
    >>> logit = np.array([-1.0, 1.0])
    >>> design_of(np.zeros((2, 1)), logit, Standard.of(logit[:, None])).tolist()
    [[1.0, 0.0, -1.0], [1.0, 0.0, 1.0]]
    """
    return np.column_stack([np.ones((len(z), 1)), z, standard(shared[:, None])])
