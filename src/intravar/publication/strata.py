"""What may be told of subgroups and periods: as tables, as JSON and in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
from intravar.measurement.wider.strata import Strata as MeasuredStrata
from intravar.publication import hiding
from intravar.publication.group import published_noise
from intravar.publication.hiding import PublishedScores
from intravar.publication.policy import is_dominated, is_few
from intravar.publication.results import ChangeRow, Figure, Strata, Stratum, StratumRow, rows_of
from intravar.publication.sentences import SURE, course_lines, strata_lines
from intravar.request import MATTERS
from intravar.tables import MOST_DISCORDANCE

if TYPE_CHECKING:
    from intravar.publication.joint import HiddenAcross

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
    fields: dict[str, Any] = {"strata": (), "changes": ()}
    for stratified_by, strata in sorted(asked.items()):
        hidden = unmeasured | unsafe_physicians(strata, panels, smallest)
        hidden |= set() if across is None else across.strata[stratified_by]
        cells, changes = strata_tables(stratified_by, strata, names, hidden, smallest)
        fields["strata"] += rows_of(cells, StratumRow)
        fields["changes"] += rows_of(changes, ChangeRow)
        periods = measurement.periods if stratified_by == "period" else None
        noise = {} if periods is None else dict(zip(strata.names, periods.noise, strict=True))
        compared = published_strata(
            strata,
            smallest,
            hidden=bool(hidden),
            dominated=dominated_strata(strata, hidden, smallest),
            noise=noise,
            claim=claim,
        )
        if periods is None:
            lines = strata_lines(compared, words.label(str(request.by)), words, claim)
            fields["by"] = replace(compared, lines=tuple(lines))
            continue
        column, own = f"period of {words.label(str(request.date))}", changes["probability"]
        lines = strata_lines(compared, column, words, claim)
        compared = replace(
            compared,
            rule_changed=periods.rule_changed if len(compared.strata) > 1 else None,
            n_changed=int((own >= SURE).sum()) if len(own) else None,
        )
        lines += course_lines(compared, words, claim)
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
        outside = panel[1] - n_for, panel[0] - n - (panel[1] - n_for)
        if any(each and is_few(each, smallest) for each in outside):
            unsafe.add(name)
    return unsafe


def dominated_strata(strata: MeasuredStrata, hidden: Collection[str], smallest: int) -> set[str]:
    """Return the strata whose figures one of the `hidden` physicians makes up."""
    if smallest <= 1:
        return set()
    cells = strata.cells.with_columns(
        pl.col("stratum").cast(pl.String),
        published=~pl.col("physician").cast(pl.String).is_in(sorted(hidden)),
    )
    return {
        name
        for (name,), cell in cells.group_by("stratum")
        if is_dominated(
            *(cell[column].to_numpy() for column in ("n_patients", "discordance", "published"))
        )
    }


def published_strata(
    strata: MeasuredStrata,
    smallest: int,
    *,
    hidden: bool = False,
    dominated: Collection[str] = (),
    noise: Mapping[str, MeasuredNoise | None] | None = None,
    claim: str = "about",
) -> Strata:
    """Return subgroups or periods as they may be handed on, periods with the noise of each.

    Strata in which few were decided one way are left out, and those that are `dominated` by one
    physician whose strata are not shown; if it is one alone, the smallest of the
    others as well, so that it does not follow from the whole. Those that are shown are compared
    with each other alone. Figures are rounded more coarsely where somebody's strata are `hidden`.
    """
    rows, n = strata.levels.to_dicts(), strata.levels["n_patients"].to_numpy()
    n_for = np.rint(strata.levels["rate"].to_numpy() * n)
    few = hiding.any_few(smallest, n_for, n - n_for)
    few = few | strata.levels["stratum"].cast(pl.String).is_in(sorted(dominated)).to_numpy()
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
        parts = published_noise((noise or {}).get(name), step(row["n_patients"], 0.001))
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
