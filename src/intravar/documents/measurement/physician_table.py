"""The table of physicians: a choice of columns for the page, all of them for the annex."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from intravar.measurement.columns import COLUMNS, ResultColumn, by_name
from intravar.measurement.verdict import UNRANKED
from intravar.publication.outputs import Outputs
from intravar.wording import Words

#: Columns that stand with another, or tell whether there is a row to show.
_WITH_OTHERS = (
    "high",
    "contradiction_low",
    "contradiction_high",
    "rank_low",
    "rank_high",
    "identified_high",
    "reportable",
)
#: Columns that the annex alone has; those that a telephone does without; and a small screen too.
ANNEX_ALONE = ("p_high", "p_low", "discrimination", "n_repeats", "band", "identified_low")
MINOR = ("n_patients", "shrunken", "rate", "rank")
LEAST = ("n_pairs", "reliability", "expected", "gain", "contradiction")
#: Where a column holds more than its own values: what stands over it, and what it means.
HEADINGS = {
    "discordance": (
        "discordance",
        "probability that two comparable patients get different decisions; a range where the level "
        "is not determined, a band where the number would give a small count away",
    ),
    "low": ("95 % interval", "where the true discordance lies, as far as chance goes"),
    "identified_low": ("range", "levels that fit the data equally well"),
    "contradiction": (
        "contradiction",
        "share of cases seen twice that were decided differently the second time, with its 95 % "
        "interval",
    ),
    "rank": ("rank", "expected rank with its 95 % interval; 1 is the most consistent physician"),
}
#: Ends of ranges, by the column that they stand with.
_RANGES = {
    "low": ("low", "high"),
    "identified_low": ("identified_low", "identified_high"),
}
_BRACKETS = {
    "contradiction": ("contradiction_low", "contradiction_high"),
    "rank": ("rank_low", "rank_high"),
}


class TableCell(NamedTuple):
    """A value as text, and what it is sorted by."""

    text: str
    value: Any = None
    high: Any = None
    kind: str = ""


class Heading(NamedTuple):
    """What stands over a column, what it means, its looks, and the column's own name."""

    text: str
    words: str
    kind: str
    name: str = ""


class TableRow(NamedTuple):
    """A physician: place among all, name, cells."""

    p: int
    name: str
    reportable: bool
    cells: list[TableCell]


@dataclass(frozen=True)
class PhysicianTable:
    """Headings and rows, the most consistent first where there is an order."""

    headings: list[Heading]
    rows: list[TableRow]


def physician_table(outputs: Outputs, *, whole: bool = False) -> PhysicianTable:
    """Make the table of physicians.

    Parameters
    ----------
    outputs
        What is published.
    whole
        Whether all columns that are filled are in it, and a sentence; else the page's choice.
    """
    table = outputs.physicians.with_row_index("p")
    words = outputs.words
    filled = {name for name in table.columns if table[name].null_count() < table.height}
    shown = [
        column
        for column in COLUMNS[1:]
        if column.name in filled | {"discordance"}
        and column.name not in _WITH_OTHERS
        and column.name not in (("reason",) if whole else ANNEX_ALONE)
    ]
    lines = outputs.summary["lines"]
    in_words = [
        Heading("in words", "the same in a sentence, or why there is none", "words")
    ] * whole
    order = ["physician"]
    if outputs.summary["verdict"] not in UNRANKED:
        order = ["rank", "physician"]
    ordered = table.sort(
        "reportable", *order, descending=[True] + [False] * len(order), nulls_last=True
    )
    return PhysicianTable(
        [_heading(column, words) for column in (by_name("physician"), *shown)] + in_words,
        [
            TableRow(
                row["p"],
                row["physician"],
                bool(row["reportable"]),
                [_cell(column, row) for column in shown] + [_line(row, lines)] * whole,
            )
            for row in ordered.iter_rows(named=True)
        ],
    )


def _line(row: dict[str, Any], lines: dict[str, str]) -> TableCell:
    return TableCell(lines[row["physician"]], None, None, "words")


def _heading(column: ResultColumn, words: Words) -> Heading:
    text, meaning = HEADINGS.get(column.name, (column.heading, column.words))
    return Heading(words.said(text), words.said(meaning), _kind(column), column.name)


def _kind(column: ResultColumn) -> str:
    if column.name == "reason":
        return "words"
    return "minor" if column.name in MINOR else "least" if column.name in LEAST else ""


def _cell(column: ResultColumn, row: dict[str, Any]) -> TableCell:
    name, value, kind = column.name, row[column.name], _kind(column)
    if name == "reason":
        return TableCell(value or "", None, None, kind)
    if name == "discordance" and value is None:
        return _instead(row)
    if value is None:
        return TableCell("–", "", None, kind)
    if name in _RANGES:
        high = row[_RANGES[name][1]]
        return TableCell(f"{column.text(value)} – {column.text(high)}", value, high, kind)
    text = column.text(value)
    if name in _BRACKETS:
        low, high = (by_name(end).text(row[end]) for end in _BRACKETS[name])
        text = f"{text} ({low}–{high})"
    return TableCell(text, value, None, kind)


def _instead(row: dict[str, Any]) -> TableCell:
    """Return what stands in the place of a number: a range of levels, a band, or nothing."""
    if row["identified_low"] is not None:
        return _cell(by_name("identified_low"), row)
    if row["band"] is not None:
        numbers = re.findall(r"\d\.\d+", row["band"])
        return TableCell(row["band"], numbers[-1] if numbers else "")
    return TableCell("–", "")
