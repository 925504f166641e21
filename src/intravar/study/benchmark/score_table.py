"""What is stored of every score."""

from __future__ import annotations

import polars as pl

from intravar.estimators import METHODS

#: One row per condition, replicate, method and physician. `oracle` is the oracle's estimate and
#: `delta` the score minus it; a score on another scale than a discordance has no delta. `d_star`
#: is the true discordance of the eligible, `comparable` that of the panel's comparable patients.
SCORE_SCHEMA = {
    "condition": pl.String,
    "replicate": pl.Int32,
    "method": pl.String,
    "physician": pl.String,
    "group": pl.Int16,
    "score": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "oracle": pl.Float64,
    "delta": pl.Float64,
    "d_star": pl.Float64,
    "comparable": pl.Float64,
    "n_patients": pl.Int64,
    "n_pairs": pl.Int64,
    "reason": pl.String,
}
#: Methods that aim at the comparable discordance of a panel.
COMPARABLE = frozenset(name for name, method in METHODS.items() if method.estimand == "comparable")
#: Methods of this package on another scale than a discordance.
OTHER_SCALE = frozenset(name for name, method in METHODS.items() if method.scale != "discordance")


def delta(*, rate: bool = True) -> pl.Expr:
    """Return score minus oracle; nothing for a method whose score is no discordance rate."""
    found = pl.col("score") - pl.col("oracle") if rate else pl.lit(None, pl.Float64)
    return found.alias("delta")
