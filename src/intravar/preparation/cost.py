"""How long a measurement will take and how much memory, before it is begun.

The constants were fitted on a busy server of two cores; they are good to a factor of about two.
Those of the latent rule are processor seconds (`time.process_time` around `fit_observed`, one
thread) of 3,000 to 40,000 normal patients with 5 and 20 covariates, and of `intravar measure` on
200,000 with 20; more threads make it shorter.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from intravar.estimators import METHODS, PAPER_METHODS, Observed

#: Memory of the interpreter and its libraries, in MB.
BASE_MB = 340.0
#: Copies of the covariates that are held at a time.
COPIES = 8
LATENT_COPIES = 28


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
    pairing = 1.2e-8 * float((sizes**2 * np.log2(sizes + 2)).sum()) + 2e-3 * len(sizes)
    learning = 2e-7 * n * p
    if METHODS[method].shares == "forest" or method not in PAPER_METHODS:
        learning = 8e-6 * n * np.log2(n + 2) * np.sqrt(p) / cores
    if method.startswith("genetic"):
        pairing *= 30
    if METHODS[method].shares == "latent":
        learning = 2.0 + n * (2.4e-4 + 1.3e-5 * p) * (1 + n / 250_000)
        pairing = 0.0
    around = 4.0 + 2e-5 * min(n, 30_000) * np.sqrt(p)  # the rule and the diagnostics
    copies = LATENT_COPIES if METHODS[method].shares == "latent" else COPIES
    table_mb = n * (p + 4) * 8 / 1e6
    panel_mb = 3 * 8 * min(float(sizes.max()) ** 2, 2.5e7) / 1e6
    return Cost(float(learning + pairing + around), BASE_MB + copies * table_mb + panel_mb)
