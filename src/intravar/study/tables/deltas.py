"""How far scores lie from the oracle's: by physician group, across conditions, by cohort size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from intravar.study.benchmark.published import (
    GROUP_TABLES,
    Printed,
    printed_cell,
    printed_grid,
    printed_spearman,
)
from intravar.study.simulation.conditions import Condition, conditions_of
from intravar.study.tables.cells import (
    ROUNDING,
    Statistic,
    cell,
    cells_table,
    percentile_interval,
    row_mean,
    row_mean_absolute,
    row_median,
    row_percent_positive,
    standard_error,
    summary_cell,
)
from intravar.study.tables.recovery import spearman_cell

GROUPS = (1, 2, 3, 4, 5)
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


def group_table(scores: pl.DataFrame, condition: str, rates: frozenset[str]) -> pl.DataFrame:
    """Return mean score per physician group, mean delta and rank correlation, per method.

    Parameters
    ----------
    scores
        Scores of the study.
    condition
        One of :data:`GROUP_TABLES`.
    rates
        Methods whose score is a discordance rate; the others have no delta.
    """
    paper = GROUP_TABLES[condition]
    cells: list[dict[str, Any]] = []
    here = scores.filter(pl.col("condition") == condition)
    for (method,), rows in here.group_by("method", maintain_order=True):
        name = str(method)
        for group in GROUPS:
            column = f"group{group}"
            own = rows.filter(pl.col("group") == group)
            printed = printed_cell(paper, name, column)
            rounding = ROUNDING if name in rates else 0.005
            place = (condition, name, column)
            cells.append(summary_cell(place, own, "score", printed, rounding=rounding))
        if name == "oracle":
            continue
        if name in rates:
            printed = printed_cell(paper, name, "mean_delta")
            cells.append(summary_cell((condition, name, "mean_delta"), rows, "delta", printed))
        printed = printed_spearman(condition, name)
        cells.append(spearman_cell(condition, name, rows, "oracle", printed, rounding=0.005))
    return cells_table(cells)


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
    return cells_table(
        [
            summary_cell((str(condition), str(method), BY_CONDITION[measure]), rows, measure)
            for (condition, method), rows in deltas.group_by(
                "condition", "method", maintain_order=True
            )
        ]
    )


def cross_table(deltas: pl.DataFrame, conditions: dict[str, Condition]) -> pl.DataFrame:
    """Return the cross-experiment table over SCORE2 and the window rules.

    The paper's caption says 90 experiments; its shares (93.4 % = 85/91, 54.9 % = 50/91) say 91.
    """
    main = [name for name, found in conditions.items() if found.family in ("score2", "window")]
    cells = []
    for (method,), rows in _of(deltas, main).group_by("method", maintain_order=True):
        name = str(method)
        for column, (statistic, rounding) in MEASURES.items():
            printed = printed_cell("cross_experiment", name, column)
            place = ("main", name, column)
            cells.append(summary_cell(place, rows, "delta", printed, statistic, rounding))
        if rows["coverage"].is_not_null().any():
            cells.append(summary_cell(("main", name, "coverage"), rows, "coverage"))
    return cells_table(cells)


def window_table(deltas: pl.DataFrame, conditions: dict[str, Condition]) -> pl.DataFrame:
    """Return the mean delta by window size, SCORE2 first."""

    def chosen(column: str) -> list[str]:
        if column == "score2":
            return ["score2"]
        low, high = WINDOW_BINS[column]
        widths = {name: found.width for name, found in conditions.items()}
        return [name for name, width in widths.items() if width and low <= width <= high]

    return _split_table(deltas, ("score2", *WINDOW_BINS), chosen, "window_size")


def pass_table(deltas: pl.DataFrame, conditions: dict[str, Condition]) -> pl.DataFrame:
    """Return the mean delta of the window rules by pass."""

    def chosen(column: str) -> list[str]:
        return [n for n, found in conditions.items() if f"pass{found.pass_number}" == column]

    return _split_table(deltas, ("pass1", "pass2"), chosen, "passes")


def _split_table(
    deltas: pl.DataFrame,
    columns: tuple[str, ...],
    chosen: Callable[[str], list[str]],
    paper: str,
) -> pl.DataFrame:
    cells = []
    for (method,), rows in deltas.group_by("method", maintain_order=True):
        name = str(method)
        for column in columns:
            part = _of(rows, chosen(column))
            if part.height:
                printed = printed_cell(paper, name, column)
                cells.append(summary_cell((paper, name, column), part, "delta", printed))
    return cells_table(cells)


def _of(deltas: pl.DataFrame, conditions: list[str]) -> pl.DataFrame:
    return deltas.filter(pl.col("condition").is_in(conditions))


def grid_table(deltas: pl.DataFrame) -> pl.DataFrame:
    """Return the mean delta per size of cohort and method; replicates are resampled.

    The condition of a cell is `grid-n5000-j20` for 5,000 patients and 20 physicians. The paper
    prints the two extremes alone.
    """
    cells = []
    extremes = {}
    for name in ("most_negative", "most_positive"):
        printed = printed_grid()[name]
        condition = f"grid-n{printed['patients']}-j{printed['physicians']}"
        extremes[condition, printed["method"].replace("_", "-")] = Printed(printed["value"])
    for condition in conditions_of("grid"):
        here = deltas.filter(pl.col("condition") == condition)
        for (method,), rows in here.group_by("method", maintain_order=True):
            values = rows.sort("replicate")["delta"].fill_null(np.nan).to_numpy()
            found = cell(
                condition,
                str(method),
                "mean_delta",
                [percentile_interval(values)],
                extremes.get((condition, str(method))),
                spread=standard_error(values),
                n_undefined=int(rows["n_undefined"].sum()),
            )
            found["draws"] = int(np.isfinite(values).sum())
            cells.append(found)
    return cells_table(cells)
