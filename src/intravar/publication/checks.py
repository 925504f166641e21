"""What may be told of a check: in words and as JSON, without small counts and without names."""

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from intravar.preparation.check import Check
from intravar.preparation.prepare import ColumnReport
from intravar.publication.hiding import about_count, few, shown
from intravar.publication.policy import (
    LARGE_TABLE,
    MOST_DISTINCT,
    is_few,
    is_small,
    part_is_safe,
)
from intravar.publication.results import Check as PublishedCheck
from intravar.publication.results import Column, DecisionColumn
from intravar.publication.sentences import saying
from intravar.wording import agree

#: A number of rows that is not told.
SOME = "some"

#: Returns the secret point from which the count that is named is rounded.
Point = Callable[[str], float]


def check_lines(check: Check, *, several: bool = False) -> list[str]:
    """Say in words what was found, without small counts; see :func:`published_check`."""
    published, words = published_check(check, several=several), check.request.words
    say, prepared, decision = saying("check", words), check.prepared, published.decision
    n, n_few = published.n_physicians, published.n_physicians_with_few_patients
    about, sizes = "about " if published.smallest_cell > 1 else "", []
    if n_few < n:
        who = words.counted(n - n_few)
        sizes.append(say("sizes", about=about, n=published.n_patients, who=who))
    if n_few:
        each, size = agree(n_few, "", " each"), few(published.smallest_cell)
        sizes.append(say("few", who=words.counted(n_few), few=size, each=each))
    share = _share_in_words(check, published.decision_share)
    n_covariates, n_coded = len(prepared.covariates), len(prepared.origin)
    coded = say("coded", n=n_coded) if n_coded != n_covariates else ""
    used = f"{n_covariates} {agree(n_covariates, 'covariate', 'covariates')}"
    measurable = {"n": published.n_physicians_measurable, "fewest": published.min_panel}
    lines = [
        ", and ".join(sizes),
        *_panel_lines(check),
        say("decision", column=decision.column, positive=decision.positive, share=share),
        say("covariates", covariates=used, coded=coded),
        say("missing", missing=published.missing),
        *(f"dropped: {line}" for line in published.dropped),
        *([prepared.about_copies] if prepared.about_copies else []),
        *check.same_lines(),
        *check.questions,
        say("measurable", who=words.counted(n), **measurable),
        say("cost", method=check.method, cost=check.cost.here().in_words()),
    ]
    return [*map(words.said, lines), *(f"read with {note}" for note in check.notes)]


def _share_decided_for(check: Check) -> float:
    """Return the share decided for; with sampling weights that of the population."""
    observed = check.prepared.observed
    if observed.weight is not None:
        return float(np.average(observed.decision, weights=observed.weight))
    return check.panels.n_for / check.panels.n_patients


def published_check(
    check: Check, *, several: bool = False, point: Point | None = None
) -> PublishedCheck:
    """Return what was found as it may be handed on, without small counts.

    With a `point` counts of rows are rounded, as in every result that is written: two results that
    differ by one patient do not tell whether a value of that patient is missing, or whether the
    row was left out. Reasons for which few rows were left out are then not listed.

    With `several` decisions, how many miss one would follow by subtraction and is not told. The
    number of patients is of panels that may be shown, to the nearest ten: an exact total beside a
    measurement would give away a panel size hidden there. The share decided for has two digits: a
    third would tell how many were decided for in a panel that is hidden.
    """
    panels, prepared, smallest = check.panels, check.prepared, check.request.smallest_cell
    sizes = _shown_sizes(check)
    safe = part_is_safe(panels.n_for, panels.n_patients, smallest)
    return PublishedCheck(
        source=check.source,
        read_with=check.notes,
        n_patients=round(sum(sizes), -1) if smallest > 1 else sum(sizes),
        n_physicians=panels.table.height,
        n_physicians_with_few_patients=panels.table.height - len(sizes),
        n_physicians_measurable=panels.n_measurable,
        min_panel=check.request.min_panel,
        smallest_cell=smallest,
        decision=DecisionColumn(*prepared.decision),
        decision_share=round(_share_decided_for(check), 2) if safe else None,
        covariates=tuple(prepared.covariates),
        columns=column_rows(check, several=several, point=point),
        missing_policy=check.request.missing,
        missing=_missing_line(check, several=several, point=point),
        dropped=_dropped_lines(check, several=several, point=point),
        leaks={leak.column: leak.why for leak in prepared.leaks},
        questions=tuple(check.request.words.said(each) for each in check.questions),
        method=check.method,
        estimated_seconds=round(check.cost.seconds, 1),
        estimated_memory_mb=round(check.cost.memory_mb),
    )


def unmeasurable(check: Check, names: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """Return how many physicians can have no figure, by reason and size, and who if `names`."""
    cannot = check.panels.table.filter(pl.col("reason").is_not_null())
    bar, upper, cases = _bar(check), check.request.min_panel - 1, check.request.words.cases
    sizes = few(check.request.smallest_cell), f"{bar} to {upper}" if bar < upper else f"{upper}"
    rows = []
    for hidden, size in zip((True, False), sizes, strict=True):
        chosen = cannot.filter((pl.col("n_patients") < bar) == hidden)
        if chosen.height:
            row: dict[str, Any] = {
                "reason": chosen["reason"][0],
                "n_patients": f"{size} {cases}{agree(chosen.height, '', ' each')}",
                "n_physicians": chosen.height,
            }
            if names is not None:
                row["physicians"] = sorted(names[str(name)] for name in chosen["physician"])
            rows.append(row)
    return rows


def column_rows(
    check: Check, *, several: bool = False, point: Point | None = None
) -> tuple[Column, ...]:
    """Return one row per column: its use, kind, missing values and a note."""
    whole, said = check.prepared.n_rows, check.request.words.said
    return tuple(
        Column(
            column=each.column,
            use=each.use,
            kind=each.kind,
            missing=_counted(
                check,
                each.n_missing or 0,
                f"missing {each.column}",
                several=several,
                whole=whole,
                point=point,
            ),
            distinct=f"{MOST_DISTINCT}+"
            if (each.n_distinct or 0) >= MOST_DISTINCT
            else each.n_distinct,
            note=said("; ".join(filter(None, (each.note, _pooled_note(check, each, several))))),
        )
        for each in check.prepared.columns
    )


def _pooled_note(check: Check, column: ColumnReport, several: bool) -> str:
    """Return how many levels of a category are pooled, and the share of rows with one of them.

    Small numbers of rows are not published. Of several decisions neither is the share, from which
    the rows that miss one decision might follow by subtraction.
    """
    if not column.n_pooled:
        return ""
    smallest = check.request.smallest_cell
    share = ""
    if not part_is_safe(column.n_pooled_rows, column.n_rows, smallest):
        share = " (few rows)" if column.n_pooled_rows < smallest else " (nearly all rows)"
    elif not several or smallest <= 1:
        percent = 100 * column.n_pooled_rows / max(column.n_rows, 1)
        share = f" ({percent:.0f} % of rows)" if percent >= 1 else " (less than 1 % of rows)"
    levels = f"{column.n_pooled:,} {agree(column.n_pooled, 'level', 'levels')} pooled{share}"
    return f"{levels}, which predictions tell apart" if column.many_levels else levels


def _counted(
    check: Check,
    count: int,
    name: str,
    *,
    several: bool,
    whole: int | None = None,
    point: Point | None = None,
) -> str:
    """Write a number of rows: of several decisions whether there are any, else a safe count."""
    smallest = check.request.smallest_cell
    if several and smallest > 1:
        told_as_none = count == 0 if point is None else is_few(count, smallest)
        if not told_as_none:
            return SOME
    if point is None:
        return shown(count, smallest, whole)
    # Rows that are left out change no panel: the count itself moves the point.
    return about_count(count, point(f"{name} {count}"), smallest, whole)


def _dropped_lines(check: Check, *, several: bool, point: Point | None) -> tuple[str, ...]:
    """Say how many rows were left out and why; published, only the reasons of more than few."""
    lines = []
    for reason, count in check.prepared.dropped.items():
        if point is not None and is_few(count, check.request.smallest_cell):
            continue
        rows = _counted(check, count, f"dropped {reason}", several=several, point=point)
        lines.append(f"{rows} rows because {check.request.words.fill(reason)}")
    return tuple(lines)


def _share_in_words(check: Check, share: float | None) -> str:
    """Return the share decided for, or what may be said where a small count would show."""
    if share is not None:
        return f"{100 * share:.0f} %"
    if check.panels.n_patients >= LARGE_TABLE * check.request.smallest_cell:
        return "nearly all or nearly none"
    return f"{few(check.request.smallest_cell)}, or all but so many,"


def _bar(check: Check) -> int:
    """Return the size of the smallest panel that is not few: a measurement hides the same ones."""
    smallest = check.request.smallest_cell
    return smallest + 1 if smallest > 1 else 1


def _shown_sizes(check: Check) -> list[int]:
    """Return the sizes of panels that are not few."""
    return [size for size in check.panels.table["n_patients"].to_list() if size >= _bar(check)]


def _panel_lines(check: Check) -> list[str]:
    """Say how large the panels are that are not few, to the nearest ten as all totals."""
    bar, sizes = _bar(check), _shown_sizes(check)
    if len(sizes) < 2:
        return []
    low, middle, high = (
        max(round(value, -1), bar) if bar > 1 else value
        for value in (min(sizes), int(median(sizes)), max(sizes))
    )
    say = saying("check", check.request.words)
    if low == high:
        return [say("panels_alike", about="about " if bar > 1 else "", low=low)]
    return [say("panels", low=low, high=high, middle=middle)]


def _missing_line(check: Check, *, several: bool = False, point: Point | None = None) -> str:
    policy, filled = check.request.missing, check.prepared.filled
    say, smallest = saying("missing", check.request.words), check.request.smallest_cell
    if policy == "drop":
        dropped = check.prepared.dropped.get("a covariate is missing", 0)
        return say("drop", n=_counted(check, dropped, "rows", several=several, point=point))
    if point is not None and smallest > 1:
        filled = {name: count for name, count in filled.items() if not is_few(count, smallest)}
        if not filled:
            return say("few", few=few(smallest))
    if not filled:
        return say("none")
    if several or any(is_small(count, smallest) for count in filled.values()):
        count = SOME
    elif point is None:
        count = f"{sum(filled.values()):,}"
    else:
        cells = sum(filled.values())
        count = about_count(cells, point(f"cells {cells}"), smallest)
    columns = f"{len(filled)} {agree(len(filled), 'covariate', 'covariates')}"
    return say("indicator" if policy == "indicator" else "impute", n=count, columns=columns)
