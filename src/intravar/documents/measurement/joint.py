"""Several decisions together: the sections of their document."""

from dataclasses import replace

from intravar.documents import blocks
from intravar.documents.blocks import TOLD, Block, block_list
from intravar.documents.charts import Dot, Labelled, known_dot
from intravar.documents.measurement.deciders import axis_of
from intravar.documents.measurement.first import next_steps, not_meant, pairs_picture
from intravar.measurement.sentences import ESTIMATE_OF_LIMIT
from intravar.measurement.verdict import NOTHING
from intravar.publication.results import Band, Figure, Joint, Published
from intravar.publication.sentences import NOT_SHOWN, joint_lines
from intravar.tables import (
    AT_MOST,
    ESTIMATE,
    Table,
    TableColumn,
    hundred,
    hundreds,
    is_upper_limit,
    number,
    table_of,
)
from intravar.wording import Words, capital

#: Rows of deciders and decisions up to which they are printed.
MOST_ON_PAPER = 200


def joint_blocks(published: Published, joint: Joint) -> list[Block]:
    """Return what several decisions say together."""
    words = published.words
    lines = [f"{capital(line)}." for line in joint_lines(joint, words)]
    leaks = [
        f"'{words.label(column)}' may give '{words.label(each.decision)}' away: {why}."
        for each in published.decisions
        for column, why in each.check.leaks.items()
    ]
    verdicts = [
        f"{capital(words.label(each.decision))}: {each.verdict}. "
        f"{capital('; '.join(each.verdict_reasons))}."
        for each in published.decisions
    ]
    pairs, picture = _pairs(words, joint), None
    if joint.differ.value is not None:
        picture = pairs_picture(joint.differ, "at most", words, " in at least one decision")
    figure = _decisions_figure(words, joint, published.first.claim)
    together = block_list(picture, figure, blocks.Bullets(lines[1:]) if lines[1:] else None)
    level = {row.decision: row.discordance or 0 for row in joint.decisions}
    unread = [each for each in published.decisions if each.verdict == NOTHING]
    first = max(unread or published.decisions, key=lambda each: level[each.decision])
    highest = f"{hundred(level[first.decision])} of 100"
    if is_upper_limit(first.claim):
        highest = f"{ESTIMATE_OF_LIMIT}: {highest}"
    why = f"comparable {words.cases} differ most often in it ({highest})"
    why = "it is not interpretable" if unread else why
    steps = [f"Take {words.label(first.decision)} first: {why}.", *next_steps(first, words)]
    supported, what_next = blocks.Bullets(verdicts), blocks.Bullets(steps, numbered=True)
    cards = [
        blocks.Section("The decisions together", together),
        blocks.Section("What the data support in each decision", [supported], "wide"),
        blocks.Section("What to do next", [what_next], "wide"),
    ]
    table, each_decision = together_table(words, joint), _each(words, joint, published.first.claim)
    return [
        blocks.Note("Several decisions together.", " ".join(lines[:1]), "care"),
        *(blocks.Note("Possible leak.", line, "alarm") for line in leaks),
        blocks.SideBySide(cards),
        blocks.Heading(f"The {words.deciders}", 1, "together", words.Deciders),
        _meanings(table),
        table,
        blocks.Section(f"Each {words.decider} in each decision", each_decision, "annex"),
        blocks.Heading("Which decisions go together", 1, "pairs", "Which go together"),
        *_pairs_figure(words, joint),
        _meanings(pairs),
        pairs,
        blocks.Heading("What the figure does not mean", 1, "believe", "Trust"),
        blocks.Bullets(not_meant(words)),
    ]


def _of_hundred(value: float | None, band: Band | None, claim: str) -> str:
    """Write a share as a number of 100, or the range that stands in its place."""
    if value is not None or band is None:
        return hundred(value)
    return hundreds(band.low, band.high) if is_upper_limit(claim) else band.of_hundred()


def _meanings(table: Table) -> blocks.Bullets:
    """Return a line for each column that says what it holds."""
    columns = [column for column in table.columns if column.meaning]
    return blocks.Bullets([f"{capital(each.heading)}: {each.meaning}." for each in columns])


def _meant(table: str, words: Words) -> dict[str, str]:
    """Return what columns mean, by heading."""
    texts = TOLD["meanings"][table].items()
    return {head: words.fill(text, not_shown=NOT_SHOWN) for head, text in texts}


def together_table(words: Words, joint: Joint) -> Table:
    """Return the joint figures of every decider."""
    limit = "at most"
    table = table_of(
        "Together",
        f"All decisions together, one row per {words.decider}.",
        joint.physicians,
        [
            (words.decider, 2, lambda row: row.physician),
            ("in at least one, at most", 1.5, lambda row: hundred(row.differ_high, limit)),
            (ESTIMATE, 1.2, lambda row: _of_hundred(row.differ, row.band, limit)),
            ("estimate if unrelated", 1.3, lambda row: hundred(row.differ_apart)),
            ("decisions, at most", 1.3, lambda row: number(row.n_differences_high, limit)),
            ("decisions, estimate", 1.3, lambda row: number(row.n_differences)),
        ],
        meanings=_meant("together", words),
    )
    known = (row.reportable or row.band_low is not None for row in joint.physicians)
    return replace(table, rows=[row._replace(shown=next(known)) for row in table.rows])


def _each(words: Words, joint: Joint, claim: str) -> list[Block]:
    """Return a row for each decider and decision; on paper where these are not many."""
    long = len(joint.by_physician) > MOST_ON_PAPER
    note = "This table is too long for paper: the page and the workbook have it."
    figures: list[TableColumn] = [
        ("of 100 pairs", 1.3, lambda row: _of_hundred(row.discordance, row.band, claim)),
        ("95 % interval", 1.2, lambda row: hundreds(row.low, row.high)),
    ]
    if is_upper_limit(claim):
        figures = [
            (AT_MOST, 1.3, lambda row: hundred(row.high, claim)),
            (ESTIMATE, 1.2, lambda row: _of_hundred(row.discordance, row.band, claim)),
        ]
    table = table_of(
        "Each decision",
        f"One row per {words.decider} and decision.",
        joint.by_physician,
        [
            (words.decider, 1.5, lambda row: row.physician),
            ("decision", 1.5, lambda row: words.label(row.decision)),
            *figures,
            ("estimate from all decisions", 1, lambda row: hundred(row.across)),
            ("estimate, same earlier decisions", 1.2, lambda row: hundred(row.given)),
        ],
        words=(0, 1),
        where=("page", "workbook", "whole", *([] if long else ["paper"])),
        meanings=_meant("each", words),
    )
    return [*([blocks.Paragraph(note)] if long else []), _meanings(table), table]


def _pairs(words: Words, joint: Joint) -> Table:
    def interval(correlation: Figure) -> str:
        return f"{number(correlation.low)} to {number(correlation.high)}"

    return table_of(
        "Pairs",
        "Every two decisions.",
        joint.pairs,
        [
            ("decisions", 2.5, lambda row: f"{words.label(row.first)}, {words.label(row.second)}"),
            ("got both", 1, lambda row: number(row.together)),
            ("expected", 1, lambda row: number(row.expected)),
            ("correlation", 1.1, lambda row: number(row.correlation.value)),
            ("95 % interval", 1.4, lambda row: interval(row.correlation)),
            ("like colleagues", 1.2, lambda row: number(row.steadiness)),
        ],
        meanings=_meant("pairs", words),
    )


def _decisions_figure(words: Words, joint: Joint, claim: str) -> blocks.Figure | None:
    """Return every decision over all: by itself, and given those before it."""
    rows = []
    earlier = f"among {words.cases} with the same earlier decisions"
    for row in joint.decisions:
        if row.discordance is not None:
            given = f"{earlier} {hundred(row.given)}"
            alone = f"by itself {hundred(row.discordance)}"
            # A ring, which must not cover the point.
            dots = [*known_dot(row.given, given, "hollow", radius=6), Dot(row.discordance, alone)]
            rows.append(Labelled(words.label(row.decision), dots))
    if not rows:
        return None
    what = TOLD["claims"][claim]["what"]
    return blocks.row_figure("order", words, rows, axis_of(claim), earlier=earlier, what=what)


def _pairs_figure(words: Words, joint: Joint) -> list[blocks.Figure]:
    """Return which decisions are taken together more, or less, than the record explains."""
    rows = []
    for row in joint.pairs:
        value, low, high = row.correlation.value, row.correlation.low, row.correlation.high
        if value is not None:
            name = f"{words.label(row.first)}, {words.label(row.second)}"
            rows.append(Labelled(name, [Dot(value, number(value))], low, high))
    if len(rows) < 2:
        return []
    axis = "correlation of what is left unexplained"
    return [blocks.row_figure("pairs-picture", words, rows, axis, most=1.0, unit=1)]
