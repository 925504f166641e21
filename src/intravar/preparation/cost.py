"""How long a measurement will take and how much memory, before it is begun.

The constants were fitted on a busy server of two processors; they are good to a factor of two.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from intravar.estimators.base import Estimator
from intravar.estimators.predictability import Predictability
from intravar.estimators.work import Size, Work

#: Processor seconds to read a patient beyond the sample, and each of their values.
READ_EACH, READ_EACH_VALUE = 1e-4, 6e-6
#: Memory of the interpreter and its libraries, in MB.
BASE_MB = 340.0


@dataclass(frozen=True)
class Cost:
    """What a measurement takes."""

    seconds: float
    memory_mb: float

    def in_words(self) -> str:
        """Say it in a line.

        Examples
        --------
        >>> Cost(130, 2300).in_words()
        'about 2 min and 2.3 GB'
        """
        if self.seconds < 90:
            time = f"{max(1, round(self.seconds))} s"
        elif self.seconds < 5400:
            time = f"{self.seconds / 60:.0f} min"
        else:
            time = f"{self.seconds / 3600:.1f} h"
        memory = f"{self.memory_mb / 1000:.1f} GB"
        return f"about {time} and {memory}"


def estimate_cost(size: Size, method: type[Estimator] | None) -> Cost:
    """Estimate time and memory of a measurement with one method; None stands for mere counting."""
    work = Work(0.0) if method is None else method.work(size)
    noise = Predictability.work(size).alone
    n, p = size.n_patients, size.n_covariates
    processors = min(2, os.cpu_count() or 1)
    around = 1.0 + 2e-5 * min(n, 30_000) * np.sqrt(p)  # the rule and the diagnostics
    table_mb = n * (p + 4) * 8 / 1e6
    panel_mb = 3 * 8 * min(float(size.panels.max()) ** 2, 2.5e7) / 1e6
    # The method measures the whole and both halves; noise is taken apart on the way.
    seconds = 2 * (work.alone + work.shared / processors) + noise + around
    return Cost(float(seconds), BASE_MB + work.copies * table_mb + panel_mb)


def cost_of_many(size: Size, n_patients: int, method: type[Estimator]) -> Cost:
    """Estimate what it takes to learn from a sample and to read everybody else.

    Parameters
    ----------
    size
        Of the sample.
    n_patients
        Patients on the whole.
    method
        The method that measures.
    """
    learned = estimate_cost(size, method)
    others = max(n_patients - size.n_patients, 0)
    processors = os.cpu_count() or 1
    p = size.n_covariates
    each = (READ_EACH + READ_EACH_VALUE * p) / processors
    return Cost(learned.seconds + others * each, learned.memory_mb)
