"""How well the methods keep the order of physicians."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy.stats import rankdata

from intravar.arrays import FloatArray
from intravar.study.benchmark.published import Printed, printed_spearman
from intravar.study.tables.cells import (
    RESAMPLES,
    ROUNDING,
    SEED,
    BootstrapInterval,
    cell,
    cells_table,
)


def spearman(first: FloatArray, second: FloatArray) -> float:
    """Return the rank correlation of the physicians that both score; NaN where all are tied.

    Examples
    --------
    >>> spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 9.0]))
    1.0
    """
    both = np.isfinite(first) & np.isfinite(second)
    if both.sum() < 2:
        return float("nan")
    ranks = rankdata(first[both]), rankdata(second[both])
    if any(np.ptp(rank) == 0 for rank in ranks):
        return float("nan")
    # Rounded where a sum of squares rounds: ranks that agree give exactly 1.
    return float(np.clip(np.round(np.corrcoef(*ranks)[0, 1], 15), -1, 1))


def spearman_cell(
    condition: str,
    method: str,
    rows: pl.DataFrame,
    against: str,
    printed: Printed | None,
    rounding: float = ROUNDING,
) -> dict[str, Any]:
    """Make the cell of a method's rank correlation with `oracle` or `d_star`."""
    draws: list[BootstrapInterval] = []
    for _, draw in rows.sort("replicate", "physician").group_by("replicate", maintain_order=True):
        score = draw["score"].fill_null(np.nan).to_numpy()
        target = draw[against].fill_null(np.nan).to_numpy()
        value = spearman(score, target)
        bounds = _resampled(score, target) if not draws else (np.nan, np.nan)
        draws.append(BootstrapInterval(value, *bounds))
    undefined = int(rows["score"].null_count())
    column = f"spearman_{against}"
    return cell(condition, method, column, draws, printed, n_undefined=undefined, rounding=rounding)


def continuum_table(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the rank correlation with D* and the error per physician on the continuum."""
    here = scores.filter(pl.col("condition") == "continuous")
    cells = []
    for (method,), rows in here.group_by("method", maintain_order=True):
        name = str(method)
        printed = printed_spearman("continuous", name)
        cells.append(spearman_cell("continuous", name, rows, "d_star", printed))
        cells.append(spearman_cell("continuous", name, rows, "oracle", None))
    return cells_table(cells)


def correlation_table(scores: pl.DataFrame, condition: str) -> pl.DataFrame:
    """Return the rank correlation of every pair of methods, the oracle among them."""
    # A constant has no order to compare.
    here = scores.filter((pl.col("condition") == condition) & (pl.col("method") != "constant"))
    methods = here["method"].unique(maintain_order=True).to_list()
    draws = [
        draw.pivot("method", index="physician", values="score", aggregate_function="first")
        for _, draw in here.group_by("replicate", maintain_order=True)
    ]
    cells = []
    for first in methods:
        for second in methods:
            values = [
                BootstrapInterval(
                    spearman(
                        draw[first].fill_null(np.nan).to_numpy(),
                        draw[second].fill_null(np.nan).to_numpy(),
                    ),
                    np.nan,
                    np.nan,
                )
                for draw in draws
                if first in draw.columns and second in draw.columns
            ]
            if values:
                cells.append(cell(condition, first, second, values))
    return cells_table(cells)


def _resampled(score: FloatArray, target: FloatArray) -> tuple[float, float]:
    both = np.isfinite(score) & np.isfinite(target)
    score, target = score[both], target[both]
    if score.size < 3 or np.ptp(score) == 0 or np.ptp(target) == 0:
        return np.nan, np.nan
    rows = np.random.default_rng(SEED).integers(score.size, size=(RESAMPLES, score.size))
    first, second = rankdata(score[rows], axis=1), rankdata(target[rows], axis=1)
    first -= first.mean(axis=1, keepdims=True)
    second -= second.mean(axis=1, keepdims=True)
    norm = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    # A resample that drew one physician over and over has no order to keep.
    defined = norm > 0
    correlation = (first * second).sum(axis=1)[defined] / norm[defined]
    low, high = np.percentile(correlation, (2.5, 97.5))
    return float(low), float(high)
