"""The physicians of every condition, as the page shows, sorts and filters them."""

from __future__ import annotations

from typing import Any

import polars as pl

from intravar.study.benchmark.units import CONSTANT, ORACLE
from intravar.study.report.stored_results import Results


def physicians_of(results: Results, condition: str) -> dict[str, Any]:
    """Return the physicians of the first draw of a condition, column by column.

    `scores`, `low` and `high` hold one list per method of the study, in the study's order; null
    where undefined.
    """
    rows = results.first_draw.filter(pl.col("condition") == condition)
    about = (
        rows.group_by("physician")
        .agg(pl.col("group", "n_patients", "d_star", "oracle").drop_nulls().first())
        .sort("physician")
    )
    names = about.select("physician")
    found: dict[str, dict[str, list[float | None]]] = {"score": {}, "low": {}, "high": {}}
    for method in results.methods:
        own = rows.filter(pl.col("method") == method).select("physician", *found)
        if own.height:
            joined = names.join(own, on="physician", how="left", maintain_order="left")
            for column, by_method in found.items():
                by_method[method] = joined[column].to_list()
    return {
        "physician": names["physician"].to_list(),
        "group": about["group"].to_list(),
        "n_patients": about["n_patients"].to_list(),
        "d_star": about["d_star"].to_list(),
        "oracle": about["oracle"].to_list(),
        "scores": found["score"],
        "low": found["low"],
        "high": found["high"],
    }


def undefined_reasons(results: Results) -> list[dict[str, Any]]:
    """Return how many scores are undefined, per method and reason."""
    return (
        results.scores.filter(
            pl.col("score").is_null() & ~pl.col("method").is_in([ORACLE, CONSTANT])
        )
        .group_by("method", "reason")
        .agg(pl.len().alias("scores"), pl.col("condition").n_unique().alias("conditions"))
        .sort("method", "reason")
        .to_dicts()
    )
