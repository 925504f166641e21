"""Write blocks to a terminal, tables with the columns and rows that there is room for."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from rich.table import Table as RichTable
from rich.text import Text

from intravar.documents.blocks import Block, Heading, lines_of, walk
from intravar.tables import Table

#: Rows that are printed, from both ends; files hold all.
MOST_PRINTED = 24
#: What a narrow terminal does without, first things first; see :class:`intravar.tables.Column`.
_GIVEN_UP = ("least", "minor", "")
#: Columns that are always printed: who it is, the figure and its interval.
_KEPT = 3
#: Letters of a column of words that need not be broken.
_WORDS = 24


def printed(blocks: Sequence[Block], width: int, where: str) -> Iterator[RichTable | Text]:
    """Yield blocks for rich, in lines of so many letters.

    Columns that there is no room for lie `where` a note says.
    """
    for at, block in enumerate(walk(blocks)):
        if at and isinstance(block, Heading | Table):
            yield Text()
        if isinstance(block, Table):
            if block.caption:
                yield Text(block.caption)
            table, left_out = as_rich(block, width)
            if table.columns and table.row_count:
                yield table
            if left_out:
                names = "', '".join(left_out)
                yield Text(f"('{names}' not shown in {width} columns; {where})")
            continue
        for aside, text in lines_of(block):
            style = "bold" if isinstance(block, Heading) else ""
            yield Text(f"{aside.rstrip('.?')}: {text}" if aside and text else aside or text, style)


def as_rich(table: Table, width: int) -> tuple[RichTable, list[str]]:
    """Return a table for rich, and the headings for which a line of `width` letters has no room.

    Rows that have nothing to show are left out. Of columns of one kind, those that the caption
    speaks of are kept longest.
    """
    part = table.on("terminal")
    rows = [[cell.text for cell in row.cells] for row in part.rows if row.shown]
    wide = []
    for at, column in enumerate(part.columns):
        longest = max((len(row[at]) for row in rows), default=0)
        wide.append(max(len(column.heading), min(longest, _WORDS) if column.words else longest) + 2)
    spoken_of = set(re.findall(r"[\w%]+", part.caption.lower()))
    given_up = sorted(
        (_GIVEN_UP.index(column.kind), column.heading in spoken_of, -at)
        for at, column in enumerate(part.columns)
        if column.kind in _GIVEN_UP
    )
    kept = list(range(len(part.columns)))
    for _, _, at in given_up:
        if sum(wide[each] for each in kept) > width and len(kept) > _KEPT:
            kept.remove(-at)
    grid = RichTable(box=None, pad_edge=False)
    for at in kept:
        column = part.columns[at]
        justify: Literal["left", "right"] = "left" if column.words else "right"
        grid.add_column(
            Text(column.heading), justify=justify, overflow="fold", no_wrap=not column.words
        )
    if (between := len(rows) - MOST_PRINTED) > 0:
        half = MOST_PRINTED // 2
        rows[half : half + between] = [[f"... {between:,} more", *[""] * len(part.columns)]]
    for row in rows:
        grid.add_row(*(Text(row[at]) for at in kept))
    return grid, [column.heading for at, column in enumerate(part.columns) if at not in kept]
