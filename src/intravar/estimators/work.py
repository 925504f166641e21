"""What a method takes: processor seconds and memory, told before it begins.

Constants are processor seconds on a server processor of 2020; machines differ by a factor of two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray
from intravar.observed import Observed


@dataclass(frozen=True)
class Size:
    """How large a task is.

    Attributes
    ----------
    n_patients, n_covariates
        Rows and columns of the covariates.
    panels
        Patients of every physician.
    """

    n_patients: int
    n_covariates: int
    panels: FloatArray

    @classmethod
    def of(cls, observed: Observed) -> Size:
        """Return the size of what an estimator is given."""
        n_patients, n_covariates = observed.covariates.shape
        panels = np.bincount(observed.code, minlength=len(observed.physicians))
        return cls(n_patients, n_covariates, panels.astype(np.float64))


@dataclass(frozen=True)
class Work:
    """What a method takes on a task of some size.

    Attributes
    ----------
    alone
        Seconds of what runs on one processor.
    shared
        Processor seconds of what is spread over the processors.
    copies, held
        Copies of the covariates that are held at a time, and bytes beside them for every patient.
    other
        Processor seconds to read a patient beyond those who are learned from.
    """

    alone: float
    shared: float = 0.0
    copies: float = 8.0
    held: float = 0.0
    other: float = 0.0


def scanning(size: Size) -> float:
    """Return the seconds of a pass over all values."""
    return 2e-7 * size.n_patients * size.n_covariates


def growing(size: Size) -> float:
    """Return the processor seconds of a forest."""
    return float(1.4e-5 * size.n_patients * np.sqrt(size.n_covariates))


def pairing(size: Size) -> float:
    """Return the seconds of pairing every panel."""
    panels = size.panels
    return float(1.2e-8 * (panels**2 * np.log2(panels + 2)).sum() + 2e-3 * len(panels))
