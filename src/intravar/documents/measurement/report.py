"""The document of a measurement, built once from what is published.

To add a section, write a function that returns parts and name it in :func:`sections`. A figure is
a function that returns a :class:`~intravar.documents.blocks.Figure`, or a sentence where a chart
would say nothing, and is named in its section. To add a column, declare it in
:data:`intravar.measurement.columns.COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl

from intravar.documents import blocks
from intravar.documents.blocks import Block
from intravar.documents.measurement import deciders, trust
from intravar.documents.measurement.deciders import decider_table
from intravar.documents.measurement.first import (
    counted_figures,
    first_screen,
    new_warnings,
    not_meant,
    verdict_note,
    with_figure,
)
from intravar.documents.measurement.group import strata_section
from intravar.documents.measurement.rule import rule_section
from intravar.estimators.base import described
from intravar.measurement.verdict import NOTHING
from intravar.publication.findings import review_lines, review_sentence
from intravar.publication.results import Column, Decision, Published
from intravar.tables import MOST_WIDE, Table, hundred, table_of
from intravar.wording import Words, capital

#: Deciders up to whom the table stands among the text on paper; more are an annex.
MOST_IN_TEXT = 30
#: Deciders up to whom a document holds them all; more are in the workbook.
MOST_ON_PAPER = 1000


#: What tells whether to trust the result.
TRUST = (
    trust.love,
    trust.distances,
    trust.attrition,
    trust.sweep,
    trust.agreement,
    trust.balance,
    trust.overlap,
    trust.calibration,
)


def _figures(
    decision: Decision, words: Words, *makers: Callable[[Decision, Words], Block | None]
) -> list[Block]:
    """Return charts side by side, and what stands in the place of others; none without figures."""
    if decision.verdict == NOTHING:
        return []
    parts = [block for make in makers if (block := make(decision, words)) is not None]
    charts = [block for block in parts if isinstance(block, blocks.Figure)]
    others = [block for block in parts if not isinstance(block, blocks.Figure)]
    return [*([blocks.SideBySide(charts)] if charts else []), *others]


def report(
    published: Published, pairs: Mapping[str, Sequence[Block]] | None = None
) -> blocks.Document:
    """Return a measurement as a document; with `pairs`, cases per decider, it is patient-level."""
    words = published.words
    usual = f"How consistently do {words.deciders} decide about comparable {words.cases}?"
    if published.joint is None:
        parts = sections(published, published.first)
    else:
        # Loaded where it is asked for: one decision needs nothing of it.
        from intravar.documents.measurement.joint import joint_blocks

        parts = joint_blocks(published, published.joint)
        for at, each in enumerate(published.decisions, 1):
            own = [blocks.within(block, at) for block in sections(published, each)]
            called = words.label(each.decision)
            parts.append(
                blocks.Section(f"{called} by itself", own, "annex", f"decision-{at}", called)
            )
    if pairs:
        warning = f"This page shows single {words.cases}, because it was asked for."
        note = blocks.Note(warning, "Keep it where the data are.", "alarm")
        title = f"Decisions behind the scores (single {words.cases})"
        parts = [note, *parts, blocks.Heading(title, 1, "pairs", "Pairs")]
        for who, cases in pairs.items():
            parts.append(blocks.Section(who, cases or [blocks.Paragraph(NO_CASES)], "annex"))
    return blocks.Document(words.title or usual, about(published), parts)


def table_document(published: Published) -> blocks.Document:
    """Return the table of deciders alone, with all its columns, as a document."""
    words, decision = published.words, published.first
    parts: list[Block] = []
    for at, each in enumerate(published.decisions, 1):
        own: list[Block] = [verdict_note(each, words), decider_table(each, words)]
        if published.joint is not None:
            inner = [blocks.within(block, at) for block in own]
            own = [blocks.Heading(words.label(each.decision)), *inner]
        parts += own
    return blocks.Document(f"All {words.counted(decision.n_physicians)}", about(published), parts)


NO_CASES = "No such decision: none goes against what comparable cases got."
NOBODY_ALIKE = "Nobody alike was decided the other way."


def case_blocks(
    table: pl.DataFrame, decision: str, words: Words, *, beside: int = 1, name: str = "Case"
) -> list[Block]:
    """Return cases of :func:`intravar.explain`, each beside so many that were decided otherwise.

    A table holds what somebody differs in; a sentence tells what is the same. `name` is that of the
    tables.
    """
    parts: list[Block] = []
    for _, rows_of_case in table.group_by("case", maintain_order=True):
        pairs = [pair.to_dicts() for _, pair in rows_of_case.group_by("pair", maintain_order=True)]
        pairs = pairs[:beside]
        first = pairs[0][0]
        yes = first["row"] == first["row_for"]
        own, other = ("for", "against") if yes else ("against", "for")
        alone = first[f"row_{other}"] is None
        heads = ["what differs", f"row {first['row']:,}: {_SAID[own]}"]
        heads += [f"row {pair[0][f'row_{other}']:,}: {_SAID[other]}" for pair in pairs if not alone]
        same, rows = [], []
        for lines in zip(*pairs, strict=True):
            label, value = words.label(lines[0]["covariate"]), lines[0][f"decided_{own}"]
            if all(line["difference"] == "same" for line in lines):
                same.append(f"{label} {value}")
            else:
                others = [] if alone else [_beside(line, other) for line in lines]
                rows.append([label, str(value), *others])
        columns = [(head, 1, itemgetter(at)) for at, head in enumerate(heads)]
        heading = _case_heading(first, words.decision or decision, words, yes=yes)
        every = range(len(columns))
        parts.append(table_of(f"{name} {first['case']}", heading, rows, columns, words=every))
        remarks = [NOBODY_ALIKE] * alone + [f"The same: {', '.join(same)}."] * bool(same)
        parts += [blocks.Paragraph(" ".join(remarks), quiet=True)] if remarks else []
    return parts


_SAID = {"for": "yes", "against": "no"}


def _beside(line: Mapping[str, Any], other: str) -> str:
    """Write the value of one decided otherwise, and by how much it differs."""
    sign, far = line["difference"][0], line["difference"][1:]
    if other == "against":  # the difference is that of "for" from "against"
        sign = {"+": "-", "-": "+"}.get(sign, sign)
    return f"{line[f'decided_{other}']}{f' ({sign}{far})' if sign in '+-' else ''}"


def _case_heading(first: Mapping[str, Any], decision: str, words: Words, *, yes: bool) -> str:
    own, other = ("yes", "no") if yes else ("no", "yes")
    if first["kind"] == "pair":
        return f"pair {first['case']}: two {words.cases} alike, distance {first['distance']:.3g}"
    row = f"{first['case']}. Data row {first['row']:,}, {decision}: {own}"
    if first["kind"] == "surprise":
        likely = round(100 * (1 - first["predicted"] if yes else first["predicted"]))
        return f"{row}; predicted was {other}, with {likely} of 100."
    return f"{row}, though surely {'not ' * yes}eligible by the rule."


def cases_of_each(
    folder: Path, physician: str, published: Published, *, most: int = 5, beside: int = 1
) -> list[Block]:
    """Return the cases behind a decider in every decision; nothing where there are none."""
    # Loaded where it is asked for: cases are private.
    from intravar.publication import explain

    parts: list[Block] = []
    for each in published.decisions:
        if physician in {row.physician for row in each.physicians}:
            label = published.words.label(each.decision)
            table = explain.explain(folder, physician, most=most, decision=each.decision)
            name = "Case" if published.joint is None else f"{label} case"
            own = case_blocks(table, label, published.words, beside=beside, name=name)
            heading = [blocks.Heading(label, 2)] if own and published.joint is not None else []
            parts += [*heading, *own]
    return parts


def about(published: Published) -> str:
    """Return the line under the title."""
    words, first = published.words, published.first
    n = words.counted(max(each.n_physicians for each in published.decisions))
    origin = f"{published.source} · intravar {published.version}"
    if published.joint is not None:
        decisions = ", ".join(words.label(each.decision) for each in published.decisions)
        return f"{n} · decisions {decisions}, in this order · {origin}"
    share, n_patients = first.check.decision_share, first.n_patients_shown
    figures = "" if first.verdict == NOTHING else f", {counted_figures(first)}"
    yes = f"“{first.check.decision.positive}” for {hundred(share)} %"
    return (
        f"{n}{figures}{f', {n_patients:,} {words.cases} shown' if n_patients else ''}"
        f" · decision: {words.decision or words.label(first.decision)}"
        f"{'' if share is None else f' ({yes} of the {words.cases} counted here)'}"
        f" · {described(first.method).label} · {origin}"
    )


def sections(published: Published, decision: Decision) -> list[Block]:
    """Return all sections of a decision, in the order in which they are read."""
    words, review = published.words, decision.review
    table = decider_table(decision, words)
    many = sum(row.shown for row in table.rows) > MOST_IN_TEXT
    reviewed: list[Block] = []
    if review is not None:
        lines = [review_sentence(review, words), *review_lines(review, words)]
        reviewed = [
            blocks.Heading("What reviewers found", 1, "review", "Review"),
            blocks.Bullets(lines),
        ]
    charts = deciders.intervals, deciders.order_ends, deciders.funnel
    return [
        *first_screen(decision, words),
        *reviewed,
        blocks.Heading(f"The {words.deciders}", 1, "result", words.Deciders),
        *_figures(decision, words, *charts),
        *([] if many else [table]),
        *(strata_section(published, decision) if decision.verdict != NOTHING else []),
        *rule_section(decision, words),
        *trust_section(decision, words),
        *data_section(published, decision),
        *(annex(decision, words, table) if many else []),
    ]


def annex(decision: Decision, words: Words, table: Table) -> list[Block]:
    """Return the table of many deciders as an annex; paper leads to it where they are very many."""
    text, n = with_figure(decision, words), sum(row.shown for row in table.rows)
    if n > MOST_ON_PAPER:
        text = f"The table of {words.counted(n)} is too long for paper: physicians.csv has it."
        columns = [
            column._replace(where=tuple(set(column.where) - {"paper", "dense"}))
            for column in table.columns
        ]
        table = replace(table, columns=columns)
    title = f"Every {words.decider} with a figure{' or a range' * (decision.n_banded > 0)}"
    return [blocks.Section(title, [blocks.Paragraph(text), table], "appendix")]


def trust_section(decision: Decision, words: Words) -> list[Block]:
    """Return whether to trust the result."""
    lines = not_meant(words)
    sure = decision.diagnostics.surely_eligible, decision.diagnostics.surely_not_eligible
    if sure[0] is not None:
        lines.append(
            f"Of the {words.cases} for which the rule says yes, {hundred(sure[0])} "
            f"% are clear cases; of the others, {hundred(sure[1])} %. The more "
            "clear cases, the better the level is known."
        )
    title = "What the figure does not mean, and whether to trust it"
    return [
        blocks.Heading(title, 1, "believe", "Trust"),
        blocks.Bullets(lines),
        *_figures(decision, words, *TRUST),
    ]


def data_section(published: Published, decision: Decision) -> list[Block]:
    """Return what was done to the data, and how the result was made."""
    words, check = published.words, decision.check
    lines = [f"Missing values: {check.missing}.", *(f"Left out: {line}." for line in check.dropped)]
    if check.smallest_cell > 1:
        lines.append(
            f"Counts of 1 to {check.smallest_cell - 1} {words.cases} or events are hidden, and so "
            f"is whatever would give them away: no figure rests on {check.smallest_cell} or fewer. "
            "Totals cover only what is shown."
        )
    method, request = described(decision.method), published.request
    text = (
        f"Method: {method.label} ({words.said(method.idea)}). Source: {published.source}. Seed "
        f"{request.random_state}; {words.a_decider} needs {request.min_panel} {words.cases} and a "
        f"reliability of {request.min_reliability} to be ranked. Made by intravar "
        f"{published.version}."
    )
    return [
        blocks.Heading("What was done to the data", 1, "data", "Data"),
        *(blocks.Note("Warning.", f"{capital(line)}.", "care") for line in new_warnings(decision)),
        blocks.Bullets(lines),
        blocks.Paragraph(text),
        blocks.Section(
            "Columns and settings",
            [each for each in _settings(published, decision) if each.rows],
            "annex",
        ),
    ]


def columns_table(columns: Sequence[Column], words: Words) -> Table:
    """Return what every column of a table was used as."""

    def named(name: str) -> str:
        return name if words.label(name) == name else f"{name} ({words.label(name)})"

    return table_of(
        "Data",
        "Every column of the table and how it was used.",
        columns,
        [
            ("column", 2, lambda row: named(row.column)),
            ("use", 1.2, lambda row: words.role(row.use)),
            ("kind", 1.2, lambda row: row.kind or ""),
            ("missing", 1, lambda row: row.missing),
            ("note", 3, lambda row: row.note),
        ],
        words=(0, 1, 2, 4),
    )


def _settings(published: Published, decision: Decision) -> Iterator[Table]:
    """Return own rules, columns, methods and request as tables, the last two for a workbook."""
    words = published.words
    ways: dict[str, dict[str, list[str]]] = {}
    for each in decision.own_rules:
        items = ways.setdefault(each.physician, {}).setdefault(each.how, [])
        items.append(words.label(each.covariate))
    yield table_of(
        "Own rules",
        f"{words.Deciders} that weigh something in another way than the others.",
        [
            (who, "; ".join(f"{how}: {', '.join(items)}" for how, items in own.items()))
            for who, own in ways.items()
        ],
        [(words.decider, 2, itemgetter(0)), ("weighs", 4, itemgetter(1))],
        words=(0, 1),
        where=("page", "workbook", "whole", *(["paper"] if len(ways) <= MOST_WIDE else [])),
    )
    yield columns_table(decision.check.columns, words)
    yield table_of(
        "Methods",
        "Scores of all methods.",
        () if decision.verdict == NOTHING else decision.methods,
        [
            ("method", 1, lambda row: row.method),
            (words.decider, 1, lambda row: row.physician),
            ("score", 1, lambda row: "–" if row.score is None else f"{row.score:.3f}"),
            ("reason", 1, lambda row: row.reason or ""),
        ],
        words=(0, 1, 3),
        where=("workbook",),
    )
    yield table_of(
        "Request",
        "What was asked for.",
        [
            (
                section,
                name,
                ", ".join(f"{each}={label}" for each, label in value.items())
                if isinstance(value, dict)
                else ", ".join(map(str, value if isinstance(value, list | tuple) else [value])),
            )
            for section, values in published.request.as_dict().items()
            for name, value in values.items()
        ],
        [(head, 1, itemgetter(at)) for at, head in enumerate(("section", "asked", "value"))],
        words=(0, 1, 2),
        where=("workbook",),
    )
