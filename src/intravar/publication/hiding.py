"""What the policy hides or rounds of scores, and what is then published of them.

Rules and thresholds are those of :mod:`intravar.publication.policy`.

A count of 1 to `smallest - 1` patients or events can point at a person; zero points at nobody.
Uncertainty across physicians and ranks are computed again from the scores that are shown, and from
the middles of bands, and rounded. A hidden score is told as a band. There are two, and they
overlap: at most 0.25, and 0.10 or more. A score between is told as the one or the other by a secret
of the physician's own, drawn from the key of the rounding. Were there one edge that everybody
knows, two publications that differ by one patient would tell the count of whoever crosses it.
Between 0.10 and 0.25 lie at least two counts in any panel that gets a band, so that even who
crosses tells no count. Where the panel's size is shown and the score is one of counted decisions,
the band also ends where the largest hidden count would put the score: that follows from the size
alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.evidence import Evidence
from intravar.inference import Interval
from intravar.measurement.columns import COLUMNS, rounded
from intravar.measurement.result import Measurement
from intravar.measurement.scores import Scores, result_table
from intravar.preparation.decisions import too_small
from intravar.publication.policy import (
    DIGITS,
    FEWEST_COUNTS,
    FEWEST_PATIENTS,
    FROM,
    PAIRS_COARSE,
    PAIRS_DIGITS,
    RANGE_STEP,
    ROWS_STEP,
    STEPS,
    TO,
    is_dominated,
    is_few,
    is_small,
    moved,
)
from intravar.publication.results import Band, Figure, Row, rows_of
from intravar.request import MIN_PANEL, MIN_RELIABILITY, SMALLEST_CELL
from intravar.tables import MOST_DISCORDANCE

if TYPE_CHECKING:
    from intravar.measurement.wider.strata import Strata


def few(smallest: int = SMALLEST_CELL) -> str:
    """Say how many are few, in the same words wherever a panel or a score is hidden for it."""
    return f"at most {smallest}"


def shown(count: int, smallest: int = SMALLEST_CELL, whole: int | None = None) -> str:
    """Write a count, or a range where it is small, or where the rest of a `whole` is."""
    if is_small(count, smallest):
        return f"1 to {smallest - 1}" if smallest > 2 else "1"
    if whole is not None and is_small(whole - count, smallest):
        return f"all but {shown(whole - count, smallest)}"
    return f"{count:,}"


def about_count(
    count: int, point: float, smallest: int = SMALLEST_CELL, whole: int | None = None
) -> str:
    """Write a count of rows so that one row more or less does not show.

    Parameters
    ----------
    count
        Rows of a table.
    point
        Secret point of rounding between 0 and 1; another one for other data. With a known point, or
        the same for both, a count that crosses an edge would tell that the added row is counted.
        Even somebody who knows the count of all other rows finds out at most once in two dozen.
    smallest
        Smallest count that may be shown.
    whole
        All rows, if the rest must not be told either.

    Returns
    -------
    str
        Zero is told as few counts are.

    Examples
    --------
    >>> about_count(494, 0.2), about_count(494, 0.9), about_count(0, 0.2)
    ('about 475', 'about 500', 'at most 11')
    >>> about_count(12_345, 0.5), about_count(495, 0.5, whole=500)
    ('about 12,000', 'all but at most 11')
    """
    if smallest <= 1:
        return f"{count:,}"
    if is_few(count, smallest):
        return few(smallest)
    if whole is not None and is_few(whole - count, smallest):
        return f"all but {few(smallest)}"
    finest = ROWS_STEP * math.ceil(moved(1, smallest) / ROWS_STEP)
    step = max(finest, 10 ** (len(str(count)) - 2))
    return f"about {max(step * round(count / step + point - 0.5), finest):,}"


def fraction(value: float | None, digits: int = DIGITS) -> float | None:
    """Round a fraction; None where it is not defined."""
    return None if value is None or value != value else round(float(value), digits) + 0.0


def rounded_rows(table: pl.DataFrame, kind: type[Row], digits: int = DIGITS) -> tuple[Row, ...]:
    """Return the rows of a table as their type, with fractions rounded."""
    return rows_of(table.with_columns(pl.col(pl.Float64).round(digits)), kind)


def rounded_by(table: pl.DataFrame, key: str, value: str, digits: int = DIGITS) -> dict[str, Any]:
    """Return a column of fractions, rounded, by the names in another."""
    return {name: fraction(each, digits) for name, each in table.select(key, value).iter_rows()}


def two_digits(count: int) -> int:
    """Round a count to two digits: exact parts would add up to an exact total."""
    return round(count, -max(1, len(str(count)) - 2))


def coarse(value: float | None, step: float, phase: float = 0.5) -> float | None:
    """Round a fraction to a multiple of a step; None where it is not defined.

    With a secret `phase` between 0 and 1 nobody can tell which patient took it across an edge.
    """
    if value is None or value != value:
        return None
    return round(step * round(value / step + phase - 0.5), 6)


def upwards(
    value: float | None, step: float, phase: float = 0.0, most: float = MOST_DISCORDANCE
) -> float | None:
    """Round an upper limit to a multiple of a step, from any `phase` never down, to `most` at most.

    Examples
    --------
    >>> coarse(0.206, 0.01, 0.2), upwards(0.206, 0.01), upwards(0.21, 0.01), upwards(0.499, 0.02)
    (0.2, 0.21, 0.21, 0.5)
    """
    rounded = None if value is None else coarse(value - 1e-9, step, phase + 1)
    return None if rounded is None else min(rounded, most)


def rounded_figure(
    ends: Sequence[float | None],
    step: float,
    phase: float | None = None,
    *,
    most: float | None = None,
) -> Figure:
    """Round a figure to a multiple of a step, and the ends of its interval outwards.

    From a secret `phase` all are rounded alike, except the upper end of an upper limit: it is never
    rounded down. An upper limit cannot exceed `most`.

    Examples
    --------
    >>> rounded_figure((0.206, 0.118, 0.301), 0.02)
    Figure(value=0.2, low=0.1, high=0.32)
    >>> rounded_figure((0.206, 0.118, 0.301), 0.02, phase=0.1, most=0.5)
    Figure(value=0.2, low=0.1, high=0.32)
    """
    value, low, high = np.array(ends, dtype=np.float64).tolist()
    middle = coarse(value, step, 0.5 if phase is None else phase)
    if middle is not None and most is not None:
        middle = min(middle, most)
    if phase is None:
        end = upwards(high, step, most=math.inf if most is None else most)
        return Figure(middle, coarse(low + 1e-9, step, 0.0), end)
    end = coarse(high, step, phase) if most is None else upwards(high, step, phase, most)
    return Figure(middle, coarse(low, step, phase), end)


def coarse_step(
    n: float, smallest: int = SMALLEST_CELL, *, weight: float = 1, finest: float = STEPS[0]
) -> float:
    """Return the step to which figures over so many patients are rounded: what few of them move.

    Each moves it by `weight` times its share. Where nothing is hidden there are six digits.

    Examples
    --------
    >>> coarse_step(1200), coarse_step(60_000), coarse_step(60_000, finest=0.01)
    (0.02, 0.001, 0.01)
    """
    step = step_over(weight * moved(n, smallest))
    return max(step, finest) if smallest > 1 else 1e-6


def step_over(least: float) -> float:
    """Return the finest step that is no finer than this, or the coarsest there is."""
    return next((step for step in STEPS if step >= least), STEPS[-1])


@dataclass(frozen=True)
class HiddenParts:
    """What must be hidden, one entry per physician.

    `size` is the panel size, `score` the score with all that comes from it, `others` what is said
    of patients who are not eligible, `rate` the share decided for, where it would tell a small
    count. `least` is what the panel is known to hold at the least; what needs so and so many
    patients is held against it, lest a hidden size be told by crossing that bar.
    """

    size: BoolArray
    least: IntArray
    score: BoolArray
    others: BoolArray
    rate: BoolArray


def hidden_parts(scores: Scores, evidence: Evidence, smallest: int) -> HiddenParts:
    """Tell for every physician what must be hidden: what few counts follow from.

    See :meth:`intravar.estimators.evidence.Evidence.revealed`.
    """
    n, n_for = scores.n_patients, scores.n_for
    counts = evidence.revealed(n, n_for)
    size = any_few(smallest, n, *counts.size)
    score = any_few(smallest, n, *counts.score)
    return HiddenParts(
        size,
        np.where(size, counts.least, n),
        score,
        score | any_few(smallest, *counts.others),
        ~score & any_few(smallest, *counts.rate),
    )


def any_few(smallest: int, *counts: IntArray | FloatArray) -> BoolArray:
    """Tell where one of the counts of every physician is few; nowhere without counts."""
    least = np.min(counts, axis=0) if counts else np.full(1, np.inf)
    return np.asarray((least < smallest + 1) & (smallest > 1))


def names_of(scores: Scores) -> list[str]:
    """Return the names of physicians, whatever type they came with."""
    return scores.physician.cast(pl.String).to_list()


def named(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """Return a table in which physicians are called as they are to be."""
    called = pl.col("physician").cast(pl.String).replace_strict(names, return_dtype=pl.String)
    return table.with_columns(called)


def asked_strata(measurement: Measurement) -> dict[str, Strata]:
    """Return subgroups ("by") and periods ("period"), where they were asked for."""
    course = measurement.periods
    both = {"by": measurement.levels, "period": None if course is None else course.strata}
    return {stratified_by: strata for stratified_by, strata in both.items() if strata is not None}


def band_of(
    score: float,
    secret: float,
    trials: float,
    smallest: int,
    *,
    pairs: bool = False,
    known: bool = False,
) -> Band | None:
    """Return the band of a hidden score, of counts of `smallest` at most; None where there is none.

    The secret of this physician lies between 0 and 1; `trials` are patients or `pairs` behind the
    score, which is a share of pairs, else 2 p (1 - p) of a share of patients. They may be `known`
    to whoever reads the band.

    Examples
    --------
    >>> for score, secret in ((0.02, 0.5), (0.28, 0.5), (0.15, 0.2), (0.15, 0.9)):
    ...     band_of(score, secret, 60, 11, known=True).of_hundred()
    '25 or less'
    '10 to 30'
    '10 to 30'
    '25 or less'
    >>> band_of(0.02, 0.5, 500, 11, known=True).of_hundred()
    '5 or less'
    """

    def score_of(count: int) -> float:
        share = min(max(count, 0) / trials, 1.0 if pairs else 0.5) if trials > 0 else 0.0
        return share if pairs else 2 * share * (1 - share)

    if not math.isfinite(score):
        return None
    largest, end = score_of(smallest), MOST_DISCORDANCE
    ends_there = known and score <= largest
    if ends_there:
        end = min(MOST_DISCORDANCE, round(RANGE_STEP * math.ceil(largest / RANGE_STEP - 1e-9), 2))
    if score_of(smallest + 1 - FEWEST_COUNTS) > FROM:
        lower = score <= FROM + (TO - FROM) * secret
        return Band(0.0, min(TO, end)) if lower else Band(FROM, end)
    if ends_there:
        return Band(0.0, end)
    return Band(0.0, TO) if max(score, largest) <= TO else None


@dataclass(frozen=True, eq=False)
class PublishedScores:
    """What may be published of the scores of a method.

    A size or a rate that one of the methods `beside` hides, all hide. `hide` tells of whom cases
    seen twice ("repeats") and close calls ("close") are hidden, because these, or the others, are
    few; of everybody where it tells nothing. It also tells of whom the number of "pairs" is hidden.
    The secret of a physician, between 0 and 1, says which of two bands a score between them is told
    as; without `secrets` there are no bands.
    """

    scores: Scores
    evidence: Evidence
    smallest_cell: int = SMALLEST_CELL
    min_panel: int = MIN_PANEL
    min_reliability: float = MIN_RELIABILITY
    beside: Sequence[HiddenParts] = ()
    hide: Mapping[str, BoolArray] = field(default_factory=dict)
    secrets: FloatArray | None = None

    @cached_property
    def hidden(self) -> HiddenParts:
        """What must be hidden, also because of the methods beside it."""
        own = hidden_parts(self.scores, self.evidence, self.smallest_cell)
        every = own, *self.beside
        size, rate = (
            np.any([getattr(each, name) for each in every], axis=0) for name in ("size", "rate")
        )
        return replace(own, size=size, rate=rate, least=np.min([each.least for each in every], 0))

    @cached_property
    def pairs_are_hidden(self) -> BoolArray:
        """Whose number of pairs would tell, beside that of another decision, how many miss one."""
        nobody = np.zeros(len(self.hidden.size), dtype=np.bool_)
        return self.hide.get("pairs", nobody) if self.evidence.of_pairs else nobody

    @cached_property
    def measured(self) -> IntArray:
        """The physicians with a score that is shown and a panel that is large enough, by place."""
        return np.flatnonzero(~self.hidden.score & (self.hidden.least >= self.min_panel))

    @cached_property
    def bands(self) -> tuple[Band | None, ...]:
        """The bands of hidden scores, in panels that are large enough and known to be."""
        scores, evidence, hidden = self.scores, self.evidence, self.hidden
        if self.secrets is None or scores.scale != "discordance":
            return (None,) * len(scores.physician)
        known = ~hidden.size & (not evidence.of_pairs and evidence.core is None)
        fewest = max(self.min_panel, FEWEST_PATIENTS, self.smallest_cell + 1)
        enough = hidden.score & (hidden.least >= fewest)
        figures = scores.discordance, self.secrets, evidence.trials(scores.n_patients)
        columns = (each.tolist() for each in (*figures, known, enough))
        pairs, smallest = evidence.of_pairs, self.smallest_cell
        return tuple(
            band_of(score, secret, n, smallest, pairs=pairs, known=told) if may else None
            for score, secret, n, told, may in zip(*columns, strict=True)
        )

    def banded(self, n_patients: IntArray) -> FloatArray:
        """Return what stands for hidden scores: middles of bands, both ends, and their errors."""
        rows = [
            (np.nan,) * 4 if band is None else (band.middle, band.low, band.high, band.error(n))
            for band, n in zip(self.bands, n_patients.tolist(), strict=True)
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, 4).T

    @cached_property
    def barred(self) -> dict[int, tuple[str, str]]:
        """By place the limit that keeps a physician without a score, and the reason in words."""
        barred, hidden, smallest = {}, self.hidden, self.smallest_cell
        for at in np.setdiff1d(np.arange(len(hidden.size)), self.measured).tolist():
            # Of a hidden panel with a hidden score it is not even told whether it is too small.
            unknown = hidden.score[at] and hidden.size[at]
            small = None if unknown else too_small(int(hidden.least[at]), self.min_panel)
            few_patients = is_few(self.scores.n_patients[at], smallest)
            what = "decisions" if few_patients else self.evidence.events
            limit = "smallest_cell" if small is None else "min_panel"
            barred[at] = limit, small or f"{few(smallest)} {what}, too few to publish"
        return barred

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per physician with all result columns; what is hidden is missing."""
        hidden, everybody = self.hidden, np.ones(len(self.hidden.size), dtype=np.bool_)
        results = self._results.with_columns(at=pl.Series(self.measured))
        reported = ~everybody
        reported[self.measured] = results["reportable"].to_numpy()
        allowed = {
            "reportable": reported,
            "others": reported & ~hidden.others,
            "rates": reported & ~hidden.rate & ~hidden.size,
            "repeats": ~self.hide.get("repeats", everybody) & ~hidden.size,
            "close": reported & ~self.hide.get("close", everybody),
            "pairs": ~self.pairs_are_hidden,
        }
        shown = {may: [each.name for each in COLUMNS if each.shown == may] for may in allowed}
        if self.scores.most < 1:  # reliability depends on the size alone
            allowed["size"], shown["size"] = ~hidden.size, ["reliability"]
        places = pl.DataFrame({"at": np.arange(len(everybody))})
        placed = places.join(results, on="at", how="left", maintain_order="left").drop("at")
        reasons = [self.barred.get(at, (None, None))[1] for at in range(len(everybody))]
        # Three digits of a share and of its interval would tell the number of pairs.
        coarse_columns = [name for name in PAIRS_COARSE if name in placed.columns]
        placed = placed.with_columns(
            pl.when(pl.Series(self.pairs_are_hidden))
            .then(pl.col(coarse_columns).round(PAIRS_DIGITS))
            .otherwise(pl.col(coarse_columns))
        )
        return placed.with_columns(
            *(pl.when(pl.Series(may)).then(pl.col(shown[name])) for name, may in allowed.items()),
            *(
                pl.Series(
                    f"band_{end}", [band and getattr(band, end) for band in self.bands], pl.Float64
                )
                for end in ("low", "high")
            ),
            pl.Series("physician", self.scores.physician),
            pl.when(pl.Series(~hidden.size)).then(pl.Series("n_patients", self.scores.n_patients)),
            pl.col("reportable").fill_null(value=False),
            pl.coalesce("reason", pl.Series(reasons, dtype=pl.String)),
        )

    @cached_property
    def dominated(self) -> bool:
        """Whether a physician whose figure is not published makes up that of all."""
        published = self.table["discordance"].is_not_null().to_numpy()
        scores = self.scores
        return self.smallest_cell > 1 and is_dominated(
            scores.n_patients, scores.discordance, published
        )

    @property
    def _results(self) -> pl.DataFrame:
        """The rows of those measured, rounded; bands count by their middles, as all know them."""
        scores, hidden, limit = self.scores, self.hidden, self.min_reliability
        n = np.where(hidden.size, max(FEWEST_PATIENTS, self.min_panel), scores.n_patients)
        banded = self.banded(n)
        told = np.isfinite(banded[0])
        value, *ends = np.where(told, banded, (scores.discordance, *scores.interval))
        n = np.where(told, n, scores.n_patients)
        raw = None if scores.raw is None else np.where(told, value, scores.raw)
        known = replace(scores, discordance=value, n_patients=n, interval=Interval(*ends), raw=raw)
        table = result_table(
            known.take(np.append(self.measured, np.flatnonzero(told))),
            min_panel=self.min_panel,
            min_reliability=limit,
            determined=scores.determined,
        ).head(len(self.measured))
        if self.smallest_cell <= 1:
            return table
        # What lies below the limit of the reliability is not rounded up to it.
        most = (math.ceil(round(limit * 10**DIGITS, 6)) - 1) * 10**-DIGITS
        below = pl.when(pl.col("reliability") < limit).then(most)
        table = table.with_columns(pl.min_horizontal("reliability", below))
        return rounded(table, upper_limit=self.evidence.upper_limit)
