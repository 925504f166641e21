"""Several decisions together: the sections of their document."""

from dataclasses import replace

from intravar.documents import blocks
from intravar.documents.blocks import Block
from intravar.documents.charts import Dot, Labelled
from intravar.documents.measurement.deciders import axis_of
from intravar.documents.measurement.first import next_steps, not_meant, pairs_picture
from intravar.measurement.verdict import NOTHING
from intravar.publication.results import Band, Figure, Joint, Published
from intravar.publication.sentences import NOT_SHOWN, joint_lines
from intravar.tables import Table, hundred, hundreds, most, number, of_pairs, table_of
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
    figures, pairs = _decisions_figure(words, joint, published.first.claim), _pairs(words, joint)
    together: list[Block] = [*figures, *([blocks.Bullets(lines[1:])] if lines[1:] else [])]
    if joint.differ.value is not None:
        where = " in at least one decision"
        together.insert(0, pairs_picture(joint.differ.value, "at most", words, where))
    level = {row.decision: row.discordance or 0 for row in joint.decisions}
    unread = [each for each in published.decisions if each.verdict == NOTHING]
    first = max(unread or published.decisions, key=lambda each: level[each.decision])
    figure = f"{most(first.claim)}{hundred(level[first.decision], first.claim)} of 100"
    why = f"comparable {words.cases} differ most often in it ({figure})"
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
    return band.of_hundred(claim) if value is None and band is not None else hundred(value, claim)


def _meanings(table: Table) -> blocks.Bullets:
    """Return a line for each column that says what it holds."""
    columns = [column for column in table.columns if column.meaning]
    return blocks.Bullets([f"{capital(each.heading)}: {each.meaning}." for each in columns])


def together_table(words: Words, joint: Joint) -> Table:
    """Return the joint figures of every decider."""
    differ, apart, sure = "in at least one, at most", "if unrelated, at most", "95 % interval"
    number_of, at_most = "decisions, at most", "at most"
    table = table_of(
        "Together",
        f"All decisions together, one row per {words.decider}.",
        joint.physicians,
        [
            (words.decider, 2, lambda row: row.physician),
            (differ, 2.5, lambda row: _of_hundred(row.differ, row.band, at_most)),
            (sure, 1.2, lambda row: hundreds(row.differ_low, row.differ_high, at_most)),
            (apart, 1.3, lambda row: hundred(row.differ_apart, at_most)),
            (number_of, 1.3, lambda row: number(row.n_differences, at_most)),
        ],
        meanings={
            differ: f"of 100 pairs of comparable {words.cases}, at most so many get different "
            f"decisions in at least one. Where there is no number ({NOT_SHOWN}), a range of limits "
            "follows from each decision by itself; a dash where even that would say nothing",
            sure: "with 95 % confidence at most so many",
            apart: "the same figure if the decisions were independent of each other",
            number_of: f"in how many decisions two comparable {words.cases} differ on average",
        },
    )
    known = (row.reportable or row.band_low is not None for row in joint.physicians)
    return replace(table, rows=[row._replace(shown=next(known)) for row in table.rows])


def _each(words: Words, joint: Joint, claim: str) -> list[Block]:
    """Return a row for each decider and decision; on paper where these are not many."""
    long = len(joint.by_physician) > MOST_ON_PAPER
    note = "This table is too long for paper: the page and the workbook have it."
    figure = of_pairs(claim)
    across, given = "estimate from all decisions", "same earlier decisions, at most"
    table = table_of(
        "Each decision",
        f"One row per {words.decider} and decision.",
        joint.by_physician,
        [
            (words.decider, 1.5, lambda row: row.physician),
            ("decision", 1.5, lambda row: words.label(row.decision)),
            (figure, 1.3, lambda row: _of_hundred(row.discordance, row.band, claim)),
            ("95 % interval", 1.2, lambda row: hundreds(row.low, row.high, claim)),
            (across, 1, lambda row: hundred(row.across)),
            (given, 1.2, lambda row: hundred(row.given, "at most")),
        ],
        words=(0, 1),
        where=("page", "workbook", "whole", *([] if long else ["paper"])),
        meanings={
            figure: f"comparable {words.cases} decided differently in this decision",
            across: f"an estimate of the same that uses the {words.decider_own} other decisions",
            given: f"the same among {words.cases} that also got the same earlier decisions",
        },
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
        meanings={
            "got both": f"share of {words.cases} decided for in both",
            "expected": "the share that follows from what is recorded",
            "correlation": "of what the record leaves unexplained: above 0 the two go together "
            "more often than the record explains, below 0 less often",
            "like colleagues": f"whether {words.deciders} that decide like their colleagues in one "
            "decision do so in the other: 1 always, 0 no relation",
        },
    )


def _decisions_figure(words: Words, joint: Joint, claim: str) -> list[blocks.Figure]:
    """Return every decision over all: by itself, and given those before it."""
    rows = []
    earlier = f"among {words.cases} with the same earlier decisions"
    for row in joint.decisions:
        if row.discordance is None:
            continue
        hint = f"by itself {most(claim)}{hundred(row.discordance, claim)}"
        dots = [Dot(100 * row.discordance, hint)]
        if row.given is not None:  # a ring, which must not cover the point
            hint = f"{earlier} at most {hundred(row.given, 'at most')}"
            dots.insert(0, Dot(100 * row.given, hint, "hollow", radius=6))
        rows.append(Labelled(words.label(row.decision), dots))
    title = f"How consistent all {words.deciders} together are in each decision"
    key = (("point", "by itself"), ("hollow", earlier))
    return [blocks.row_figure("order", title, rows, axis_of(claim), key=key)] if rows else []


def _pairs_figure(words: Words, joint: Joint) -> list[blocks.Figure]:
    """Return which decisions are taken together more, or less, than the record explains."""
    rows = []
    for row in joint.pairs:
        value, low, high = row.correlation.value, row.correlation.low, row.correlation.high
        if value is not None:
            lines = [] if low is None or high is None else [("interval", low, high)]
            name = f"{words.label(row.first)}, {words.label(row.second)}"
            rows.append(Labelled(name, [Dot(value, number(value))], lines))
    if len(rows) < 2:
        return []
    title = "Which decisions go together more, or less, than the record explains"
    axis = "correlation of what is left unexplained"
    return [blocks.row_figure("pairs-picture", title, rows, axis, most=1.0)]
