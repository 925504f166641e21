"""What must be hidden or rounded: disclosure control as short pure functions.

A count of 1 to `smallest - 1` patients or events can point at a person; zero points at nobody.
Several decisions of the same patients tell more side by side: two panel sizes that differ by few
tell how many miss a decision, a size that one hides must not follow from another, and rates tell
combinations where nobody, or everybody, got two together. What follows from two decisions is hidden
in both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.evidence import Evidence
from intravar.measurement.result import Measurement
from intravar.measurement.scores import Scores
from intravar.publication.results import Figure, Row, rows_of, schema_of
from intravar.request import SMALLEST_CELL
from intravar.tables import MOST_DISCORDANCE

if TYPE_CHECKING:
    from intravar.estimators.several import PredictedDecisions
    from intravar.measurement.wider.several import Together
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


def safe_total(parts: list[int], smallest: int = SMALLEST_CELL) -> tuple[int, int]:
    """Return the sum of the parts that may be shown, and how many may not: no exact total."""
    visible = [part for part in parts if not is_small(part, smallest)]
    return sum(visible), len(parts) - len(visible)


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

    See :meth:`intravar.estimators.evidence.Evidence.told`.
    """
    n, n_for = scores.n_patients, scores.n_for
    counts = evidence.told(n, n_for)
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
    """Return subgroups and periods that were asked for, by what patients were dealt."""
    course = measurement.periods
    both = {"by": measurement.levels, "period": None if course is None else course.strata}
    return {stratified_by: strata for stratified_by, strata in both.items() if strata is not None}


@dataclass(frozen=True, eq=False)
class HiddenAcross:
    """What a decision hides because of the others.

    `parts` are of its physicians, in the order of its scores; `repeats` tells of whom nothing is
    told about cases seen twice; `strata` whose strata are not told, by what patients were dealt.
    """

    parts: HiddenParts
    repeats: BoolArray
    strata: Mapping[str, set[str]]


def hidden_across(together: Together) -> dict[str, HiddenAcross]:
    """Tell for every decision what it must hide because of the others."""
    smallest, listed = together.request.smallest_cell, together.decisions
    panels = {name: _panels(each, smallest) for name, each in listed.items()}
    for physician in {who for each in panels.values() for who in each}:
        _hide_sizes([each[physician] for each in panels.values() if physician in each], smallest)
    no_rate = _telling_rates(together, smallest) if smallest > 1 else set()
    asked = [asked_strata(each) for each in listed.values()]
    strata = {
        way: _differing([each[way].cells for each in asked if way in each], smallest)
        for way in ("by", "period")
    }
    seen_twice = [
        pl.DataFrame(
            {
                "physician": names_of(each.main.scores),
                "n_patients": each.repeats.evidence.trials(each.repeats.scores.n_patients),
            }
        ).with_columns(stratum=pl.lit(""))
        for each in listed.values()
        if each.repeats is not None
    ]
    twice = _differing(seen_twice, smallest)

    def hidden(own: Mapping[str, _Panel]) -> HiddenAcross:
        nobody = np.zeros(len(own), dtype=np.bool_)
        size = np.array([panel.hidden for panel in own.values()], dtype=np.bool_)
        least = np.array([panel.least for panel in own.values()], dtype=np.int64)
        rate, both = (np.array([who in each for who in own], np.bool_) for each in (no_rate, twice))
        return HiddenAcross(HiddenParts(size, least, nobody, nobody, rate), both, strata)

    return {name: hidden(own) for name, own in panels.items()}


@dataclass(eq=False)
class _Panel:
    """A physician's panel in one decision, as far as it would be shown."""

    n: int
    in_pairs: tuple[int, ...]
    least: int
    hidden: bool


def _panels(measurement: Measurement, smallest: int) -> dict[str, _Panel]:
    """Return the panels of a decision, with what it hides by itself."""
    fitted = measurement.fitted.values()
    parts = [hidden_parts(each.scores, each.evidence, smallest) for each in fitted]
    columns = [each.evidence.columns() for each in fitted]
    pairs = [each["n_pairs"] for each in columns if "n_pairs" in each]
    scores = measurement.main.scores
    return {
        name: _Panel(
            int(scores.n_patients[at]),
            tuple(2 * int(each[at]) for each in pairs),
            min(int(each.least[at]) for each in parts),
            any(bool(each.size[at]) for each in parts),
        )
        for at, name in enumerate(names_of(scores))
    }


def _hide_sizes(panels: list[_Panel], smallest: int) -> None:
    """Hide all sizes of a physician if one is hidden, or if a small count follows from two."""
    hidden = any(each.hidden for each in panels) or any(
        (a.n != b.n and is_few(abs(a.n - b.n), smallest))
        or any(is_few(abs(b.n - paired), smallest) for paired in a.in_pairs)
        for a, b in permutations(panels, 2)
    )
    least = min(each.least for each in panels)
    for each in panels:
        each.hidden, each.least = hidden, least if hidden else each.least


def _telling_rates(together: Together, smallest: int) -> set[str]:
    """Return of whom two rates tell how many patients got a combination of two decisions.

    They do where one combination does not occur, and may where nothing is known of combinations.
    """
    predicted = together.predicted
    named = [str(each) for each in predicted.physician.to_list()]
    telling = {name for each in together.decisions.values() for name in names_of(each.main.scores)}
    telling -= set(named)
    for a, b in combinations(range(len(predicted.names)), 2):
        for name, cells in zip(named, pair_counts(predicted, a, b).tolist(), strict=True):
            if 0 in cells and any(each > 0 and is_few(each, smallest) for each in cells):
                telling.add(name)
    return telling


def pair_counts(predicted: PredictedDecisions, a: int, b: int) -> IntArray:
    """Return per physician how many patients got neither of two decisions, one, the other, both."""
    known = predicted.known[:, a] & predicted.known[:, b]
    cell = 2 * predicted.decided[known, a] + predicted.decided[known, b]
    counts = np.bincount(4 * predicted.code[known] + cell, minlength=4 * len(predicted.physician))
    return counts.reshape(-1, 4)


def _differing(counts: Iterable[pl.DataFrame], smallest: int) -> set[str]:
    """Return whose counts, by stratum, differ by few from one decision to another."""
    cell = pl.col("physician", "stratum").cast(pl.String)
    tables = [each.select(cell, pl.col("n_patients").cast(pl.Int64)) for each in counts]
    telling: set[str] = set()
    for a, b in combinations(tables, 2):
        both = a.join(b, on=["physician", "stratum"], how="full", coalesce=True)
        for who, _, n, other in both.with_columns(pl.col(pl.Int64).fill_null(0)).iter_rows():
            if n != other and is_few(abs(n - other), smallest):
                telling.add(who)
    return telling
