"""Subgroups and periods: sentences, a chart and a table of each."""

from __future__ import annotations

from intravar.documents.blocks import Block, Bullets, Figure, Heading, row_figure
from intravar.documents.charts.plot import Dot
from intravar.documents.charts.rows import Labelled
from intravar.publication.results import Decision, Published, Strata
from intravar.tables import Table, hundred, hundreds, table_of
from intravar.wording import Words


def strata_section(published: Published, decision: Decision) -> list[Block]:
    """Return the section of subgroups and periods; nothing where none were asked for."""
    words, request = published.words, published.request
    blocks: list[Block] = []
    for part, column, sheet, title in (
        (decision.by, request.by, "Subgroups", f"Do subgroups of {words.cases} differ?"),
        (decision.course, request.date, "Periods", "Did it change over time?"),
    ):
        if part is None:
            continue
        blocks.append(Bullets(part.lines))
        if part.strata:
            blocks.append(_figure(part, sheet.lower(), title, words))
            blocks.append(_table(part, sheet, words.label(str(column)), words))
    heading = Heading(f"Which {words.cases}, and when", 1, "strata", "Subgroups")
    return [heading, *blocks] if blocks else []


def _figure(part: Strata, name: str, title: str, words: Words) -> Figure:
    """Draw a row per stratum: hollow as it is, filled on similar cases, with intervals."""
    similar = f"on similar {words.cases}"
    rows = [
        Labelled(
            row.stratum,
            [
                Dot(100 * value, f"{hundred(value)} {what}", kind)
                for value, what, kind in (
                    (row.discordance, "as it is", "hollow"),
                    (row.alike, similar, "point"),
                )
                if value is not None
            ],
            [("interval", 100 * row.alike_low, 100 * row.alike_high)]
            if row.alike_low is not None and row.alike_high is not None
            else [],
        )
        for row in part.strata
    ]
    reading = (
        f"On similar {words.cases}: as if as many were indicated everywhere, and {words.deciders} "
        "compared with themselves."
    )
    key = (("hollow", "as it is"), ("point", f"{similar}, with its 95 % interval"))
    return row_figure(f"strata-{name}", title, rows, reading=reading, key=key)


def _table(part: Strata, sheet: str, column: str, words: Words) -> Table:
    caption = (
        f"{sheet}: decided differently as it is, and as if as many {words.cases} were indicated "
        "everywhere."
    )
    return table_of(
        sheet,
        caption,
        part.strata,
        [
            (column, 2, lambda row: row.stratum),
            (words.decided_for, 1, lambda row: hundred(row.rate) + " %" * (row.rate is not None)),
            ("of 100 pairs", 1, lambda row: hundred(row.discordance)),
            ("95 % interval", 1.2, lambda row: hundreds(row.low, row.high)),
            (f"on similar {words.cases}", 1.2, lambda row: hundred(row.alike)),
            ("95 % interval", 1.2, lambda row: hundreds(row.alike_low, row.alike_high)),
        ],
    )
