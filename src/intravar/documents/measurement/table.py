"""The table of deciders, made once: the page, the documents, the workbook and notebooks show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from intravar.documents.blocks import Cell, Column, Row, Table, hundreds
from intravar.measurement.columns import COLUMNS, ResultColumn
from intravar.measurement.verdict import UNRANKED
from intravar.publication.results import Decision
from intravar.publication.scores import Band
from intravar.wording import Words, capital

_FILES = ("workbook", "whole")
_PAGE = ("page", *_FILES)
_PAPER = ("paper", *_PAGE)
_MOSTLY = ("terminal", *_PAPER)
_EVERYWHERE = ("dense", *_MOSTLY)


class _Place(NamedTuple):
    """Where a column stands, how much room it takes, and what it says beside its own values.

    An interval stands behind its column as text: its name, its ends and its meaning. `hundred`:
    told as a number of 100.
    """

    where: tuple[str, ...] = _FILES
    kind: str = ""
    share: float = 1.0
    hundred: bool = False
    heading: str = ""
    meaning: str = ""
    interval: tuple[str, str, str, str] | None = None


#: Columns that stand elsewhere than in files, or are told in another way there.
_PLACES = {
    "physician": _Place(_EVERYWHERE, share=1.6),
    "n_patients": _Place(_MOSTLY, "minor"),
    "discordance": _Place(
        _EVERYWHERE,
        share=1.3,
        hundred=True,
        heading="of 100 pairs",
        meaning="of 100 pairs of comparable {cases}, so many get different decisions; a range "
        "where an exact value could reveal small numbers of {cases}",
        interval=("interval", "low", "high", "where the true value lies, as far as chance goes"),
    ),
    **dict.fromkeys(("low", "high", "identified_low", "identified_high"), _Place(hundred=True)),
    "shrunken": _Place(_MOSTLY, "minor", hundred=True),
    "rate": _Place(_MOSTLY, "minor"),
    "explained": _Place(_PAPER),
    "in_close_calls": _Place(_PAGE, "least"),
    "expected": _Place(_PAGE, "least", hundred=True),
    "gain": _Place(_PAGE, "least"),
    "contradiction": _Place(
        _PAPER,
        "least",
        hundred=True,
        heading="self-contradiction",
        meaning="of 100 cases seen twice, so many were decided differently the second time",
        interval=(
            "contradiction_interval",
            "contradiction_low",
            "contradiction_high",
            "of the self-contradiction",
        ),
    ),
    **dict.fromkeys(("contradiction_low", "contradiction_high"), _Place(hundred=True)),
    "n_pairs": _Place(_PAGE, "least"),
    "reliability": _Place(_MOSTLY, "least"),
    "rank": _Place(
        _EVERYWHERE,
        "minor",
        1.3,
        meaning="expected rank with its 95 % interval; 1 is the most consistent {decider}",
    ),
    "reportable": _Place(("workbook",)),
    "reason": _Place(_PAGE, "words", 3.0),
}


def decider_table(decision: Decision, words: Words, *, name: str | None = None) -> Table:
    """Return the table of all deciders, the most consistent first where there is an order.

    `name` is that of its sheet in a workbook; the deciders by default.
    """
    table = decision.physicians.with_row_index("p")
    filled = {each for each in table.columns if table[each].null_count() < table.height}
    shown = [
        (column, _PLACES.get(column.name, _Place()))
        for column in COLUMNS
        if column.name in filled | {"discordance"} and column.name != "band"
    ]
    unranked = decision.verdict in UNRANKED
    order = ["physician"] if unranked else ["rank", "physician"]
    ordered = table.sort(
        "reportable", *order, descending=[True] + [False] * len(order), nulls_last=True
    )
    columns = [made for each in shown for made in _columns(*each, words)]
    rows = [
        Row([cell for each in shown for cell in _cells(*each, row)], row["p"], _has_figure(row))
        for row in ordered.iter_rows(named=True)
    ]
    first = f"One row per {words.decider}." if unranked else "Rank 1 is the most consistent."
    caption = (
        f"{first} A dash: not reported, or hidden because small numbers of {words.cases} could be "
        "worked out from it."
    )
    return Table(name or capital(words.deciders), caption, columns, rows, interactive=True)


def _has_figure(row: Mapping[str, Any]) -> bool:
    """Tell whether a row has a figure or a range."""
    known = ("discordance", "band", "identified_low")
    return any(row[each] is not None for each in known)


def _columns(column: ResultColumn, place: _Place, words: Words) -> Iterator[Column]:
    yield Column(
        column.name,
        words.fill(place.heading or column.heading),
        words.fill(place.meaning or column.words),
        column.name in ("physician", "reason"),
        1 if place.hundred else column.digits,
        place.share,
        place.where,
        place.kind,
    )
    if place.interval is not None:  # its ends are numbers in a workbook
        name, _, _, meaning = place.interval
        where = tuple(each for each in place.where if each != "workbook")
        yield Column(name, "95 % interval", meaning, share=1.2, where=where)


def _cells(column: ResultColumn, place: _Place, row: Mapping[str, Any]) -> Iterator[Cell]:
    value = row[column.name]
    if value is None:
        instead = _instead(row) if column.name == "discordance" else None
        yield instead or Cell("" if column.name == "reason" else "–")
    elif column.name == "rank":
        yield Cell(f"{value:.0f} ({row['rank_low']} to {row['rank_high']})", value)
    elif place.hundred:
        yield Cell(f"{100 * value:.0f}", round(100 * value, 1), order=value)
    elif column.name in ("physician", "reason"):
        yield Cell(str(value))
    else:
        yield Cell(column.text(value), value)
    if place.interval is not None:
        low, high = (row[end] for end in place.interval[1:3])
        yield Cell(hundreds(low, high), order=low)


def _instead(row: Mapping[str, Any]) -> Cell | None:
    """Return what stands in the place of a number: a range of levels, a band, or nothing."""
    low, high = row["identified_low"], row["identified_high"]
    if low is not None:
        return Cell(hundreds(low, high), order=50 * (low + high))
    if row["band"] is not None:
        band = Band.of_text(row["band"])
        return Cell(band.of_hundred, order=100 * band.high)
    return None
