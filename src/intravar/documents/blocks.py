"""What a document is made of, whichever file it becomes: one tree of blocks, four writers.

A document is built once, from what is published; :mod:`~intravar.documents.page`,
:mod:`~intravar.documents.pdf`, :mod:`~intravar.documents.word` and
:mod:`~intravar.documents.workbook` write it. Where formats must differ (a table to sort, a workbook
with sheets) the writer decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from markupsafe import Markup

from intravar.documents.charts.plot import NARROW, WIDE, Drawing


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
    """A sentence that must not be missed: the verdict, a warning.

    Attributes
    ----------
    strong, text
        How it begins, and goes on.
    look
        "good", "care" or "alarm".
    """

    strong: str
    text: str
    look: str = "care"


#: Rows up to which a table on paper has all its columns.
MOST_WIDE = 60


class Column(NamedTuple):
    """A column of a table.

    Attributes
    ----------
    name, heading, meaning
        In files; over the column; in a line.
    words
        Whether it holds words and begins on the left.
    digits
        Of its numbers in a workbook.
    share
        Width beside the others on paper.
    where
        The formats that show it: "page", "paper", "workbook", "terminal", and "whole", the page of
        the table alone; "dense" on paper where a table is long and stands in two columns.
    kind
        "minor" where a telephone does without, "least" where a small screen does.
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
    """A table.

    Attributes
    ----------
    name
        Of its sheet in a workbook, and its anchor in a page.
    caption
        What it holds.
    columns, rows
        Each row has a cell per column.
    interactive
        Whether a page lets it be sorted and searched.
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
        return Table(
            self.name,
            self.caption,
            [self.columns[at] for at in chosen],
            [Row([row.cells[at] for at in chosen], row.p, row.shown) for row in rows],
            self.interactive,
        )


def plain_table(
    name: str,
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    shares: Sequence[float] | None = None,
    words: Sequence[int] = (0,),
) -> Table:
    """Return a table of texts.

    Examples
    --------
    >>> plain_table("Ages", "How old", ["who", "age"], [["Ada", "36"]]).columns[1].words
    False
    """
    columns = [
        Column(head, head, words=at in words, digits=3, share=1.0 if shares is None else shares[at])
        for at, head in enumerate(heads)
    ]
    return Table(name, caption, columns, [Row([Cell(str(cell)) for cell in row]) for row in rows])


@dataclass(frozen=True)
class Figure:
    """A chart.

    Attributes
    ----------
    name
        Its anchor in a page.
    title, alternative
        Its name, and what it shows in words for those who cannot see it.
    reading
        How to read it; stands below it.
    svgs
        In one width or two; a page shows the one that fits, paper the first.
    key
        What its marks stand for: class of the style sheet and words.
    half
        Whether two of them stand side by side on paper.
    """

    name: str
    title: str
    alternative: str
    reading: str
    svgs: Sequence[Markup]
    key: Sequence[tuple[str, str]] = ()
    half: bool = False


def charted(
    name: str,
    title: str,
    told: str,
    plot: Callable[[int], Drawing],
    *,
    reading: str | None = None,
    key: Sequence[tuple[str, str]] = (),
    half: bool = False,
    heading: str | None = None,
) -> Figure:
    """Return a chart in both widths.

    Parameters
    ----------
    name, title, told, key, half
        See :class:`Figure`; `told` are its words for those who cannot see it.
    plot
        Draws it in a width.
    reading
        How to read it; the same words by default.
    heading
        What stands over it; its title by default.
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
    """A few blocks under one heading; cards stand side by side, wide ones over two columns."""

    title: str
    blocks: Sequence[Block]
    wide: bool = False


@dataclass(frozen=True)
class Cards:
    """Cards side by side, as far as there is room: the first screen."""

    cards: Sequence[Card]


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
    Heading | Paragraph | Bullets | KeyFigures | Note | Table | Figure | Cards | SideBySide | Annex
)


@dataclass(frozen=True)
class Document:
    """A document: title, a line under it, its blocks, and what it is called where it is listed."""

    title: str
    about: str
    blocks: Sequence[Block]
    language: str = "en"


def walk(blocks: Sequence[Block]) -> Iterator[Block | Card]:
    """Go through blocks and what stands within them, in order.

    Examples
    --------
    >>> [type(block).__name__ for block in walk([Annex("More", [Paragraph("Text.")])])]
    ['Annex', 'Paragraph']
    """
    for block in blocks:
        yield block
        if isinstance(block, Cards):
            for card in block.cards:
                yield card
                yield from walk(card.blocks)
        elif isinstance(block, Annex | SideBySide):
            yield from walk(block.blocks)


def within(blocks: Sequence[Block], at: int) -> list[Block]:
    """Return blocks that stand in a document more than once, under names of their own.

    Parameters
    ----------
    blocks
        Of one decision.
    at
        Which of several it is. Headings lose their places in the list of sections, and tables
        cannot be sorted.

    Examples
    --------
    >>> within([Heading("Rule", 1, "rule", "Rule")], 2)
    [Heading(text='Rule', level=2, anchor='', short='')]
    """
    made: list[Block] = []
    for block in blocks:
        if isinstance(block, Heading):
            made.append(Heading(block.text, block.level + 1))
        elif isinstance(block, Figure):
            made.append(replace(block, name=f"{block.name}-{at}"))
        elif isinstance(block, Table):
            made.append(replace(block, name=f"{block.name} {at}", interactive=False))
        elif isinstance(block, Cards):
            cards = [replace(card, blocks=within(card.blocks, at)) for card in block.cards]
            made.append(Cards(cards))
        elif isinstance(block, Annex | SideBySide):
            made.append(replace(block, blocks=within(block.blocks, at)))
        else:
            made.append(block)
    return made


def tables(document: Document) -> list[Table]:
    """Return the tables of a document, in order."""
    return [block for block in walk(document.blocks) if isinstance(block, Table)]
