"""What may be told of subgroups and periods: as tables, as JSON and in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from scipy.stats import norm

from intravar.inference.contrasts import changes_together
from intravar.inference.intervals import LEVEL
from intravar.measurement.strata import Course
from intravar.measurement.strata import Strata as MeasuredStrata
from intravar.publication.group import published_noise
from intravar.publication.hiding import coarse, coarse_step, fraction, is_few
from intravar.publication.results import Change, Strata, Stratum
from intravar.request import MATTERS
from intravar.wording import USUAL, Words

#: Probability from which on a change is called one.
SURE = 0.95
#: Where somebody is hidden, figures of all are no finer than what so many patients move.
MOVED = 24
_NUMBERS = ("rate", "discordance", "low", "high", "alike", "alike_low", "alike_high")
_CHANGES = ("change", "low", "high", "shrunken", "probability")


def unsafe_physicians(
    strata: MeasuredStrata, panels: Mapping[str, tuple[int, int] | None], smallest: int
) -> set[str]:
    """Return of whom strata would give a small count away.

    These are they of whom few were decided one way in some stratum, a stratum without patients
    included; whose panel size is hidden, since that of all strata tells it; and of whom few decided
    one way have no stratum, a date missing say, since that follows by subtraction.

    Parameters
    ----------
    strata
        With everything in it.
    panels
        Patients, and those decided for, by physician; None where the panel size is hidden.
    smallest
        The smallest count that is shown.
    """
    if smallest <= 1:
        return set()
    cells = strata.cells.with_columns(pl.col("physician").cast(pl.String))
    found = {
        row["physician"]
        for row in cells.iter_rows(named=True)
        if _tells_few(row["n_patients"], row["n_for"], smallest)
    }
    dealt = cells.group_by("physician").agg(pl.len(), pl.col("n_patients", "n_for").sum())
    placed = {name: counts for name, *counts in dealt.iter_rows()}
    for name, panel in panels.items():
        n_strata, n, n_for = placed.get(name, (0, 0, 0))
        if panel is None or n_strata < len(strata.names):
            found.add(name)
            continue
        outside_for = panel[1] - n_for
        for outside in (outside_for, panel[0] - n - outside_for):
            if outside and is_few(outside, smallest):
                found.add(name)
    return found


def published_strata(strata: MeasuredStrata, smallest: int, *, hidden: bool = False) -> Strata:
    """Return subgroups or periods as they may be handed on.

    Strata with few patients, or in which few were decided one way, are left out; if it is one
    alone, the smallest of the others as well, so that it does not follow from the whole.

    Parameters
    ----------
    strata
        With everything in it.
    smallest
        The smallest count that is shown.
    hidden
        Whether the strata of somebody are hidden; figures are rounded more coarsely then.
    """
    rows = strata.levels.to_dicts()
    shown = _shown(rows, smallest)
    change, low, high = strata.change
    fewest = min((row["n_patients"] for row in rows if row["stratum"] in shown), default=0)
    told = _rounding(fewest, smallest, hidden=hidden)
    return Strata(
        strata=tuple(
            Stratum(
                row["stratum"],
                noise=None,
                **{
                    name: _rounding(row["n_patients"], smallest, hidden=hidden)(row[name])
                    for name in _NUMBERS
                },
            )
            for row in rows
            if row["stratum"] in shown
        ),
        n_left_out=len(rows) - len(shown),
        p_value=None if strata.differ != strata.differ else float(f"{strata.differ:.1g}"),
        change=Change(
            told(change), told(low), told(high), fraction(_probability(change, low, high), 2)
        ),
        matters=MATTERS,
        lines=(),
    )


def _rounding(n: int, smallest: int, *, hidden: bool) -> Callable[[float | None], float | None]:
    """Return how figures of so many patients are rounded."""
    if smallest <= 1:
        return lambda value: fraction(value, 6)
    step = max(coarse_step(MOVED / max(n, 1)), 0.01) if hidden else 0.01
    return lambda value: coarse(value, step)


def _shown(rows: list[dict[str, Any]], smallest: int) -> set[str]:
    """Return the strata that may be shown."""
    safe = [
        row["stratum"]
        for row in rows
        if not _tells_few(row["n_patients"], round(row["rate"] * row["n_patients"]), smallest)
    ]
    if len(safe) == len(rows) - 1:
        sizes = {row["stratum"]: row["n_patients"] for row in rows}
        safe.remove(min(safe, key=lambda name: sizes[name]))
    return set(safe)


def _tells_few(n_patients: int, decided_for: int, smallest: int) -> bool:
    return is_few(decided_for, smallest) or is_few(n_patients - decided_for, smallest)


def _probability(change: float, low: float, high: float) -> float:
    """Return the probability that a change is at least as large as the smallest that matters."""
    error = (high - low) / (2 * float(norm.ppf(0.5 + LEVEL / 2)))
    if not error > 0:
        return float("nan")
    return float(norm.cdf((abs(change) - MATTERS) / error))


def published_course(course: Course, smallest: int, *, hidden: bool = False) -> Strata:
    """Return periods as they may be handed on, with the noise of each."""
    found = published_strata(course.strata, smallest, hidden=hidden)
    sizes = dict(course.strata.levels.select("stratum", "n_patients").iter_rows())
    noise = dict(zip(course.strata.names, course.noise, strict=True))
    periods = []
    for row in found.strata:
        taken_apart = noise[row.stratum]
        step = coarse_step(MOVED / max(sizes[row.stratum], 1)) if hidden else 0.001
        if smallest <= 1:
            step = 1e-6
        told = None if taken_apart is None else published_noise(taken_apart, step)
        periods.append(replace(row, noise=told))
    return replace(
        found,
        strata=tuple(periods),
        rule_changed=course.rule_changed,
        gain=fraction(course.gain, 3),
        some_undated=course.n_undated > 0,
    )


def strata_tables(
    strata: Mapping[str, MeasuredStrata],
    names: Mapping[str, str],
    hidden: Mapping[str, set[str]],
    smallest: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what may be told of single physicians: their strata, and their changes.

    Of a physician all strata are shown or none: one that is hidden would follow from the whole and
    the others. What changes of all say about one of them is worked out from those that are shown.

    Parameters
    ----------
    strata
        By what patients were dealt: "by" and "period".
    names
        What to call each physician.
    hidden
        Physicians of whom nothing may be told, by what patients were dealt.
    smallest
        The smallest count that is shown.
    """
    digits = 3 if smallest > 1 else 6
    cells, changes = [], []
    for dealt, found in strata.items():
        kept = ~pl.col("physician").cast(pl.String).is_in(sorted(hidden[dealt]))
        named = pl.col("physician").cast(pl.String).replace_strict(names, return_dtype=pl.String)
        dealt_by = pl.lit(dealt).alias("dealt_by")
        cells.append(
            found.cells.filter(kept).select(
                dealt_by,
                named,
                "stratum",
                "n_patients",
                pl.col("discordance", "low", "high").round(digits),
            )
        )
        changes.append(
            _together(found.changes.filter(kept & pl.col("change").is_not_null())).select(
                dealt_by, named, pl.col(*_CHANGES).round(digits)
            )
        )
    return (
        pl.concat(cells).sort("dealt_by", "physician", "stratum"),
        pl.concat(changes).sort("dealt_by", "physician"),
    )


def _together(changes: pl.DataFrame) -> pl.DataFrame:
    """Return changes looked at together, by these alone."""
    change, low, high = (changes[name].to_numpy() for name in ("change", "low", "high"))
    moved = changes_together(change, (high - low) / (2 * norm.ppf(0.5 + LEVEL / 2)), MATTERS)
    return changes.with_columns(
        shrunken=pl.Series(moved.value), probability=pl.Series(moved.probability)
    )


def strata_lines(found: Strata, column: str, words: Words = USUAL) -> list[str]:
    r"""Say in words how subgroups compare.

    Examples
    --------
    >>> levels = [Stratum(name, 0.5, *numbers) for name, numbers in
    ...     {"F": (0.2, 0, 1, 0.21, 0, 1), "M": (0.3, 0, 1, 0.27, 0, 1)}.items()]
    >>> told = Strata(tuple(levels), 0, 0.001, Change(None, None, None, None), 0.05, ())
    >>> print("\n".join(strata_lines(told, "sex")))
    By sex, of 100 pairs of comparable patients so many get different decisions: F 20, M 30.
    As if as many were indicated in each: F 21, M 27. They differ (p = 0.001).
    """
    rows = found.strata
    if not rows:
        return [words.fill("By {column}: too few {cases} in each to say anything.", column=column)]
    crude = ", ".join(f"{row.stratum} {_percent(row.discordance)}" for row in rows)
    lines = [
        words.fill(
            "By {column}, of 100 pairs of comparable {cases} so many get different "
            "decisions: {crude}.",
            column=column,
            crude=crude,
        )
    ]
    if found.n_left_out:
        lines.append(
            words.fill("{n_left_out} with few {cases} are left out.", n_left_out=found.n_left_out)
        )
    if found.p_value is None or any(row.alike is None for row in rows):
        return [
            *lines,
            words.fill("They cannot be compared: no {decider} has {cases} in several of them."),
        ]
    alike = ", ".join(f"{row.stratum} {_percent(row.alike)}" for row in rows)
    differ = "They differ" if found.p_value < 1 - SURE else "That they differ is not shown"
    lines.append(
        f"As if as many were indicated in each: {alike}. {differ} (p = {found.p_value:g})."
    )
    return lines


def course_lines(found: Strata, column: str, words: Words = USUAL) -> list[str]:
    """Say in words what became of the physicians over time."""
    lines = strata_lines(found, f"period of {column}", words)
    if found.change.value is None:
        return lines
    if found.rule_changed:
        lines.append(
            "What is decided depends on when: the rule changed. Each period is measured by its own."
        )
    lines.append(_change_line(found.change, words))
    if found.n_changed is not None:
        lines.append(
            words.fill(
                "Of single {deciders} whose periods are shown, {n_changed} changed by "
                "more than {matters} of 100 with a probability of {sure} % or more, many "
                "having been looked at.",
                n_changed=found.n_changed,
                matters=_percent(MATTERS),
                sure=_percent(SURE),
            )
        )
    return [*lines, *_noise_lines(found.strata, words)]


def _change_line(change: Change, words: Words) -> str:
    low, value, high = (_signed(each) for each in (change.low, change.value, change.high))
    if (change.probability or 0) >= SURE:
        what = "less" if (change.value or 0) > 0 else "more"
        return words.fill(
            "On {cases} alike, {deciders} became {what} consistent: {value} [{low}, "
            "{high}] of 100 pairs from the first to the last.",
            what=what,
            value=value,
            low=low,
            high=high,
        )
    return words.fill(
        "On {cases} alike, no change of consistency that matters is shown: "
        "{value} [{low}, {high}] of 100 pairs.",
        value=value,
        low=low,
        high=high,
    )


def _noise_lines(rows: Sequence[Stratum], words: Words) -> list[str]:
    if not rows or rows[0].noise is None or rows[-1].noise is None:
        return []
    first, last = rows[0].noise, rows[-1].noise
    told = []
    for before, after, why in (
        (first.level, last.level, words.fill("they differ in how often they {say_yes}")),
        (first.pattern, last.pattern, words.fill("they weigh {cases} differently")),
        (
            first.occasion,
            last.occasion,
            words.fill("the same {decider} would decide differently on another occasion"),
        ),
    ):
        shares = (round(200 * (each.value or 0.0)) for each in (before, after))
        told.append(f"{' -> '.join(map(str, shares))} because {why}")
    return [
        words.fill(
            "Of 100 {cases} seen by two of them, {stratum} -> {stratum2}: {told}.",
            stratum=rows[0].stratum,
            stratum2=rows[-1].stratum,
            told=", ".join(told),
        )
    ]


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{round(100 * value)}"


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{round(100 * value):+d}"
