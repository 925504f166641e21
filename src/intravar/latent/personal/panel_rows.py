"""Patients in the order of their physicians, with what personal rules look at and say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from intravar.arrays import BoolArray, FloatArray, IntArray

#: Standardised values are held within this many standard deviations.
FURTHEST = 4.0


class PanelRows(NamedTuple):
    """Design and decisions, physician by physician; a tuple, because compiled code takes it.

    The first column of the design is 1; `first` says where every physician's rows begin, and where
    the last one's end.
    """

    design: FloatArray
    y: IntArray
    first: IntArray

    @property
    def n_physicians(self) -> int:
        """Number of physicians."""
        return len(self.first) - 1


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

    Constant columns are not kept.
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
        return cls(centre, scale, (np.ptp(filled, axis=0) > 0) & (scale > 0))

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return the columns standardised, means for missing values."""
        keep = self.keep
        filled = np.where(np.isfinite(X), X, self.centre)
        z = (filled[:, keep] - self.centre[keep]) / self.scale[keep]
        return np.asarray(np.clip(z, -FURTHEST, FURTHEST))


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
