"""The document of a measurement, built once from what is published.

To add a section, write a function that returns blocks and name it in :func:`sections`. To add a
figure, write a function that returns a :class:`~intravar.documents.blocks.Figure` (or a sentence
where a chart would say nothing) and name it in :data:`FIGURES` with the fields that it reads. To
add a column, declare it in :data:`intravar.measurement.columns.COLUMNS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from intravar.documents.blocks import (
    Annex,
    Block,
    Bullets,
    Document,
    Figure,
    Heading,
    Note,
    Paragraph,
    SideBySide,
    Table,
    plain_table,
    within,
)
from intravar.documents.caveats import not_meant
from intravar.documents.measurement import deciders, group, rule, trust
from intravar.documents.measurement.first import first_screen, verdict_note, with_figure
from intravar.documents.measurement.joint import joint_about, joint_blocks
from intravar.documents.measurement.strata import strata_section
from intravar.documents.measurement.table import decider_table
from intravar.estimators.registry import described
from intravar.measurement.verdict import NOTHING
from intravar.publication.findings import review_lines, review_sentence
from intravar.publication.results import Decision, Published
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


_SCORES = ("physicians.physician", "physicians.discordance", "physicians.low", "physicians.high")
_ORDER = (
    *_SCORES,
    "physicians.shrunken",
    "physicians.rank",
    "physicians.identified_low",
    "physicians.identified_high",
    "verdict",
)
_FUNNEL = (*_SCORES, "physicians.n_pairs", "physicians.n_patients", "physicians.band", "claim")
#: Every figure, and what makes it safe: what `publication/results.py` says of the fields it reads.
FIGURES: tuple[Charted, ...] = (
    Charted("hundred-pairs", ("group",), group.hundred_pairs),
    Charted("noise", ("group",), group.noise_bar),
    Charted("dots", (*_ORDER, "physicians.n_pairs", "physicians.n_patients"), deciders.dots),
    Charted("physicians-picture", _ORDER, deciders.intervals),
    Charted("ends", _ORDER, deciders.order_ends),
    Charted("funnel", _FUNNEL, deciders.funnel),
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
_BY_NAME = {each.name: each for each in FIGURES}


def _made(decision: Decision, words: Words, *names: str) -> list[Block]:
    """Return figures by name, those that there are data for; sentences after them.

    Nothing is drawn where nothing may be read.
    """
    if decision.verdict == NOTHING:
        return []
    made = [_BY_NAME[name].make(decision, words) for name in names]
    shown = [block for block in made if block is not None]
    return sorted(shown, key=lambda block: not isinstance(block, Figure))


def report(published: Published, pairs: Mapping[str, Any] | None = None) -> Document:
    """Return a measurement as a document, in the words of whoever asked for it.

    Parameters
    ----------
    published
        What may be handed on; the document holds nothing else.
    pairs
        Cases behind the scores per decider, for whoever asked; they make it patient-level.
    """
    words = published.words
    usual = words.fill("How consistently do {deciders} decide about comparable {cases}?")
    if published.joint is None:
        told_of, blocks = about(published, published.first), sections(published, published.first)
    else:
        told_of, blocks = joint_about(published), joint_blocks(published, published.joint)
        for at, each in enumerate(published.decisions, 1):
            own = within(sections(published, each), at)
            called = words.label(each.decision)
            blocks.append(Annex(f"{called} by itself", own, anchor=f"decision-{at}", short=called))
    if pairs:
        told = words.fill("This page shows single {cases}, because it was asked for.")
        note = Note(told, "Keep it where the data are.", "alarm")
        blocks = [note, *blocks, *_pairs(pairs, words)]
    return Document(words.title or usual, told_of, blocks)


def table_document(published: Published) -> Document:
    """Return the table of deciders alone, with all its columns, as a document."""
    words, decision = published.words, published.first
    title = f"All {words.counted(decision.n_physicians)}"
    blocks: list[Block] = []
    for at, each in enumerate(published.decisions, 1):
        own: list[Block] = [verdict_note(each, words), decider_table(each, words)]
        if published.joint is not None:
            own = [Heading(words.label(each.decision)), *within(own, at)]
        blocks += own
    told_of = about(published, decision) if published.joint is None else joint_about(published)
    return Document(title, told_of, blocks)


def _pairs(pairs: Mapping[str, Any], words: Words) -> list[Block]:
    """Return decisions behind the scores, beside the cases most alike decided otherwise."""
    heads = [
        "pair",
        "item",
        words.fill("{decided_for}"),
        words.fill("{decided_against}"),
        "difference",
    ]
    blocks: list[Block] = [
        Heading(words.fill("Decisions behind the scores (single {cases})"), 1, "pairs", "Pairs")
    ]
    for who, rows in pairs.items():
        cells = [
            [
                str(row["pair"]),
                words.label(row["covariate"]),
                *(row[name] or "nobody alike" for name in ("decided_for", "decided_against")),
                row["difference"] or "",
            ]
            for row in rows
        ]
        told = plain_table(who, "", heads, cells, words=(0, 1, 2, 3, 4))
        blocks.append(Annex(who, [told if rows else Paragraph("No such decision.")]))
    return blocks


def about(published: Published, decision: Decision) -> str:
    """Return the line under the title."""
    words, check = published.words, decision.check
    share = check.decision_share
    told = words.decision or words.label(decision.decision)
    yes = "" if share is None else f" ({100 * share:.0f} % “{check.decision.positive}”)"
    return words.fill(
        "{n} measured{m} · decision {told}{yes} · {method} · {source} · intravar {version}",
        n=words.counted(decision.n_physicians),
        m=f", {decision.n_patients_shown:,} {words.cases} shown" * (decision.n_patients_shown > 0),
        told=told,
        yes=yes,
        method=described(decision.method).label,
        source=published.source,
        version=published.version,
    )


def sections(published: Published, decision: Decision) -> list[Block]:
    """Return all sections of a decision, in the order in which they are read."""
    words = published.words
    table = decider_table(decision, words)
    return [
        *first_screen(decision, words),
        *review_section(decision, words),
        *deciders_section(decision, words, table),
        *(strata_section(published, decision) if decision.verdict != NOTHING else []),
        *rule_section(decision, words),
        *trust_section(decision, words),
        *data_section(published, decision),
        *annex(decision, words, table),
    ]


def review_section(decision: Decision, words: Words) -> list[Block]:
    """Return what blind review of pairs found; nothing before there was one."""
    review = decision.review
    if review is None:
        return []
    lines = [review_sentence(review, words), *review_lines(review, words)]
    return [Heading("What reviewers found", 1, "review", "Review"), Bullets(lines)]


def deciders_section(decision: Decision, words: Words, table: Table) -> list[Block]:
    """Return the charts and the table of deciders."""
    heading = Heading(words.fill("The {deciders}"), 1, "result", words.fill("{Deciders}"))
    made = _made(decision, words, "physicians-picture", "ends", "funnel")
    figures = [block for block in made if isinstance(block, Figure)]
    blocks: list[Block] = [heading, *([SideBySide(figures)] if len(figures) > 1 else figures)]
    blocks += [block for block in made if not isinstance(block, Figure)]
    if sum(row.shown for row in table.rows) <= MOST_IN_TEXT:
        blocks.append(table)
    return blocks


def annex(decision: Decision, words: Words, table: Table) -> list[Block]:
    """Return the table of deciders as an annex, where there are many of them."""
    n = sum(row.shown for row in table.rows)
    if n <= MOST_IN_TEXT:
        return []
    blocks: list[Block] = [Paragraph(with_figure(decision, words)), table]
    if n > MOST_ON_PAPER:
        told = f"The table of {words.counted(n)} is too long for paper: physicians.csv has it."
        columns = [
            column._replace(where=tuple(set(column.where) - {"paper", "dense"}))
            for column in table.columns
        ]
        blocks = [Paragraph(told), replace(table, columns=columns)]
    title = words.fill("Every {decider} with a figure")
    return [Annex(title, blocks, new_page=True)]


def _own_rules(decision: Decision, words: Words) -> list[Table]:
    """Return in what way deciders weigh things differently from the others, a row each."""
    found: dict[str, dict[str, list[str]]] = {}
    for each in decision.own_rules:
        named = found.setdefault(each.physician, {}).setdefault(each.how, [])
        named.append(words.label(each.covariate))
    rows = [
        [who, "; ".join(f"{how}: {', '.join(items)}" for how, items in ways.items())]
        for who, ways in found.items()
    ]
    caption = words.fill("{Deciders} who weigh something in another way than the others.")
    heads = [words.decider, "weighs"]
    made = plain_table("Own rules", caption, heads, rows, shares=(1, 4), words=(0, 1))
    return [made] if rows else []


def rule_section(decision: Decision, words: Words) -> list[Block]:
    """Return the rule that the data suggest."""
    found = decision.rule
    blocks: list[Block] = [Heading("The rule that the data suggest", 1, "rule", "Rule")]
    if found.auc is not None:
        blocks.append(
            Paragraph(
                words.fill(
                    "What {deciders} did on the whole, learned from all decisions together (AUC "
                    "{auc:.2f} in {cases} held out). It describes; it does not prescribe.",
                    auc=found.auc,
                )
            )
        )
    side = [*_made(decision, words, "importance"), *_tree(decision, words)]
    blocks += [SideBySide(side)] if side else []
    dependences = [] if decision.verdict == NOTHING else rule.dependences(decision, words)
    if dependences:
        blocks += [
            Heading(words.fill("How the share {decided_for} goes with each of them"), 2),
            SideBySide(dependences),
        ]
    return blocks


def _tree(decision: Decision, words: Words) -> list[Block]:
    leaves = [[leaf.when, leaf.words, f"{leaf.about_n_patients:,}"] for leaf in decision.rule.tree]
    if not leaves:
        return []
    heads = [words.fill(head) for head in ("{cases} with", "{decided_for}", "{cases}, about")]
    caption = words.fill("Kinds of {cases} and the share {decided_for}.")
    return [plain_table("Rule", caption, heads, leaves, shares=(4, 1, 1))]


def trust_section(decision: Decision, words: Words) -> list[Block]:
    """Return whether to trust the result."""
    lines = not_meant(words)
    anchors = decision.diagnostics.anchor_mass
    if anchors is not None:
        lines.append(
            words.fill(
                "Clear cases of the latent rule: {yes:.0f} % of the eligible {cases} are surely "
                "so, {no:.0f} % of the others surely not; the more, the better the level is known.",
                yes=100 * anchors.surely_eligible,
                no=100 * anchors.surely_not_eligible,
            )
        )
    made = _made(
        decision,
        words,
        "love",
        "distances",
        "attrition",
        "sweep",
        "agreement",
        "balance",
        "overlap",
        "calibration",
    )
    return [
        Heading("What the figure does not mean, and whether to trust it", 1, "believe", "Trust"),
        Bullets(lines),
        *([SideBySide([block for block in made if isinstance(block, Figure)])] if made else []),
        *(block for block in made if not isinstance(block, Figure)),
    ]


def data_section(published: Published, decision: Decision) -> list[Block]:
    """Return what was done to the data, and how the result was made."""
    words, check = published.words, decision.check
    lines = [f"Missing values: {check.missing}.", *(f"Left out: {line}." for line in check.dropped)]
    if check.smallest_cell > 1:
        lines.append(
            words.fill(
                "Counts of 1 to {most} {cases} or events are hidden, and so is whatever would give "
                "them away. Totals cover only what is shown.",
                most=check.smallest_cell - 1,
            )
        )
    warnings = [Note("Warning.", line, "care") for line in decision.warnings]
    method, request = described(decision.method), published.request
    made = words.fill(
        "Method: {label} ({idea}). Source: {source}. Seed {seed}; {a_decider} needs {panel} "
        "{cases} and a reliability of {reliability} to be reported; the smallest count shown is "
        "{smallest}. Made by intravar {version}.",
        label=method.label,
        idea=words.said(method.idea),
        source=published.source,
        seed=request.random_state,
        panel=request.min_panel,
        reliability=request.min_reliability,
        smallest=request.smallest_cell,
        version=published.version,
    )
    blocks: list[Block] = [Heading("What was done to the data", 1, "data", "Data"), *warnings]
    tables = [
        *_own_rules(decision, words),
        _columns(decision, words),
        *_methods(decision, words),
        _request(published),
    ]
    return [*blocks, Bullets(lines), Paragraph(made), Annex("Columns and settings", tables)]


def _columns(decision: Decision, words: Words) -> Table:
    rows = [
        [
            row.column
            if words.label(row.column) == row.column
            else f"{row.column} ({words.label(row.column)})",
            words.role(row.use),
            row.kind or "",
            row.missing,
            row.note,
        ]
        for row in decision.check.columns
    ]
    heads = ["column", "use", "kind", "missing", "note"]
    caption = "Every column of the table and how it was used."
    return plain_table("Data", caption, heads, rows, shares=(2, 1.2, 1.2, 1, 3), words=(0, 1, 2, 4))


def _methods(decision: Decision, words: Words) -> list[Table]:
    if decision.methods is None or decision.verdict == NOTHING:
        return []
    rows = [
        [
            row["method"],
            row["physician"],
            "–" if row["score"] is None else f"{row['score']:.3f}",
            row["reason"] or "",
        ]
        for row in decision.methods.iter_rows(named=True)
    ]
    heads = ["method", words.decider, "score", "reason"]
    table = plain_table("Methods", "Scores of all methods.", heads, rows, words=(0, 1, 3))
    columns = [column._replace(where=("workbook",)) for column in table.columns]
    return [Table(table.name, table.caption, columns, table.rows)]


def _request(published: Published) -> Table:
    rows = [
        [section, name, _plain(value)]
        for section, values in published.request.as_dict().items()
        for name, value in values.items()
    ]
    table = plain_table(
        "Request", "What was asked for.", ["section", "asked", "value"], rows, words=(0, 1, 2)
    )
    columns = [column._replace(where=("workbook",)) for column in table.columns]
    return Table(table.name, table.caption, columns, table.rows)


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={label}" for name, label in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
