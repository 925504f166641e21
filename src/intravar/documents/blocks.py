"""What a document is made of, whichever file it becomes: one tree of blocks, four writers.

A document is built once, from what is published; :mod:`~intravar.documents.page`,
:mod:`~intravar.documents.pdf`, :mod:`~intravar.documents.word` and
:mod:`~intravar.documents.workbook` write it. Where formats must differ (a table to sort, a workbook
with sheets) the writer decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

from markupsafe import Markup

from intravar.documents.charts.plot import NARROW, WIDE, Drawing

#: What a mark stands for: class of the style sheet, and words.
Key: TypeAlias = Sequence[tuple[str, str]]
#: From what a row is made of.
Made = TypeVar("Made")


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is a section. `anchor` is its place in a page, `short` its name there."""

    text: str
    level: int = 1
    anchor: str = ""
    short: str = ""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; a quiet one says how to read what stands beside it."""

    text: str
    quiet: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list of sentences, with numbers where their order matters."""

    items: Sequence[str]
    numbered: bool = False


@dataclass(frozen=True)
class KeyFigures:
    """Facts, each with what it is."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Note:
    """A sentence that must not be missed, such as the verdict: "good", "care" or "alarm"."""

    strong: str
    text: str
    look: str = "care"


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
) -> Table:
    """Return a table of texts: every column is its heading, its share, and what reads its cell.

    Examples
    --------
    >>> ages = [("who", 2, lambda row: row[0]), ("age", 1, lambda row: row[1])]
    >>> table_of("Ages", "How old", [("Ada", 36)], ages).rows[0].cells[1].text
    '36'
    """
    made = [
        Column(heading, heading, words=at in words, digits=3, share=share, where=where)
        for at, (heading, share, _) in enumerate(columns)
    ]
    cells = [Row([Cell(str(read(row))) for _, _, read in columns]) for row in rows]
    return Table(name, caption, made, cells)


@dataclass(frozen=True)
class Figure:
    """A chart: its anchor in a page, its name, and what it shows for those who cannot see it.

    `reading` stands below it and says how to read it. Of the pictures, in one width or two, a page
    shows the one that fits, and paper the first. Two that are `half` stand side by side on paper.
    """

    name: str
    title: str
    alternative: str
    reading: str
    svgs: Sequence[Markup]
    key: Key = ()
    half: bool = False


def charted(
    name: str,
    title: str,
    told: str,
    plot: Callable[[int], Drawing],
    *,
    reading: str | None = None,
    key: Key = (),
    half: bool = False,
    heading: str | None = None,
) -> Figure:
    """Return a chart in both widths, which `plot` draws.

    `told` are its words for those who cannot see it, and how to read it unless `reading` says so;
    its title stands over it unless a `heading` does.
    """
    svgs = [plot(width).svg(title, told) for width in (WIDE, NARROW)]
    over = title if heading is None else heading
    return Figure(name, over, told, told if reading is None else reading, svgs, key, half)


def hundred(value: float | None, missing: str = "–") -> str:
    """Write a share as a number of 100.

    Examples
    --------
    >>> hundred(0.214), hundred(None)
    ('21', '–')
    """
    return missing if value is None else f"{100 * value:.0f}"


def hundreds(low: float | None, high: float | None) -> str:
    """Write the ends of an interval as numbers of 100.

    Examples
    --------
    >>> hundreds(0.1, 0.25)
    '10 to 25'
    """
    return "–" if low is None or high is None else f"{hundred(low)} to {hundred(high)}"


@dataclass(frozen=True)
class Card:
    """A few blocks under one heading; wide cards have a column of their own."""

    title: str
    blocks: Sequence[Block]
    wide: bool = False


@dataclass(frozen=True)
class Cards:
    """Cards side by side, as far as there is room: the first screen."""

    blocks: Sequence[Card]


@dataclass(frozen=True)
class SideBySide:
    """Blocks that need not stand below each other."""

    blocks: Sequence[Block]


@dataclass(frozen=True)
class Annex:
    """What few want to read: closed in a page until asked for, at the end on paper.

    With an `anchor` the list of sections has it as `short`.
    """

    title: str
    blocks: Sequence[Block]
    new_page: bool = False
    anchor: str = ""
    short: str = ""


Block: TypeAlias = (
    Heading
    | Paragraph
    | Bullets
    | KeyFigures
    | Note
    | Table
    | Figure
    | Card
    | Cards
    | SideBySide
    | Annex
)


@dataclass(frozen=True)
class Document:
    """A document: title, a line under it, and its blocks."""

    title: str
    about: str
    blocks: Sequence[Block]


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """Go through blocks and what stands within them, in order.

    Examples
    --------
    >>> [type(block).__name__ for block in walk([Annex("More", [Paragraph("Text.")])])]
    ['Annex', 'Paragraph']
    """
    for block in blocks:
        yield block
        yield from walk(getattr(block, "blocks", ()))


def within(block: Block, at: int) -> Block:
    """Return a block that stands in a document more than once, under a name of its own.

    Headings lose their places in the list of sections, and tables cannot be sorted.

    Examples
    --------
    >>> within(Heading("Rule", 1, "rule", "Rule"), 2)
    Heading(text='Rule', level=2, anchor='', short='')
    """
    if isinstance(block, Heading):
        return Heading(block.text, block.level + 1)
    if isinstance(block, Figure):
        return replace(block, name=f"{block.name}-{at}")
    if isinstance(block, Table):
        return replace(block, name=f"{block.name} {at}", interactive=False)
    if isinstance(block, Card | Cards | SideBySide | Annex):
        inner: Any = [within(each, at) for each in block.blocks]
        return replace(block, blocks=inner)
    return block


def tables(document: Document) -> list[Table]:
    """Return the tables of a document, in order."""
    return [block for block in walk(document.blocks) if isinstance(block, Table)]
