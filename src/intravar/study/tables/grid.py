"""Mean delta over the grid of cohort sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from intravar.study.benchmark.bootstrap import percentile_interval
from intravar.study.benchmark.published import Printed, printed_grid
from intravar.study.simulation.conditions import conditions_of
from intravar.study.tables.cells import cell, cells_table, standard_error


def grid_table(deltas: pl.DataFrame) -> pl.DataFrame:
    """Return the mean delta per cell of the grid and method; replicates are resampled.

    The column of a cell is its condition, `grid-n5000-j20` for 5,000 patients and 20 physicians.
    The paper prints the two extremes alone.
    """
    cells = []
    for condition in conditions_of("grid"):
        here = deltas.filter(pl.col("condition") == condition)
        for (method,), rows in here.group_by("method", maintain_order=True):
            values = rows.sort("replicate")["delta"].fill_null(np.nan).to_numpy()
            interval = percentile_interval(values)
            found = cell(
                condition,
                str(method),
                "mean_delta",
                [interval],
                _printed(condition, str(method)),
                spread=standard_error(values),
                n_undefined=int(rows["n_undefined"].sum()),
            )
            found["draws"] = int(np.isfinite(values).sum())
            cells.append(found)
    return cells_table(cells)


def _printed(condition: str, method: str) -> Printed | None:
    grid: dict[str, Any] = printed_grid()
    for extreme in ("most_negative", "most_positive"):
        figure = grid[extreme]
        name = f"grid-n{figure['patients']}-j{figure['physicians']}"
        if name == condition and figure["method"].replace("_", "-") == method:
            return Printed(figure["value"])
    return None
