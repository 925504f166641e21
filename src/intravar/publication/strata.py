"""What may be told of subgroups and periods: as tables, as JSON and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl
from scipy.stats import norm

from intravar.estimators.noise import Noise as MeasuredNoise
from intravar.inference.contrasts import changes_together
from intravar.inference.intervals import LEVEL
from intravar.measurement.result import Measurement
from intravar.measurement.scores import claim_of
from intravar.measurement.wider.strata import Strata as MeasuredStrata
from intravar.publication import hiding
from intravar.publication.group import published_noise
from intravar.publication.results import Change, ChangeRow, Strata, Stratum, StratumRow, rows_of
from intravar.publication.scores import ShownScores
from intravar.request import MATTERS
from intravar.tables import hundred, most
from intravar.wording import USUAL, Words

#: Probability from which on a change is called one.
SURE = 0.95
_AS_IT_IS = ("discordance", "low", "high")
_ALIKE = ("alike", "alike_low", "alike_high")
_CHANGES = ("change", "low", "high", "shrunken", "probability")
#: Standard errors from one end of an interval to the other.
_WIDTH = 2 * float(norm.ppf(0.5 + LEVEL / 2))


def shown_strata(
    asked: Mapping[str, MeasuredStrata],
    measurement: Measurement,
    published: ShownScores,
    across: hiding.HiddenAcross | None,
    names: Mapping[str, str],
) -> dict[str, Any]:
    """Return what a decision publishes of the subgroups and periods asked for, by its fields.

    Whose score is hidden has no strata either, nor has whose strata other decisions tell.
    """
    request = measurement.request
    scores, no_size = measurement.main.scores, published.hidden.size.tolist()
    every = hiding.names_of(scores)
    counts = zip(scores.n_patients.tolist(), scores.n_for.tolist(), strict=True)
    panels = {
        name: None if hidden else panel
        for name, panel, hidden in zip(every, counts, no_size, strict=True)
    }
    unmeasured = set(every) - {every[at] for at in published.measured.tolist()}
    hidden = {
        dealt: unmeasured
        | unsafe_physicians(strata, panels, request.smallest_cell)
        | (set() if across is None else across.strata[dealt])
        for dealt, strata in asked.items()
    }
    cells, changes = strata_tables(asked, names, hidden, request.smallest_cell)
    by = course = None
    words, periods = request.words, measurement.periods
    claim = claim_of(measurement.main.evidence)
    if "by" in asked:
        by = published_strata(
            asked["by"], request.smallest_cell, hidden=bool(hidden["by"]), claim=claim
        )
        lines = strata_lines(by, words.label(str(request.by)), words, claim)
        by = replace(by, lines=tuple(lines))
    if periods is not None:
        own = changes.filter(pl.col("dealt_by") == "period")["probability"]
        course = published_strata(
            periods.strata,
            request.smallest_cell,
            hidden=bool(hidden["period"]),
            noise=dict(zip(periods.strata.names, periods.noise, strict=True)),
            claim=claim,
        )
        course = replace(
            course,
            rule_changed=periods.rule_changed if len(course.strata) > 1 else None,
            n_changed=int((own >= SURE).sum()) if len(own) else None,
        )
        lines = course_lines(course, words.label(str(request.date)), words, claim)
        course = replace(course, lines=tuple(lines))
    rows = rows_of(cells, StratumRow), rows_of(changes, ChangeRow)
    return {"by": by, "course": course, "strata": rows[0], "changes": rows[1]}


def unsafe_physicians(
    strata: MeasuredStrata, panels: Mapping[str, tuple[int, int] | None], smallest: int
) -> set[str]:
    """Return of whom strata would give a small count away.

    Few were decided one way in some stratum, or few have no stratum, a date missing say; or their
    panel size is hidden, which all strata tell. `panels` are patients, and those decided for, by
    physician; None where the panel size is hidden.
    """
    if smallest <= 1:
        return set()
    cells = strata.cells.with_columns(pl.col("physician").cast(pl.String))
    unsafe = {
        row["physician"]
        for row in cells.iter_rows(named=True)
        if _tells_few(row["n_patients"], row["n_for"], smallest)
    }
    dealt = cells.group_by("physician").agg(pl.len(), pl.col("n_patients", "n_for").sum())
    placed = {name: counts for name, *counts in dealt.iter_rows()}
    for name, panel in panels.items():
        n_strata, n, n_for = placed.get(name, (0, 0, 0))
        if panel is None or n_strata < len(strata.names):
            unsafe.add(name)
            continue
        outside_for = panel[1] - n_for
        for outside in (outside_for, panel[0] - n - outside_for):
            if outside and hiding.is_few(outside, smallest):
                unsafe.add(name)
    return unsafe


def published_strata(
    strata: MeasuredStrata,
    smallest: int,
    *,
    hidden: bool = False,
    noise: Mapping[str, MeasuredNoise | None] | None = None,
    claim: str = "about",
) -> Strata:
    """Return subgroups or periods as they may be handed on, periods with the noise of each.

    Strata in which few were decided one way are left out; if it is one alone, the smallest of the
    others as well, so that it does not follow from the whole. Those that are shown are compared
    with each other alone. Figures are rounded more coarsely where somebody's strata are `hidden`.
    """
    rows = strata.levels.to_dicts()
    shown = [
        row
        for row in rows
        if not _tells_few(row["n_patients"], round(row["rate"] * row["n_patients"]), smallest)
    ]
    if len(shown) == len(rows) - 1:
        shown.remove(min(shown, key=lambda row: int(row["n_patients"])))
    differ, (change, low, high) = strata.compared([row["stratum"] for row in shown])

    def step(n: float, finest: float = 0.01) -> float:
        return hiding.coarse_step(n if hidden else float("inf"), smallest, finest=finest)

    def stratum(row: Mapping[str, Any]) -> Stratum:
        name, n = row["stratum"], row["n_patients"]
        by = step(n)
        apart = (noise or {}).get(name)
        rounding = hiding.upwards if claim == "at most" else hiding.coarse
        figures: dict[str, float | None] = dict.fromkeys(_ALIKE)
        for each in _AS_IT_IS if differ != differ else _AS_IT_IS + _ALIKE:
            figures[each] = rounding(row[each], by)
            if each.endswith("low"):  # never rounded up
                figures[each] = hiding.coarse(row[each] + 1e-9, by, 0.0)
        bound = figures["discordance"] if claim == "at most" else None
        told = None if apart is None else published_noise(apart, step(n, 0.001), bound)
        return Stratum(name, hiding.coarse(row["rate"], by), **figures, noise=told)

    error = (high - low) / _WIDTH
    # That it is at least as large as the smallest change that matters.
    probable = float(norm.cdf((abs(change) - MATTERS) / error)) if error > 0 else float("nan")
    fewest = step(min((row["n_patients"] for row in shown), default=0))
    return Strata(
        strata=tuple(map(stratum, shown)),
        n_left_out=len(rows) - len(shown),
        p_value=None if differ != differ else float(f"{differ:.1g}"),
        change=Change(
            hiding.coarse(change, fewest),
            hiding.coarse(low, fewest),
            hiding.coarse(high, fewest),
            hiding.fraction(probable, 2),
        ),
        lines=(),
    )


def _tells_few(n_patients: int, decided_for: int, smallest: int) -> bool:
    return hiding.is_few(decided_for, smallest) or hiding.is_few(n_patients - decided_for, smallest)


def strata_tables(
    strata: Mapping[str, MeasuredStrata],
    names: Mapping[str, str],
    hidden: Mapping[str, set[str]],
    smallest: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what may be told of single physicians: all strata or none, and their changes.

    What changes of all say about one of them is worked out from those that are shown. `strata` and
    `hidden`, of whom nothing may be told, are by what patients were dealt.
    """
    digits = 3 if smallest > 1 else 6
    cells, changes = [], []
    for dealt, each in strata.items():
        kept = ~pl.col("physician").cast(pl.String).is_in(sorted(hidden[dealt]))
        first = pl.lit(dealt).alias("dealt_by"), "physician"
        figures = pl.col("discordance", "low", "high").round(digits)
        own = hiding.named(each.cells.filter(kept), names)
        cells.append(own.select(*first, "stratum", "n_patients", figures))
        known = each.changes.filter(kept & pl.col("change").is_not_null())
        change, low, high = (known[name].to_numpy() for name in ("change", "low", "high"))
        together = changes_together(change, (high - low) / _WIDTH, MATTERS)
        told = {"shrunken": together.value, "probability": together.probability}
        moved = hiding.named(
            known.with_columns(pl.Series(name, each) for name, each in told.items()), names
        )
        changes.append(moved.select(*first, pl.col(*_CHANGES).round(digits)))
    return (
        pl.concat(cells).sort("dealt_by", "physician", "stratum"),
        pl.concat(changes).sort("dealt_by", "physician"),
    )


def strata_lines(
    found: Strata, column: str, words: Words = USUAL, claim: str = "about"
) -> list[str]:
    r"""Say in words how subgroups compare, by figures or upper limits as the `claim` says.

    Examples
    --------
    >>> levels = [Stratum(name, 0.5, *numbers) for name, numbers in
    ...     {"F": (0.2, 0, 1, 0.21, 0, 1), "M": (0.3, 0, 1, 0.27, 0, 1)}.items()]
    >>> told = Strata(tuple(levels), 0, 0.001, Change(None, None, None, None), ())
    >>> print("\n".join(strata_lines(told, "sex")))
    By sex, of 100 pairs of comparable patients so many get different decisions: F 20, M 30.
    On similar patients: F 21, M 27. They differ (p = 0.001).
    """
    rows, fill = found.strata, words.fill
    if not rows:
        why = "because in at least one of them few {cases} were decided one way."
        return [fill("By {column}: nothing can be shown, " + why, column=column)]
    crude = ", ".join(f"{row.stratum} {hundred(row.discordance, claim)}" for row in rows)
    begin = "By {column}, of 100 pairs of comparable {cases} {much} get different decisions"
    much = "at most so many" if claim == "at most" else "so many"
    lines = [fill(begin + ": {crude}.", column=column, crude=crude, much=much)]
    if len(rows) == 1:
        return [*lines, "Only one of them can be shown because of small numbers in the others."]
    if found.n_left_out:
        lines.append(f"{found.n_left_out} are left out because of small numbers.")
    if found.p_value is None:
        no = "for some two of them, no {decider} has similar {cases} in both."
        return [*lines, fill("They cannot all be compared: " + no)]
    alike = ", ".join(f"{row.stratum} {hundred(row.alike, claim)}" for row in rows)
    differ = "They differ" if found.p_value < 1 - SURE else "That they differ is not shown"
    lines.append(f"On similar {words.cases}: {alike}. {differ} (p = {found.p_value:g}).")
    return lines


def course_lines(
    found: Strata, column: str, words: Words = USUAL, claim: str = "about"
) -> list[str]:
    """Say in words what became of the physicians over time."""
    lines = strata_lines(found, f"period of {column}", words, claim)
    if found.change.value is None:
        return lines
    if found.rule_changed:
        lines.append(
            "What is decided depends on when: the rule changed. Each period is measured by its own."
        )
    moved = found.change
    low, value, high = (
        "–" if each is None else f"{round(100 * each):+d}"
        for each in (moved.low, moved.value, moved.high)
    )
    what = "less" if (moved.value or 0) > 0 else "more"
    how = "no change of consistency that matters is shown: {told}."
    if (moved.probability or 0) >= SURE:
        how = "{deciders} became {what} consistent: {told} from the first to the last."
    told = f"{value} [{low}, {high}] of 100 pairs"
    lines.append(words.fill("On {cases} alike, " + how, what=what, told=told))
    if found.n_changed is not None:
        lines.append(
            words.fill(
                "Of single {deciders} whose periods are shown, {n} changed by more than {matters} "
                "of 100 with a probability of {sure} % or more, many having been looked at.",
                n=found.n_changed,
                matters=hundred(MATTERS),
                sure=hundred(SURE),
            )
        )
    return [*lines, *_noise_lines(found.strata, words, claim)]


def _noise_lines(rows: tuple[Stratum, ...], words: Words, claim: str) -> list[str]:
    first, last = (rows[0].noise, rows[-1].noise) if rows else (None, None)
    if first is None or last is None:
        return []
    why = {
        "level": "they differ in how often they {say_yes}",
        "pattern": "they weigh {cases} differently",
        "occasion": "the same {decider} would decide differently on another occasion",
    }
    told = []
    for part, reason in why.items():
        shares = (hundred(2 * (getattr(each, part).value or 0.0), claim) for each in (first, last))
        told.append(f"{', then '.join(shares)}, because {words.fill(reason)}")
    return [
        words.fill(
            "Of 100 {cases} seen by two of them, {much}so many would be decided differently "
            "({first}, then {last}): {told}.",
            much=most(claim),
            first=rows[0].stratum,
            last=rows[-1].stratum,
            told="; ".join(told),
        )
    ]
