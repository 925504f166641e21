"""The cells that all tables are made of: our figure, how sure it is, and the paper's.

Intervals are the paper's: percentile bootstrap, 2,000 resamples, seed 42.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.stats import rankdata
from scipy.stats import t as student

from intravar.arrays import FloatArray

#: From resampled values, one resample per row, to one statistic per row.
Statistic = Callable[[FloatArray], FloatArray]

RESAMPLES = 2_000
SEED = 42


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


#: Table that holds a condition's figures by physician group.
GROUP_TABLES = {name: f"{name}_groups" for name in ("score2", "copula", "lognormal")}


class BootstrapInterval(NamedTuple):
    """A figure with its 95 % interval; NaN where there was nothing to estimate from."""

    value: float
    low: float = np.nan
    high: float = np.nan


@cache
def _printed() -> dict[tuple[str, str, str], BootstrapInterval]:
    tables = tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))
    return {
        (table, method, column): BootstrapInterval(*cell)
        for table, rows in tables.items()
        for method, row in rows.items()
        for column, cell in zip(rows["columns"], row, strict=True)
        if method != "columns" and cell
    }


def printed_cell(table: str, method: str, column: str) -> BootstrapInterval | None:
    """Return what the paper prints in a table of ours; None where nothing.

    Examples
    --------
    >>> printed_cell("score2_groups", "learned-weights", "group1")
    BootstrapInterval(value=0.107, low=0.09, high=0.12)
    """
    return _printed().get((table, method, column))


#: The mean, and the median, of every row.
row_mean: Statistic = partial(np.mean, axis=1)  # type: ignore[assignment]
row_median: Statistic = partial(np.median, axis=1)


def row_spearman(pairs: FloatArray) -> FloatArray:
    """Return the rank correlation of the pairs in every row; NaN where all are tied."""
    ranks = rankdata(pairs, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    norm = np.sqrt((ranks**2).sum(axis=1).prod(axis=1))
    undefined = np.full(len(norm), np.nan)
    correlation = np.divide(ranks.prod(axis=2).sum(axis=1), norm, out=undefined, where=norm > 0)
    # Rounded where a sum of squares rounds: ranks that agree give exactly 1.
    return np.asarray(np.clip(np.round(correlation, 15), -1, 1))


def spearman(first: FloatArray, second: FloatArray) -> float:
    """Return the rank correlation of the physicians that both score; NaN where all are tied.

    Examples
    --------
    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 9.0]))
    1.0
    """
    return percentile_interval(np.column_stack([first, second]), row_spearman, resamples=0).value


def percentile_interval(
    values: npt.ArrayLike, statistic: Statistic = row_mean, resamples: int = RESAMPLES
) -> BootstrapInterval:
    """Return a statistic of the values with its 95 % percentile bootstrap interval.

    Undefined values (NaN) are left out. One value has nothing to resample, and no interval; nor
    have two pairs.

    Examples
    --------
    >>> percentile_interval([0.1, 0.2, 0.3, 0.4]).value
    0.25
    """
    given = np.asarray(values, dtype=np.float64)
    pairs = given.ndim > 1
    given = given[np.isfinite(given).all(axis=1) if pairs else np.isfinite(given)]
    value = float(statistic(given[None])[0]) if len(given) > pairs else np.nan
    if len(given) < 2 + pairs or not resamples or np.isnan(value):
        return BootstrapInterval(value)
    rows = np.random.default_rng(SEED).integers(len(given), size=(resamples, len(given)))
    # A resample that drew one physician over and over has no order to keep.
    low, high = np.nanpercentile(statistic(given[rows]), (2.5, 97.5))
    return BootstrapInterval(value, float(low), float(high))


def cell(
    condition: str,
    method: str,
    column: str,
    draws: list[BootstrapInterval],
    printed: BootstrapInterval | None = None,
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
    bounds = (value - half, value + half) if several else draws[0][1:]
    inside = None
    if printed is not None and np.isfinite(bounds[0]):
        inside = bool(bounds[0] - rounding <= printed.value <= bounds[1] + rounding)
    first = (condition, method, column, value, *draws[0], sd / np.sqrt(max(values.size, 1)))
    over = (int(values.size), value - half, value + half)
    paper = (None,) * 4 if printed is None else (*printed, value - printed.value)
    return dict(zip(CELL_SCHEMA, (*first, *over, *paper, inside, n_undefined), strict=True))


class Column(NamedTuple):
    """What a column of a table holds: a statistic of the values `of` a draw, by default the mean.

    Of two names it is one of pairs. `rows` and `methods` say what the column is about, by default
    all; where draws are `pooled`, they are resampled as one.
    """

    name: str
    of: str | tuple[str, str]
    statistic: Statistic = row_mean
    rounding: float = ROUNDING
    rows: pl.Expr | bool = True
    methods: Collection[str] | None = None
    pooled: bool = False


def column_cell(
    condition: str,
    method: str,
    column: Column,
    rows: pl.DataFrame,
    printed: BootstrapInterval | None,
) -> dict[str, Any]:
    """Make the cell of a column over the rows of every draw, with what the paper prints there.

    Rows have `replicate`; `n_undefined` counts what is undefined within a row.
    """
    order = [name for name in ("replicate", "condition", "physician") if name in rows.columns]
    rows = rows.sort(order, maintain_order=True)
    ordered = [rows] if column.pooled else rows.partition_by("replicate", maintain_order=True)
    draws = [column_of(draw, column.of) for draw in ordered]
    intervals = [percentile_interval(values, column.statistic) for values in draws]
    # Of a mean its standard error; of another statistic what its bootstrap interval says.
    spread = (intervals[0].high - intervals[0].low) / 3.92
    if column.statistic is row_mean:
        known = draws[0][np.isfinite(draws[0])]
        spread = known.std(ddof=1) / np.sqrt(known.size) if known.size > 1 else np.nan
    undefined = sum(int(np.isnan(v).reshape(len(v), -1).any(axis=1).sum()) for v in draws)
    if "n_undefined" in rows.columns:
        undefined = int(rows["n_undefined"].sum())
    about = (spread, undefined, column.rounding)
    row = cell(condition, method, column.name, intervals, printed, *about)
    return row | ({"draws": int(np.isfinite(draws[0]).sum())} if column.pooled else {})


def cells_of(
    name: str, table: pl.DataFrame, columns: Sequence[Column], condition: str | None = None
) -> pl.DataFrame:
    """Return the cells of some columns for every method, by condition unless one is named.

    Beside them stands what the paper prints in the table of that `name`; where cells go by
    condition, its columns are the conditions.
    """
    cells = []
    by = ["condition", "method"] if condition is None else ["method"]
    for key, rows in table.group_by(by, maintain_order=True):
        where, method = condition or str(key[0]), str(key[-1])
        for column in columns:
            own = rows.filter(column.rows)
            if (column.methods is None or method in column.methods) and not own.is_empty():
                printed = printed_cell(name, method, column.name if condition else where)
                cells.append(column_cell(where, method, column, own, printed))
    return cells_table(cells)


def column_of(rows: pl.DataFrame, names: str | tuple[str, str]) -> FloatArray:
    """Return a column, or two as pairs, as numbers, NaN where it is undefined."""
    numbers = rows.select(pl.col(names).cast(pl.Float64).fill_null(np.nan)).to_numpy()
    return numbers[:, 0] if isinstance(names, str) else numbers


def is_cells(table: pl.DataFrame) -> bool:
    """Say whether a table is made of cells."""
    return CELL_SCHEMA.keys() <= set(table.columns)


def cells_table(cells: list[dict[str, Any]]) -> pl.DataFrame:
    """Return cells as a table; what is not a number becomes missing."""
    table = pl.DataFrame(cells, schema=CELL_SCHEMA, orient="row")
    return table.with_columns(pl.col(pl.Float64).fill_nan(None))
