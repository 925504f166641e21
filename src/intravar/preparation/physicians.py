"""Who decided: names that look the same are one physician; panel sizes, and who is too small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.errors import InputError
from intravar.observed import Observed, natural_places
from intravar.request import MIN_PANEL
from intravar.sources.plain import as_names, plain_column
from intravar.sources.texts import EXACT
from intravar.text import MISSING


def physician_names(column: pl.Series) -> tuple[pl.Series, str]:
    """Return physicians, and what to say about them without naming anybody.

    Numbers stay numbers, and 3.0 is physician 3; in a text every digit counts. Only an empty cell
    is nobody: a physician may be called NA.

    Examples
    --------
    >>> physician_names(pl.Series("doctor", ["Ada", "ADA", "Bo"]))[1]
    '2 names differ in capitals, spaces or leading zeros alone; each counts by itself'
    """
    column = plain_column(column, keep=True)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object, pl.Duration):
        raise InputError(
            f"column '{column.name}' (who decided) is {column.dtype}; give names or numbers"
        )
    if column.dtype.is_float() and (column.abs() >= EXACT).any():
        raise InputError(
            f"column '{column.name}' (who decided) has numbers of more than 15 digits stored as "
            "floating point, which does not tell them apart; store them as text or whole numbers"
        )
    names = as_names(column)
    if names.null_count() == len(names):
        raise InputError(f"column '{column.name}' (who decided) is missing in every row")
    if column.dtype.is_integer():
        return column, ""
    if column.dtype.is_float() and not names.str.contains(".", literal=True).any():
        return names.cast(pl.Int64), ""
    return names, _said(names.drop_nulls().unique())


def _said(names: pl.Series) -> str:
    said = []
    alike = (
        names.str.to_lowercase()
        .str.replace_all(r"\s+", "")
        .str.replace(r"^(\D*)0+(\d)", "${1}${2}")
        .is_duplicated()
        .sum()
    )
    if alike:
        said.append(
            f"{alike:,} names differ in capitals, spaces or leading zeros alone; each counts "
            "by itself"
        )
    words = sorted(set(names.to_list()) & set(MISSING))
    if words:
        listed = ", ".join(f"'{word}'" for word in words)
        said.append(f"{listed} is taken for a name; leave the cell empty if nobody is meant")
    return "; ".join(said)


@dataclass(frozen=True)
class Panels:
    """Panel sizes and who cannot be measured: physician, n_patients, n_for, and the reason."""

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
