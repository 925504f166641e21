"""The document of a measurement, built once from what is published.

To add a section, write a function that returns parts and name it in :func:`sections`. To add a
figure, write a function that returns a :class:`~intravar.documents.blocks.Figure` (or a sentence
where a chart would say nothing) and name it in :data:`FIGURES` with the fields that it reads. To
add a column, declare it in :data:`intravar.measurement.columns.COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

from intravar.documents import blocks
from intravar.documents.blocks import Block
from intravar.documents.measurement import deciders, group, rule, trust
from intravar.documents.measurement.deciders import decider_table
from intravar.documents.measurement.first import (
    first_screen,
    not_meant,
    verdict_note,
    with_figure,
)
from intravar.documents.measurement.group import strata_section
from intravar.documents.measurement.rule import rule_section
from intravar.estimators.base import described
from intravar.measurement.verdict import NOTHING
from intravar.publication.explain import NO_CASES, NOBODY_ALIKE, CaseShown
from intravar.publication.findings import review_lines, review_sentence
from intravar.publication.results import Decision, Published
from intravar.tables import MOST_WIDE, Table, table_of
from intravar.wording import Words

#: Deciders up to whom the table stands among the text on paper; more are an annex.
MOST_IN_TEXT = 30
#: Deciders up to whom a document holds them all; more are in the workbook.
MOST_ON_PAPER = 1000


class Charted(NamedTuple):
    """A figure of the report: its name, the published fields that it reads, and what makes it."""

    name: str
    reads: tuple[str, ...]
    make: Callable[[Decision, Words], Block | None]


_ORDER, _FUNNEL = (
    tuple(f"physicians.{name}" for name in ("physician", "discordance", "low", "high", *more))
    for more in (
        ("shrunken", "rank", "identified_low", "identified_high"),
        ("n_pairs", "n_patients", "band"),
    )
)
#: Every figure, and what makes it safe: what `publication/results.py` says of the fields it reads.
FIGURES: tuple[Charted, ...] = (
    Charted("hundred-pairs", ("group",), group.hundred_pairs),
    Charted("noise", ("group",), group.noise_bar),
    Charted(
        "dots", (*_ORDER, "verdict", "physicians.n_pairs", "physicians.n_patients"), deciders.dots
    ),
    Charted("physicians-picture", (*_ORDER, "verdict"), deciders.intervals),
    Charted("ends", (*_ORDER, "verdict"), deciders.order_ends),
    Charted("funnel", (*_FUNNEL, "claim"), deciders.funnel),
    Charted("importance", ("rule",), rule.importance),
    Charted("love", ("diagnostics.love",), trust.love),
    Charted("distances", ("diagnostics.distances",), trust.distances),
    Charted("attrition", ("diagnostics.attrition",), trust.attrition),
    Charted("sweep", ("diagnostics.sweep",), trust.sweep),
    Charted("agreement", ("diagnostics.agreement",), trust.agreement),
    Charted("balance", ("diagnostics.balance",), trust.balance),
    Charted("overlap", ("diagnostics.overlap", "physicians.physician"), trust.overlap),
    Charted("calibration", ("diagnostics.calibration",), trust.calibration),
)
#: Those that tell whether to trust the result.
_TRUST = tuple(each.name for each in FIGURES if each.reads[0].startswith("diagnostics."))
_BY_NAME = {each.name: each for each in FIGURES}


def _made(decision: Decision, words: Words, *names: str) -> tuple[list[Block], list[Block]]:
    """Return figures by name, those that may be drawn, and the sentences in their place."""
    if decision.verdict == NOTHING:
        return [], []
    made = [_BY_NAME[name].make(decision, words) for name in names]
    figures: list[Block] = [block for block in made if isinstance(block, blocks.Figure)]
    return figures, [
        block for block in made if not (block is None or isinstance(block, blocks.Figure))
    ]


def report(
    published: Published, pairs: Mapping[str, Sequence[CaseShown]] | None = None
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
                blocks.Annex(f"{called} by itself", own, anchor=f"decision-{at}", short=called)
            )
    if pairs:
        told = f"This page shows single {words.cases}, because it was asked for."
        note = blocks.Note(told, "Keep it where the data are.", "alarm")
        title = f"Decisions behind the scores (single {words.cases})"
        parts = [note, *parts, blocks.Heading(title, 1, "pairs", "Pairs")]
        for who, cases in pairs.items():
            none = [blocks.Paragraph(NO_CASES)]
            parts.append(blocks.Annex(who, case_blocks(cases, who) or none))
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


def case_blocks(cases: Sequence[CaseShown], name: str) -> list[Block]:
    """Return a table for each case, beside those alike that were decided otherwise."""
    parts: list[Block] = []
    for number, case in enumerate(cases, 1):
        columns = [(head, 1, itemgetter(at)) for at, head in enumerate(case.heads)]
        words = range(len(columns))
        parts.append(table_of(f"{name} {number}", case.heading, case.rows, columns, words=words))
        same = [f"The same: {', '.join(case.same)}."] if case.same else []
        told = " ".join([NOBODY_ALIKE] * case.alone + same)
        parts += [blocks.Paragraph(told, quiet=True)] if told else []
    return parts


def about(published: Published) -> str:
    """Return the line under the title."""
    words, first = published.words, published.first
    n = words.counted(max(each.n_physicians for each in published.decisions))
    made = f"{published.source} · intravar {published.version}"
    if published.joint is not None:
        decisions = ", ".join(words.label(each.decision) for each in published.decisions)
        return f"{n} · decisions {decisions}, in this order · {made}"
    share, shown = first.check.decision_share, first.n_patients_shown
    yes = "" if share is None else f" ({100 * share:.0f} % “{first.check.decision.positive}”)"
    return (
        f"{n} measured{f', {shown:,} {words.cases} shown' if shown else ''}"
        f" · decision: {words.decision or words.label(first.decision)}{yes}"
        f" · {described(first.method).label} · {made}"
    )


def sections(published: Published, decision: Decision) -> list[Block]:
    """Return all sections of a decision, in the order in which they are read."""
    words, found = published.words, decision.review
    table = decider_table(decision, words)
    figures, sentences = _made(decision, words, "physicians-picture", "ends", "funnel")
    review: list[Block] = []
    if found is not None:
        lines = [review_sentence(found, words), *review_lines(found, words)]
        review = [
            blocks.Heading("What reviewers found", 1, "review", "Review"),
            blocks.Bullets(lines),
        ]
    return [
        *first_screen(decision, words),
        *review,
        blocks.Heading(f"The {words.deciders}", 1, "result", words.Deciders),
        *([blocks.SideBySide(figures)] if len(figures) > 1 else figures),
        *sentences,
        *([table] if sum(row.shown for row in table.rows) <= MOST_IN_TEXT else []),
        *(strata_section(published, decision) if decision.verdict != NOTHING else []),
        *rule_section(decision, words),
        *trust_section(decision, words),
        *data_section(published, decision),
        *annex(decision, words, table),
    ]


def annex(decision: Decision, words: Words, table: Table) -> list[Block]:
    """Return the table of deciders as an annex, where there are many of them."""
    n = sum(row.shown for row in table.rows)
    if n <= MOST_IN_TEXT:
        return []
    told = with_figure(decision, words)
    if n > MOST_ON_PAPER:
        told = f"The table of {words.counted(n)} is too long for paper: physicians.csv has it."
        columns = [
            column._replace(where=tuple(set(column.where) - {"paper", "dense"}))
            for column in table.columns
        ]
        table = replace(table, columns=columns)
    title = f"Every {words.decider} with a figure"
    return [blocks.Annex(title, [blocks.Paragraph(told), table], new_page=True)]


def trust_section(decision: Decision, words: Words) -> list[Block]:
    """Return whether to trust the result."""
    lines = not_meant(words)
    anchors = decision.diagnostics.anchor_mass
    if anchors is not None:
        lines.append(
            f"Clear cases of the latent rule: {100 * anchors.surely_eligible:.0f} % of the "
            f"eligible {words.cases} are clearly eligible, {100 * anchors.surely_not_eligible:.0f} "
            "% of the others clearly not. The more clear cases, the better the level is known."
        )
    figures, sentences = _made(decision, words, *_TRUST)
    return [
        blocks.Heading(
            "What the figure does not mean, and whether to trust it", 1, "believe", "Trust"
        ),
        blocks.Bullets(lines),
        *([blocks.SideBySide(figures)] if figures else []),
        *sentences,
    ]


def data_section(published: Published, decision: Decision) -> list[Block]:
    """Return what was done to the data, and how the result was made."""
    words, check = published.words, decision.check
    lines = [f"Missing values: {check.missing}.", *(f"Left out: {line}." for line in check.dropped)]
    if check.smallest_cell > 1:
        lines.append(
            f"Counts of 1 to {check.smallest_cell - 1} {words.cases} or events are hidden, and so "
            "is whatever would give them away. Totals cover only what is shown."
        )
    method, request = described(decision.method), published.request
    made = (
        f"Method: {method.label} ({words.said(method.idea)}). Source: {published.source}. Seed "
        f"{request.random_state}; {words.a_decider} needs {request.min_panel} {words.cases} and a "
        f"reliability of {request.min_reliability} to be reported; the smallest count shown is "
        f"{request.smallest_cell}. Made by intravar {published.version}."
    )
    return [
        blocks.Heading("What was done to the data", 1, "data", "Data"),
        *(blocks.Note("Warning.", line, "care") for line in decision.warnings),
        blocks.Bullets(lines),
        blocks.Paragraph(made),
        blocks.Annex(
            "Columns and settings", [each for each in _settings(published, decision) if each.rows]
        ),
    ]


def _settings(published: Published, decision: Decision) -> Iterator[Table]:
    """Return own rules, columns, methods and request as tables, the last two for a workbook."""
    words, methods = published.words, decision.methods
    ways: dict[str, dict[str, list[str]]] = {}
    for each in decision.own_rules:
        items = ways.setdefault(each.physician, {}).setdefault(each.how, [])
        items.append(words.label(each.covariate))
    yield table_of(
        "Own rules",
        f"{words.Deciders} who weigh something in another way than the others.",
        [
            (who, "; ".join(f"{how}: {', '.join(items)}" for how, items in own.items()))
            for who, own in ways.items()
        ],
        [(words.decider, 2, itemgetter(0)), ("weighs", 4, itemgetter(1))],
        words=(0, 1),
        where=("page", "workbook", "whole", *(["paper"] if len(ways) <= MOST_WIDE else [])),
    )

    def column(name: str) -> str:
        return name if words.label(name) == name else f"{name} ({words.label(name)})"

    yield table_of(
        "Data",
        "Every column of the table and how it was used.",
        decision.check.columns,
        [
            ("column", 2, lambda row: column(row.column)),
            ("use", 1.2, lambda row: words.role(row.use)),
            ("kind", 1.2, lambda row: row.kind or ""),
            ("missing", 1, lambda row: row.missing),
            ("note", 3, lambda row: row.note),
        ],
        words=(0, 1, 2, 4),
    )
    yield table_of(
        "Methods",
        "Scores of all methods.",
        [] if methods is None or decision.verdict == NOTHING else methods.to_dicts(),
        [
            ("method", 1, lambda row: row["method"]),
            (words.decider, 1, lambda row: row["physician"]),
            ("score", 1, lambda row: "–" if row["score"] is None else f"{row['score']:.3f}"),
            ("reason", 1, lambda row: row["reason"] or ""),
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
