"""Mean deltas across conditions: all main conditions, by window size, by pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from intravar.study.benchmark.bootstrap import (
    BootstrapInterval,
    Statistic,
    percentile_interval,
    row_mean,
    row_mean_absolute,
    row_median,
    row_percent_positive,
)
from intravar.study.benchmark.published import printed_cell
from intravar.study.simulation.conditions import Condition
from intravar.study.tables.cells import ROUNDING, cell, cells_table, standard_error

#: The columns of the cross-experiment table, and half a unit of their last printed decimal.
MEASURES: dict[str, tuple[Statistic, float]] = {
    "mean_delta": (row_mean, ROUNDING),
    "mean_abs_delta": (row_mean_absolute, ROUNDING),
    "median_delta": (row_median, ROUNDING),
    "percent_positive": (row_percent_positive, 0.05),
}
#: Measures of `mean_deltas`, and the columns under which tables by condition show them.
BY_CONDITION = {"delta": "mean_delta", "error": "mean_physician_error"}
WINDOW_BINS = {"w1": (1, 1), "w2_3": (2, 3), "w4_6": (4, 6), "w7_9": (7, 9)}


def mean_deltas(scores: pl.DataFrame, rates: frozenset[str]) -> pl.DataFrame:
    """Return the mean delta per condition, replicate and method that estimates a rate.

    Beside it `error`, the mean of |delta|, and `coverage`, the share of the physicians' intervals
    that hold D*.
    """
    held = pl.col("d_star").is_between(pl.col("low") - 1e-9, pl.col("high") + 1e-9)
    return (
        scores.filter(pl.col("method").is_in(rates) & (pl.col("method") != "oracle"))
        .group_by("condition", "replicate", "method", maintain_order=True)
        .agg(
            pl.col("delta").mean(),
            pl.col("delta").abs().mean().alias("error"),
            pl.col("delta").is_null().sum().alias("n_undefined"),
            held.mean().alias("coverage"),
        )
    )


def condition_table(deltas: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Return one of :data:`BY_CONDITION` by condition and method."""
    cells = []
    for (condition, method), rows in deltas.group_by("condition", "method", maintain_order=True):
        values = rows.sort("replicate")[measure].fill_null(np.nan)
        cells.append(
            cell(
                str(condition),
                str(method),
                BY_CONDITION[measure],
                [BootstrapInterval(value, np.nan, np.nan) for value in values],
                n_undefined=int(rows["n_undefined"].sum()),
            )
        )
    return cells_table(cells)


def cross_table(deltas: pl.DataFrame, conditions: dict[str, Condition]) -> pl.DataFrame:
    """Return the cross-experiment table over SCORE2 and the window rules.

    The paper's caption says 90 experiments; its shares (93.4 % = 85/91, 54.9 % = 50/91) say 91.
    """
    main = [name for name, found in conditions.items() if found.family in ("score2", "window")]
    cells = []
    for (method,), rows in _of(deltas, main).group_by("method", maintain_order=True):
        for column, (statistic, rounding) in MEASURES.items():
            printed = printed_cell("cross_experiment", str(method), column)
            cells.append(_cell("main", str(method), column, rows, printed, statistic, rounding))
        if rows["coverage"].is_not_null().any():
            covered = rows.with_columns(pl.col("coverage").alias("delta"))
            cells.append(_cell("main", str(method), "coverage", covered, None))
    return cells_table(cells)


def window_table(deltas: pl.DataFrame, conditions: dict[str, Condition]) -> pl.DataFrame:
    """Return the mean delta by window size, SCORE2 first."""

    def chosen(column: str) -> list[str]:
        if column == "score2":
            return ["score2"]
        low, high = WINDOW_BINS[column]
        return [
            name
            for name, found in conditions.items()
            if found.width is not None and low <= found.width <= high
        ]

    return _split_table(deltas, ("score2", *WINDOW_BINS), chosen, "window_size")


def pass_table(deltas: pl.DataFrame, conditions: dict[str, Condition]) -> pl.DataFrame:
    """Return the mean delta of the window rules by pass."""

    def chosen(column: str) -> list[str]:
        number = int(column.removeprefix("pass"))
        return [name for name, found in conditions.items() if found.pass_number == number]

    return _split_table(deltas, ("pass1", "pass2"), chosen, "passes")


def _split_table(
    deltas: pl.DataFrame,
    columns: tuple[str, ...],
    chosen: Callable[[str], list[str]],
    paper: str,
) -> pl.DataFrame:
    cells = []
    for method in deltas["method"].unique(maintain_order=True):
        rows = deltas.filter(pl.col("method") == method)
        for column in columns:
            part = _of(rows, chosen(column))
            if part.height:
                printed = printed_cell(paper, method, column)
                cells.append(_cell(paper, method, column, part, printed))
    return cells_table(cells)


def _of(deltas: pl.DataFrame, conditions: list[str]) -> pl.DataFrame:
    return deltas.filter(pl.col("condition").is_in(conditions))


def _cell(
    condition: str,
    method: str,
    column: str,
    rows: pl.DataFrame,
    printed: Any,
    statistic: Statistic = row_mean,
    rounding: float = ROUNDING,
) -> dict[str, Any]:
    draws = [
        draw["delta"].fill_null(np.nan).to_numpy()
        for _, draw in rows.sort("replicate", "condition").group_by(
            "replicate", maintain_order=True
        )
    ]
    intervals = [percentile_interval(values, statistic) for values in draws]
    if all(values.size == 1 for values in draws):
        # One condition has nothing to resample: the paper prints a point there, too.
        intervals = [BootstrapInterval(found.value, np.nan, np.nan) for found in intervals]
    return cell(
        condition,
        method,
        column,
        intervals,
        printed,
        # Of a mean its standard error; of another statistic what its bootstrap interval says.
        spread=(
            standard_error(draws[0])
            if statistic is row_mean
            else (intervals[0].high - intervals[0].low) / 3.92
        ),
        n_undefined=int(rows["n_undefined"].sum()),
        rounding=rounding,
    )
