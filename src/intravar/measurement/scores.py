"""From a fitted method to what is said about each physician.

This is the one place where uncertainty across physicians enters, through `intravar.inference`.
Rank 1 is the most consistent physician.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from intravar.arrays import FloatArray, IntArray
from intravar.estimators import Estimator
from intravar.estimators.assumptions import DETERMINED
from intravar.estimators.evidence import Evidence, RepeatedCases
from intravar.inference import Interval, assess
from intravar.inference.intervals import share_interval
from intravar.inference.ranking import rank_correlation
from intravar.inference.shrinkage import Scale, panel_sizes
from intravar.measurement.columns import typed
from intravar.measurement.sentences import ESTIMATE_OF_LIMIT, about
from intravar.measurement.verdict import UNRANKED, RankCounts
from intravar.observed import Observed
from intravar.preparation.decisions import too_small
from intravar.preparation.prepare import Prepared
from intravar.request import MIN_PANEL, MIN_RELIABILITY
from intravar.tables import hundred, hundreds, is_upper_limit, within
from intravar.wording import USUAL, Words

if TYPE_CHECKING:
    from intravar.estimators.repeats import Repeats

#: Physicians below which a rank correlation is not told from chance.
FEWEST_TOGETHER = 10
#: Columns that whoever cannot be ranked does not have.
RANKS = ("rank", "rank_low", "rank_high")
#: What is said of every physician among the others.
_ASSESSED = ("low", "high", "shrunken", "reliability", *RANKS)
#: How the reason for a missing rank begins.
NO_RANK = "cannot be ranked: "
#: Why a range stands in the place of a number.
RANGE = "the level is not determined: a range for a number"


@dataclass(frozen=True, eq=False)
class Scores:
    """What a method says about some physicians, before uncertainty across physicians.

    Per physician: as given, patients and those of them who were decided for, the discordance, NaN
    where it is undefined, the `reason` why it is, its interval by the method, and the result
    columns that the method's evidence fills. Of all: on which `scale` the score is, what it can
    tend to at the `most`, and whether it is an `upper` limit, which stands wherever below it the
    level lies. If the method has shrunk its scores, `raw` are the scores before that, and the
    standard errors of the interval are those of `raw`.
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
    raw: FloatArray | None = None

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
    def sizes(self) -> FloatArray:
        """Number of patients or pairs on which the error of every score depends."""
        return panel_sizes(
            self.discordance, self.interval.standard_error, self.n_patients, self.most
        )

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
        own = ("physician", "n_patients", "n_for", "discordance")
        return replace(
            self,
            **{name: getattr(self, name)[rows] for name in own},
            reason=[self.reason[row] for row in rows],
            interval=Interval(*(end[rows] for end in self.interval)),
            raw=None if self.raw is None else self.raw[rows],
            columns={name: values[rows] for name, values in self.columns.items()},
        )


@dataclass(frozen=True, eq=False)
class Fitted:
    """A method that was fitted, with what stands behind its scores."""

    estimator: Estimator | Repeats
    evidence: Evidence
    scores: Scores


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
        evidence.raw,
    )


def result_table(
    scores: Scores,
    min_panel: int = MIN_PANEL,
    min_reliability: float = MIN_RELIABILITY,
    *,
    determined: bool | None = None,
) -> pl.DataFrame:
    """Return one row per physician with all result columns.

    Panels of fewer than `min_panel` patients have no part in what is said about the others, and
    nothing is said of them. Whoever cannot be told apart from the others, with a reliability below
    `min_reliability`, has a value and no rank. Where the level is not `determined` (by default what
    the scores say), the range of levels takes the place of the value.
    """
    large = scores.n_patients >= min_panel
    values = {"score": scores.discordance, **scores.interval._asdict()}
    known = {name: np.where(large, each, np.nan) for name, each in values.items()}
    profile = {"physician": scores.physician, "n_patients": scores.n_patients, **known}
    if scores.raw is not None:
        profile["raw"] = scores.raw
    assessed = assess(pl.DataFrame(profile), scale=scores.scale, most=scores.most).table
    assessed = assessed.select(_ASSESSED).cast(pl.Float64).fill_null(float("nan"))
    columns: dict[str, Any] = {
        "discordance": scores.discordance,
        **scores.columns,
        **{each.name: each.to_numpy() for each in assessed},
    }
    unsure = np.isfinite(scores.discordance) & large & (columns["reliability"] < min_reliability)
    if scores.identified is not None:  # intervals hold all levels that fit equally well
        columns["low"] = np.minimum(columns["low"], scores.identified[0])
        columns["high"] = np.maximum(columns["high"], scores.identified[1])
    columns["shrunken"] = np.clip(columns["shrunken"], columns["low"], columns["high"])
    ranged = not (scores.determined if determined is None else determined)
    hidden = dict.fromkeys(RANKS, unsure) | dict.fromkeys(("discordance", "shrunken"), ranged)
    columns |= {name: np.where(where, np.nan, columns[name]) for name, where in hidden.items()}
    reasons, reportable = [], []
    every = zip(scores.n_patients, scores.discordance, scores.reason, unsure, strict=True)
    for n, score, reason, unranked in every:
        nothing = too_small(int(n), min_panel)
        if nothing is None and not np.isfinite(score):
            nothing = reason or "the method gives no score"
        no_rank = [f"{NO_RANK}reliability below {min_reliability:g}"] * bool(unranked)
        reasons.append(nothing or "; ".join([RANGE] * ranged + no_rank) or None)
        reportable.append(nothing is None)
    return typed(
        {
            "physician": scores.physician,
            "n_patients": scores.n_patients,
            "rate": scores.n_for / np.maximum(scores.n_patients, 1),
            **columns,
            "reportable": pl.Series(reportable, dtype=pl.Boolean),
            "reason": pl.Series(reasons, dtype=pl.String),
        }
    )


def rank_counts(table: pl.DataFrame) -> RankCounts:
    """Return how many physicians of a result table have a rank, and how wide the intervals are.

    Ranks run over the physicians with a figure and, in what is published, over those with a range.
    """
    n_with_figure = int(table["reportable"].sum())
    n_places = n_with_figure + table["band_low"].count()
    width = (table["rank_high"] - table["rank_low"]).median()
    share = 0.0 if width is None else float(cast("float", width)) / max(n_places - 1, 1)
    return RankCounts(
        n_ranked=table["rank"].count(), n_with_figure=n_with_figure, median_width=share
    )


def without_ranks(table: pl.DataFrame, verdict: str) -> pl.DataFrame:
    """Return a result table without ranks if the verdict does not allow them.

    The reason of every physician with a figure says why the rank is missing.
    """
    if verdict not in UNRANKED:
        return table
    because = pl.lit(f"{NO_RANK}the verdict is {verdict}")
    said = pl.col("reason").str.contains(NO_RANK, literal=True).fill_null(value=False)
    reason = (
        pl.when(~pl.col("reportable") | said)
        .then("reason")
        .otherwise(pl.concat_str("reason", because, separator="; ", ignore_nulls=True))
    )
    no_rank = (pl.lit(None, table.schema[name]).alias(name) for name in RANKS)
    return table.with_columns(reason.alias("reason"), *no_rank)


def with_rates(scores: Scores) -> tuple[float, float] | None:
    """Return how scores go with rates of "yes", and with rates that are near one half.

    Rank correlations over the physicians with a score, the second with 2 rate (1 - rate), what the
    rate alone would give for a score; None where these are too few to tell, or all alike.
    """
    rate = scores.n_for / np.where(scores.n_patients > 0, scores.n_patients, np.nan)
    rate = scores.columns.get("rate", rate)
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
    compared: str = Evidence.compared,
) -> str:
    """Say one physician's result in a line that needs no statistics.

    Examples
    --------
    >>> in_words({"reportable": True, "discordance": 0.18, "low": 0.12, "high": 0.25})
    'of 100 pairs of comparable patients, about 18 [12, 25] get different decisions'
    >>> row = {"reportable": True, "discordance": 0.18, "low": 0, "high": 0.25}
    >>> in_words(row, "at most").split(", ")[1]
    'at most 25 get different decisions (estimate of the limit: 18)'
    >>> in_words({"reportable": False, "band_low": 0.0, "band_high": 0.25})
    'of 100 pairs of comparable patients, 25 or less get different decisions'
    >>> in_words({"reportable": False, "band_low": 0.0, "band_high": 0.25}, "at most")
    'of 100 pairs of comparable patients, 0 to 25 get different decisions (range of the estimate \
of the limit)'
    """
    differ = " get different decisions"
    if row.get("band_low") is not None and is_upper_limit(claim):
        ends = hundreds(row["band_low"], row["band_high"])
        figure = f"{ends}{differ} (range of the {ESTIMATE_OF_LIMIT})"
    elif row.get("band_low") is not None:
        figure = f"{within(row['band_low'], row['band_high'])}{differ}"
    elif not row["reportable"]:
        return f"not reportable: {row['reason']}"
    elif row["discordance"] is None:
        low, high = hundred(row["identified_low"]), hundred(row["identified_high"])
        figure = f"between {low} and {high}{differ}"
    else:
        figure = about(row["discordance"], row["low"], row["high"], claim, then=differ)
    return f"of 100 {words.said(compared)}, {figure}"


def repeated_cases(prepared: Prepared) -> Fitted | None:
    """Count self-contradictions, as a method of its own; None where no cases are named."""
    cases = prepared.cases
    if cases is None:
        return None
    # Loaded where it is asked for: few tables name cases that were seen twice.
    from intravar.estimators.repeats import Repeats

    model = Repeats().fit(cases["case"], cases["decision"].to_numpy(), cases["physician"])
    counts = cases.group_by(pl.col("physician").cast(pl.String)).agg(
        n=pl.len().cast(pl.Int64), n_for=pl.sum("decision").cast(pl.Int64)
    )
    table = prepared.observed.named.cast(pl.String).alias("physician").to_frame()
    for known in (model.profile_, counts):
        table = table.join(known, "physician", how="left", maintain_order="left")
    n_repeats = table["n_repeated"].to_numpy()
    share, low, high = (
        table[name].fill_null(np.nan).to_numpy() for name in ("score", "score_low", "score_high")
    )
    differ = np.nan_to_num(share) * n_repeats
    scores = Scores(
        prepared.observed.named,
        table["n"].to_numpy(),
        table["n_for"].to_numpy(),
        share,
        table["reason"].to_list(),
        Interval(low, high, share_interval(differ, n_repeats).standard_error),
        {
            "contradiction": share,
            "contradiction_low": low,
            "contradiction_high": high,
            "n_repeats": n_repeats.astype(np.float64),
        },
    )
    return Fitted(model, RepeatedCases(n_repeats, np.rint(differ).astype(np.int64)), scores)


def self_contradiction(repeats: Fitted, scores: Scores) -> tuple[float, float]:
    """Return that of all physicians, and the share of the apparent discordance that is not it."""
    counted, model = repeats.scores.discordance, cast("Repeats", repeats.estimator)
    both = np.isfinite(counted) & np.isfinite(scores.discordance)
    weight = scores.n_patients[both] / max(scores.n_patients[both].sum(), 1)
    apparent = float(weight @ scores.discordance[both])
    if apparent <= 0:
        return model.overall_, float("nan")
    return model.overall_, float(np.clip(1 - (weight @ counted[both]) / apparent, 0, 1))
