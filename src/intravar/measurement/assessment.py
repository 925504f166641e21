"""From a fitted method to what is said about each physician.

This is the one place where uncertainty enters. :func:`assess_scores` is to be replaced by
`intravar.inference.assess`; everything else only arranges its columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.estimators import Estimator, Observed
from intravar.measurement.panels import MIN_PANEL, too_small

FloatArray = npt.NDArray[np.float64]

#: Reliability below which a result is not reported.
MIN_RELIABILITY = 0.4
#: Two-sided 95 %.
Z = 1.959963984540054
RESULT_COLUMNS = (
    "physician",
    "n_patients",
    "discordance",
    "low",
    "high",
    "shrunken",
    "p_high",
    "p_low",
    "discrimination",
    "n_pairs",
    "reliability",
    "rank",
    "rank_low",
    "rank_high",
    "reportable",
    "reason",
)


@dataclass(frozen=True)
class Scores:
    """What a method says about some physicians, before uncertainty across physicians.

    Attributes
    ----------
    physician, n_patients, discordance
        Per physician; the discordance is NaN where it is undefined.
    reason
        Why it is undefined.
    n_positive
        Patients who were decided for.
    n_pairs, n_discordant
        Counts behind the discordance; NaN for a method without pairs.
    low, high
        The method's own interval, if it has one.
    p_high, p_low, discrimination
        What the latent rule knows; NaN for the other methods.
    """

    physician: list[str]
    n_patients: npt.NDArray[np.int64]
    discordance: FloatArray
    reason: list[str | None]
    n_positive: npt.NDArray[np.int64]
    n_pairs: FloatArray
    n_discordant: FloatArray
    low: FloatArray
    high: FloatArray
    p_high: FloatArray
    p_low: FloatArray
    discrimination: FloatArray

    def take(self, rows: npt.NDArray[np.int64]) -> Scores:
        """Return the scores of some physicians."""
        arrays = {
            name: getattr(self, name)[rows]
            for name in (
                "n_patients",
                "discordance",
                "n_positive",
                "n_pairs",
                "n_discordant",
                "low",
                "high",
                "p_high",
                "p_low",
                "discrimination",
            )
        }
        return Scores(
            physician=[self.physician[row] for row in rows],
            reason=[self.reason[row] for row in rows],
            **arrays,
        )


def scores_of(estimator: Estimator, observed: Observed) -> Scores:
    """Read the scores off a fitted method, whichever it is."""
    n = len(estimator.physicians_)
    positive = np.bincount(observed.code, observed.decision, minlength=n)

    def attribute(name: str) -> FloatArray:
        found: Any = getattr(estimator, name, None)
        return np.full(n, np.nan) if found is None else np.asarray(found, dtype=np.float64)

    n_pairs = attribute("n_pairs_")
    return Scores(
        physician=[str(name) for name in estimator.physicians_],
        n_patients=np.asarray(estimator.n_patients_),
        discordance=np.asarray(estimator.score_, dtype=np.float64),
        reason=list(estimator.reason_),
        n_positive=positive.astype(np.int64),
        n_pairs=n_pairs,
        n_discordant=np.rint(np.nan_to_num(estimator.score_) * n_pairs),
        low=attribute("low_"),
        high=attribute("high_"),
        p_high=attribute("p_high_"),
        p_low=attribute("p_low_"),
        discrimination=attribute("discrimination_"),
    )


@dataclass(frozen=True)
class Assessed:
    """Uncertainty of scores, one entry per physician; NaN where there is no score."""

    low: FloatArray
    high: FloatArray
    shrunken: FloatArray
    reliability: FloatArray
    rank: FloatArray
    rank_low: FloatArray
    rank_high: FloatArray


def assess_scores(scores: Scores) -> Assessed:
    """Compute Wilson intervals and normal shrinkage, in the place of `intravar.inference.assess`.

    Rank 1 is the most consistent physician. Ranks are expected ranks under the normal posterior,
    with the share of posterior order that lies within 95 %.
    """
    d, n = scores.discordance, scores.n_pairs.copy()
    n[np.isnan(n)] = scores.n_patients[np.isnan(n)] / 2
    known = np.isfinite(d) & (n > 0)
    low, high = _wilson(d, n)
    own = np.isfinite(scores.low)
    low, high = np.where(own, scores.low, low), np.where(own, scores.high, high)
    sampling = np.square((high - low) / (2 * Z))
    mean, between = _moments(d[known], sampling[known])
    reliability = between / (between + sampling) if between > 0 else np.zeros_like(d)
    shrunken = mean + reliability * (d - mean)
    spread = np.sqrt(reliability * sampling) if between > 0 else np.full_like(d, 1e-12)
    rank, rank_low, rank_high = _ranks(np.where(known, shrunken, np.nan), spread)
    arrays = (low, high, shrunken, reliability, rank, rank_low, rank_high)
    return Assessed(*(np.where(known, values, np.nan) for values in arrays))


def _spread_out(assessed: Assessed, rows: npt.NDArray[np.int64], n: int) -> Assessed:
    """Put the assessment of some physicians back in its place among all."""
    placed = {}
    for name, values in vars(assessed).items():
        placed[name] = np.full(n, np.nan)
        placed[name][rows] = values
    return Assessed(**placed)


def _wilson(share: FloatArray, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2)) / (1 + Z**2 / n)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def _moments(d: FloatArray, sampling: FloatArray) -> tuple[float, float]:
    """Return mean and variance between physicians by the method of moments."""
    if len(d) < 2:
        return (float(d.mean()) if len(d) else float("nan")), 0.0
    weight = 1 / np.maximum(sampling, 1e-9)
    mean = float(np.sum(weight * d) / weight.sum())
    excess = float(np.sum(weight * (d - mean) ** 2)) - (len(d) - 1)
    scale = float(weight.sum() - np.square(weight).sum() / weight.sum())
    return mean, max(excess / scale, 0.0)


def _ranks(mean: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    from scipy.stats import norm

    known = np.flatnonzero(np.isfinite(mean))
    rank, low, high = (np.full(len(mean), np.nan) for _ in range(3))
    for j in known:
        others = known[known != j]
        behind = norm.cdf(
            (mean[j] - mean[others]) / np.sqrt(spread[j] ** 2 + spread[others] ** 2 + 1e-24)
        )
        expected = 1 + behind.sum()
        half = Z * np.sqrt(np.sum(behind * (1 - behind)))
        rank[j] = expected
        low[j] = max(1.0, np.floor(expected - half))
        high[j] = min(float(len(known)), np.ceil(expected + half))
    return rank, low, high


def result_table(
    scores: Scores, *, min_panel: int = MIN_PANEL, min_reliability: float = MIN_RELIABILITY
) -> pl.DataFrame:
    """Return one row per physician with all result columns.

    Panels below the minimum have no part in what is said about the others.
    """
    large = np.flatnonzero(scores.n_patients >= min_panel)
    assessed = _spread_out(assess_scores(scores.take(large)), large, len(scores.physician))
    reasons = [
        _reason(scores, assessed, row, min_panel, min_reliability)
        for row in range(len(scores.physician))
    ]
    table = pl.DataFrame(
        {
            "physician": pl.Series(scores.physician, dtype=pl.String),
            "n_patients": scores.n_patients,
            "discordance": scores.discordance,
            "low": assessed.low,
            "high": assessed.high,
            "shrunken": assessed.shrunken,
            "p_high": scores.p_high,
            "p_low": scores.p_low,
            "discrimination": scores.discrimination,
            "n_pairs": scores.n_pairs,
            "reliability": assessed.reliability,
            "rank": assessed.rank,
            "rank_low": assessed.rank_low,
            "rank_high": assessed.rank_high,
            "reportable": pl.Series([reason is None for reason in reasons], dtype=pl.Boolean),
            "reason": pl.Series(reasons, dtype=pl.String),
        }
    )
    floats = [name for name, dtype in table.schema.items() if dtype == pl.Float64]
    return table.with_columns(pl.col(floats).fill_nan(None)).with_columns(
        pl.col("n_pairs", "rank_low", "rank_high").cast(pl.Int64)
    )


def _reason(
    scores: Scores, assessed: Assessed, row: int, min_panel: int, min_reliability: float
) -> str | None:
    size = too_small(int(scores.n_patients[row]), min_panel)
    if size is not None:
        return size
    if not np.isfinite(scores.discordance[row]):
        return scores.reason[row] or "the method gives no score"
    if assessed.reliability[row] < min_reliability:
        return f"reliability below {min_reliability:g}"
    return None


def in_words(row: dict[str, Any]) -> str:
    """Say one physician's result in a line that needs no statistics.

    Examples
    --------
    >>> in_words({"reportable": True, "discordance": 0.18, "low": 0.12, "high": 0.25})
    'of 100 pairs of comparable patients, about 18 [12, 25] get different decisions'
    """
    if not row["reportable"]:
        return f"not reportable: {row['reason']}"
    about, low, high = (round(100 * row[name]) for name in ("discordance", "low", "high"))
    return (
        f"of 100 pairs of comparable patients, about {about} [{low}, {high}] get different "
        "decisions"
    )
