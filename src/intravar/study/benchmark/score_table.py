"""What is stored of every score; files of earlier versions are read as today's."""

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
#: What every version stored.
ALWAYS_STORED = tuple(
    name for name in SCORE_SCHEMA if name not in ("low", "high", "oracle", "delta", "comparable")
)
#: Methods that aim at the comparable discordance of a panel.
COMPARABLE = frozenset(name for name, method in METHODS.items() if method.estimand == "comparable")
#: Methods of this package on another scale than a discordance.
OTHER_SCALE = frozenset(name for name, method in METHODS.items() if method.scale != "discordance")


def delta(*, rate: bool = True) -> pl.Expr:
    """Return score minus oracle; nothing for a method whose score is no discordance rate."""
    found = pl.col("score") - pl.col("oracle") if rate else pl.lit(None, pl.Float64)
    return found.alias("delta")


def current_scores(stored: pl.DataFrame) -> pl.DataFrame:
    """Return stored scores with the columns of today.

    The oracle's estimate was once called `truth`; intervals and deltas were not stored from the
    beginning.

    Examples
    --------
    >>> old = pl.DataFrame({"method": ["euclidean"], "score": [0.5], "truth": [0.25]})
    >>> current_scores(old).select("oracle", "delta").row(0)
    (0.25, 0.25)
    """
    scores = stored.rename({"truth": "oracle"}) if "truth" in stored.columns else stored
    if "delta" not in scores.columns:
        other = pl.col("method").is_in(list(OTHER_SCALE))
        scores = scores.with_columns(pl.when(~other).then(delta()))
    absent = [name for name in ("low", "high", "comparable") if name not in scores.columns]
    scores = scores.with_columns(pl.lit(None, pl.Float64).alias(name) for name in absent)
    return scores.select(name for name in SCORE_SCHEMA if name in scores.columns)
