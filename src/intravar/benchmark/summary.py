"""Summaries of per-physician scores."""

from __future__ import annotations

import polars as pl


def by_group(oracle: pl.DataFrame) -> pl.DataFrame:
    """Return the oracle's table by physician group: counts, mean D* and mean estimate.

    The mean is taken over physicians, as the paper does; undefined ones are left out of it.
    """
    return (
        oracle.group_by("group")
        .agg(
            pl.len().alias("physicians"),
            pl.col("n_patients", "n_eligible").sum(),
            pl.col("d_star", "oracle").mean(),
        )
        .sort("group")
    )
