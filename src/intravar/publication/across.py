"""What must be hidden because several decisions of the same patients are published side by side.

A patient whose decision is missing counts in one decision and not in another: two panel sizes that
differ by few tell how many these are. A size that one decision hides must not stand in another
whose panel is the same, or differs by few. Where nobody got two decisions together, or everybody
did, rates tell how many patients got each combination. What follows from two decisions is hidden
in both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import polars as pl

from intravar.arrays import BoolArray
from intravar.estimators.evidence import Pairs
from intravar.measurement.result import Measurement
from intravar.measurement.several import Together
from intravar.measurement.strata import Strata
from intravar.publication.hiding import HiddenParts, hidden_parts
from intravar.publication.suppression import is_few


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
    pairs = [
        each.evidence.n_pairs
        for each in measurement.fitted.values()
        if isinstance(each.evidence, Pairs)
    ]
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
