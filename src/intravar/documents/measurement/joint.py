"""Several decisions together: the document, and the sheet of one decider."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from intravar.documents.blocks import (
    Block,
    Bullets,
    Document,
    Figure,
    Heading,
    KeyFigures,
    Note,
    Paragraph,
    Table,
    charted,
    hundred,
    hundreds,
    plain_table,
)
from intravar.documents.caveats import not_meant
from intravar.documents.charts.plot import Plot
from intravar.documents.charts.rows import row_plot
from intravar.documents.sheet.figures import Own, SheetRow, among_peers, rows_figure
from intravar.documents.sheet.sheet import COMMENT, NOT_COMPARED, TITLE
from intravar.measurement.verdict import UNRANKED
from intravar.publication.joint import NOT_SHOWN, joint_lines
from intravar.publication.results import DecisionRow, Joint, JointRow, Published, rows_of
from intravar.publication.scores import Band
from intravar.wording import Words, capital


def joint_blocks(published: Published, joint: Joint) -> list[Block]:
    """Return what several decisions say together."""
    words = published.words
    lines = [f"{capital(line)}." for line in joint_lines(joint, words)]
    leaks = [
        words.fill(
            "'{column}' may give the decision {decision} away: {why}.",
            column=leak.column,
            decision=words.label(each.decision),
            why=leak.why,
        )
        for each in published.decisions
        for leak in each.leaks
    ]
    return [
        Note("Several decisions together.", " ".join(lines[:1]), "care"),
        *(Note("Possible leak.", line, "alarm") for line in leaks),
        Bullets(
            [
                *lines[1:],
                *(
                    f"{words.label(each.decision)} by itself: {each.verdict}: "
                    f"{'; '.join(each.verdict_reasons)}."
                    for each in published.decisions
                ),
            ]
        ),
        Heading("The decisions together", 1, "together", "Together"),
        together_table(words, joint),
        Heading("Each decision", 1, "each", "Each decision"),
        *_decisions_figure(words, joint),
        _each(words, joint),
        Heading("Which decisions go together", 1, "pairs", "Which go together"),
        *_pairs_figure(words, joint),
        _pairs(words, joint),
        Heading("What the figure does not mean", 1, "believe", "Trust"),
        Bullets(not_meant(words)),
    ]


def joint_about(published: Published) -> str:
    """Return the line under the title."""
    words = published.words
    return words.fill(
        "{n} · decisions {decisions}, in this order · {source} · intravar {version}",
        n=words.counted(max(each.n_physicians for each in published.decisions)),
        decisions=", ".join(words.label(each.decision) for each in published.decisions),
        source=published.source,
        version=published.version,
    )


def _of_hundred(value: float | None, band: str | None) -> str:
    """Write a share as a number of 100, or the range that stands in its place."""
    if value is not None:
        return f"{100 * value:.0f}"
    return Band.of_text(band).of_hundred if band else "–"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def together_table(words: Words, joint: Joint) -> Table:
    """Return the joint figures of every decider."""
    caption = words.fill(
        "Differ: of 100 pairs of comparable {cases}, so many get different decisions in at least "
        "one. Apart: as if decisions did not look at each other. Differences: their expected "
        "number. Upper limits. Without numbers: {why}; a range then follows from each decision by "
        "itself.",
        why=NOT_SHOWN,
    )
    listed = rows_of(joint.physicians, JointRow)
    rows = [
        [
            row.physician,
            _of_hundred(row.differ, row.band),
            hundreds(row.differ_low, row.differ_high),
            hundred(row.differ_apart),
            _number(row.n_differences),
        ]
        for row in listed
    ]
    heads = [words.decider, "differ", "95 % interval", "apart", "differences"]
    made = plain_table("Together", caption, heads, rows, shares=(1.5, 1.3, 1.2, 1, 1.1))
    known = [bool(row.reportable or row.band) for row in listed]
    told = [row._replace(shown=shown) for row, shown in zip(made.rows, known, strict=True)]
    return replace(made, rows=told)


def _each(words: Words, joint: Joint) -> Table:
    caption = words.fill(
        "Of 100 pairs, decided differently: by itself, an upper limit. Across: an estimate that "
        "knows the other decisions. Given: among {cases} also alike in the decisions before it."
    )
    rows = [
        [
            row.physician,
            words.label(row.decision),
            _of_hundred(row.discordance, row.band),
            hundreds(row.low, row.high),
            hundred(row.across),
            hundred(row.given),
        ]
        for row in rows_of(joint.by_physician, DecisionRow)
    ]
    heads = [words.decider, "decision", "of 100 pairs", "95 % interval", "across", "given"]
    return plain_table(
        "Each decision", caption, heads, rows, shares=(1.5, 1.5, 1.3, 1.2, 1, 1), words=(0, 1)
    )


def _pairs(words: Words, joint: Joint) -> Table:
    caption = words.fill(
        "Together: share of {cases} who got both; expected: the share that the record explains. "
        "Correlation of what it leaves unexplained. Steadiness: correlation over {deciders} of how "
        "closely they go with what colleagues would do."
    )
    rows = [
        [
            f"{words.label(row.first)}, {words.label(row.second)}",
            *(_number(each) for each in (row.together, row.expected, row.correlation)),
            f"{_number(row.low)} to {_number(row.high)}",
            _number(row.steadiness),
        ]
        for row in joint.pairs
    ]
    heads = ["decisions", "together", "expected", "correlation", "95 % interval", "steadiness"]
    return plain_table("Pairs", caption, heads, rows, shares=(2.5, 1, 1, 1.1, 1.4, 1.1))


def _decisions_figure(words: Words, joint: Joint) -> list[Figure]:
    """Return every decision over all: by itself, and given those before it."""
    rows = [
        (words.label(row.decision), row.discordance, row.given)
        for row in joint.decisions
        if row.discordance is not None
    ]
    if not rows:
        return []
    title = words.fill("How consistent all {deciders} together are in each decision")
    told = "; ".join(
        f"{name}: {hundred(value)}"
        + ("" if given is None else f", given those before it {hundred(given)}")
        for name, value, given in rows
    )

    def plot(width: int) -> Plot:
        most = 105 * max(value for _, value, _ in rows)
        names = [name for name, _, _ in rows]
        drawn = row_plot(names, most, width, "decided differently, of 100 pairs")
        for position, (name, value, given) in enumerate(rows, 1):
            at = drawn.at(position)
            drawn.point((100 * value, at), f"{name}: by itself")
            if given is not None:
                drawn.point((100 * given, at), "given those before it", "hollow")
        return drawn

    key = (("point", "by itself"), ("hollow", "given the decisions before it"))
    return [charted("order", title, f"{told}.", plot, reading="", key=key)]


def _pairs_figure(words: Words, joint: Joint) -> list[Figure]:
    """Return which decisions are taken together more, or less, than the record explains."""
    rows = [
        (f"{words.label(row.first)}, {words.label(row.second)}", row)
        for row in joint.pairs
        if row.correlation is not None
    ]
    if len(rows) < 2:
        return []
    names = [name for name, _ in rows]
    title = "Which decisions go together more than the record explains"
    told = "; ".join(f"{name}: {_number(row.correlation)}" for name, row in rows)

    def plot(width: int) -> Plot:
        drawn = row_plot(names, 1.0, width, "correlation of what is left unexplained")
        for position, (name, row) in enumerate(rows, 1):
            at = drawn.at(position)
            low, high, value = (
                max(end or 0.0, 0.0) for end in (row.low, row.high, row.correlation)
            )
            drawn.interval(at, low, high, upright=False)
            drawn.point((value, at), f"{name}: {_number(row.correlation)}")
        return drawn

    return [charted("pairs-picture", title, f"{told}.", plot, reading="")]


def joint_sheet(
    published: Published, joint: Joint, physician: str, *, called: str, private: str | None
) -> Document:
    """Return the sheet of a decider for several decisions."""
    words = published.words
    row = _own_row(joint, physician)
    figure, sentence = _own_figure(row, len(published.decisions), words)
    number = row.n_differences
    facts = [
        ("the figure of all together", hundred(joint.differ)),
        ("your figure, as if decisions did not look at each other", hundred(row.differ_apart)),
        ("decisions that differ, expected", "–" if number is None else f"{number:.2f}"),
    ]
    about = words.fill(
        "For {who} alone · decisions: {decisions} · {n} measured",
        who=called,
        decisions=", ".join(words.label(each.decision) for each in published.decisions),
        n=words.counted(joint.physicians.height),
    )
    blocks: list[Block] = [
        *([Note("Private.", private, "alarm")] if private else []),
        Heading("Your figure", 1, "figure", "Your figure"),
        Note(figure, sentence, "figure"),
        *_peers(row, published, joint),
        KeyFigures([(words.fill(name), value) for name, value in facts if value != "–"]),
        Heading("Each of your decisions"),
        rows_figure(
            _own_decisions(words, joint, physician),
            "own-decisions",
            "Each of your decisions",
            "Each decision by itself; upper limits, as if the others were not known.",
            words,
        ),
        Heading("What the figure does not mean", 1, "meaning", "Not meant"),
        Bullets(not_meant(words)),
        Heading("Your comment", 1, "comment", "Comment"),
        Note("", COMMENT, "comment"),
    ]
    return Document(words.title or TITLE, about, blocks)


def _own_row(joint: Joint, physician: str) -> JointRow:
    """Return the row of a decider; beyond the sample of a large table there is none."""
    rows = rows_of(joint.physicians.filter(pl.col("physician") == physician), JointRow)
    if rows:
        return rows[0]
    why = "it was not among those that a large table is learned from"
    return JointRow(physician, None, None, None, None, None, None, None, None, False, why)


def _own_figure(row: JointRow, n_decisions: int, words: Words) -> tuple[str, str]:
    """Return the joint figure in large letters, and the sentence that goes with it."""
    differ = f"get different decisions in at least one of {n_decisions}"
    if row.differ is not None:
        value, low, high = (hundred(each) for each in (row.differ, row.differ_low, row.differ_high))
        return f"at most about {value} of 100", words.fill(
            "Of 100 pairs of comparable {cases} of yours, at most about {value} {differ}; the 95 % "
            "interval goes from {low} to {high}.",
            value=value,
            differ=differ,
            low=low,
            high=high,
        )
    if row.band:
        return f"{Band.of_text(row.band).of_hundred} of 100", words.fill(
            "Of 100 pairs of comparable {cases} of yours, so many {differ}. It is shown as a "
            "range, because an exact value could reveal small numbers of {cases}, or too little is "
            "known.",
            differ=differ,
        )
    return "no figure", f"There is no figure for all decisions together: {row.reason}."


def _peers(row: JointRow, published: Published, joint: Joint) -> list[Block]:
    if row.differ is None or row.differ_low is None or row.differ_high is None:
        return []
    if any(each.verdict in UNRANKED for each in published.decisions):
        return [Paragraph(NOT_COMPARED, quiet=True)]
    others = joint.physicians.filter(pl.col("physician") != row.physician)["differ"]
    own = Own(100 * row.differ, 100 * row.differ_low, 100 * row.differ_high)
    axis = "of 100 pairs, decided differently in at least one decision"
    peers = [100 * value for value in others.drop_nulls().to_list()]
    return [among_peers(own, peers, published.words, axis)]


def _own_decisions(words: Words, joint: Joint, physician: str) -> list[SheetRow]:
    """Return every decision of a decider, in the order in which they are taken."""
    own = joint.by_physician.filter(pl.col("physician") == physician)
    mine = {row.decision: row for row in rows_of(own, DecisionRow)}
    rows = []
    for whole in joint.decisions:
        row = mine.get(whole.decision)
        ends = () if row is None else (row.discordance, row.low, row.high)
        known = [100 * each for each in ends if each is not None]
        rows.append(
            SheetRow(
                words.label(whole.decision),
                Own(*known) if len(known) == 3 else None,
                None if whole.discordance is None else 100 * whole.discordance,
                Band.of_text(row.band).of_hundred if row and row.band else "not shown",
            )
        )
    return rows
