"""How well methods recover the physicians' true discordance: order, level, intervals."""

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
    summary_cell,
)

#: What a method must reach in a condition to be trusted there.
LARGEST_GAP = 0.10
LARGEST_DELTA = 0.02
LEAST_COVERAGE = 0.90
MOST_UNDEFINED = 0.10
#: Measures of `per_draw`, and the columns under which tables show them.
MEASURES = {
    "spearman": "spearman_d_star",
    "delta": "mean_delta",
    "error": "mean_error",
    "coverage": "coverage",
}
#: The same for methods that aim at the comparable discordance of a panel.
COMPARABLE_MEASURES = {
    "comparable_spearman": "spearman_comparable",
    "comparable_excess": "mean_excess",
    "comparable_held": "upper_end_holds",
}
#: Slack for a D* that lies on the end of an interval up to rounding.
SLACK = 1e-9


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


def per_draw(scores: pl.DataFrame) -> pl.DataFrame:
    """Return per condition, replicate and method how D* is recovered.

    Columns: `spearman` with D*, `delta` (mean of score minus the oracle's estimate), `error` (mean
    distance to D*), `coverage` (share of intervals that hold D*), `n_undefined`; against the
    comparable discordance of the panel: `comparable_spearman`, `comparable_excess` (mean of score
    minus it) and `comparable_held` (share of upper ends not below it).
    """
    rows = []
    keys = ("condition", "replicate", "method")
    for key, draw in scores.group_by(keys, maintain_order=True):
        score = draw["score"].fill_null(np.nan).to_numpy()
        d_star = draw["d_star"].to_numpy()
        held = (draw["low"] - SLACK <= draw["d_star"]) & (draw["d_star"] <= draw["high"] + SLACK)
        rows.append(
            {
                **dict(zip(keys, key, strict=True)),
                "spearman": spearman(score, d_star),
                "delta": draw["delta"].mean(),
                "error": float(np.nanmean(np.abs(score - d_star))),
                "coverage": held.mean(),
                "n_undefined": int(np.isnan(score).sum()),
                "undefined": float(np.isnan(score).mean()),
                **_comparable(draw, score),
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def _comparable(draw: pl.DataFrame, score: FloatArray) -> dict[str, float | None]:
    comparable = draw["comparable"].fill_null(np.nan).to_numpy()
    known = np.isfinite(score) & np.isfinite(comparable)
    if not known.any():
        return dict.fromkeys(COMPARABLE_MEASURES)
    high = draw["high"].fill_null(np.nan).to_numpy()
    return {
        "comparable_spearman": spearman(score, comparable),
        "comparable_excess": float((score - comparable)[known].mean()),
        "comparable_held": float((high + SLACK >= comparable)[known].mean()),
    }


def comparable_table(found: pl.DataFrame, measure: str, methods: frozenset[str]) -> pl.DataFrame:
    """Return one measure against the comparable discordance, for methods that aim at it."""
    aimed = found.filter(pl.col("method").is_in(methods)).drop_nulls(measure)
    return recovery_table(aimed, measure, frozenset())


def recovery_table(found: pl.DataFrame, measure: str, other_scale: frozenset[str]) -> pl.DataFrame:
    """Return one measure by condition and method.

    Methods on another scale than a discordance have ranks only.
    """
    cells: list[dict[str, Any]] = []
    for (condition, method), draws in found.group_by("condition", "method", maintain_order=True):
        if measure != "spearman" and method in other_scale:
            continue
        column = {**MEASURES, **COMPARABLE_MEASURES}[measure]
        cells.append(summary_cell((str(condition), str(method), column), draws, measure))
    return cells_table(cells)


def trust_table(found: pl.DataFrame, other_scale: frozenset[str]) -> pl.DataFrame:
    """Say for every condition and method what can be trusted: all, the ranks, or nothing.

    "all": the rank correlation with D* is at most 0.10 below the oracle's, the mean delta at most
    0.02 from zero, and at least 90 % of the intervals hold D*. "ranks": the first alone. A method
    that leaves more than a tenth of the physicians undefined is not trusted.
    """
    means = found.group_by("condition", "method", maintain_order=True).agg(
        pl.col("spearman").fill_nan(None).mean(),
        pl.col("delta", "coverage", "undefined").mean(),
    )
    rows = []
    for (condition,), part in means.group_by("condition", maintain_order=True):
        known = {row["method"]: row for row in part.iter_rows(named=True)}
        best = known["oracle"]["spearman"]
        row: dict[str, Any] = {"condition": condition}
        for method, values in known.items():
            if method not in ("oracle", "constant"):
                row[method] = _verdict(values, best, method in other_scale)
        rows.append(row)
    return pl.DataFrame(rows)


def _verdict(values: dict[str, Any], best: float, ranks_only: bool) -> str:
    if values["spearman"] is None or values["undefined"] > MOST_UNDEFINED:
        return "no"
    if best - values["spearman"] > LARGEST_GAP:
        return "no"
    level = values["delta"] is not None and abs(values["delta"]) <= LARGEST_DELTA
    covers = values["coverage"] is not None and values["coverage"] >= LEAST_COVERAGE
    return "all" if level and covers and not ranks_only else "ranks"
