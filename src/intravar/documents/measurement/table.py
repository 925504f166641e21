"""The table of deciders, made once: the page, the documents, the workbook and notebooks show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from intravar.documents.blocks import Cell, Column, Row, Table
from intravar.measurement.columns import COLUMNS, ResultColumn
from intravar.measurement.verdict import NOTHING, UNRANKED
from intravar.publication.results import Decision
from intravar.publication.scores import Band
from intravar.wording import Words, capital

#: Columns told as a number of 100.
OF_HUNDRED = (
    "discordance",
    "low",
    "high",
    "shrunken",
    "identified_low",
    "identified_high",
    "expected",
    "contradiction",
    "contradiction_low",
    "contradiction_high",
)
#: What the table holds where no figure may be read.
_FACTS = ("physician", "n_patients", "rate")
#: Where a column stands; ends of intervals are numbers in a workbook alone.
_EVERYWHERE = ("page", "paper", "dense", "workbook", "whole", "terminal")
_MOSTLY = ("page", "paper", "workbook", "whole", "terminal")
_WHERE = {
    "physician": _EVERYWHERE,
    "discordance": _EVERYWHERE,
    **dict.fromkeys(("n_patients", "shrunken", "rate", "reliability"), _MOSTLY),
    "explained": ("page", "paper", "workbook", "whole"),
    "rank": _EVERYWHERE,
    **dict.fromkeys(
        ("reason", "n_pairs", "expected", "in_close_calls", "gain"), ("page", "workbook", "whole")
    ),
    "contradiction": ("page", "paper", "workbook", "whole"),
    "reportable": ("workbook",),
}
#: Columns that a telephone does without; and a small screen too.
_MINOR = ("n_patients", "shrunken", "rate", "rank")
_LEAST = ("n_pairs", "reliability", "expected", "gain", "contradiction", "in_close_calls")
#: What stands over a column, and what it means, where it holds more than its own values.
_HEADINGS = {
    "discordance": (
        "of 100 pairs",
        "of 100 pairs of comparable {cases}, so many get different decisions; a range where an "
        "exact value could reveal small numbers of {cases}",
    ),
    "rank": ("rank", "expected rank with its 95 % interval; 1 is the most consistent {decider}"),
    "contradiction": (
        "self-contradiction",
        "of 100 cases seen twice, so many were decided differently the second time",
    ),
}
#: Intervals as text, by the column that they stand behind: name, ends, heading, meaning.
_INTERVALS = {
    "discordance": (
        "interval",
        ("low", "high"),
        "95 % interval",
        "where the true value lies, as far as chance goes",
    ),
    "contradiction": (
        "contradiction_interval",
        ("contradiction_low", "contradiction_high"),
        "95 % interval",
        "of the self-contradiction",
    ),
}


def decider_table(decision: Decision, words: Words, *, name: str | None = None) -> Table:
    """Return the table of all deciders, the most consistent first where there is an order.

    Parameters
    ----------
    decision
        What is published.
    words
        What things are called.
    name
        Of its sheet in a workbook; the deciders by default.
    """
    table = decision.physicians.with_row_index("p")
    filled = {each for each in table.columns if table[each].null_count() < table.height}
    shown = [
        column
        for column in COLUMNS
        if column.name in filled | {"discordance"} and column.name != "band"
    ]
    nothing, unranked = decision.verdict == NOTHING, decision.verdict in UNRANKED
    if nothing:
        shown = [column for column in shown if column.name in _FACTS]
    order = ["physician"] if unranked else ["rank", "physician"]
    ordered = table.sort(
        "reportable", *order, descending=[True] + [False] * len(order), nulls_last=True
    )
    columns = [made for column in shown for made in _columns(column, words)]
    rows = [
        Row(
            [cell for column in shown for cell in _cells(column, row)],
            row["p"],
            nothing or _has_figure(row),
        )
        for row in ordered.iter_rows(named=True)
    ]
    caption = words.fill(
        "{order} A dash: not reported, or hidden because small numbers of {cases} could be worked "
        "out from it.",
        order=words.fill("One row per {decider}.")
        if unranked
        else "Rank 1 is the most consistent.",
    )
    return Table(name or capital(words.deciders), caption, columns, rows, interactive=True)


def _has_figure(row: Mapping[str, Any]) -> bool:
    """Tell whether a row has a figure or a range."""
    known = ("discordance", "band", "identified_low")
    return any(row[each] is not None for each in known)


def _columns(column: ResultColumn, words: Words) -> list[Column]:
    heading, meaning = _HEADINGS.get(column.name, (column.heading, column.words))
    text = column.name in ("physician", "reason")
    kind = "minor" if column.name in _MINOR else "least" if column.name in _LEAST else ""
    hundred = column.name in OF_HUNDRED
    digits = 1 if hundred else column.digits
    first = Column(
        column.name,
        words.decider if column.name == "physician" else words.fill(heading),
        words.fill(meaning),
        text,
        digits,
        {"physician": 1.6, "reason": 3.0, "rank": 1.3, "discordance": 1.3}.get(column.name, 1.0),
        _WHERE.get(column.name, ("workbook", "whole")),
        "words" if column.name == "reason" else kind,
    )
    if column.name not in _INTERVALS:
        return [first]
    name, _, heading, meaning = _INTERVALS[column.name]
    where = tuple(each for each in first.where if each != "workbook")
    return [first, Column(name, heading, meaning, share=1.2, where=where)]


def _cells(column: ResultColumn, row: Mapping[str, Any]) -> list[Cell]:
    value = row[column.name]
    if column.name not in _INTERVALS:
        return [_rank(row) if column.name == "rank" else _cell(column, value)]
    ends = [row[end] for end in _INTERVALS[column.name][1]]
    interval = (
        Cell("–")
        if None in ends
        else Cell("{:.0f} to {:.0f}".format(*(100 * e for e in ends)), order=ends[0])
    )
    first = (
        _instead(row) if value is None and column.name == "discordance" else _cell(column, value)
    )
    return [first, interval]


def _cell(column: ResultColumn, value: Any) -> Cell:
    if value is None:
        return Cell("" if column.name == "reason" else "–")
    if column.name in OF_HUNDRED:
        return Cell(f"{100 * value:.0f}", round(100 * value, 1), order=value)
    if column.name in ("physician", "reason"):
        return Cell(str(value))
    return Cell(column.text(value), value)


def _rank(row: Mapping[str, Any]) -> Cell:
    if row["rank"] is None:
        return Cell("–")
    return Cell(f"{row['rank']:.0f} ({row['rank_low']} to {row['rank_high']})", row["rank"])


def _instead(row: Mapping[str, Any]) -> Cell:
    """Return what stands in the place of a number: a range of levels, a band, or nothing."""
    if row["identified_low"] is not None:
        low, high = 100 * row["identified_low"], 100 * row["identified_high"]
        return Cell(f"{low:.0f} to {high:.0f}", order=(low + high) / 2)
    if row["band"] is not None:
        band = Band.of_text(row["band"])
        return Cell(band.of_hundred, order=100 * band.high)
    return Cell("–")
