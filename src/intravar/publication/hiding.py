"""What must be hidden or rounded, as short pure functions, and what is then published of scores.

A count of 1 to `smallest - 1` patients or events can point at a person; zero points at nobody.
Uncertainty across physicians and ranks are computed again from the scores that are shown, and from
the middles of bands, and rounded. A hidden score is told as a band. There are two, and they
overlap: at most 0.25, and 0.10 or more. A score between is told as the one or the other by a secret
of the physician's own, drawn from the key of the pseudonyms. Were there one edge that everybody
knows, two publications that differ by one patient would tell the count of whoever crosses it.
Between 0.10 and 0.25 lie at least two counts in any panel that gets a band, so that even who
crosses tells no count. Where the panel's size is shown and the score is one of counted decisions,
the band also ends where the largest hidden count would put the score: that follows from the size
alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from intravar.publication.results import Band, Figure, Row, rows_of, schema_of
from intravar.request import MIN_PANEL, MIN_RELIABILITY, SMALLEST_CELL
from intravar.tables import MOST_DISCORDANCE

if TYPE_CHECKING:
    from intravar.measurement.wider.strata import Strata


def is_small(count: float, smallest: int = SMALLEST_CELL) -> bool:
    """Tell whether a count must be hidden."""
    return 0 < count < smallest


def is_few(count: float, smallest: int = SMALLEST_CELL) -> bool:
    """Tell whether a count is small, or would be with one patient more or less.

    Whoever sees two publications that differ by one patient, and one of them tells more, knows that
    the count crossed a bar: it must not be small on either side, and so zero is few as well.
    """
    return smallest > 1 and count < smallest + 1


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


def part_is_safe(part: int, whole: int, smallest: int = SMALLEST_CELL) -> bool:
    """Tell whether a part of a known whole may be shown: neither it nor the rest is small."""
    return not is_small(part, smallest) and not is_small(whole - part, smallest)


#: Digits of a published fraction; more would tell apart what is meant to look the same.
DIGITS = 3
#: To one of these figures over many patients are rounded.
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


def fraction(value: float | None, digits: int = DIGITS) -> float | None:
    """Round a fraction; None where it is not defined."""
    return None if value is None or value != value else round(float(value), digits) + 0.0


def rounded_rows(table: pl.DataFrame, kind: type[Row], digits: int = DIGITS) -> tuple[Row, ...]:
    """Return the rows of a table as their type, with fractions rounded; no other columns."""
    own = table.select(*schema_of(kind))
    return rows_of(own.with_columns(pl.col(pl.Float64).round(digits)), kind)


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

    An upper limit, which is `most` at the most, is rounded up. From a secret `phase` all are
    rounded alike.

    Examples
    --------
    >>> rounded_figure((0.206, 0.118, 0.301), 0.02)
    Figure(value=0.2, low=0.1, high=0.32)
    """
    value, low, high = np.array(ends, dtype=np.float64).tolist()
    up = coarse if most is None else partial(upwards, most=most)
    if phase is not None:
        return Figure(up(value, step, phase), coarse(low, step, phase), up(high, step, phase))
    middle = coarse(value, step) if most is None else up(value, step, 0.0)
    end = upwards(high, step, most=math.inf if most is None else most)
    return Figure(middle, coarse(low + 1e-9, step, 0.0), end)


def moved(n: float, smallest: int = SMALLEST_CELL) -> float:
    """Return how far few exceptions of one physician move a figure over so many patients.

    Two dozen patients are taken, or more where larger counts are hidden.
    """
    return max(24, 2 * (smallest + 1)) / max(n, 1) if smallest > 1 else 0.0


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
    if not counts:
        return np.zeros(1, dtype=np.bool_)
    return np.array([is_few(each, smallest) for each in np.min(counts, axis=0).tolist()], np.bool_)


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


#: Where the upper band begins and the lower one ends.
FROM, TO = 0.10, 0.25
#: Ends that follow from the size of a panel are rounded up to this.
STEP = 0.05
#: Hidden counts that must lie in the upper band; with fewer there is only the lower one. One of
#: them is no small count, and another could be told from a second publication.
FEWEST_COUNTS = 4
#: In smaller panels fewer counts would lie where bands overlap.
FEWEST_PATIENTS = 30


@dataclass(frozen=True)
class Reach:
    """How far the scores of hidden counts reach, which are at most `smallest`.

    A score is a share of `pairs`, else 2 p (1 - p) of a share of patients. `known` tells whether
    the patients behind a score are known to whoever reads its band.
    """

    smallest: int
    pairs: bool = False
    known: bool = False

    def score(self, count: int, trials: float) -> float:
        """Return the score of a count."""
        share = min(max(count, 0) / trials, 1.0 if self.pairs else 0.5) if trials > 0 else 0.0
        return share if self.pairs else 2 * share * (1 - share)


def band_of(score: float, secret: float, trials: float, reach: Reach) -> Band | None:
    """Return the band of a hidden score; None where none can be told.

    The secret of this physician lies between 0 and 1; `trials` are patients or pairs behind it.

    Examples
    --------
    >>> counts = Reach(11, known=True)
    >>> band_of(0.02, 0.5, 60, counts).of_hundred(), band_of(0.28, 0.5, 60, counts).of_hundred()
    ('at most 25', '10 to 30')
    >>> band_of(0.15, 0.2, 60, counts).of_hundred(), band_of(0.15, 0.9, 60, counts).of_hundred()
    ('10 to 30', 'at most 25')
    >>> band_of(0.02, 0.5, 500, counts).of_hundred()
    'at most 5'
    """
    if not math.isfinite(score):
        return None
    largest = reach.score(reach.smallest, trials)
    end = MOST_DISCORDANCE
    if reach.known and score <= largest:
        end = min(MOST_DISCORDANCE, round(STEP * math.ceil(largest / STEP - 1e-9), 2))
    if reach.score(reach.smallest + 1 - FEWEST_COUNTS, trials) > FROM:
        lower = score <= FROM + (TO - FROM) * secret
        return Band(0.0, min(TO, end)) if lower else Band(FROM, end)
    if reach.known and score <= largest:
        return Band(0.0, end)
    return Band(0.0, TO) if max(score, largest) <= TO else None


@dataclass(frozen=True)
class PublishedScores:
    """Scores of a method as they may be handed on; what is hidden is missing in the `table`.

    `n_patients` are of physicians whose panel size is shown, `with_size` their positions;
    `measured` have a score that is shown, and a panel that is large enough. `barred_by` are the
    limits that keep others without a score.
    """

    table: pl.DataFrame
    n_patients: int
    with_size: IntArray
    measured: IntArray
    hidden: HiddenParts
    bands: tuple[Band | None, ...]
    barred_by: tuple[str, ...]


def published_scores(
    scores: Scores,
    evidence: Evidence,
    *,
    smallest_cell: int = SMALLEST_CELL,
    min_panel: int = MIN_PANEL,
    min_reliability: float = MIN_RELIABILITY,
    beside: Iterable[HiddenParts] = (),
    hide: Mapping[str, BoolArray] | None = None,
    secrets: FloatArray | None = None,
) -> PublishedScores:
    """Return what may be published of the scores of a method.

    A size or a rate that one of the methods `beside` hides, all hide. `hide` tells of whom cases
    seen twice ("repeats") and close calls ("close") are hidden, because these, or the others, are
    few; of everybody where it tells nothing. The secret of a physician, between 0 and 1, says which
    of two bands a score between them is told as; without secrets there are no bands.
    """
    hidden = hidden_parts(scores, evidence, smallest_cell)
    for other in beside:
        hidden = replace(
            hidden,
            size=hidden.size | other.size,
            least=np.minimum(hidden.least, other.least),
            rate=hidden.rate | other.rate,
        )
    measured = np.flatnonzero(~hidden.score & (hidden.least >= min_panel))
    bands = _bands(scores, evidence, hidden, smallest_cell, min_panel, secrets)
    banded = np.array([at for at, band in enumerate(bands) if band is not None], dtype=np.int64)
    results = result_table(
        _with_bands(scores, bands, hidden, min_panel).take(np.append(measured, banded)),
        min_panel=min_panel,
        min_reliability=min_reliability,
        determined=scores.determined,
    ).head(len(measured))
    if smallest_cell > 1:
        # What lies below the limit of the reliability is not rounded up to it.
        least = 10**-DIGITS
        below = pl.col("reliability") < min_reliability
        most = pl.when(below).then((math.ceil(round(min_reliability / least, 6)) - 1) * least)
        results = rounded(results.with_columns(pl.min_horizontal("reliability", most)))
    reasons: list[str | None] = []
    shown, barred_by = set(measured.tolist()), set()
    for at, n in enumerate(scores.n_patients.tolist()):
        if at in shown:
            reasons.append(None)
            continue
        # Of a hidden panel with a hidden score it is not even told whether it is too small.
        unknown = hidden.score[at] and hidden.size[at]
        small = None if unknown else too_small(int(hidden.least[at]), min_panel)
        what = "decisions" if is_few(n, smallest_cell) else evidence.events
        barred_by.add("smallest_cell" if small is None else "min_panel")
        reasons.append(small or f"{few(smallest_cell)} {what}, too few to publish")
    table = _masked(results, measured, hidden, hide or {}).with_columns(
        pl.Series("physician", scores.physician),
        *(
            pl.Series(f"band_{end}", [band and getattr(band, end) for band in bands], pl.Float64)
            for end in ("low", "high")
        ),
        pl.when(pl.Series(~hidden.size)).then(pl.Series("n_patients", scores.n_patients)),
        pl.col("reportable").fill_null(value=False),
        pl.coalesce("reason", pl.Series(reasons, dtype=pl.String)),
    )
    if scores.most < 1:  # reliability depends on the size alone
        table = table.with_columns(pl.when(pl.Series(~hidden.size)).then(pl.col("reliability")))
    return PublishedScores(
        table,
        int(table["n_patients"].sum()),
        np.flatnonzero(~hidden.size),
        measured,
        hidden,
        bands,
        tuple(sorted(barred_by)),
    )


def _masked(
    results: pl.DataFrame, measured: IntArray, hidden: HiddenParts, hide: Mapping[str, BoolArray]
) -> pl.DataFrame:
    """Put rows in their places among all, each with what its columns allow."""
    everybody = np.ones(len(hidden.size), dtype=np.bool_)
    reported = ~everybody
    reported[measured] = results["reportable"].to_numpy()
    allowed = {
        "reportable": reported,
        "others": reported & ~hidden.others,
        "rates": reported & ~hidden.rate & ~hidden.size,
        "repeats": ~hide.get("repeats", everybody),
        "close": reported & ~hide.get("close", everybody),
    }
    places = pl.DataFrame({"at": np.arange(len(everybody))})
    rows = results.with_columns(at=pl.Series(measured))
    placed = places.join(rows, on="at", how="left", maintain_order="left").drop("at")
    return placed.with_columns(
        pl.when(pl.Series(may)).then(pl.col([each.name for each in COLUMNS if each.shown == shown]))
        for shown, may in allowed.items()
    )


def _bands(
    scores: Scores,
    evidence: Evidence,
    hidden: HiddenParts,
    smallest: int,
    min_panel: int,
    secrets: FloatArray | None,
) -> tuple[Band | None, ...]:
    """Return the bands of hidden scores, in panels that are large enough and known to be."""
    if secrets is None or scores.scale != "discordance":
        return (None,) * len(scores.physician)
    counted = not evidence.of_pairs and evidence.core is None
    known = Reach(smallest, evidence.of_pairs, counted), Reach(smallest, evidence.of_pairs)
    columns = scores.discordance, secrets, evidence.trials(scores.n_patients), hidden.size
    enough = hidden.score & (hidden.least >= max(min_panel, FEWEST_PATIENTS, smallest + 1))
    return tuple(
        band_of(float(score), float(secret), float(n), known[int(no_size)]) if may else None
        for score, secret, n, no_size, may in zip(*columns, enough, strict=True)
    )


def _with_bands(
    scores: Scores, bands: Iterable[Band | None], hidden: HiddenParts, min_panel: int
) -> Scores:
    """Return scores in which a band counts by its middle: what is told of others knows no more."""
    value, n = scores.discordance.copy(), scores.n_patients.copy()
    low, high, error = (end.copy() for end in scores.interval)
    for at, band in enumerate(bands):
        if band is not None:
            n[at] = max(FEWEST_PATIENTS, min_panel) if hidden.size[at] else n[at]
            value[at], low[at], high[at] = band.middle, band.low, band.high
            error[at] = band.error(float(n[at]))
    return replace(scores, discordance=value, n_patients=n, interval=Interval(low, high, error))
