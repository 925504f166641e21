"""Several decisions together: the sections of their document."""

from __future__ import annotations

from dataclasses import replace

from intravar.documents import blocks
from intravar.documents.blocks import Block
from intravar.documents.charts.plot import Dot
from intravar.documents.charts.rows import Labelled
from intravar.documents.measurement.first import not_meant
from intravar.publication.joint import NOT_SHOWN, joint_lines
from intravar.publication.results import Band, Joint, Published
from intravar.tables import Table, hundred, hundreds, number, table_of
from intravar.wording import Words, capital

#: Rows of deciders and decisions up to which they are printed.
MOST_ON_PAPER = 200


def joint_blocks(published: Published, joint: Joint) -> list[Block]:
    """Return what several decisions say together."""
    words = published.words
    lines = [f"{capital(line)}." for line in joint_lines(joint, words)]
    leaks = [
        f"'{leak.column}' may give the decision {words.label(each.decision)} away: {leak.why}."
        for each in published.decisions
        for leak in each.leaks
    ]
    verdicts = [
        f"{capital(words.label(each.decision))}: {each.verdict} "
        f"({'; '.join(each.verdict_reasons)})."
        for each in published.decisions
    ]
    figures = _decisions_figure(words, joint)
    cards = [
        blocks.Card("The decisions together", [*figures, blocks.Bullets(lines[1:])]),
        blocks.Card(
            "What the data support in each decision", [blocks.Bullets(verdicts)], wide=True
        ),
    ]
    return [
        blocks.Note("Several decisions together.", " ".join(lines[:1]), "care"),
        *(blocks.Note("Possible leak.", line, "alarm") for line in leaks),
        blocks.Cards(cards),
        blocks.Heading(f"The {words.deciders}", 1, "together", words.Deciders),
        together_table(words, joint),
        blocks.Annex(f"Each {words.decider} in each decision", _each(words, joint)),
        blocks.Heading("Which decisions go together", 1, "pairs", "Which go together"),
        *_pairs_figure(words, joint),
        _pairs(words, joint),
        blocks.Heading("What the figure does not mean", 1, "believe", "Trust"),
        blocks.Bullets(not_meant(words)),
    ]


def _of_hundred(value: float | None, band: Band | None) -> str:
    """Write a share as a number of 100, or the range that stands in its place."""
    return band.of_hundred if value is None and band is not None else hundred(value)


def together_table(words: Words, joint: Joint) -> Table:
    """Return the joint figures of every decider."""
    caption = (
        f"Differ: of 100 pairs of comparable {words.cases}, so many get different decisions in at "
        "least one. Apart: the same if decisions were independent of each other. Number: how many "
        f"differences to expect. All are upper limits. Without numbers: {NOT_SHOWN}; a range then "
        "follows from each decision by itself."
    )
    made = table_of(
        "Together",
        caption,
        joint.physicians,
        [
            (words.decider, 1.5, lambda row: row.physician),
            ("differ", 1.3, lambda row: _of_hundred(row.differ, joint.band_of(row))),
            ("95 % interval", 1.2, lambda row: hundreds(row.differ_low, row.differ_high)),
            ("apart", 1, lambda row: hundred(row.differ_apart)),
            ("number", 1.1, lambda row: number(row.n_differences)),
        ],
    )
    known = (row.reportable or row.band_low is not None for row in joint.physicians)
    return replace(made, rows=[row._replace(shown=next(known)) for row in made.rows])


def _each(words: Words, joint: Joint) -> list[Block]:
    """Return a row for each decider and decision; on paper where these are not many."""
    long = len(joint.by_physician) > MOST_ON_PAPER
    told = [
        blocks.Paragraph("This table is too long for paper: the page and the workbook have it.")
    ]
    caption = (
        "Of 100 pairs, decided differently: by itself, an upper limit. Across: an estimate that "
        f"knows the other decisions. Given: among {words.cases} also alike in the decisions before "
        "it."
    )
    table = table_of(
        "Each decision",
        caption,
        joint.by_physician,
        [
            (words.decider, 1.5, lambda row: row.physician),
            ("decision", 1.5, lambda row: words.label(row.decision)),
            ("of 100 pairs", 1.3, lambda row: _of_hundred(row.discordance, row.band)),
            ("95 % interval", 1.2, lambda row: hundreds(row.low, row.high)),
            ("across", 1, lambda row: hundred(row.across)),
            ("given", 1, lambda row: hundred(row.given)),
        ],
        words=(0, 1),
        where=("page", "workbook", "whole", *([] if long else ["paper"])),
    )
    return [*(told if long else []), table]


def _pairs(words: Words, joint: Joint) -> Table:
    caption = (
        f"Together: share of {words.cases} who got both; expected: the share that the record "
        "explains. Correlation of what it leaves unexplained. Steadiness: correlation over "
        f"{words.deciders} of how closely they go with what colleagues would do."
    )
    return table_of(
        "Pairs",
        caption,
        joint.pairs,
        [
            ("decisions", 2.5, lambda row: f"{words.label(row.first)}, {words.label(row.second)}"),
            ("together", 1, lambda row: number(row.together)),
            ("expected", 1, lambda row: number(row.expected)),
            ("correlation", 1.1, lambda row: number(row.correlation)),
            ("95 % interval", 1.4, lambda row: f"{number(row.low)} to {number(row.high)}"),
            ("steadiness", 1.1, lambda row: number(row.steadiness)),
        ],
    )


def _decisions_figure(words: Words, joint: Joint) -> list[blocks.Figure]:
    """Return every decision over all: by itself, and given those before it."""
    rows = []
    for row in joint.decisions:
        if row.discordance is None:
            continue
        dots = [Dot(100 * row.discordance, hundred(row.discordance))]
        if row.given is not None:
            told = f"given those before it {hundred(row.given)}"
            dots.append(Dot(100 * row.given, told, "hollow"))
        rows.append(Labelled(words.label(row.decision), dots))
    title = f"How consistent all {words.deciders} together are in each decision"
    key = (("point", "by itself"), ("hollow", "given the decisions before it"))
    return [blocks.row_figure("order", title, rows, key=key)] if rows else []


def _pairs_figure(words: Words, joint: Joint) -> list[blocks.Figure]:
    """Return which decisions are taken together more, or less, than the record explains."""
    rows = []
    for row in joint.pairs:
        if row.correlation is not None:
            low, high, value = (max(end or 0, 0) for end in (row.low, row.high, row.correlation))
            dot = Dot(value, number(row.correlation))
            name = f"{words.label(row.first)}, {words.label(row.second)}"
            rows.append(Labelled(name, [dot], [("interval", low, high)]))
    title = "Which decisions go together more than the record explains"
    axis = "correlation of what is left unexplained"
    return (
        [blocks.row_figure("pairs-picture", title, rows, axis, most=1.0)] if len(rows) > 1 else []
    )
