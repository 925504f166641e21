"""How long a measurement will take and how much memory, before it is begun.

The constants were fitted on two cores of a 2.x GHz server; they are good to a factor of about two.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from intravar.estimators import Observed

#: Memory of the interpreter and its libraries, in MB.
BASE_MB = 260.0
#: Copies of the covariates that are held at a time.
COPIES = 8


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


def estimate_cost(observed: Observed, method: str) -> Cost:
    """Estimate time and memory of a measurement with one method."""
    n, p = observed.covariates.shape
    sizes = np.array([len(panel) for panel in observed.panels], dtype=np.float64)
    cores = min(2, os.cpu_count() or 1)
    learning = 3.0 + 1.2e-5 * n * np.log2(n + 2) * max(1.0, np.sqrt(p)) / cores
    pairing = 3e-7 * float((sizes**2 * np.log2(sizes + 2)).sum()) + 2e-3 * len(sizes)
    if method == "glmm":
        learning, pairing = 1.0 + 2e-6 * n * p, 0.0
    elif method.startswith("genetic"):
        pairing *= 30
    table_mb = n * (p + 4) * 8 / 1e6
    panel_mb = 3 * 8 * min(float(sizes.max()) ** 2, 2.5e7) / 1e6
    return Cost(float(learning + pairing), BASE_MB + COPIES * table_mb + panel_mb)
