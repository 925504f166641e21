"""From a fitted method to what is said about each physician.

This is the one place where uncertainty across physicians enters, through `intravar.inference`.
Rank 1 is the most consistent physician.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.errors import InputError, option
from intravar.estimators import Estimator
from intravar.estimators.evidence import NO_REPEATS, Evidence, RepeatedCases
from intravar.inference import Interval, assess
from intravar.inference.intervals import share_interval
from intravar.inference.ranking import rank_correlation
from intravar.inference.reliability import Scale
from intravar.measurement.columns import typed
from intravar.measurement.sentences import about
from intravar.measurement.verdict import DETERMINED
from intravar.observed import Observed
from intravar.preparation.decisions import too_small
from intravar.preparation.prepare import Prepared
from intravar.request import MIN_PANEL, MIN_RELIABILITY
from intravar.tables import hundred, within
from intravar.wording import USUAL, Sentence, Words

if TYPE_CHECKING:
    from intravar.estimators.repeats import Repeats

#: Physicians below which a rank correlation is not told from chance.
FEWEST_TOGETHER = 10
#: What is compared, where nobody knows it better.
COMPARABLE = Sentence("pairs of comparable {cases}")

#: Columns that whoever cannot be ranked does not have.
RANKS = ("rank", "rank_low", "rank_high")
#: How the reason for a missing rank begins.
NO_RANK = "cannot be ranked: "
#: Why a range stands in the place of a number.
RANGE = "the level is not determined: a range for a number"


@dataclass(frozen=True, eq=False)
class Scores:
    """What a method says about some physicians, before uncertainty across physicians.

    Attributes
    ----------
    physician
        As given, one entry per physician as in all that follows.
    n_patients, n_for
        Patients, and those of them who were decided for.
    discordance
        NaN where it is undefined.
    reason
        Why it is undefined.
    interval
        The method's interval of each score.
    columns
        Result columns that the method's evidence fills.
    scale, most
        What the score is, and what it can tend to at the most.
    upper
        Whether the score is an upper limit, which stands wherever below it the level lies.
    """

    physician: pl.Series
    n_patients: IntArray
    n_for: IntArray
    discordance: FloatArray
    reason: list[str | None]
    interval: Interval
    columns: Mapping[str, FloatArray]
    scale: Scale = "discordance"
    most: float = 1.0
    upper: bool = False

    def with_columns(self, **columns: FloatArray) -> Scores:
        """Return the scores with more columns, or with other values of those that they have."""
        return replace(self, columns={**self.columns, **columns})

    @property
    def identified(self) -> tuple[FloatArray, FloatArray] | None:
        """Lowest and highest levels that fit equally well, where the method tells."""
        if "identified_low" not in self.columns:
            return None
        return self.columns["identified_low"], self.columns["identified_high"]

    @property
    def determined(self) -> bool:
        """Whether a number stands: levels that fit equally well are nearly the same, or below."""
        if self.identified is None or self.upper:
            return True
        width = self.identified[1] - self.identified[0]
        width = width[np.isfinite(width)]
        return not len(width) or float(np.median(width)) <= DETERMINED

    def take(self, rows: IntArray) -> Scores:
        """Return the scores of some physicians."""
        return replace(
            self,
            physician=self.physician[rows],
            n_patients=self.n_patients[rows],
            n_for=self.n_for[rows],
            discordance=self.discordance[rows],
            reason=[self.reason[row] for row in rows],
            interval=Interval(*(end[rows] for end in self.interval)),
            columns={name: values[rows] for name, values in self.columns.items()},
        )


def scores_of(estimator: Estimator, evidence: Evidence, observed: Observed) -> Scores:
    """Read the scores off a fitted method, whichever it is."""
    return Scores(
        observed.named,
        np.asarray(estimator.n_patients_),
        observed.counts[1],
        np.asarray(estimator.score_, dtype=np.float64),
        list(estimator.reason_),
        estimator.ends(),
        evidence.columns(),
        estimator.scale,
        estimator.most,
        evidence.upper_limit,
    )


#: What is said of every physician among the others.
_ASSESSED = ("low", "high", "shrunken", "reliability", *RANKS)


def _assessed(scores: Scores, counted: BoolArray) -> dict[str, FloatArray]:
    """Shrink, rank and rate the physicians who count; the others have no part in it, and NaN."""
    values = {"score": scores.discordance, **scores.interval._asdict()}
    known = {name: np.where(counted, each, np.nan) for name, each in values.items()}
    profile = {"physician": scores.physician, "n_patients": scores.n_patients, **known}
    table = assess(pl.DataFrame(profile), scale=scores.scale, most=scores.most).table
    columns = table.select(_ASSESSED).cast(pl.Float64).fill_null(float("nan"))
    return {name: columns[name].to_numpy() for name in _ASSESSED}


def result_table(
    scores: Scores,
    *,
    min_panel: int = MIN_PANEL,
    min_reliability: float = MIN_RELIABILITY,
    determined: bool | None = None,
) -> pl.DataFrame:
    """Return one row per physician with all result columns.

    Panels below the minimum have no part in what is said about the others. Whoever cannot be told
    apart from the others has a value and no rank. Where the level is not determined, the range of
    levels takes the place of the value.

    Parameters
    ----------
    scores
        Of the method that measures.
    min_panel
        Patients below which nothing is said of a physician.
    min_reliability
        Below which a physician is not ranked.
    determined
        Whether levels are; by default what the scores say.
    """
    large = scores.n_patients >= min_panel
    assessed = _assessed(scores, large)
    unsure = np.isfinite(scores.discordance) & large
    unsure &= assessed["reliability"] < min_reliability
    ranged = not (scores.determined if determined is None else determined)
    nothing = _nothing(scores, min_panel)
    no_rank = f"{NO_RANK}reliability below {min_reliability:g}"
    reasons = [
        reason or "; ".join([RANGE] * ranged + [no_rank] * bool(unranked)) or None
        for reason, unranked in zip(nothing, unsure, strict=True)
    ]
    columns: dict[str, Any] = {
        "discordance": scores.discordance,
        **scores.columns,
        **assessed,
    }
    if scores.identified is not None:  # intervals hold all levels that fit equally well
        columns["low"] = np.minimum(columns["low"], scores.identified[0])
        columns["high"] = np.maximum(columns["high"], scores.identified[1])
    columns["shrunken"] = np.clip(columns["shrunken"], columns["low"], columns["high"])
    for name in RANKS:
        columns[name] = np.where(unsure, np.nan, columns[name])
    if ranged:
        for name in ("discordance", "shrunken"):
            columns[name] = np.full(len(large), np.nan)
    return typed(
        {
            "physician": scores.physician,
            "n_patients": scores.n_patients,
            "rate": scores.n_for / np.maximum(scores.n_patients, 1),
            **columns,
            "reportable": pl.Series([reason is None for reason in nothing], dtype=pl.Boolean),
            "reason": pl.Series(reasons, dtype=pl.String),
        }
    )


def _nothing(scores: Scores, min_panel: int) -> list[str | None]:
    """Say why nothing can be said of a physician; None where something can."""
    return [
        too_small(int(n), min_panel)
        or (None if np.isfinite(score) else reason or "the method gives no score")
        for n, score, reason in zip(
            scores.n_patients, scores.discordance, scores.reason, strict=True
        )
    ]


def with_rates(scores: Scores) -> tuple[float, float] | None:
    """Return how scores go with rates of "yes", and with rates that are near one half.

    Rank correlations over the physicians with a score; None where these are too few to tell, or
    all alike.

    Returns
    -------
    with_rate, with_half
        With the rate, and with 2 rate (1 - rate), what the rate alone would give for a score.
    """
    rate = scores.n_for / np.where(scores.n_patients > 0, scores.n_patients, np.nan)
    alike = [
        rank_correlation(scores.discordance, each, FEWEST_TOGETHER)
        for each in (rate, rate * (1 - rate))
    ]
    return None if alike[0] is None or alike[1] is None else (alike[0], alike[1])


def claim_of(evidence: Evidence) -> str:
    """Return how a score of this kind is to be read: as it is, or as an upper limit."""
    return "at most" if evidence.upper_limit else "about"


def in_words(
    row: Mapping[str, Any],
    claim: str = "about",
    words: Words = USUAL,
    compared: str = COMPARABLE,
) -> str:
    """Say one physician's result in a line that needs no statistics.

    Examples
    --------
    >>> in_words({"reportable": True, "discordance": 0.18, "low": 0.12, "high": 0.25})
    'of 100 pairs of comparable patients, about 18 [12, 25] get different decisions'
    >>> row = {"reportable": True, "discordance": 0.18, "low": 0, "high": 0.25}
    >>> in_words(row, "at most").split(", ")[1]
    'at most 18 (95 % sure: at most 25) get different decisions'
    >>> in_words({"reportable": False, "band_low": 0.0, "band_high": 0.25})
    'of 100 pairs of comparable patients, at most 25 get different decisions'
    """
    if row.get("band_low") is not None:
        figure = within(row["band_low"], row["band_high"], claim=claim)
    elif not row["reportable"]:
        return f"not reportable: {row['reason']}"
    elif row["discordance"] is None:
        figure = f"between {hundred(row['identified_low'])} and {hundred(row['identified_high'])}"
    else:
        figure = about(row["discordance"], row["low"], row["high"], claim)
    return f"of 100 {words.said(compared)}, {figure} get different decisions"


@dataclass(frozen=True, eq=False)
class SeenTwice:
    """Self-contradiction of the physicians that are measured, in their order.

    Attributes
    ----------
    model
        The counts of everybody.
    n_decisions, n_for
        Decisions of each physician, those on cases seen again included; and those of them for.
    contradiction, low, high
        Share of self-contradictions and its 95 % interval; NaN where no case was seen twice.
    n_repeats
        Cases that were seen more than once.
    """

    model: Repeats
    n_decisions: IntArray
    n_for: IntArray
    contradiction: FloatArray
    low: FloatArray
    high: FloatArray
    n_repeats: IntArray

    @property
    def evidence(self) -> RepeatedCases:
        """What stands behind the shares."""
        differ = np.rint(np.nan_to_num(self.contradiction) * self.n_repeats).astype(np.int64)
        return RepeatedCases(self.n_repeats, differ)

    def scores(self, observed: Observed) -> Scores:
        """Return self-contradiction as the scores of a method of its own."""
        share = np.nan_to_num(self.contradiction)
        error = share_interval(share * self.n_repeats, self.n_repeats).standard_error
        return Scores(
            observed.named,
            self.n_decisions,
            self.n_for,
            self.contradiction,
            [None if n else NO_REPEATS for n in self.n_repeats],
            Interval(self.low, self.high, np.where(self.n_repeats > 0, error, np.nan)),
            {},
        )

    def columns(self) -> Mapping[str, FloatArray]:
        """Return the result columns that repeated cases fill."""
        return {
            "contradiction": self.contradiction,
            "contradiction_low": self.low,
            "contradiction_high": self.high,
            "n_repeats": self.n_repeats.astype(np.float64),
        }

    def unexplained(self, discordance: FloatArray, n_patients: IntArray) -> float:
        """Return the share of the apparent discordance that is not self-contradiction."""
        both = np.isfinite(self.contradiction) & np.isfinite(discordance)
        if not both.any():
            return float("nan")
        weight = n_patients[both] / n_patients[both].sum()
        apparent = float(weight @ discordance[both])
        if apparent <= 0:
            return float("nan")
        return float(np.clip(1 - (weight @ self.contradiction[both]) / apparent, 0, 1))


def seen_twice(prepared: Prepared) -> SeenTwice | None:
    """Count self-contradictions; None where no cases are named."""
    cases = prepared.cases
    if cases is None:
        return None
    # Loaded where it is asked for: few tables name cases that were seen twice.
    from intravar.estimators.repeats import Repeats

    model = Repeats().fit(cases["case"], cases["decision"].to_numpy(), cases["physician"])
    place = {name: at for at, name in enumerate(model.physicians_.tolist())}
    order = np.array([place[str(name)] for name in prepared.observed.physicians], dtype=np.int64)
    if not model.n_repeated_[order].any():
        raise InputError(
            "no {decider} saw a case of column {case_column} twice; name the column "
            "that is equal where the same case was seen again",
            case_column=option("case"),
        )
    own = cases.group_by(pl.col("physician").cast(pl.String)).agg(pl.len(), pl.sum("decision"))
    counts = {name: (n, n_for) for name, n, n_for in own.iter_rows()}
    listed = np.array([counts[str(name)] for name in prepared.observed.physicians], np.int64)
    return SeenTwice(
        model,
        listed[:, 0],
        listed[:, 1],
        model.score_[order],
        model.low_[order],
        model.high_[order],
        model.n_repeated_[order],
    )
