"""What may be told of a check: in words and as JSON, without small counts and without names."""

from __future__ import annotations

from statistics import median
from typing import Any

import polars as pl

from intravar.preparation.check import Check
from intravar.preparation.prepare import ColumnReport
from intravar.publication.hiding import few, is_small, part_is_safe, safe_total, shown
from intravar.publication.results import Check as PublishedCheck
from intravar.publication.results import Column, DecisionColumn, Leak
from intravar.wording import agree

#: Different values beyond which their number comes close to that of the rows.
MOST_DISTINCT = 100
#: A number of rows that is not told.
SOME = "some"


def check_lines(check: Check, *, several: bool = False) -> list[str]:
    """Say in words what was found, without small counts; see :func:`published_check`."""
    smallest = check.request.smallest_cell
    n_physicians = check.panels.table.height
    total, hidden = _rounded_total(check)
    about = "about " if smallest > 1 else ""
    words = check.request.words
    larger = f"{about}{total:,} {words.cases} of {words.counted(n_physicians - hidden)}"
    smaller = (
        f"{words.counted(hidden)} with {few(smallest)} {words.cases}{agree(hidden, '', ' each')}"
    )
    covariates, columns = check.prepared.covariates, check.prepared.origin
    decision, positive, _ = check.prepared.decision
    share = _share(check)
    told = "nearly all or nearly none" if share is None else f"{100 * share:.0f} %"
    told = f"'{positive}' for {told} of all {words.cases} in the table"
    coded = f", coded in {len(columns)} columns" if len(columns) != len(covariates) else ""
    lines = [
        ", and ".join([larger] * (hidden < n_physicians) + [smaller] * (hidden > 0)),
        *_panel_lines(check),
        f"decision '{decision}': {told}",
        f"{len(covariates)} covariates in use{coded}",
        f"missing values: {_missing_line(check, several=several)}",
        *(f"dropped: {line}" for line in _dropped_lines(check, several=several)),
        *([check.prepared.about_copies] if check.prepared.about_copies else []),
        *check.same_lines(),
        f"{check.panels.n_measurable:,} of {words.counted(n_physicians)} in the table can have a "
        f"figure ({check.request.min_panel} {words.cases} or more)",
        f"measuring with {check.method} will take {check.cost.here().in_words()}",
    ]
    return [*map(words.said, lines), *(f"read with {note}" for note in check.notes)]


def published_check(check: Check, *, several: bool = False) -> PublishedCheck:
    """Return what was found as it may be handed on, without small counts.

    With `several` decisions, how many miss one would follow by subtraction and is not told.
    """
    total, hidden = _rounded_total(check)
    name, positive, negative = check.prepared.decision
    return PublishedCheck(
        source=check.source,
        read_with=check.notes,
        n_patients=total,
        n_physicians=check.panels.table.height,
        n_physicians_with_few_patients=hidden,
        n_physicians_measurable=check.panels.n_measurable,
        min_panel=check.request.min_panel,
        smallest_cell=check.request.smallest_cell,
        decision=DecisionColumn(name, positive, negative),
        decision_share=_share(check),
        covariates=tuple(check.prepared.covariates),
        columns=column_rows(check, several=several),
        missing_policy=check.prepared.missing,
        missing=_missing_line(check, several=several),
        dropped=tuple(_dropped_lines(check, several=several)),
        leaks=tuple(Leak(leak.column, leak.why) for leak in check.prepared.leaks),
        method=check.method,
        estimated_seconds=round(check.cost.seconds, 1),
        estimated_memory_mb=round(check.cost.memory_mb),
    )


def unmeasurable(check: Check, names: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """Return how many physicians can have no figure, by reason and size, and who if `names`."""
    cannot = check.panels.table.filter(pl.col("reason").is_not_null())
    bar, upper = _bar(check), check.request.min_panel - 1
    rows, words = [], check.request.words
    for hidden in (True, False):
        chosen = cannot.filter((pl.col("n_patients") < bar) == hidden)
        if not chosen.height:
            continue
        sizes = f"{bar} to {upper}" if bar < upper else f"{upper}"
        if hidden:
            sizes = few(check.request.smallest_cell)
        row: dict[str, Any] = {
            "reason": chosen["reason"][0],
            "n_patients": f"{sizes} {words.cases}{agree(chosen.height, '', ' each')}",
            "n_physicians": chosen.height,
        }
        if names is not None:
            row["physicians"] = sorted(names[str(name)] for name in chosen["physician"])
        rows.append(row)
    return rows


def column_rows(check: Check, *, several: bool = False) -> tuple[Column, ...]:
    """Return one row per column: its use, kind, missing values and a note."""

    def row(report: ColumnReport) -> Column:
        missing, distinct = report.n_missing or 0, report.n_distinct
        return Column(
            column=report.column,
            use=report.use,
            kind=report.kind,
            missing=_counted(check, missing, several=several, whole=check.prepared.n_rows),
            distinct=f"{MOST_DISTINCT}+" if (distinct or 0) >= MOST_DISTINCT else distinct,
            note=check.request.words.said(report.note),
        )

    return tuple(map(row, check.prepared.columns))


def _counted(check: Check, count: int, *, several: bool, whole: int | None = None) -> str:
    """Write a number of rows: of several decisions whether there are any, else a safe count."""
    smallest = check.request.smallest_cell
    if several and count and smallest > 1:
        return SOME
    return shown(count, smallest, whole)


def _rounded_total(check: Check) -> tuple[int, int]:
    """Return the patients in panels that may be shown, to the nearest ten, and other panels.

    An exact total beside a measurement would give away a panel size hidden there.
    """
    bar = _bar(check)
    total, hidden = safe_total(check.panels.table["n_patients"].to_list(), bar)
    return (round(total, -1) if bar > 1 else total), hidden


def _bar(check: Check) -> int:
    """Return the size of the smallest panel that is not few: a measurement hides the same ones."""
    smallest = check.request.smallest_cell
    return smallest + 1 if smallest > 1 else 1


def _share(check: Check) -> float | None:
    """Return the share decided for, unless it gives a small count away.

    To two digits: a third would tell how many were decided for in a panel that is hidden.
    """
    n_for, n_patients = check.panels.n_for, check.panels.n_patients
    if not part_is_safe(n_for, n_patients, check.request.smallest_cell):
        return None
    return round(n_for / n_patients, 2)


def _panel_lines(check: Check) -> list[str]:
    """Say how large the panels are that are not few, to the nearest ten as all totals."""
    bar = _bar(check)
    sizes = [size for size in check.panels.table["n_patients"].to_list() if size >= bar]
    if len(sizes) < 2:
        return []
    low, middle, high = (
        max(round(value, -1), bar) if bar > 1 else value
        for value in (min(sizes), int(median(sizes)), max(sizes))
    )
    cases = check.request.words.cases
    if low == high:
        return [f"panels of {'about ' if bar > 1 else ''}{low:,} {cases}"]
    return [f"panels of {low:,} to {high:,} {cases}, {middle:,} in the middle"]


def _missing_line(check: Check, *, several: bool = False) -> str:
    policy, filled = check.prepared.missing, check.prepared.filled
    smallest = check.request.smallest_cell
    if policy == "drop":
        dropped = check.prepared.dropped.get("a covariate is missing", 0)
        cost = _counted(check, dropped, several=several)
        return f"{cost} {check.request.words.cases} with one were left out"
    if not filled:
        return "none among the covariates"
    few = several or any(is_small(count, smallest) for count in filled.values())
    count = "some" if few else f"{sum(filled.values()):,}"
    how = (
        "filled with the median and marked in columns of their own; categories get a level"
        if policy == "indicator"
        else "filled with the median or the most frequent category, without a mark"
    )
    covariates = agree(len(filled), "covariate", "covariates")
    return f"{count} cells in {len(filled)} {covariates} {how}"


def _dropped_lines(check: Check, *, several: bool = False) -> list[str]:
    fill = check.request.words.fill
    return [
        f"{_counted(check, count, several=several)} rows because {fill(reason)}"
        for reason, count in check.prepared.dropped.items()
    ]
