"""Write a table of a document to a terminal: the columns and rows that there is room for."""

from __future__ import annotations

from rich.table import Table as RichTable
from rich.text import Text

from intravar.tables import Table

#: Rows that are printed, from both ends; files hold all.
MOST_PRINTED = 24
#: What a narrow terminal does without, first things first; see :class:`blocks.Column`.
_GIVEN_UP = ("least", "minor", "")
#: Columns that are always printed: who it is, the figure and its interval.
_KEPT = 3


def as_rich(table: Table, width: int) -> tuple[RichTable, list[str]]:
    """Return a table for rich, and the headings for which a line of `width` letters has no room.

    Rows that have nothing to show are left out.
    """
    part = table.on("terminal")
    rows = [[cell.text for cell in row.cells] for row in part.rows if row.shown]
    wide = [
        max(map(len, (column.heading, *(row[at] for row in rows)))) + 2
        for at, column in enumerate(part.columns)
    ]
    kept = list(range(len(part.columns)))
    for kind in _GIVEN_UP:
        for at in [each for each in reversed(kept) if part.columns[each].kind == kind]:
            if sum(wide[each] for each in kept) > width and len(kept) > _KEPT:
                kept.remove(at)
    made = RichTable(box=None, pad_edge=False)
    for at in kept:
        column = part.columns[at]
        made.add_column(
            Text(column.heading),
            justify="left" if column.words else "right",
            overflow="fold",
            no_wrap=wide[at] <= width // 2,
        )
    printed = [[Text(row[at]) for at in kept] for row in rows]
    if (between := len(rows) - MOST_PRINTED) > 0:
        half = MOST_PRINTED // 2
        printed[half : half + between] = [[Text(f"... {between:,} more")]]
    for row_printed in printed:
        made.add_row(*row_printed)
    return made, [column.heading for at, column in enumerate(part.columns) if at not in kept]
