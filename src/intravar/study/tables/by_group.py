"""Scores by physician group (SCORE2, copula, lognormal), and the GLMM's."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from intravar.study.benchmark.bootstrap import percentile_interval
from intravar.study.benchmark.published import GROUP_TABLES, printed_cell, printed_spearman
from intravar.study.tables.cells import cell, cells_table, standard_error
from intravar.study.tables.ranks import spearman_cell

GROUPS = (1, 2, 3, 4, 5)


def group_table(scores: pl.DataFrame, condition: str, rates: frozenset[str]) -> pl.DataFrame:
    """Return mean score per group, mean delta and rank correlation, per method.

    Parameters
    ----------
    scores
        Scores of the study.
    condition
        The condition to tabulate.
    rates
        Methods whose score is a discordance rate; the others have no delta.
    """
    here = scores.filter(pl.col("condition") == condition)
    paper = GROUP_TABLES.get(condition)
    cells: list[dict[str, Any]] = []
    for (method,), rows in here.group_by("method", maintain_order=True):
        name = str(method)
        for group in GROUPS:
            column = f"group{group}"
            printed = printed_cell(paper, name, column) if paper else None
            cells.append(
                _mean_cell(
                    condition,
                    name,
                    column,
                    rows.filter(pl.col("group") == group),
                    pl.col("score"),
                    printed,
                    rounding=0.0005 if name in rates else 0.005,
                )
            )
        if name in rates and name != "oracle":
            printed = printed_cell(paper, name, "mean_delta") if paper else None
            cells.append(_mean_cell(condition, name, "mean_delta", rows, pl.col("delta"), printed))
        if name != "oracle":
            cells.append(
                spearman_cell(
                    condition,
                    name,
                    rows,
                    "oracle",
                    printed_spearman(condition, name),
                    rounding=0.005,
                )
            )
    return cells_table(cells)


def _mean_cell(
    condition: str,
    method: str,
    column: str,
    rows: pl.DataFrame,
    what: pl.Expr,
    printed: Any,
    rounding: float = 0.0005,
) -> dict[str, Any]:
    per_draw = [
        draw.select(what.alias("value"))["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        for _, draw in rows.sort("replicate", "physician").group_by(
            "replicate", maintain_order=True
        )
    ]
    if not per_draw:
        per_draw = [np.array([np.nan])]
    return cell(
        condition,
        method,
        column,
        [percentile_interval(values) for values in per_draw],
        printed,
        spread=standard_error(per_draw[0]),
        n_undefined=int(sum(np.isnan(values).sum() for values in per_draw)),
        rounding=rounding,
    )
