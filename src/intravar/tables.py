"""Tables as people read them, wherever they stand: a page, paper, a workbook, a notebook."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

#: From what a row is made of.
Made = TypeVar("Made")
#: A column of :func:`table_of`: its heading, its share of the width, and what reads its cell.
TableColumn: TypeAlias = tuple[str, float, Callable[[Any], object]]
#: Rows up to which a table on paper has all its columns.
MOST_WIDE = 60


class Column(NamedTuple):
    """A column of a table: its name in files, its heading and its meaning in a line.

    `words` begin on the left; `digits` are those of its numbers in a workbook; `share` is its width
    beside the others on paper. `where` are the formats that show it: "page", "paper", "workbook",
    "terminal", "whole" (the page of the table alone), and "dense" (on paper, where a table is long
    and stands in two columns). Its `kind` is "minor" where a telephone does without, "least" where
    a small screen does.
    """

    name: str
    heading: str
    meaning: str = ""
    words: bool = False
    digits: int | None = None
    share: float = 1.0
    where: tuple[str, ...] = ("page", "paper", "workbook", "whole", "terminal")
    kind: str = ""


class Cell(NamedTuple):
    """A value as text and as what it is; `order` where it is sorted by something else."""

    text: str
    value: Any = None
    order: Any = None


class Row(NamedTuple):
    """A row: its cells, its place among all, and whether it has something to show on paper."""

    cells: Sequence[Cell]
    p: int | None = None
    shown: bool = True


@dataclass(frozen=True)
class Table:
    """A table; each row has a cell per column.

    `name` is that of its sheet in a workbook and its anchor in a page. A page lets an interactive
    one be sorted and searched.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    interactive: bool = False

    def on(self, where: str) -> Table:
        """Return the columns that a format shows; on paper the rows that have something to show."""
        rows = [row for row in self.rows if row.shown or where != "paper"]
        dense = where == "paper" and len(rows) > MOST_WIDE
        if dense and any("dense" in column.where for column in self.columns):
            where = "dense"
        chosen = [at for at, column in enumerate(self.columns) if where in column.where]
        columns = [self.columns[at] for at in chosen]
        rows = [row._replace(cells=[row.cells[at] for at in chosen]) for row in rows]
        return replace(self, columns=columns, rows=rows)


def table_of(
    name: str,
    caption: str,
    rows: Sequence[Made],
    columns: Sequence[tuple[str, float, Callable[[Made], object]]],
    *,
    words: Sequence[int] = (0,),
    where: tuple[str, ...] = Column("", "").where,
    meanings: Mapping[str, str] | None = None,
) -> Table:
    """Return a table of texts: every column is its heading, its share, and what reads its cell.

    `meanings` are by heading.

    Examples
    --------
    >>> ages = [("who", 2, lambda row: row[0]), ("age", 1, lambda row: row[1])]
    >>> table_of("Ages", "How old", [("Ada", 36)], ages).rows[0].cells[1].text
    '36'
    """
    made = [
        Column(
            heading,
            heading,
            (meanings or {}).get(heading, ""),
            words=at in words,
            digits=3,
            share=share,
            where=where,
        )
        for at, (heading, share, _) in enumerate(columns)
    ]
    cells = [Row([Cell(str(read(row))) for _, _, read in columns]) for row in rows]
    return Table(name, caption, made, cells)


def hundredths(value: float, claim: str = "about") -> int:
    """Return a share as a whole number of 100; what stands behind "at most" is rounded up.

    Examples
    --------
    >>> hundredths(0.214), hundredths(0.214, "at most"), hundredths(0.07, "at most")
    (21, 22, 7)
    """
    return math.ceil(100 * value - 1e-9) if claim == "at most" else round(100 * value)


def hundred(value: float | None, claim: str = "about") -> str:
    """Write a share as a whole number of 100, if it is known.

    Examples
    --------
    >>> hundred(0.214), hundred(0.214, "at most"), hundred(None)
    ('21', '22', '–')
    """
    return "–" if value is None else f"{hundredths(value, claim)}"


def number(value: float | None, claim: str = "about") -> str:
    """Write a figure with two digits; what stands behind "at most" is rounded up.

    Examples
    --------
    >>> number(0.214), number(0.214, "at most"), number(None)
    ('0.21', '0.22', '–')
    """
    return "–" if value is None else f"{hundredths(value, claim) / 100:.2f}"


def hundreds(low: float | None, high: float | None) -> str:
    """Write the ends of an interval as numbers of 100.

    Examples
    --------
    >>> hundreds(0.1, 0.25), hundreds(None, None)
    ('10 to 25', '–')
    """
    return "–" if low is None or high is None else f"{hundred(low)} to {hundred(high)}"


def is_upper_limit(claim: str) -> bool:
    """Return whether figures of this claim estimate an upper limit.

    "At most" then stands before the upper end of the 95 % interval, never before the estimate.
    """
    return claim == "at most"


#: Headings of the upper end of a limit, and of its estimate.
AT_MOST = "of 100 pairs, at most"
ESTIMATE = "estimate"


def axis_of_pairs(claim: str) -> str:
    """Return the label of an axis that shows figures of this claim.

    Examples
    --------
    >>> axis_of_pairs("about"), axis_of_pairs("at most")
    ('of 100 pairs', 'of 100 pairs (estimates)')
    """
    return "of 100 pairs (estimates)" if is_upper_limit(claim) else "of 100 pairs"


#: Two decisions differ with probability one half at the most.
MOST_DISCORDANCE = 0.5


def within(low: float, high: float, most: float = MOST_DISCORDANCE, *, claim: str = "about") -> str:
    """Return the range of a share, which cannot exceed `most`, as numbers of 100.

    The range of an upper limit is that of its estimate: neither end bounds the share itself.

    Examples
    --------
    >>> within(0, 0.25), within(0.1, 0.3), within(0.1, 0.5), within(0.3, 0.6, most=0.875)
    ('25 or less', '10 to 30', '10 or more', '30 to 60')
    >>> within(0, 0.25, claim="at most"), within(0.1, 0.5, claim="at most")
    ('estimate 0 to 25', 'estimate 10 to 50')
    """
    if is_upper_limit(claim):
        return f"{ESTIMATE} {hundreds(low, high)}"
    if high >= most:
        return f"{hundred(low)} or more"
    return hundreds(low, high) if low else f"{hundred(high)} or less"
