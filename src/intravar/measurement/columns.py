"""The columns of a result, each declared once.

The table in memory, the files, the page, the terminal, the documents and the tests all read this
list. A new column is an entry here and its computation: as one of the :class:`Scores`, or in the
evidence of a method.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl
import polars.selectors as cs

from intravar.tables import Cell, Column, Row, Table, hundred, hundreds, within
from intravar.wording import Words

#: When a column is shown in what is handed on: with every physician whose counts are not small;
#: only with a reportable one; only where those who are not eligible are not few either; only where
#: no small count follows from how many were decided for; only where neither contradictions nor
#: agreements on cases seen twice are few; or only where neither close calls nor others are few.
Shown = Literal["always", "reportable", "others", "rates", "repeats", "close"]
#: Formats that show a column, see :class:`intravar.tables.Column`.
_FILES = ("workbook", "whole")
_PAGE = ("page", *_FILES)
_PAPER = ("paper", *_PAGE)
_MOSTLY = ("terminal", *_PAPER)
_EVERYWHERE = ("dense", *_MOSTLY)

#: What the columns mean, in a line: templates for :meth:`intravar.wording.Words.fill`.
_MEANING = {
    "physician": "who decided; a pseudonym in what is handed on",
    "n_patients": "{cases} of the {decider}",
    "discordance": "probability that two comparable {cases} get different decisions",
    "band_low": "above what it lies, when an exact value could reveal small numbers of {cases}",
    "band_high": "below what it then lies",
    **dict.fromkeys(
        ("low", "explained_low", "contradiction_low"), "lower end of its 95 % interval"
    ),
    **dict.fromkeys(
        ("high", "explained_high", "contradiction_high"), "upper end of its 95 % interval"
    ),
    "shrunken": "pulled towards the average, more so with few {cases}",
    "identified_low": "lowest level that fits the data as well, where levels differ in that",
    "identified_high": "highest level that fits as well",
    "rate": "share of the {cases} {decided_for}",
    "explained": "share of how the decisions vary that is explained by what is recorded",
    "in_close_calls": "share of the discordance that lies in {cases} that could be decided either "
    "way",
    "p_high": "how often eligible {cases} are {decided_for}",
    "p_low": "how often the other {cases} are {decided_for}",
    "discrimination": "p_high less p_low",
    "expected": "what the average colleague would score on the same {cases}",
    "gain": "how much better the {decider_own} own rule predicts than that of all; at 0.1 it gives "
    "what was decided a probability about 10 % higher",
    "contradiction": "share of cases seen twice that were decided differently the second time",
    "n_repeats": "cases seen twice, to tens",
    "n_pairs": "pairs of comparable {cases} behind it",
    "reliability": "share of the score's variance that is real difference between {deciders}",
    "rank": "expected rank; 1 is the most consistent {decider}",
    "rank_low": "lower end of the rank's interval",
    "rank_high": "upper end of the rank's interval",
    "reportable": "whether a number, or a range of levels, may stand",
    "reason": "why there is no number, or no rank",
}
#: Heading and meaning where people read a column in another way; of 95 % intervals as well.
_ON_PAGE = {
    "discordance": (
        "of 100 pairs",
        "of 100 pairs of comparable {cases}, so many get different decisions; a range "
        "where an exact value could reveal small numbers of {cases}",
    ),
    "interval": ("95 % interval", "where the true value lies, as far as chance goes"),
    "contradiction": (
        "self-contradiction",
        "of 100 cases seen twice, so many were decided differently the second time",
    ),
    "contradiction_interval": ("95 % interval", "of the self-contradiction"),
    "rank": ("rank", "expected rank with its 95 % interval; 1 is the most consistent {decider}"),
}
#: The same where the figure is an upper limit.
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
#: Columns behind which their interval is written, with what its ends' names begin with.
_INTERVALS = {"discordance": "", "contradiction": "contradiction_"}
_OTHER_TYPES = {"physician": pl.String, "reportable": pl.Boolean, "reason": pl.String}


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result.

    Attributes
    ----------
    name, heading
        In files and frames, and over it in a table.
    digits
        To which it is rounded where it is handed on, and shown; None for what is not a fraction.
    shown
        When it is handed on.
    where, kind, share
        Formats that show it, and how much room it takes; see :class:`intravar.tables.Column`.
    hundred
        Whether it is written as a number of 100 where people read it.
    down
        Whether it is written rounded down: what lies below a limit must not look like it.
    """

    name: str
    heading: str
    digits: int | None = 3
    shown: Shown = "reportable"
    where: tuple[str, ...] = _FILES
    kind: str = ""
    share: float = 1.0
    hundred: bool = False
    down: bool = False

    @property
    def words(self) -> str:
        """What it means in a line."""
        return _MEANING[self.name]

    @property
    def dtype(self) -> type[pl.DataType]:
        """Its type in files and frames; a physician's id keeps the type that it came with."""
        return _OTHER_TYPES.get(self.name, pl.Int64 if self.digits is None else pl.Float64)

    def text(self, value: Any) -> str:
        """Write a value for a reader.

        Examples
        --------
        >>> ResultColumn("gain", "own rule").text(-0.0001)
        '0.000'
        >>> ResultColumn("reliability", "reliability", down=True).text(0.3998)
        '0.399'
        """
        if self.digits is not None:
            finest = 10**self.digits
            value = math.floor(value * finest + 1e-6) / finest if self.down else value
            return f"{round(value, self.digits) + 0.0:.{self.digits}f}"  # no minus before zero
        return f"{value:,}" if isinstance(value, int) else str(value)


COLUMNS = (
    ResultColumn("physician", "{decider}", None, "always", _EVERYWHERE, share=1.6),
    ResultColumn("n_patients", "{cases}", None, "always", _MOSTLY, "minor"),
    ResultColumn("discordance", "discordance", where=_EVERYWHERE, share=1.3, hundred=True),
    ResultColumn("band_low", "band from", 2, "always"),
    ResultColumn("band_high", "band to", 2, "always"),
    ResultColumn("low", "low", hundred=True),
    ResultColumn("high", "high", hundred=True),
    ResultColumn("shrunken", "shrunken", where=_MOSTLY, kind="minor", hundred=True),
    ResultColumn("identified_low", "level from", hundred=True),
    ResultColumn("identified_high", "level to", hundred=True),
    ResultColumn("rate", "rate", 3, "rates", _MOSTLY, "minor"),
    ResultColumn("explained", "explained", 2, "rates", _PAPER),
    ResultColumn("explained_low", "low", 2, "rates"),
    ResultColumn("explained_high", "high", 2, "rates"),
    ResultColumn("in_close_calls", "in close calls", 2, "close", _PAGE, "least"),
    ResultColumn("p_high", "p high"),
    ResultColumn("p_low", "p low", 3, "others"),
    ResultColumn("discrimination", "discrimination", 3, "others"),
    ResultColumn("expected", "expected", where=_PAGE, kind="least", hundred=True),
    ResultColumn("gain", "own rule", where=_PAGE, kind="least"),
    ResultColumn("contradiction", "contradiction", 2, "repeats", _PAPER, "least", hundred=True),
    ResultColumn("contradiction_low", "low", 2, "repeats", hundred=True),
    ResultColumn("contradiction_high", "high", 2, "repeats", hundred=True),
    ResultColumn("n_repeats", "seen twice", None, "repeats"),
    ResultColumn("n_pairs", "pairs", None, "always", _PAGE, "least"),
    ResultColumn("reliability", "reliability", 3, "always", _MOSTLY, "least", down=True),
    ResultColumn("rank", "rank", 1, "reportable", _EVERYWHERE, "minor", 1.3),
    ResultColumn("rank_low", "rank low", None),
    ResultColumn("rank_high", "rank high", None),
    ResultColumn("reportable", "reportable", None, "always", ("workbook",)),
    ResultColumn("reason", "reason", None, "always", _PAGE, "words", 3.0),
)


def typed(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return a table with all columns of a result, in order; missing where nothing is given.

    Examples
    --------
    >>> typed({"physician": ["Ada"], "discordance": [0.2]}).row(0)[:4]
    ('Ada', None, 0.2, None)
    """
    nothing = {each.name: None for each in COLUMNS}
    given = pl.DataFrame({**nothing, **columns}).with_columns(cs.float().fill_nan(None))
    return given.select("physician", *(pl.col(each.name).cast(each.dtype) for each in COLUMNS[1:]))


def rounded(table: pl.DataFrame) -> pl.DataFrame:
    """Round every column to the digits that are shown."""
    return table.with_columns(
        pl.col(column.name).round(column.digits) for column in COLUMNS if column.digits is not None
    )


#: What the table holds where no figure may be read, and what tells that somebody has one.
_FACTS, _KNOWN = ("physician", "n_patients", "rate"), ("discordance", "band_low", "identified_low")
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
        column
        for column in COLUMNS
        if column.name in filled | {"discordance"} and not column.name.startswith("band")
        if readable or column.name in _FACTS
    ]
    order = [~pl.col("reportable"), *(["rank"] if ranked else []), "physician"]
    ordered = table.sort(order, nulls_last=True)
    columns = [headed for each in shown for headed in _headed(each, words, claim)]
    rows = [
        Row(
            [cell for each in shown for cell in _cells(each, row, claim)],
            row["p"],
            not readable or any(row[name] is not None for name in _KNOWN),
        )
        for row in ordered.iter_rows(named=True)
    ]
    caption = [RANKED if ranked else f"One row per {words.decider}."]
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


def _headed(column: ResultColumn, words: Words, claim: str) -> Iterator[Column]:
    """Yield the column of a table, and that of its interval if it has one."""
    readings = _ON_PAGE | (_OF_LIMITS if claim == "at most" else {})
    heading, meaning = readings.get(column.name, (column.heading, column.words))
    yield Column(
        column.name,
        words.fill(heading),
        words.fill(meaning),
        column.dtype == pl.String,
        1 if column.hundred else column.digits,
        column.share,
        column.where,
        column.kind,
    )
    if column.name in _INTERVALS:  # its ends are numbers in a workbook
        name = f"{_INTERVALS[column.name]}interval"
        where = tuple(each for each in column.where if each != "workbook")
        yield Column(name, *readings[name], share=1.2, where=where)


def _cells(column: ResultColumn, row: Mapping[str, Any], claim: str) -> Iterator[Cell]:
    """Yield the cell of a column, and of its interval if it has one."""
    claim = claim if column.name in _OF_LIMITS else "about"
    yield _cell(column, row, claim)
    if column.name in _INTERVALS:
        low, high = (row[f"{_INTERVALS[column.name]}{end}"] for end in ("low", "high"))
        yield Cell(hundreds(low, high, claim), order=high if claim == "at most" else low)


def _cell(column: ResultColumn, row: Mapping[str, Any], claim: str) -> Cell:
    value = row[column.name]
    if value is None and column.name == "discordance":
        low, high = row["identified_low"], row["identified_high"]
        if low is not None:
            return Cell(hundreds(low, high), order=50 * (low + high))
        if row["band_low"] is not None:
            low, high = row["band_low"], row["band_high"]
            return Cell(within(low, high, claim=claim), order=100 * high)
    if value is None:
        return Cell("" if column.name == "reason" else "–")
    if column.name == "rank":
        return Cell(f"{value:.0f} ({row['rank_low']} to {row['rank_high']})", value)
    if column.hundred:
        return Cell(hundred(value, claim), round(100 * value, 1), order=value)
    return Cell(str(value)) if column.dtype == pl.String else Cell(column.text(value), value)
