"""The columns of a result, each declared once.

The table in memory, the files, the page, the terminal, the documents and the tests all read this
list. A new column is an entry here and its computation: as one of the :class:`Scores`, or in the
evidence of a method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from intravar.tables import Cell, Column, Row, Table, hundred, hundreds, within
from intravar.wording import Words

#: When a column is shown in what is handed on: with every physician whose counts are not small;
#: only with a reportable one; only where those who are not eligible are not few either; only where
#: no small count follows from how many were decided for; only where neither contradictions nor
#: agreements on cases seen twice are few; or only where neither close calls nor others are few.
Shown = Literal["always", "reportable", "others", "rates", "repeats", "close"]


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result.

    Attributes
    ----------
    name, dtype
        In files and frames; a physician's id keeps the type that it came with.
    digits
        To which it is rounded where it is handed on, and shown; None for what is not a fraction.
    heading, words
        Over it in a table, and what it means in a line: templates for
        :meth:`intravar.wording.Words.fill`.
    shown
        When it is handed on.
    down
        Whether it is written rounded down: what lies below a limit must not look like it.
    """

    name: str
    dtype: type[pl.DataType]
    digits: int | None
    heading: str
    words: str
    shown: Shown = "reportable"
    down: bool = False

    def text(self, value: Any) -> str:
        """Write a value for a reader.

        Examples
        --------
        >>> by_name("discordance").text(0.18249), by_name("gain").text(-0.0001)
        ('0.182', '0.000')
        >>> by_name("reliability").text(0.3998), by_name("n_patients").text(None)
        ('0.399', '–')
        """
        if value is None:
            return "–"
        if self.digits is not None:
            finest = 10**self.digits
            value = math.floor(value * finest + 1e-6) / finest if self.down else value
            return f"{round(value, self.digits) + 0.0:.{self.digits}f}"  # no minus before zero
        return f"{value:,}" if isinstance(value, int) else str(value)


COLUMNS = (
    ResultColumn(
        "physician",
        pl.String,
        None,
        "{decider}",
        "who decided; a pseudonym in what is handed on",
        "always",
    ),
    ResultColumn("n_patients", pl.Int64, None, "{cases}", "{cases} of the {decider}", "always"),
    ResultColumn(
        "discordance",
        pl.Float64,
        3,
        "discordance",
        "probability that two comparable {cases} get different decisions",
    ),
    ResultColumn(
        "band_low",
        pl.Float64,
        2,
        "band from",
        "above what it lies, when an exact value could reveal small numbers of {cases}",
        "always",
    ),
    ResultColumn("band_high", pl.Float64, 2, "band to", "below what it then lies", "always"),
    ResultColumn("low", pl.Float64, 3, "low", "lower end of its 95 % interval"),
    ResultColumn("high", pl.Float64, 3, "high", "upper end of its 95 % interval"),
    ResultColumn(
        "shrunken",
        pl.Float64,
        3,
        "shrunken",
        "pulled towards the average, more so with few {cases}",
    ),
    ResultColumn(
        "identified_low",
        pl.Float64,
        3,
        "level from",
        "lowest level that fits the data as well, where levels differ in that",
    ),
    ResultColumn("identified_high", pl.Float64, 3, "level to", "highest level that fits as well"),
    ResultColumn("rate", pl.Float64, 3, "rate", "share of the {cases} {decided_for}", "rates"),
    ResultColumn(
        "explained",
        pl.Float64,
        2,
        "explained",
        "share of how the decisions vary that is explained by what is recorded",
        "rates",
    ),
    ResultColumn("explained_low", pl.Float64, 2, "low", "lower end of its 95 % interval", "rates"),
    ResultColumn(
        "explained_high", pl.Float64, 2, "high", "upper end of its 95 % interval", "rates"
    ),
    ResultColumn(
        "in_close_calls",
        pl.Float64,
        2,
        "in close calls",
        "share of the discordance that lies in {cases} that could be decided either way",
        "close",
    ),
    ResultColumn("p_high", pl.Float64, 3, "p high", "how often eligible {cases} are {decided_for}"),
    ResultColumn(
        "p_low", pl.Float64, 3, "p low", "how often the other {cases} are {decided_for}", "others"
    ),
    ResultColumn("discrimination", pl.Float64, 3, "discrimination", "p_high less p_low", "others"),
    ResultColumn(
        "expected",
        pl.Float64,
        3,
        "expected",
        "what the average colleague would score on the same {cases}",
    ),
    ResultColumn(
        "gain",
        pl.Float64,
        3,
        "own rule",
        "how much better the {decider_own} own rule predicts than that of all; at 0.1 it gives "
        "what was decided a probability about 10 % higher",
    ),
    ResultColumn(
        "contradiction",
        pl.Float64,
        2,
        "contradiction",
        "share of cases seen twice that were decided differently the second time",
        "repeats",
    ),
    ResultColumn(
        "contradiction_low", pl.Float64, 2, "low", "lower end of its 95 % interval", "repeats"
    ),
    ResultColumn(
        "contradiction_high", pl.Float64, 2, "high", "upper end of its 95 % interval", "repeats"
    ),
    ResultColumn("n_repeats", pl.Int64, None, "seen twice", "cases seen twice, to tens", "repeats"),
    ResultColumn(
        "n_pairs", pl.Int64, None, "pairs", "pairs of comparable {cases} behind it", "always"
    ),
    ResultColumn(
        "reliability",
        pl.Float64,
        3,
        "reliability",
        "share of the score's variance that is real difference between {deciders}",
        "always",
        down=True,
    ),
    ResultColumn(
        "rank", pl.Float64, 1, "rank", "expected rank; 1 is the most consistent {decider}"
    ),
    ResultColumn("rank_low", pl.Int64, None, "rank low", "lower end of the rank's interval"),
    ResultColumn("rank_high", pl.Int64, None, "rank high", "upper end of the rank's interval"),
    ResultColumn(
        "reportable",
        pl.Boolean,
        None,
        "reportable",
        "whether a number, or a range of levels, may stand",
        "always",
    ),
    ResultColumn(
        "reason", pl.String, None, "reason", "why there is no number, or no rank", "always"
    ),
)
_BY_NAME = {column.name: column for column in COLUMNS}


def by_name(name: str) -> ResultColumn:
    """Return a column of the result."""
    return _BY_NAME[name]


def typed(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return a table with all columns of a result, in order; missing where nothing is given.

    Examples
    --------
    >>> typed({"physician": ["Ada"], "discordance": [0.2]}).row(0)[:4]
    ('Ada', None, 0.2, None)
    """
    physician = pl.Series("physician", columns["physician"])
    found = []
    for column in COLUMNS[1:]:
        values = columns.get(column.name)
        if values is None:
            found.append(pl.Series(column.name, [None] * len(physician), column.dtype))
            continue
        series = pl.Series(column.name, values, nan_to_null=True)
        if series.dtype.is_float() and not isinstance(values, np.ndarray):
            series = series.fill_nan(None)
        found.append(series.cast(column.dtype))
    return pl.DataFrame([physician, *found])


def rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Round every column to the digits that are shown."""
    return table.with_columns(
        pl.col(column.name).round(column.digits) for column in COLUMNS if column.digits is not None
    )


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


#: What the table holds where no figure may be read, and what tells that somebody has one.
_FACTS, _KNOWN = ("physician", "n_patients", "rate"), ("discordance", "band_low", "identified_low")
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
#: Heading and meaning of columns where the figure is an upper limit; of 95 % intervals as well.
_OF_LIMITS = {
    "discordance": (
        "of 100 pairs, at most",
        "an upper limit: of 100 pairs of comparable {cases}, at most so many get different "
        "decisions; a range of limits where an exact value could reveal small numbers of {cases}",
    ),
    "interval": ("95 % interval", "with 95 % confidence the true value is at most this"),
    "low": ("limit, low", "how far the limit may fall as more is learned; not a lower limit"),
    "high": ("95 % sure: at most", "with 95 % confidence the true value is at most this"),
    "shrunken": ("shrunken", "the limit pulled towards the average, more so with few {cases}"),
    "expected": ("expected", "the limit that the average colleague would have on the same {cases}"),
}


#: How the table is ordered, said once.
RANKED = (
    "By rank; 1 is the most consistent. Ranks allow for chance: a low figure that rests on little "
    "may stand further down."
)


def decider_table(
    physicians: pl.DataFrame,
    words: Words,
    *,
    ranked: bool,
    readable: bool = True,
    claim: str = "about",
) -> Table:
    """Return the table of all deciders, the most consistent first where there is an order.

    Where no figure is `readable` it holds none. By the `claim` "at most" figures are upper limits.
    """
    table = physicians.with_row_index("p")
    filled = {each for each in table.columns if table[each].null_count() < table.height}
    shown = [
        (column, _PLACES.get(column.name, _Place()))
        for column in COLUMNS
        if column.name in filled | {"discordance"} and not column.name.startswith("band")
        if readable or column.name in _FACTS
    ]
    order = ["rank", "physician"] if ranked else ["physician"]
    ordered = table.sort(
        "reportable", *order, descending=[True] + [False] * len(order), nulls_last=True
    )
    columns = [made for each in shown for made in _columns(*each, words, claim)]
    values = ordered.to_dict(as_series=False)
    cells = [made for each in shown for made in _cells(*each, values, claim)]
    known = ordered.select(pl.any_horizontal(pl.col(_KNOWN).is_not_null())).to_series()
    rows = [
        Row(list(of_one), p, not readable or shows)
        for of_one, p, shows in zip(zip(*cells, strict=True), values["p"], known, strict=True)
    ]
    first = RANKED if ranked else f"One row per {words.decider}."
    caption = [first]
    if any(cell.text == "–" for row in rows for cell in row.cells):
        caption.append(
            f"A dash (–) means: not reported, or hidden because small numbers of {words.cases} "
            "could be worked out from it."
        )
    any_two = 2 * pl.col("rate") * (1 - pl.col("rate"))
    above = pl.col("discordance").round(2) > any_two.round(2)
    if claim == "at most" and ordered.select(above.any()).item():
        caption.append(
            f"A limit can lie above how often any two {words.cases} of {words.a_decider} are "
            "decided differently: predictions err a little even where the record tells nothing."
        )
    return Table(words.Deciders, " ".join(caption), columns, rows, interactive=True)


def _columns(column: ResultColumn, place: _Place, words: Words, claim: str) -> Iterator[Column]:
    of_limits = _OF_LIMITS if claim == "at most" else {}
    usual = place.heading or column.heading, place.meaning or column.words
    heading, told = of_limits.get(column.name, usual)
    yield Column(
        column.name,
        words.fill(heading),
        words.fill(told),
        column.name in ("physician", "reason"),
        1 if place.hundred else column.digits,
        place.share,
        place.where,
        place.kind,
    )
    if place.interval is not None:  # its ends are numbers in a workbook
        name, _, _, meaning = place.interval
        where = tuple(each for each in place.where if each != "workbook")
        heading, told = of_limits.get(name, ("95 % interval", meaning))
        yield Column(name, heading, told, share=1.2, where=where)


def _cells(
    column: ResultColumn, place: _Place, values: Mapping[str, list[Any]], claim: str
) -> Iterator[list[Cell]]:
    """Yield the cells of a column, and of its interval if it has one; equal values share a cell."""
    claim = claim if column.name in _OF_LIMITS else "about"
    beside = {
        "discordance": ("identified_low", "identified_high", "band_low", "band_high"),
        "rank": ("rank_low", "rank_high"),
    }

    def made(value: Any, *rest: Any) -> Cell:
        if value is None and column.name == "discordance" and rest[0] is not None:
            return Cell(hundreds(*rest[:2]), order=50 * (rest[0] + rest[1]))
        if value is None and column.name == "discordance" and rest[2] is not None:
            return Cell(within(*rest[2:], claim=claim), order=100 * rest[3])
        if value is None:
            return Cell("" if column.name == "reason" else "–")
        if column.name == "rank":
            return Cell(f"{value:.0f} ({rest[0]} to {rest[1]})", value)
        if place.hundred:
            return Cell(hundred(value, claim), round(100 * value, 1), order=value)
        if column.name in ("physician", "reason"):
            return Cell(str(value))
        return Cell(column.text(value), value)

    def interval(low: Any, high: Any) -> Cell:
        return Cell(hundreds(low, high, claim), order=high if claim == "at most" else low)

    yield _once_each(made, *(values[name] for name in (column.name, *beside.get(column.name, ()))))
    if place.interval is not None:
        yield _once_each(interval, *(values[end] for end in place.interval[1:3]))


def _once_each(write: Callable[..., Cell], *values: list[Any]) -> list[Cell]:
    rows = list(zip(*values, strict=True))
    found = {row: write(*row) for row in dict.fromkeys(rows)}
    return [found[row] for row in rows]
