"""Subgroups and periods: sentences, a chart and a table of each."""

from __future__ import annotations

from intravar.documents.blocks import (
    Block,
    Bullets,
    Figure,
    Heading,
    charted,
    hundred,
    hundreds,
    plain_table,
)
from intravar.documents.charts.plot import Plot
from intravar.documents.charts.rows import row_plot
from intravar.publication.results import Decision, Published, Strata
from intravar.wording import Words


def strata_section(published: Published, decision: Decision) -> list[Block]:
    """Return the section of subgroups and periods; nothing where none were asked for."""
    words, request = published.words, published.request
    found: list[Block] = []
    for part, column, title in (
        (decision.by, request.by, words.fill("Do subgroups of {cases} differ?")),
        (decision.course, request.date, "Did it change over time?"),
    ):
        if part is None:
            continue
        found.append(Bullets(part.lines))
        if part.strata:
            sheet = "Subgroups" if part is decision.by else "Periods"
            found += [_figure(part, sheet.lower(), title, words)]
            found += [_table(part, sheet, words.label(str(column)), words)]
    if not found:
        return []
    heading = Heading(words.fill("Which {cases}, and when"), 1, "strata", "Subgroups")
    return [heading, *found]


def _figure(part: Strata, name: str, title: str, words: Words) -> Figure:
    told = [
        f"{row.stratum}: {100 * row.discordance:.0f} as it is"
        + ("" if row.alike is None else f", {100 * row.alike:.0f} on similar {words.cases}")
        for row in part.strata
        if row.discordance is not None
    ]
    alternative = f"Of 100 pairs, decided differently. {'; '.join(told)}."
    reading = words.fill(
        "On similar {cases}: as if as many were indicated everywhere, and {deciders} compared with "
        "themselves."
    )
    key = (
        ("hollow", "as it is"),
        ("point", words.fill("on similar {cases}, with its 95 % interval")),
    )
    return charted(
        f"strata-{name}",
        title,
        alternative,
        lambda width: _plot(part, width, words),
        reading=reading,
        key=key,
    )


def _plot(part: Strata, width: int, words: Words) -> Plot:
    """Plot a row per stratum: hollow as it is, filled on similar cases, with intervals."""
    most = 100 * max(end or 0.0 for row in part.strata for end in (row.high, row.alike_high))
    names = [row.stratum for row in part.strata]
    plot = row_plot(names, most * 1.05, width, "decided differently, of 100 pairs")
    for position, row in enumerate(part.strata, 1):
        at = plot.at(position)
        if row.discordance is not None:
            value = 100 * row.discordance
            plot.point((value, at), f"{row.stratum}: {value:.0f} as it is", "hollow")
        if row.alike is None or row.alike_low is None or row.alike_high is None:
            continue
        plot.interval(at, 100 * row.alike_low, 100 * row.alike_high, upright=False)
        hint = words.fill(
            "{stratum}: {value:.0f} on similar {cases}", stratum=row.stratum, value=100 * row.alike
        )
        plot.point((100 * row.alike, at), hint)
    return plot


def _table(part: Strata, sheet: str, column: str, words: Words) -> Block:
    heads = [
        column,
        words.fill("{decided_for}"),
        "of 100 pairs",
        "95 % interval",
        words.fill("on similar {cases}"),
        "95 % interval",
    ]
    rows = [
        [
            row.stratum,
            "–" if row.rate is None else f"{100 * row.rate:.0f} %",
            hundred(row.discordance),
            hundreds(row.low, row.high),
            hundred(row.alike),
            hundreds(row.alike_low, row.alike_high),
        ]
        for row in part.strata
    ]
    caption = words.fill(
        "{sheet}: decided differently as it is, and as if as many {cases} were indicated "
        "everywhere.",
        sheet=sheet,
    )
    return plain_table(sheet, caption, heads, rows, shares=(2, 1, 1, 1.2, 1.2, 1.2))
