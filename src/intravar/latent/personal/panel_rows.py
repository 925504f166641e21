"""Patients in the order of their physicians, with what personal rules look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.latent.decided import Decided

#: Standardised values are held within this many standard deviations.
FURTHEST = 4.0


class PanelRows(NamedTuple):
    """Design and decisions, physician by physician; a tuple, because compiled code takes it.

    Attributes
    ----------
    design
        What a rule looks at, one row per patient; the first column is 1.
    y
        Decisions.
    first
        Where every physician's rows begin, and where the last one's end.
    """

    design: FloatArray
    y: IntArray
    first: IntArray

    @property
    def n_physicians(self) -> int:
        """Number of physicians."""
        return len(self.first) - 1


def by_physician(design: FloatArray, decided: Decided) -> PanelRows:
    """Sort patients by physician.

    Examples
    --------
    >>> rows = by_physician(np.ones((3, 1)), Decided(np.array([1, 0, 1]), np.array([1, 0, 1]), 2))
    >>> rows.y.tolist(), rows.first.tolist()
    ([0, 1, 1], [0, 1, 3])
    """
    order = np.argsort(decided.physician, kind="stable")
    sizes = np.bincount(decided.physician, minlength=decided.n_physicians)
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return PanelRows(np.ascontiguousarray(design[order]), decided.y[order], first)


@dataclass(frozen=True)
class Standard:
    """How columns are brought to mean 0 and spread 1: constant ones are left out.

    Attributes
    ----------
    centre, scale
        Of every column; missing values take the centre.
    keep
        Columns that are not constant.
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


def standardised(X: FloatArray) -> FloatArray:
    """Return columns of mean 0 and spread 1, means for missing values, constant columns left out.

    Examples
    --------
    >>> standardised(np.array([[1.0, 7.0], [3.0, 7.0], [np.nan, 7.0]])).ravel().round(2).tolist()
    [-1.22, 1.22, 0.0]
    """
    return Standard.of(X)(X)


def design_of(z: FloatArray, shared: FloatArray, standard: Standard | None = None) -> FloatArray:
    """Return an intercept, the covariates, and the shared rule's logit where there is one.

    `standard` is that of the logit, learned here if None.
    """
    standard = standard or Standard.of(shared[:, None])
    return np.column_stack([np.ones((len(z), 1)), z, standard(shared[:, None])])
