"""Panel by panel: how many patients, and who cannot be measured and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.observed import Observed, natural_places
from intravar.request import MIN_PANEL


@dataclass(frozen=True)
class Panels:
    """Panel sizes and who cannot be measured.

    Attributes
    ----------
    table
        physician, n_patients, n_for, reason (missing where the physician can be measured).
    """

    table: pl.DataFrame

    @classmethod
    def of(
        cls,
        named: pl.Series,
        sizes: npt.NDArray[Any],
        decided_for: npt.NDArray[Any],
        min_panel: int = MIN_PANEL,
    ) -> Panels:
        """Say who cannot be measured, patients being counted."""
        reasons = [too_small(int(size), min_panel) for size in sizes]
        return cls(
            pl.DataFrame(
                {
                    "physician": named,
                    "n_patients": sizes.astype(np.int64),
                    "n_for": decided_for.astype(np.int64),
                    "reason": pl.Series(reasons, dtype=pl.String),
                }
            )
        )

    @property
    def n_patients(self) -> int:
        """Patients of all physicians."""
        return int(self.table["n_patients"].sum())

    @property
    def n_for(self) -> int:
        """Patients who were decided for."""
        return int(self.table["n_for"].sum())

    @property
    def n_measurable(self) -> int:
        """Physicians who can be measured."""
        return int(self.table["reason"].null_count())


def panel_sizes(observed: Observed, min_panel: int = MIN_PANEL) -> Panels:
    """Count every physician's patients and say who cannot be measured.

    Examples
    --------
    >>> observed = Observed.of([[50.0], [61.0]], [0, 1], ["Ada", "Ada"])
    >>> panel_sizes(observed).table["reason"].to_list()
    ['fewer than 30 decisions']
    """
    sizes = np.bincount(observed.code, minlength=len(observed.named))
    decided_for = np.bincount(observed.code, observed.decision, minlength=len(sizes))
    found = Panels.of(observed.named, sizes, decided_for, min_panel)
    return Panels(found.table[natural_places(observed.named)])


def too_small(n_patients: int, min_panel: int = MIN_PANEL) -> str | None:
    """Return why a panel is too small; None if it is large enough."""
    return f"fewer than {min_panel} decisions" if n_patients < min_panel else None
