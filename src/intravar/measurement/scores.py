"""From a fitted method to what is said about each physician.

This is the one place where uncertainty across physicians enters, through `intravar.inference`.
Rank 1 is the most consistent physician.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import expit, logit

from intravar.arrays import FloatArray
from intravar.estimators import Estimator, Observed
from intravar.inference import assess
from intravar.inference.scales import Scale
from intravar.preparation.panels import MIN_PANEL, too_small

#: Reliability below which a result is not reported.
MIN_RELIABILITY = 0.4
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
    low, high, standard_error
        The method's interval of each score.
    p_high, p_low, discrimination
        What the latent rule knows; NaN for the other methods.
    n_eligible, n_eligible_positive
        Patients whom the latent rule takes for eligible, and those of them who were decided for;
        expectations, not whole numbers. NaN for the other methods.
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
    standard_error: FloatArray
    p_high: FloatArray
    p_low: FloatArray
    discrimination: FloatArray
    n_eligible: FloatArray
    n_eligible_positive: FloatArray
    scale: Scale = "discordance"

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
                "standard_error",
                "p_high",
                "p_low",
                "discrimination",
                "n_eligible",
                "n_eligible_positive",
            )
        }
        return Scores(
            scale=self.scale,
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

    ends = estimator.interval().with_columns(
        pl.col("low", "high", "standard_error").cast(pl.Float64).fill_null(float("nan"))
    )
    n_pairs = attribute("n_pairs_")
    n_eligible, n_eligible_positive = expected_cells(estimator, observed)
    return Scores(
        physician=[str(name) for name in estimator.physicians_],
        n_patients=np.asarray(estimator.n_patients_),
        discordance=np.asarray(estimator.score_, dtype=np.float64),
        reason=list(estimator.reason_),
        n_positive=positive.astype(np.int64),
        n_pairs=n_pairs,
        n_discordant=np.rint(np.nan_to_num(estimator.score_) * n_pairs),
        low=ends["low"].to_numpy(),
        high=ends["high"].to_numpy(),
        standard_error=ends["standard_error"].to_numpy(),
        p_high=attribute("p_high_"),
        p_low=attribute("p_low_"),
        discrimination=attribute("discrimination_"),
        n_eligible=n_eligible,
        n_eligible_positive=n_eligible_positive,
        scale=estimator.scale,
    )


def expected_cells(estimator: Estimator, observed: Observed) -> tuple[FloatArray, FloatArray]:
    """Return every physician's expected eligible patients, and those of them decided for.

    A patient counts with the probability of being eligible given the covariates and the decision.
    Where the rule is sharp these are the very counts behind p_high and p_low.
    """
    n = len(observed.physicians)
    p_high: Any = getattr(estimator, "p_high_", None)
    if p_high is None:
        return np.full(n, np.nan), np.full(n, np.nan)
    eligible: Any = getattr(estimator, "eligible_probability_", None)
    if eligible is None:
        eligible = getattr(estimator, "core_", np.ones(observed.n_patients))
    shift: Any = getattr(estimator, "shift_", np.zeros(n))
    with np.errstate(divide="ignore", invalid="ignore"):
        g = expit(logit(np.asarray(eligible, dtype=np.float64)) + np.asarray(shift)[observed.code])
        high = np.asarray(p_high)[observed.code]
        low = np.nan_to_num(np.asarray(getattr(estimator, "p_low_", np.zeros(n))))[observed.code]
        yes = observed.decision == 1
        of_eligible = g * np.where(yes, high, 1 - high)
        of_others = (1 - g) * np.where(yes, low, 1 - low)
        share = np.nan_to_num(of_eligible / (of_eligible + of_others))
    return (
        np.bincount(observed.code, share, minlength=n).astype(np.float64),
        np.bincount(observed.code, share * yes, minlength=n).astype(np.float64),
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
    """Shrink, rank and rate physicians; what is said about each depends on all that are given."""
    found = assess(
        pl.DataFrame(
            {
                "physician": pl.Series(scores.physician, dtype=pl.String),
                "score": scores.discordance,
                "low": scores.low,
                "high": scores.high,
                "standard_error": scores.standard_error,
            }
        ),
        scale=scores.scale,
    ).table

    def column(name: str) -> FloatArray:
        return found[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()

    return Assessed(**{name: column(name) for name in Assessed.__dataclass_fields__})


def _spread_out(assessed: Assessed, rows: npt.NDArray[np.int64], n: int) -> Assessed:
    """Put the assessment of some physicians back in its place among all."""
    placed = {}
    for name, values in vars(assessed).items():
        placed[name] = np.full(n, np.nan)
        placed[name][rows] = values
    return Assessed(**placed)


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
