"""The columns of a result, each declared once, in `columns.toml`.

The table in memory, the files, the page, the terminal, the documents and the tests all read this
list. A new column is an entry there and its computation: as one of the :class:`Scores`, or in the
evidence of a method.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import polars as pl
import polars.selectors as cs

from intravar.measurement.verdict import SAID
from intravar.tables import Cell, Column, Row, Table, hundred, hundreds, is_upper_limit, within
from intravar.wording import Words, declared_in

#: When a column is shown in what is handed on: with every physician whose counts are not small;
#: only with a reportable one; only where those who are not eligible are not few either; only where
#: no small count follows from how many were decided for; only where neither contradictions nor
#: agreements on cases seen twice are few; only where neither close calls nor others are few; or
#: only where the pairs of several decisions do not tell who misses one.
Shown = Literal["always", "reportable", "others", "rates", "repeats", "close", "pairs"]
#: Formats, see :class:`intravar.tables.Column`: what one shows, those that follow show as well.
_FORMATS = ("dense", "terminal", "paper", "page", "whole", "workbook")
_TYPES = {"number": pl.Float64, "whole": pl.Int64, "text": pl.String, "truth": pl.Boolean}


@dataclass(frozen=True)
class ResultColumn:
    """A column of a result: its name in files, its heading in a table, its meaning in a line.

    `digits` are those to which a number is rounded where it is handed on, which it is where `shown`
    allows it. `where` is the first of the formats that show it, `kind` and `share` say how much
    room it takes, see :class:`intravar.tables.Column`. Where people read it, it may be written as a
    number of a `hundred`, or rounded `down`: what lies below a limit must not look like it. `page`
    is heading and meaning where people read it in another way, `limit` the same where figures are
    upper limits; `interval` is the meaning of the interval that is written behind it.
    """

    name: str
    heading: str
    meaning: str
    holds: str = "number"
    digits: int = 3
    shown: Shown = "reportable"
    where: str = "whole"
    kind: str = ""
    share: float = 1.0
    hundred: bool = False
    down: bool = False
    page: list[str] | None = None
    limit: list[str] | None = None
    interval: str = ""

    @property
    def dtype(self) -> type[pl.DataType]:
        """Its type in files and frames; a physician's id keeps the type that it came with."""
        return _TYPES[self.holds]

    def has_interval(self, claim: str) -> bool:
        """Return whether its interval is written behind it; not behind the estimate of a limit."""
        return bool(self.interval) and not (is_upper_limit(claim) and self.name == "discordance")

    @property
    def prefix(self) -> str:
        """What the names of its interval, and of the ends, begin with."""
        return "" if self.name == "discordance" else f"{self.name}_"

    def text(self, value: Any) -> str:
        """Write a value for a reader.

        Examples
        --------
        >>> ResultColumn("gain", "own rule", "").text(-0.0001)
        '0.000'
        >>> ResultColumn("reliability", "reliability", "", down=True).text(0.3998)
        '0.399'
        """
        if self.holds == "number":
            finest = 10**self.digits
            value = math.floor(value * finest + 1e-6) / finest if self.down else value
            return f"{round(value, self.digits) + 0.0:.{self.digits}f}"  # no minus before zero
        return f"{value:,}" if isinstance(value, int) else str(value)


_DECLARED = declared_in(__package__, "columns")
COLUMNS = tuple(ResultColumn(name, **each) for name, each in _DECLARED.items())


def typed(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return a table with all columns of a result, in order; missing where nothing is given."""
    nothing = {each.name: None for each in COLUMNS}
    given = pl.DataFrame({**nothing, **columns}).with_columns(cs.float().fill_nan(None))
    return given.select("physician", *(pl.col(each.name).cast(each.dtype) for each in COLUMNS[1:]))


def rounded(table: pl.DataFrame, *, upper_limit: bool = False) -> pl.DataFrame:
    """Round every column to the digits that are shown; the upper end of an upper limit upwards."""
    numbers = {column.name: column.digits for column in COLUMNS if column.holds == "number"}
    finest = 10 ** numbers["high"]
    upwards = ((pl.col("high") * finest - 1e-6).ceil() / finest).round(numbers["high"])
    table = table.with_columns(upwards) if upper_limit else table
    return table.with_columns(pl.col(name).round(digits) for name, digits in numbers.items())


#: What the table holds where no figure may be read, and what tells that somebody has one.
_FACTS, _KNOWN = ("physician", "n_patients", "rate"), ("discordance", "band_low", "identified_low")


def decider_table(
    physicians: pl.DataFrame,
    words: Words,
    *,
    ranked: bool,
    readable: bool = True,
    claim: str = "about",
) -> Table:
    """Return the table of all deciders, the most consistent first where there is an order.

    Where no figure is `readable` it holds none. By the `claim` "at most" figures are upper limits:
    the upper end of the interval comes first, then the estimate.
    """
    table = physicians.with_row_index("p")
    filled = {each for each in table.columns if table[each].null_count() < table.height}
    shown = [
        column
        for column in _ordered(claim)
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
    any_two = 2 * pl.col("rate") * (1 - pl.col("rate"))
    above = pl.col("discordance").round(2) > any_two.round(2)
    applies = {
        "ranked": ranked,
        "not ranked": not ranked,
        "dash": any(cell.text == "–" for row in rows for cell in row.cells),
        "above": is_upper_limit(claim) and ordered.select(above.any()).item(),
    }
    caption = " ".join(words.fill(SAID["captions"][name]) for name, true in applies.items() if true)
    return Table(words.Deciders, caption, columns, rows, interactive=True)


def _ordered(claim: str) -> tuple[ResultColumn, ...]:
    """Return the columns in the order in which they are read.

    Of upper limits, the upper end stands before the estimate. They have no range of levels that fit
    equally well.
    """
    if not is_upper_limit(claim):
        return COLUMNS
    named = {column.name: column for column in COLUMNS}
    # The upper end is the figure: it is shown wherever the estimate is.
    named["high"] = replace(
        named["high"], where=named["discordance"].where, share=named["discordance"].share
    )
    moved = ("high", "identified_low", "identified_high")
    return tuple(
        named[name]
        for column in COLUMNS
        if column.name not in moved
        for name in (("high", "discordance") if column.name == "discordance" else (column.name,))
    )


def _headed(column: ResultColumn, words: Words, claim: str) -> Iterator[Column]:
    """Yield the column of a table, and that of its interval if it has one."""
    limit = column.limit if is_upper_limit(claim) else None
    heading, meaning = limit or column.page or (column.heading, column.meaning)
    digits = column.digits if column.holds == "number" else None
    where = _FORMATS[_FORMATS.index(column.where) :]
    yield Column(
        column.name,
        words.fill(heading),
        words.fill(meaning),
        column.holds == "text",
        1 if column.hundred else digits,
        column.share,
        where,
        column.kind,
    )
    if column.has_interval(claim):  # its ends are numbers in a workbook
        yield Column(
            f"{column.prefix}interval",
            "95 % interval",
            column.interval,
            share=1.2,
            where=where[:-1],
        )


def _cells(column: ResultColumn, row: Mapping[str, Any], claim: str) -> Iterator[Cell]:
    """Yield the cell of a column, and of its interval if it has one."""
    yield _cell(column, row, claim)
    if column.has_interval(claim):
        low, high = (row[f"{column.prefix}{end}"] for end in ("low", "high"))
        yield Cell(hundreds(low, high), order=low)


def _cell(column: ResultColumn, row: Mapping[str, Any], claim: str) -> Cell:
    value = row[column.name]
    if value is None and column.name == "discordance":
        low, high = row["identified_low"], row["identified_high"]
        if low is not None:
            return Cell(hundreds(low, high), order=50 * (low + high))
        if row["band_low"] is not None:
            low, high = row["band_low"], row["band_high"]
            text = hundreds(low, high) if is_upper_limit(claim) else within(low, high)
            return Cell(text, order=100 * high)
    if value is None:
        return Cell("" if column.name == "reason" else "–")
    if column.name == "rank":
        return Cell(f"{value:.0f} ({row['rank_low']} to {row['rank_high']})", value)
    if column.hundred:
        # Of what is read as "at most", the number is no smaller than the upper end.
        upper_end = column.name == "high" and is_upper_limit(claim)
        number = math.ceil(1000 * value - 1e-6) / 10 if upper_end else round(100 * value, 1)
        return Cell(hundred(value, claim if upper_end else "about"), number, order=value)
    return Cell(str(value)) if column.holds == "text" else Cell(column.text(value), value)
