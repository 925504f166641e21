"""Several decisions together: the document, and the sheet of one decider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    plain_table,
)
from intravar.documents.caveats import not_meant
from intravar.documents.charts.plot import NARROW, WIDE, Plot
from intravar.documents.charts.rows import row_plot
from intravar.documents.sheet.figures import Own, SheetRow, among_peers, rows_figure
from intravar.documents.sheet.sheet import COMMENT, NOT_COMPARED, TITLE
from intravar.measurement.verdict import UNRANKED
from intravar.publication.bands import Band
from intravar.publication.several_outputs import NOT_SHOWN, SeveralOutputs, joint_lines
from intravar.wording import Words, capital


def joint_document(outputs: SeveralOutputs) -> Document:
    """Return what several decisions say together, as a document."""
    summary, words = outputs.summary, outputs.words
    verdicts = "; ".join(
        f"{words.label(name)}: {verdict}" for name, verdict in summary["verdicts"].items()
    )
    lines = [f"{capital(line)}." for line in joint_lines(summary, words)]
    folders = ", ".join(summary["folders"].values())
    blocks: list[Block] = [
        Note("Several decisions together.", " ".join(lines[:1]), "care"),
        Bullets([*lines[1:], f"What the data support of each decision by itself: {verdicts}."]),
        Heading("The decisions together", 1, "together", "Together"),
        _together(outputs),
        Heading("Each decision", 1, "each", "Each decision"),
        *_decisions_figure(outputs),
        _each(outputs),
        Heading("Which decisions go together", 1, "pairs", "Which go together"),
        *_pairs_figure(outputs),
        _pairs(outputs),
        Heading("What the figure does not mean", 1, "believe", "Trust"),
        Bullets(not_meant(words)),
        Paragraph(
            f"Source: {summary['source']}. Each decision by itself is in a folder of its own: "
            f"{folders}."
        ),
    ]
    about = words.fill(
        "{n} · decisions {decisions}, in this order · intravar {version}",
        n=words.counted(summary["n_physicians"]),
        decisions=", ".join(words.label(name) for name in summary["decisions"]),
        version=summary["version"],
    )
    usual = words.fill("How consistently do {deciders} decide about comparable {cases}?")
    return Document(words.title or usual, about, blocks)


def _of_hundred(row: Mapping[str, Any], name: str) -> str:
    """Write a share as a number of 100, or the range that stands in its place."""
    if row[name] is not None:
        return f"{100 * row[name]:.0f}"
    return Band.of_text(row["band"]).of_hundred if row.get("band") else "–"


def _hundred(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f}"


def _interval(row: Mapping[str, Any], low: str, high: str) -> str:
    return "–" if row[low] is None else f"{100 * row[low]:.0f} to {100 * row[high]:.0f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _together(outputs: SeveralOutputs) -> Table:
    words = outputs.words
    caption = words.fill(
        "Differ: of 100 pairs of comparable {cases}, so many get different decisions in at least "
        "one. Apart: as if decisions did not look at each other. Differences: their expected "
        "number. Upper limits. Without numbers: {why}; a range then follows from each decision by "
        "itself.",
        why=words.said(NOT_SHOWN),
    )
    rows = [
        [
            str(row["physician"]),
            _of_hundred(row, "differ"),
            _interval(row, "differ_low", "differ_high"),
            _hundred(row["differ_apart"]),
            _number(row["n_differences"]),
        ]
        for row in outputs.joint.iter_rows(named=True)
    ]
    heads = [words.decider, "differ", "95 % interval", "apart", "differences"]
    return plain_table("Together", caption, heads, rows, shares=(1.5, 1.3, 1.2, 1, 1.1))


def _each(outputs: SeveralOutputs) -> Table:
    words = outputs.words
    caption = words.fill(
        "Of 100 pairs, decided differently: by itself, an upper limit. Across: an estimate that "
        "knows the other decisions. Given: among {cases} also alike in the decisions before it."
    )
    rows = [
        [
            str(row["physician"]),
            words.label(row["decision"]),
            _of_hundred(row, "discordance"),
            _interval(row, "low", "high"),
            _hundred(row["across"]),
            _hundred(row["given"]),
        ]
        for row in outputs.decisions.iter_rows(named=True)
    ]
    heads = [words.decider, "decision", "of 100 pairs", "95 % interval", "across", "given"]
    return plain_table(
        "Each decision", caption, heads, rows, shares=(1.5, 1.5, 1.3, 1.2, 1, 1), words=(0, 1)
    )


def _pairs(outputs: SeveralOutputs) -> Table:
    words = outputs.words
    caption = words.fill(
        "Together: share of {cases} who got both; expected: the share that the record explains. "
        "Correlation of what it leaves unexplained. Steadiness: correlation over {deciders} of how "
        "closely they go with what colleagues would do."
    )
    rows = [
        [
            f"{words.label(row['first'])}, {words.label(row['second'])}",
            *(_number(row[name]) for name in ("together", "expected", "correlation")),
            f"{_number(row['low'])} to {_number(row['high'])}",
            _number(row["steadiness"]),
        ]
        for row in outputs.summary["pairs"]
    ]
    heads = ["decisions", "together", "expected", "correlation", "95 % interval", "steadiness"]
    return plain_table("Pairs", caption, heads, rows, shares=(2.5, 1, 1, 1.1, 1.4, 1.1))


def _decisions_figure(outputs: SeveralOutputs) -> list[Figure]:
    """Return every decision over all: by itself, and given those before it."""
    words = outputs.words
    rows = [row for row in outputs.summary["by_decision"] if row["discordance"] is not None]
    if not rows:
        return []
    title = words.fill("How consistent all {deciders} together are in each decision")
    told = "; ".join(
        f"{words.label(row['decision'])}: {_hundred(row['discordance'])}"
        + ("" if row["given"] is None else f", given those before it {_hundred(row['given'])}")
        for row in rows
    )

    def plot(width: int) -> Plot:
        names = [words.label(row["decision"]) for row in rows]
        most = 105 * max(row["discordance"] for row in rows)
        drawn = row_plot(names, most, width, "decided differently, of 100 pairs")
        for position, row in enumerate(rows, 1):
            at = drawn.at(position)
            drawn.point((100 * row["discordance"], at), f"{names[position - 1]}: by itself")
            if row["given"] is not None:
                drawn.point((100 * row["given"], at), "given those before it", "hollow")
        return drawn

    svgs = [plot(width).svg(title, f"{told}.") for width in (WIDE, NARROW)]
    key = (("point", "by itself"), ("hollow", "given the decisions before it"))
    return [Figure("order", title, f"{told}.", "", svgs, key)]


def _pairs_figure(outputs: SeveralOutputs) -> list[Figure]:
    """Return which decisions are taken together more, or less, than the record explains."""
    words = outputs.words
    rows = [row for row in outputs.summary["pairs"] if row["correlation"] is not None]
    if len(rows) < 2:
        return []
    names = [f"{words.label(row['first'])}, {words.label(row['second'])}" for row in rows]
    title = "Which decisions go together more than the record explains"
    told = "; ".join(
        f"{name}: {row['correlation']:.2f}" for name, row in zip(names, rows, strict=True)
    )
    svgs = []
    for width in (WIDE, NARROW):
        plot = row_plot(names, 1.0, width, "correlation of what is left unexplained")
        for position, row in enumerate(rows, 1):
            at = plot.at(position)
            low, high, value = (max(row[end], 0.0) for end in ("low", "high", "correlation"))
            plot.interval(at, low, high, upright=False)
            plot.point((value, at), f"{names[position - 1]}: {row['correlation']:.2f}")
        svgs.append(plot.svg(title, f"{told}."))
    return [Figure("pairs-picture", title, f"{told}.", "", svgs)]


def joint_sheet(
    outputs: SeveralOutputs, physician: str, *, called: str, private: str | None
) -> Document:
    """Return the sheet of a decider for several decisions."""
    summary, words = outputs.summary, outputs.words
    (row,) = outputs.joint.filter(pl.col("physician") == physician).to_dicts()
    figure, sentence = _own_figure(row, len(summary["decisions"]), words)
    number = row["n_differences"]
    facts = [
        ("the figure of all together", _hundred(summary["differ"])),
        ("your figure, as if decisions did not look at each other", _hundred(row["differ_apart"])),
        ("decisions that differ, expected", "–" if number is None else f"{number:.2f}"),
    ]
    about = words.fill(
        "For {who} alone · decisions: {decisions} · {n} measured",
        who=called,
        decisions=", ".join(words.label(name) for name in summary["decisions"]),
        n=words.counted(summary["n_physicians"]),
    )
    blocks: list[Block] = [
        *([Note("Private.", private, "alarm")] if private else []),
        Heading("Your figure", 1, "figure", "Your figure"),
        Note(figure, sentence, "figure"),
        *_peers(row, outputs),
        KeyFigures([(words.fill(name), value) for name, value in facts if value != "–"]),
        Heading("Each of your decisions"),
        rows_figure(
            _own_decisions(outputs, physician),
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


def _own_figure(row: Mapping[str, Any], n_decisions: int, words: Words) -> tuple[str, str]:
    """Return the joint figure in large letters, and the sentence that goes with it."""
    differ = f"get different decisions in at least one of {n_decisions}"
    if row["differ"] is not None:
        value, low, high = (_hundred(row[name]) for name in ("differ", "differ_low", "differ_high"))
        return f"at most about {value} of 100", words.fill(
            "Of 100 pairs of comparable {cases} of yours, at most about {value} {differ}; the 95 % "
            "interval goes from {low} to {high}.",
            value=value,
            differ=differ,
            low=low,
            high=high,
        )
    if row["band"]:
        return f"{Band.of_text(row['band']).of_hundred} of 100", words.fill(
            "Of 100 pairs of comparable {cases} of yours, so many {differ}. It is shown as a "
            "range, because an exact value could reveal small numbers of {cases}, or too little is "
            "known.",
            differ=differ,
        )
    return "no figure", f"There is no figure for all decisions together: {row['reason']}."


def _peers(row: Mapping[str, Any], outputs: SeveralOutputs) -> list[Block]:
    if row["differ"] is None:
        return []
    if set(outputs.summary["verdicts"].values()) & set(UNRANKED):
        return [Paragraph(NOT_COMPARED, quiet=True)]
    others = outputs.joint.filter(pl.col("physician") != row["physician"])["differ"]
    own = Own(*(100 * row[name] for name in ("differ", "differ_low", "differ_high")))
    axis = "of 100 pairs, decided differently in at least one decision"
    peers = [100 * value for value in others.drop_nulls().to_list()]
    made = among_peers(own, peers, outputs.words, axis)
    return [Paragraph(made, quiet=True) if isinstance(made, str) else made]


def _own_decisions(outputs: SeveralOutputs, physician: str) -> list[SheetRow]:
    """Return every decision of a decider, in the order in which they are taken."""
    mine = {
        row["decision"]: row
        for row in outputs.decisions.filter(pl.col("physician") == physician).to_dicts()
    }
    whole = {row["decision"]: row["discordance"] for row in outputs.summary["by_decision"]}
    rows = []
    for name in outputs.summary["decisions"]:
        row, all_together = mine.get(name, {}), whole.get(name)
        known = row.get("discordance") is not None and row.get("low") is not None
        rows.append(
            SheetRow(
                outputs.words.label(name),
                Own(*(100 * row[end] for end in ("discordance", "low", "high"))) if known else None,
                None if all_together is None else 100 * all_together,
                Band.of_text(row["band"]).of_hundred if row.get("band") else "not shown",
            )
        )
    return rows
