"""What must be hidden or rounded: disclosure control as short pure functions.

A count of 1 to `smallest - 1` patients or events can point at a person. Zero points at nobody and
is shown; so is everything from `smallest` on.

Several decisions of the same patients tell more side by side. A patient whose decision is missing
counts in one decision and not in another: two panel sizes that differ by few tell how many these
are. A size that one decision hides must not stand in another whose panel is the same, or differs
by few. Where nobody got two decisions together, or everybody did, rates tell how many patients got
each combination. What follows from two decisions is hidden in both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.estimators.evidence import Evidence
from intravar.measurement.result import Measurement
from intravar.measurement.scores import Scores
from intravar.measurement.strata import Strata
from intravar.request import SMALLEST_CELL

if TYPE_CHECKING:
    from intravar.measurement.several import Together


def is_small(count: float, smallest: int = SMALLEST_CELL) -> bool:
    """Tell whether a count must be hidden.

    Examples
    --------
    >>> [is_small(count) for count in (0, 1, 10, 11)]
    [False, True, True, False]
    """
    return 0 < count < smallest


def is_few(count: float, smallest: int = SMALLEST_CELL) -> bool:
    """Tell whether a count is small, or would be with one patient more or less.

    What is told of a physician changes where a count is few or is not. Whoever sees two
    publications that differ by one patient, and one of them tells more, knows that the count
    crossed that bar: it must not be a small one on either side, and so zero is few as well.

    Examples
    --------
    >>> [is_few(count) for count in (0, 1, 11, 11.9, 12)]
    [True, True, True, True, False]
    >>> is_few(0, smallest=1)
    False
    """
    return smallest > 1 and count < smallest + 1


def shown(count: int, smallest: int = SMALLEST_CELL) -> str:
    """Write a count, or the range in which it lies.

    Examples
    --------
    >>> shown(1234), shown(3), shown(0)
    ('1,234', '1 to 10', '0')
    """
    if not is_small(count, smallest):
        return f"{count:,}"
    return f"1 to {smallest - 1}" if smallest > 2 else "1"


def part_is_safe(part: int, whole: int, smallest: int = SMALLEST_CELL) -> bool:
    """Tell whether a part of a known whole may be shown: neither it nor the rest is small.

    Examples
    --------
    >>> part_is_safe(95, 100), part_is_safe(50, 100)
    (False, True)
    """
    return not is_small(part, smallest) and not is_small(whole - part, smallest)


def shown_part(part: int, whole: int, smallest: int = SMALLEST_CELL) -> str:
    """Write a part of a known whole, or the range in which it lies.

    Examples
    --------
    >>> shown_part(3, 100), shown_part(98, 100), shown_part(40, 100)
    ('1 to 10', 'all but 1 to 10', '40')
    """
    if is_small(part, smallest):
        return shown(part, smallest)
    if is_small(whole - part, smallest):
        return f"all but {shown(whole - part, smallest)}"
    return f"{part:,}"


def safe_total(parts: list[int], smallest: int = SMALLEST_CELL) -> tuple[int, int]:
    """Return the sum of the parts that may be shown, and how many may not.

    A total over everything would give a hidden part away by subtraction, so it is never formed.

    Examples
    --------
    >>> safe_total([200, 4, 30])
    (230, 1)
    """
    visible = [part for part in parts if not is_small(part, smallest)]
    return sum(visible), len(parts) - len(visible)


#: Digits of a published fraction; more would tell apart what is meant to look the same.
DIGITS = 3


def fraction(value: float | None, digits: int = DIGITS) -> float | None:
    """Round a fraction; None where it is not defined.

    Examples
    --------
    >>> fraction(0.12345), fraction(float("nan"))
    (0.123, None)
    """
    return None if value is None or value != value else round(float(value), digits)


def rows(table: pl.DataFrame, digits: int = DIGITS) -> list[dict[str, Any]]:
    """Return the rows of a table with its fractions rounded."""
    floats = [name for name, dtype in table.schema.items() if dtype == pl.Float64]
    return table.with_columns(pl.col(floats).round(digits)).to_dicts()


def two_digits(count: int) -> int:
    """Round a count to two digits: exact parts would add up to an exact total.

    Examples
    --------
    >>> two_digits(1234), two_digits(47)
    (1200, 50)
    """
    return round(count, -max(1, len(str(count)) - 2))


def significant(value: float, digits: int = 3) -> float:
    """Round a value of a covariate to so many digits that count.

    Examples
    --------
    >>> significant(123.456), significant(0.00123456)
    (123.0, 0.00123)
    """
    return float(f"{value:.{digits}g}")


def coarse(value: float | None, step: float, phase: float = 0.5) -> float | None:
    """Round a fraction to a multiple of a step; None where it is not defined.

    With a secret `phase` between 0 and 1 nobody can tell which patient took it across an edge.

    Examples
    --------
    >>> coarse(0.1234, 0.02), coarse(float("nan"), 0.02)
    (0.12, None)
    """
    if value is None or value != value:
        return None
    return round(step * round(value / step + phase - 0.5), 6)


def coarse_step(moved: float) -> float:
    """Return a step that is no finer than what is moved.

    Examples
    --------
    >>> coarse_step(24 / 1200), coarse_step(24 / 60_000)
    (0.02, 0.001)
    """
    return next((step for step in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05) if step >= moved), 0.1)


@dataclass(frozen=True)
class HiddenParts:
    """What must be hidden, one entry per physician.

    Attributes
    ----------
    size
        The panel size.
    least
        What the panel is known to hold at the least: its size, or where that is hidden the patients
        in pairs, or the eligible. What needs so and so many patients is held against it, lest a
        hidden size be told by crossing that bar.
    score
        The score, with all that comes from it.
    others
        What the latent rule says about the patients who are not eligible.
    rate
        How often the physician decides for a patient, because it would tell a small count beside
        the score.
    """

    size: BoolArray
    least: IntArray
    score: BoolArray
    others: BoolArray
    rate: BoolArray


def hidden_parts(scores: Scores, evidence: Evidence, smallest: int) -> HiddenParts:
    """Tell for every physician what must be hidden.

    The evidence says which counts follow from what is shown; see
    :meth:`intravar.estimators.evidence.Evidence.told`. Where one of those that follow from the
    score is few, the score is hidden; where one follows from the panel's size, from the rate or
    from what is said of the others, that is.
    """
    n, n_for = scores.n_patients, scores.n_for
    told = evidence.told(n, n_for)
    few_patients = _few(smallest, n)
    size = few_patients | _few(smallest, *told.size)
    score = few_patients | _few(smallest, *told.score)
    return HiddenParts(
        size,
        np.where(size, told.least, n),
        score,
        score | _few(smallest, *told.others),
        ~score & _few(smallest, *told.rate),
    )


def _few(smallest: int, *counts: IntArray | FloatArray) -> BoolArray:
    """Tell where one of the counts is few; nowhere without counts."""
    if not counts:
        return np.zeros(1, dtype=np.bool_)
    least = np.min(np.stack([np.asarray(each, dtype=np.float64) for each in counts]), axis=0)
    return np.array([is_few(count, smallest) for count in least.tolist()], dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class HiddenAcross:
    """What a decision hides because of the others.

    Attributes
    ----------
    parts
        Of its physicians, in the order of its scores.
    repeats
        Physicians of whom nothing is told about cases seen twice.
    strata
        Physicians whose strata are not told, by what patients were dealt: "by" or "period".
    """

    parts: HiddenParts
    repeats: BoolArray
    strata: Mapping[str, set[str]]


@dataclass(eq=False)
class _Panel:
    """A physician's panel in one decision, as far as it would be shown."""

    n: int
    in_pairs: tuple[int, ...]
    least: int
    hidden: bool


def hidden_across(found: Together) -> dict[str, HiddenAcross]:
    """Tell for every decision what it must hide because of the others."""
    smallest = found.request.smallest_cell
    panels = {name: _panels(each, smallest) for name, each in found.decisions.items()}
    by_physician: dict[str, list[_Panel]] = defaultdict(list)
    for listed in panels.values():
        for physician, panel in listed.items():
            by_physician[physician].append(panel)
    for same in by_physician.values():
        _hide_sizes(same, smallest)
    no_rate = _telling_rates(found, smallest) if smallest > 1 else set()
    strata = {dealt: _differing(_cells(found, dealt), smallest) for dealt in ("by", "period")}
    seen = _differing(_repeats(found), smallest)
    return {
        name: HiddenAcross(
            _parts(list(listed.items()), no_rate),
            np.array([physician in seen for physician in listed], dtype=np.bool_),
            strata,
        )
        for name, listed in panels.items()
    }


def _names(measurement: Measurement) -> list[str]:
    return [str(each) for each in measurement.main.scores.physician.to_list()]


def _panels(measurement: Measurement, smallest: int) -> dict[str, _Panel]:
    """Return the panels of a decision, with what it hides by itself."""
    parts = [
        hidden_parts(each.scores, each.evidence, smallest) for each in measurement.fitted.values()
    ]
    columns = [each.evidence.columns() for each in measurement.fitted.values()]
    pairs = [each["n_pairs"] for each in columns if "n_pairs" in each]
    n = measurement.main.scores.n_patients
    return {
        name: _Panel(
            int(n[at]),
            tuple(2 * int(each[at]) for each in pairs),
            min(int(each.least[at]) for each in parts),
            any(bool(each.size[at]) for each in parts),
        )
        for at, name in enumerate(_names(measurement))
    }


def _hide_sizes(panels: list[_Panel], smallest: int) -> None:
    """Hide sizes from which a small count follows, and those that tell a hidden one."""
    for a, b in permutations(panels, 2):
        few_apart = a.n != b.n and is_few(abs(a.n - b.n), smallest)
        without_pair = any(is_few(abs(b.n - paired), smallest) for paired in a.in_pairs)
        if few_apart or without_pair:
            b.hidden = True
    for _ in panels:  # what one hides may have to be hidden in another, and so on
        for a, b in permutations(panels, 2):
            if a.hidden and is_few(abs(a.n - b.n), smallest):
                b.hidden = True
    least = min((each.least for each in panels if each.hidden), default=0)
    for each in panels:
        if each.hidden:
            each.least = least


def _parts(panels: list[tuple[str, _Panel]], no_rate: set[str]) -> HiddenParts:
    nobody = np.zeros(len(panels), dtype=np.bool_)
    return HiddenParts(
        size=np.array([panel.hidden for _, panel in panels], dtype=np.bool_),
        least=np.array([panel.least for _, panel in panels], dtype=np.int64),
        score=nobody,
        others=nobody,
        rate=np.array([physician in no_rate for physician, _ in panels], dtype=np.bool_),
    )


def _telling_rates(found: Together, smallest: int) -> set[str]:
    """Return of whom two rates tell how many patients got a combination of two decisions.

    Shares of two decisions tell all four combinations where one of them does not occur. Of whom the
    combinations are not known, beyond the sample of a large table, rates are not told either.
    """
    predicted = found.predicted
    named = [str(each) for each in predicted.physician.to_list()]
    every = {name for each in found.decisions.values() for name in _names(each)}
    telling = every - set(named)
    for a, b in combinations(range(len(predicted.names)), 2):
        both = predicted.known[:, a] & predicted.known[:, b]
        cell = 2 * predicted.decided[both, a] + predicted.decided[both, b]
        counts = np.bincount(4 * predicted.code[both] + cell, minlength=4 * len(named))
        for name, cells in zip(named, counts.reshape(-1, 4).tolist(), strict=True):
            if 0 in cells and any(each > 0 and is_few(each, smallest) for each in cells):
                telling.add(name)
    return telling


def _cells(found: Together, dealt: str) -> list[dict[tuple[str, str], int]]:
    """Return, by decision, patients of every physician and stratum."""
    listed = []
    for measurement in found.decisions.values():
        strata = _dealt(measurement, dealt)
        if strata is not None:
            rows = strata.cells.select(
                pl.col("physician").cast(pl.String), pl.col("stratum").cast(pl.String), "n_patients"
            )
            listed.append({(name, level): n for name, level, n in rows.iter_rows()})
    return listed


def _dealt(measurement: Measurement, dealt: str) -> Strata | None:
    if dealt == "by":
        return measurement.levels
    return None if measurement.periods is None else measurement.periods.strata


def _repeats(found: Together) -> list[dict[tuple[str, str], int]]:
    """Return, by decision, how many cases every physician saw twice."""
    return [
        {
            (name, ""): int(n)
            for name, n in zip(_names(each), each.repeats.n_repeats.tolist(), strict=True)
        }
        for each in found.decisions.values()
        if each.repeats is not None
    ]


def _differing(counts: list[dict[tuple[str, str], int]], smallest: int) -> set[str]:
    """Return whose counts differ by few from one decision to another."""
    telling = set()
    for a, b in combinations(counts, 2):
        for who in {*a, *b}:
            apart = abs(a.get(who, 0) - b.get(who, 0))
            if apart and is_few(apart, smallest):
                telling.add(who[0])
    return telling
