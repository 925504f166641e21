"""The cells that all tables are made of: our figure, how sure it is, and the paper's."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.stats import t as student

from intravar.study.benchmark.bootstrap import BootstrapInterval
from intravar.study.benchmark.published import Printed

#: One row per cell. `value` is the mean over draws; `first` is the figure of the first draw, which
#: figures show, and `low` and `high` are its bootstrap interval; `mcse` is the Monte-Carlo standard
#: error of `value`; `draw_low` and `draw_high` hold 95 % of single draws, which is what the paper's
#: figures are; `inside` says whether the paper's figure lies there (with one draw: in the
#: bootstrap interval).
CELL_SCHEMA = {
    "condition": pl.String,
    "method": pl.String,
    "column": pl.String,
    "value": pl.Float64,
    "first": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "mcse": pl.Float64,
    "draws": pl.Int32,
    "draw_low": pl.Float64,
    "draw_high": pl.Float64,
    "published": pl.Float64,
    "published_low": pl.Float64,
    "published_high": pl.Float64,
    "difference": pl.Float64,
    "inside": pl.Boolean,
    "n_undefined": pl.Int32,
}

#: Half a unit of the last decimal that the paper prints.
ROUNDING = 0.0005


def cell(
    condition: str,
    method: str,
    column: str,
    draws: list[BootstrapInterval],
    printed: Printed | None = None,
    *,
    spread: float = np.nan,
    n_undefined: int = 0,
    rounding: float = ROUNDING,
) -> dict[str, Any]:
    """Make a cell of the same statistic over several draws.

    Parameters
    ----------
    condition, method, column
        Where the cell stands.
    draws
        The statistic with its bootstrap interval, per draw; the first is the default draw.
    printed
        What the paper prints there.
    spread
        Standard error of a single draw's figure, for when there is one draw only.
    n_undefined
        How many scores were undefined and left out.
    rounding
        Half a unit of the last printed decimal: as far as the paper's figure may be off.
    """
    values = np.array([draw.value for draw in draws])
    values = values[np.isfinite(values)]
    value = float(values.mean()) if values.size else np.nan
    several = values.size > 1
    sd = float(values.std(ddof=1)) if several else spread
    half = (
        float(student.ppf(0.975, values.size - 1)) * sd * np.sqrt(1 + 1 / values.size)
        if several
        else np.nan
    )
    low, high = draws[0].low, draws[0].high
    bounds = (value - half, value + half) if several else (low, high)
    inside = None
    if printed is not None and np.isfinite(bounds[0]):
        inside = bool(bounds[0] - rounding <= printed.value <= bounds[1] + rounding)
    return {
        "condition": condition,
        "method": method,
        "column": column,
        "value": value,
        "first": draws[0].value,
        "low": low,
        "high": high,
        "mcse": sd / np.sqrt(values.size) if several else sd,
        "draws": int(values.size),
        "draw_low": value - half,
        "draw_high": value + half,
        "published": None if printed is None else printed.value,
        "published_low": None if printed is None else printed.low,
        "published_high": None if printed is None else printed.high,
        "difference": None if printed is None else value - printed.value,
        "inside": inside,
        "n_undefined": n_undefined,
    }


def is_cells(table: pl.DataFrame) -> bool:
    """Say whether a table is made of cells; those stored by earlier versions have fewer columns."""
    return {"column", "value", "published"} <= set(table.columns)


def cells_table(cells: list[dict[str, Any]]) -> pl.DataFrame:
    """Return cells as a table; what is not a number becomes missing."""
    table = pl.DataFrame(cells, schema=CELL_SCHEMA, orient="row")
    return table.with_columns(pl.col(pl.Float64).fill_nan(None))


def standard_error(values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Return the standard error of the mean of the defined values; NaN with fewer than two."""
    found = values[np.isfinite(values)]
    return float(found.std(ddof=1) / np.sqrt(found.size)) if found.size > 1 else float("nan")
