"""The document of a measurement, built once from what is published.

To add a section, write a function that returns parts and name it in :func:`sections`. A figure is
a function that returns a :class:`~intravar.documents.blocks.Figure`, or a sentence where a chart
would say nothing, and is named in its section. To add a column, declare it in
:data:`intravar.measurement.columns.COLUMNS`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

from intravar.documents import blocks
from intravar.documents.blocks import TOLD, Block, Heading, Paragraph, told
from intravar.documents.charts import Labelled, known_dot
from intravar.documents.measurement import deciders, evidence, first
from intravar.documents.measurement.deciders import axis_of, decider_table
from intravar.documents.measurement.evidence import NO_CASES
from intravar.estimators.base import described
from intravar.measurement.sentences import about as in_words
from intravar.measurement.verdict import NOTHING
from intravar.publication.results import Column, Decision, Published, Strata
from intravar.publication.sentences import review_lines, review_sentence
from intravar.tables import (
    AT_MOST,
    ESTIMATE,
    MOST_WIDE,
    Table,
    TableColumn,
    hundred,
    hundreds,
    is_upper_limit,
    table_of,
)
from intravar.wording import Words, capital

#: Deciders up to whom the table stands among the text on paper; more are an annex.
MOST_IN_TEXT = 30
#: Deciders up to whom a document holds them all; more are in the workbook.
MOST_ON_PAPER = 1000


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
            title = f"{called} by itself"
            parts.append(blocks.Section(title, own, "annex", f"decision-{at}", called))
    if pairs:
        warning = f"This page shows single {words.cases}, because it was asked for."
        note = blocks.Note(warning, "Keep it where the data are.", "alarm")
        title = f"Decisions behind the scores (single {words.cases})"
        parts = [note, *parts, Heading(title, 1, "pairs", "Pairs")]
        for who, cases in pairs.items():
            parts.append(blocks.Section(who, cases or [Paragraph(NO_CASES)], "annex"))
    return blocks.Document(words.title or usual, about(published), parts)


def table_document(published: Published) -> blocks.Document:
    """Return the table of deciders alone, with all its columns, as a document."""
    words, decision = published.words, published.first
    parts: list[Block] = [first.verdict_note(decision, words), decider_table(decision, words)]
    if published.joint is not None:
        parts = []
        for at, each in enumerate(published.decisions, 1):
            table = blocks.within(decider_table(each, words), at)
            parts += [Heading(words.label(each.decision)), first.verdict_note(each, words), table]
    return blocks.Document(f"All {words.counted(decision.n_physicians)}", about(published), parts)


def about(published: Published) -> str:
    """Return the line under the title."""
    words, decision = published.words, published.first
    n = words.counted(max(each.n_physicians for each in published.decisions))
    origin = f"{published.source} · intravar {published.version}"
    if published.joint is not None:
        decisions = ", ".join(words.label(each.decision) for each in published.decisions)
        return f"{n} · decisions {decisions}, in this order · {origin}"
    share, n_patients = decision.check.decision_share, decision.n_patients_shown
    figures = "" if decision.verdict == NOTHING else f", {first.counted_figures(decision)}"
    yes = f"“{decision.check.decision.positive}” for {hundred(share)} %"
    return (
        f"{n}{figures}{f', {n_patients:,} {words.cases} shown' if n_patients else ''}"
        f" · decision: {words.decision or words.label(decision.decision)}"
        f"{'' if share is None else f' ({yes} of the {words.cases} counted here)'}"
        f" · {described(decision.method).label} · {origin}"
    )


def sections(published: Published, decision: Decision) -> list[Block]:
    """Return all sections of a decision, in the order in which they are read."""
    words, review = published.words, decision.review
    table = decider_table(decision, words)
    many = sum(row.shown for row in table.rows) > MOST_IN_TEXT
    parts = first.first_screen(decision, words)
    if review is not None:
        lines = [review_sentence(review, words), *review_lines(review, words)]
        parts += [Heading("What reviewers found", 1, "review", "Review"), blocks.Bullets(lines)]
    charts = deciders.intervals, deciders.order_ends, deciders.funnel
    return [
        *parts,
        Heading(f"The {words.deciders}", 1, "result", words.Deciders),
        *_figures(decision, words, *charts),
        *([] if many else [table]),
        *strata_section(published, decision),
        *evidence.rule_section(decision, words),
        *trust_section(decision, words),
        *data_section(published, decision),
        *([annex(decision, words, table)] if many else []),
    ]


def annex(decision: Decision, words: Words, table: Table) -> blocks.Section:
    """Return the table of many deciders as an annex; paper leads to it where they are very many."""
    text, n = first.with_figure(decision, words), sum(row.shown for row in table.rows)
    if n > MOST_ON_PAPER:
        text = told("too_long", words, n=words.counted(n))
        off = {"paper", "dense"}
        columns = [each._replace(where=tuple(set(each.where) - off)) for each in table.columns]
        table = replace(table, columns=columns)
    title = f"Every {words.decider} with a figure{' or a range' * (decision.n_banded > 0)}"
    return blocks.Section(title, [Paragraph(text), table], "appendix")


def trust_section(decision: Decision, words: Words) -> list[Block]:
    """Return whether to trust the result."""
    lines, sure = first.not_meant(words), decision.diagnostics
    if sure.surely_eligible is not None:
        shares = {"eligible": sure.surely_eligible, "others": sure.surely_not_eligible}
        clear = {which: hundred(share) for which, share in shares.items()}
        lines.append(told("clear_cases", words, **clear))
    title = "What the figure does not mean, and whether to trust it"
    charts = _figures(decision, words, *evidence.TRUST)
    return [Heading(title, 1, "believe", "Trust"), blocks.Bullets(lines), *charts]


def data_section(published: Published, decision: Decision) -> list[Block]:
    """Return what was done to the data, and how the result was made."""
    words, check = published.words, decision.check
    lines = [f"Missing values: {check.missing}.", *(f"Left out: {line}." for line in check.dropped)]
    if check.smallest_cell > 1:
        smallest = check.smallest_cell
        lines.append(told("hidden", words, few=smallest - 1, smallest=smallest))
    settings = [each for each in _settings(published, decision) if each.rows]
    method = described(decision.method)
    text = told("made", words, method=method.label, idea=method.idea, published=published)
    warnings = [f"{capital(line)}." for line in first.new_warnings(decision)]
    return [
        Heading("What was done to the data", 1, "data", "Data"),
        *(blocks.Note("Warning.", line, "care") for line in warnings),
        blocks.Bullets(lines),
        Paragraph(text),
        blocks.Section("Columns and settings", settings, "annex"),
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
    words, request = published.words, published.request

    def text(value: object) -> str:
        if isinstance(value, dict):
            value = [f"{name}={label}" for name, label in value.items()]
        return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

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
        decision.methods,
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
            (section, name, text(value))
            for section, values in request.as_dict().items()
            for name, value in values.items()
        ],
        [(head, 1, itemgetter(at)) for at, head in enumerate(("section", "asked", "value"))],
        words=(0, 1, 2),
        where=("workbook",),
    )


def strata_section(published: Published, decision: Decision) -> list[Block]:
    """Return the section of subgroups and periods; nothing where none were asked for."""
    words, request = published.words, published.request
    parts: list[Block] = []
    for part, column, sheet, title in (
        (decision.by, request.by, "Subgroups", f"Do subgroups of {words.cases} differ?"),
        (decision.course, request.date, "Periods", "Did it change over time?"),
    ):
        if part is not None:
            parts.append(blocks.Bullets(part.lines))
        if part is not None and part.strata:
            figure = _strata_figure(part, title, words, decision.claim)
            parts.append(replace(figure, name=f"strata-{sheet.lower()}"))
            label = words.label(str(column))
            parts.append(_strata_table(part, sheet, label, words, decision.claim))
    heading = Heading(f"Which {words.cases}, and when", 1, "strata", "Subgroups")
    return [heading, *parts] if parts else []


def _strata_figure(part: Strata, title: str, words: Words, claim: str) -> blocks.Figure:
    """Draw a row per stratum: hollow as it is, filled on similar cases, with intervals."""
    rows = []
    for row in part.strata:
        dots = []
        for figure, what, kind in (
            (row.discordance, "as it is", "hollow"),
            (row.alike, f"on similar {words.cases}", "point"),
        ):
            hint = f"{hundred(figure.value)} {what}"
            if is_upper_limit(claim) and figure.value is not None:
                hint = f"{in_words(figure.value, figure.low, figure.high, claim)} {what}"
            dots += known_dot(figure.value, hint, kind)
        # The interval of an upper limit begins with the estimate.
        low = row.alike.value if is_upper_limit(claim) else row.alike.low
        rows.append(Labelled(row.stratum, dots, low, row.alike.high))
    look: dict[str, Any] = {"reading": told("similar", words)}
    if all(row.alike.value is None for row in part.strata):
        look = {"reading": "", "hidden": ["point"]}
    look |= TOLD["claims"][claim]
    return blocks.row_figure("strata", words, rows, axis_of(claim), heading=title, **look)


def _strata_table(part: Strata, sheet: str, column: str, words: Words, claim: str) -> Table:
    similar = f"on similar {words.cases}"

    figures: list[TableColumn] = [
        ("of 100 pairs", 1, lambda row: hundred(row.discordance.value)),
        ("95 % interval", 1.2, lambda row: hundreds(row.discordance.low, row.discordance.high)),
        (similar, 1.2, lambda row: hundred(row.alike.value)),
        ("95 % interval", 1.2, lambda row: hundreds(row.alike.low, row.alike.high)),
    ]
    if is_upper_limit(claim):
        figures = [
            (AT_MOST, 1.2, lambda row: hundred(row.discordance.high, claim)),
            (ESTIMATE, 1, lambda row: hundred(row.discordance.value)),
            (f"{similar}, at most", 1.2, lambda row: hundred(row.alike.high, claim)),
            (f"{similar}, estimate", 1, lambda row: hundred(row.alike.value)),
        ]
    return table_of(
        sheet,
        f"{sheet}: decided differently as it is, and {similar}.",
        part.strata,
        [
            (column, 2, lambda row: row.stratum),
            (words.decided_for, 1, lambda row: hundred(row.rate) + " %" * (row.rate is not None)),
            *figures,
        ],
    )
