"""All that can be said about a profile, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import narwhals as nw
import numpy as np
import polars as pl

from intravar.arrays import FloatArray
from intravar.errors import InputError
from intravar.inference.intervals import LEVEL
from intravar.inference.ranking import rank_normal
from intravar.inference.reliability import (
    Scale,
    even_errors,
    from_scale,
    rankability,
    reliability,
    to_scale,
)
from intravar.inference.shrinkage import Method, shrink

NO_ERROR = "the score has no standard error"
_NEEDED = ("physician", "score", "low", "high", "standard_error")
_DERIVED = (
    "shrunken",
    "shrunken_low",
    "shrunken_high",
    "reliability",
    "rank",
    "rank_low",
    "rank_high",
    "p_worst_tenth",
)


@runtime_checkable
class Profiled(Protocol):
    """A fitted estimator, as far as it matters here."""

    @property
    def profile_(self) -> pl.DataFrame:
        """One row per physician."""

    def interval(self, level: float = LEVEL) -> pl.DataFrame:
        """Return physician, score_low, score_high and standard_error."""


@dataclass(frozen=True)
class Assessment:
    """What a profile says about its physicians, and how far to trust it.

    Attributes
    ----------
    table
        One row per physician: physician, n_patients, score, low, high, shrunken, shrunken_low,
        shrunken_high, reliability, rank (the expected one; 1 is the lowest score), rank_low,
        rank_high, p_worst_tenth, reason. Null where undefined, with the reason.
    rankability
        Share of the differences between physicians that is not chance; NaN with fewer than two.
    mean
        What scores are shrunk towards.
    between_variance
        Variance of true scores, on the scale that was used.
    scale
        On which scores were shrunk; see :mod:`intravar.inference.reliability`.
    level
        Nominal coverage of the intervals.
    """

    table: pl.DataFrame
    rankability: float
    mean: float
    between_variance: float
    scale: Scale
    level: float

    def __str__(self) -> str:
        defined = self.table["shrunken"].is_not_null().sum()
        told = "unknown" if np.isnan(self.rankability) else f"{self.rankability:.2f}"
        return (
            f"{defined} of {self.table.height} physicians assessed, mean {self.mean:.3f}, "
            f"rankability {told}\n{self.table}"
        )


def assess(
    profile: Profiled | pl.DataFrame,
    *,
    level: float = LEVEL,
    scale: Scale | None = None,
    most: float | None = None,
    method: Method = "paule-mandel",
    seed: int = 0,
) -> Assessment:
    """Shrink, rank and rate the physicians of a profile.

    Parameters
    ----------
    profile
        A fitted estimator, its `profile_`, or a table with physician, score, low, high,
        standard_error and, where known, n_patients and reason.
    level
        Nominal coverage of all intervals; those of a table stay as they are.
    scale
        What the score is. By default the estimator's own word for it, and a discordance in a
        table.
    most
        What the score can tend to at the most; by default the estimator's own word for it, and 1
        in a table. Below 1, and with `n_patients` known, reliability depends on them and not on
        the score; see :func:`intravar.inference.even_errors`.
    method
        How the variance between physicians is estimated.
    seed
        Of the draws behind intervals of ranks.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=2000, n_physicians=10)
    >>> found = assess(intravar.estimators.Euclidean().fit(*cohort.observed()))
    >>> found.table.filter(pl.col("rank") == pl.col("rank").max())["physician"].item()
    'P09'
    >>> found.rankability > 0.5
    True
    """
    table = _table(profile, level)
    used: Scale = getattr(profile, "scale", "discordance") if scale is None else scale
    score, error = (table[name].to_numpy() for name in ("score", "standard_error"))
    known = np.isfinite(score) & np.isfinite(error)
    value, noise = to_scale(score[known], error[known], used)
    shrunken = shrink(value, noise, level=level, method=method)
    between, even = shrunken.between_variance, noise
    ceiling = getattr(profile, "most", 1.0) if most is None else most
    if used == "discordance" and ceiling < 1 and not table["n_patients"].has_nulls():
        size = table["n_patients"].to_numpy()[known]
        _, even, between = even_errors(score[known], error[known], size, ceiling)
    ranks = rank_normal(shrunken.value, shrunken.spread, level=level, seed=seed)
    derived = (
        from_scale(shrunken.value, used),
        from_scale(shrunken.low, used),
        from_scale(shrunken.high, used),
        reliability(between, even),
        ranks.expected,
        ranks.low,
        ranks.high,
        ranks.p_worst_tenth,
    )
    columns = dict(zip(_DERIVED, (_spread_out(each, known) for each in derived), strict=True))
    no_error = pl.Series(np.isfinite(score) & ~known)
    found = table.drop("standard_error", "reason").with_columns(**columns)
    reason = pl.when(no_error).then(pl.lit(NO_ERROR)).otherwise(table["reason"]).alias("reason")
    return Assessment(
        found.with_columns(pl.col(pl.Float64).fill_nan(None)).with_columns(reason),
        rankability(between, even),
        float(from_scale(shrunken.mean, used)),
        shrunken.between_variance,
        used,
        level,
    )


def _table(profile: Profiled | pl.DataFrame, level: float) -> pl.DataFrame:
    """Return the columns that are needed, NaN where undefined."""
    if isinstance(profile, pl.DataFrame):
        table = profile
    elif not hasattr(profile, "interval"):
        table = _polars(profile)
    elif not hasattr(profile, "score_"):
        raise InputError("the estimator is not fitted; call fit first")
    else:
        ends, scored = _polars(profile.interval(level)), _polars(profile.profile_)
        table = scored.with_columns(ends.drop("physician").get_columns())
    table = table.rename({"score_low": "low", "score_high": "high"}, strict=False)
    missing = [name for name in _NEEDED if name not in table.columns]
    if missing:
        raise InputError(f"the profile has no column {', '.join(missing)}")
    for name, dtype in {"n_patients": pl.Int64, "reason": pl.String}.items():
        if name not in table.columns:
            table = table.with_columns(pl.lit(None, dtype).alias(name))
    numbers = pl.col(*_NEEDED[1:]).cast(pl.Float64).fill_null(float("nan"))
    return table.select("physician", "n_patients", numbers, "reason")


def _polars(frame: Any) -> pl.DataFrame:
    table: pl.DataFrame = nw.from_native(frame, eager_only=True).to_polars()
    return table


def _spread_out(values: FloatArray, known: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pl.Series:
    """Return the values of those who have one, NaN for the others."""
    column = np.full(len(known), np.nan)
    column[known] = values
    return pl.Series(column)
