"""What may be told of subgroups and periods: as tables, as JSON and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.stats import norm

from intravar.estimators.noise import Noise as MeasuredNoise
from intravar.inference.contrasts import changes_together
from intravar.inference.intervals import LEVEL
from intravar.measurement.result import Measurement
from intravar.measurement.scores import claim_of
from intravar.measurement.sentences import SEEN_BY_TWO, WHY_DIFFERENT
from intravar.measurement.wider.strata import Strata as MeasuredStrata
from intravar.publication import hiding
from intravar.publication.group import published_noise
from intravar.publication.hiding import PublishedScores
from intravar.publication.results import ChangeRow, Figure, Strata, Stratum, StratumRow, rows_of
from intravar.request import MATTERS
from intravar.tables import MOST_DISCORDANCE, hundred, most
from intravar.wording import USUAL, Words

if TYPE_CHECKING:
    from intravar.publication.joint import HiddenAcross

#: Probability from which on a change is called one.
SURE = 0.95
#: Standard errors from one end of an interval to the other.
_WIDTH = 2 * float(norm.ppf(0.5 + LEVEL / 2))


def published_subgroups(
    asked: Mapping[str, MeasuredStrata],
    measurement: Measurement,
    published: PublishedScores,
    across: HiddenAcross | None,
    names: Mapping[str, str],
) -> dict[str, Any]:
    """Return what a decision publishes of the subgroups and periods asked for, by its fields.

    Whose score is hidden has no strata either, nor has whose strata other decisions tell.
    """
    request, smallest = measurement.request, measurement.request.smallest_cell
    scores, every = measurement.main.scores, hiding.names_of(measurement.main.scores)
    counts = (each.tolist() for each in (scores.n_patients, scores.n_for, published.hidden.size))
    panels = {
        name: None if no_size else (n, n_for)
        for name, n, n_for, no_size in zip(every, *counts, strict=True)
    }
    unmeasured = set(every) - {every[at] for at in published.measured.tolist()}
    words, claim = request.words, claim_of(measurement.main.evidence)
    fields: dict[str, Any] = {"by": None, "course": None, "strata": (), "changes": ()}
    for stratified_by, strata in sorted(asked.items()):
        hidden = unmeasured | unsafe_physicians(strata, panels, smallest)
        hidden |= set() if across is None else across.strata[stratified_by]
        cells, changes = strata_tables(stratified_by, strata, names, hidden, smallest)
        fields["strata"] += rows_of(cells, StratumRow)
        fields["changes"] += rows_of(changes, ChangeRow)
        if stratified_by == "by" or measurement.periods is None:
            compared = published_strata(strata, smallest, hidden=bool(hidden), claim=claim)
            lines = strata_lines(compared, words.label(str(request.by)), words, claim)
            fields["by"] = replace(compared, lines=tuple(lines))
            continue
        periods, own = measurement.periods, changes["probability"]
        noise = dict(zip(strata.names, periods.noise, strict=True))
        compared = published_strata(strata, smallest, hidden=bool(hidden), noise=noise, claim=claim)
        compared = replace(
            compared,
            rule_changed=periods.rule_changed if len(compared.strata) > 1 else None,
            n_changed=int((own >= SURE).sum()) if len(own) else None,
        )
        column = f"period of {words.label(str(request.date))}"
        lines = strata_lines(compared, column, words, claim) + course_lines(compared, words, claim)
        fields["course"] = replace(compared, lines=tuple(lines))
    return fields


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
    decided_for = cells["n_for"].to_numpy()
    few = hiding.any_few(smallest, decided_for, cells["n_patients"].to_numpy() - decided_for)
    unsafe = set(cells["physician"].filter(pl.Series(few)))
    by_physician = cells.group_by("physician").agg(pl.len(), pl.col("n_patients", "n_for").sum())
    placed = {name: counts for name, *counts in by_physician.iter_rows()}
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
    rows, n = strata.levels.to_dicts(), strata.levels["n_patients"].to_numpy()
    n_for = np.rint(strata.levels["rate"].to_numpy() * n)
    few = hiding.any_few(smallest, n_for, n - n_for)
    shown = [row for row, hide in zip(rows, few, strict=True) if not hide]
    if len(shown) == len(rows) - 1:
        shown.remove(min(shown, key=lambda row: int(row["n_patients"])))
    differ, (change, low, high) = strata.compared([row["stratum"] for row in shown])

    def step(n: float, finest: float = 0.01) -> float:
        return hiding.coarse_step(n if hidden else float("inf"), smallest, finest=finest)

    def stratum(row: Mapping[str, Any]) -> Stratum:
        name, by = row["stratum"], step(row["n_patients"])
        top = MOST_DISCORDANCE if claim == "at most" else None
        as_it_is, alike = (
            hiding.rounded_figure([row[end] for end in ends], by, most=top)
            for ends in (("discordance", "low", "high"), ("alike", "alike_low", "alike_high"))
        )
        bound = None if top is None else as_it_is.value
        parts = published_noise((noise or {}).get(name), step(row["n_patients"], 0.001), bound)
        rate = hiding.coarse(row["rate"], by)
        return Stratum(name, rate, as_it_is, Figure() if differ != differ else alike, parts)

    error = (high - low) / _WIDTH
    # That it is at least as large as the smallest change that matters.
    probable = float(norm.cdf((abs(change) - MATTERS) / error)) if error > 0 else float("nan")
    fewest = step(min((row["n_patients"] for row in shown), default=0))
    return Strata(
        strata=tuple(map(stratum, shown)),
        n_left_out=len(rows) - len(shown),
        p_value=None if differ != differ else float(f"{differ:.1g}"),
        change=Figure(*(hiding.coarse(each, fewest) for each in (change, low, high))),
        probability=hiding.fraction(probable, 2),
    )


def strata_tables(
    stratified_by: str,
    strata: MeasuredStrata,
    names: Mapping[str, str],
    hidden: set[str],
    smallest: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what may be told of single physicians: all strata or none, and their changes.

    What changes of all say about one of them is worked out from those that are shown; of those who
    are `hidden` nothing may be told.
    """
    digits = 3 if smallest > 1 else 6
    kept = ~pl.col("physician").cast(pl.String).is_in(sorted(hidden))
    first = pl.lit(stratified_by).alias("stratified_by"), "physician"
    cells = hiding.named(strata.cells.filter(kept), names).select(
        *first, "stratum", "n_patients", pl.col("discordance", "low", "high").round(digits)
    )
    known = strata.changes.filter(kept & pl.col("change").is_not_null())
    change, low, high = (known[name].to_numpy() for name in ("change", "low", "high"))
    shrunken = changes_together(change, (high - low) / _WIDTH, MATTERS)
    columns = pl.col("change", "low", "high", *shrunken)
    changes = hiding.named(
        known.with_columns(pl.Series(name, each) for name, each in shrunken.items()), names
    ).select(*first, columns.round(digits))
    return cells.sort("physician", "stratum"), changes.sort("physician")


def strata_lines(
    published: Strata, column: str, words: Words = USUAL, claim: str = "about"
) -> list[str]:
    r"""Say in words how subgroups compare, by figures or upper limits as the `claim` says.

    Examples
    --------
    >>> levels = [Stratum("F", 0.5, Figure(0.2), Figure(0.21))]
    >>> levels += [Stratum("M", 0.5, Figure(0.3), Figure(0.27))]
    >>> print("\n".join(strata_lines(Strata(tuple(levels), 0, 0.001), "sex")))
    By sex, of 100 pairs of comparable patients so many get different decisions: F 20, M 30.
    On similar patients: F 21, M 27. They differ (p = 0.001).
    """
    rows, fill = published.strata, words.fill
    if not rows:
        why = "because in at least one of them few {cases} were decided one way."
        return [fill("By {column}: nothing can be shown, " + why, column=column)]
    crude = ", ".join(f"{row.stratum} {hundred(row.discordance.value, claim)}" for row in rows)
    begin = "By {column}, of 100 pairs of comparable {cases} {much}so many get different decisions"
    lines = [fill(begin + ": {crude}.", column=column, crude=crude, much=most(claim))]
    if published.n_left_out:
        lines.append(f"{published.n_left_out} are left out because of small numbers.")
    if published.p_value is not None:
        alike = ", ".join(f"{row.stratum} {hundred(row.alike.value, claim)}" for row in rows)
        differ = "They differ" if published.p_value < 1 - SURE else "That they differ is not shown"
        lines.append(f"On similar {words.cases}: {alike}. {differ} (p = {published.p_value:g}).")
    elif len(rows) > 1:
        no = "for some two of them, no {decider} has similar {cases} in both."
        lines.append(fill("They cannot all be compared: " + no))
    return lines


def course_lines(published: Strata, words: Words = USUAL, claim: str = "about") -> list[str]:
    """Say in words what became of the physicians over time."""
    change, lines = published.change, []
    if change.value is None:
        return []
    if published.rule_changed:
        lines.append(
            "What is decided depends on when: the rule changed. Each period is measured by its own."
        )
    low, value, high = (
        f"{round(100 * (each or 0.0)):+d}" for each in (change.low, change.value, change.high)
    )
    how = "no change of consistency that matters is shown"
    if (published.probability or 0) >= SURE:
        how = f"{{deciders}} became {'less' if change.value > 0 else 'more'} consistent"
    moved = f": {value} [{low}, {high}] of 100 pairs from the first to the last."
    lines.append(words.fill("On {cases} alike, " + how) + moved)
    if published.n_changed is not None:
        lines.append(
            words.fill(
                "Of single {deciders} whose periods are shown, {n} changed by more than {matters} "
                "of 100 with a probability of {sure} % or more, many having been looked at.",
                n=published.n_changed,
                matters=hundred(MATTERS),
                sure=hundred(SURE),
            )
        )
    ends = published.strata[0], published.strata[-1]
    noise = [each.noise for each in ends if each.noise is not None]
    if len(noise) < len(ends):
        return lines
    parts = []
    for part, why in WHY_DIFFERENT.items():
        shares = (hundred(2 * (getattr(each, part).value or 0.0), claim) for each in noise)
        parts.append(f"{', then '.join(shares)}, because {words.fill(why)}")
    begin = f"Of 100 {words.fill(SEEN_BY_TWO)}, {most(claim)}so many would be decided differently"
    when = ", then ".join(each.stratum for each in ends)
    return [*lines, f"{begin} ({when}): {'; '.join(parts)}."]
