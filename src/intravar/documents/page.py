"""Write a document as a page: one HTML file that opens offline and fetches nothing.

The rows of a very long table are packed for a script that shows some at a time: every column is its
different texts, the lowest value first, and which of them each row has.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from markupsafe import Markup

from intravar.documents.blocks import Block, Document, tables, walk
from intravar.documents.charts.rows import MOST_SINGLE
from intravar.documents.colours import LOOKS
from intravar.documents.html import environment, render_html, script_json
from intravar.tables import Cell, Table
from intravar.wording import USUAL, Words

#: Rows that are shown at once where there are too many for all, and without a script.
ROWS_AT_ONCE = 100
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


def sort_value(cell: Cell) -> Any:
    """Return what a cell is sorted by; "" where it holds nothing, None where by its text."""
    if cell.text == "–":
        return ""
    return cell.value if cell.order is None else cell.order


def packed_rows(table: Table) -> Markup | None:
    """Return the rows as JSON for the page; None where there are few enough to stand in it."""
    if len(table.rows) <= MOST_SINGLE:
        return None
    columns = zip(*(row.cells for row in table.rows), strict=True)
    return script_json(
        {
            "n": len(table.rows),
            "size": ROWS_AT_ONCE,
            "who": packed_numbers([row.p or 0 for row in table.rows]),
            "shown": packed_numbers([int(row.shown) for row in table.rows]),
            "columns": [
                {"name": column.name, "kind": column.kind, **packed_column(cells)}
                for column, cells in zip(table.columns, columns, strict=True)
            ],
        }
    )


def packed_column(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the texts of a column in order, from where on they are no value, and where."""
    last = {cell.text: cell for cell in cells}
    ordered = sorted((_order(cell), text) for text, cell in last.items())
    place = {text: at for at, (_, text) in enumerate(ordered)}
    return {
        "texts": list(place),
        "empty": sum(not nothing for (nothing, *_), _ in ordered),
        **packed_numbers([place[cell.text] for cell in cells]),
    }


def _order(cell: Cell) -> tuple[bool, bool, float, str]:
    """Return what a text is sorted by: numbers, then words, then what is no value."""
    value = sort_value(cell)
    if isinstance(value, int | float):
        return False, False, float(value), ""
    return value == "", True, 0.0, cell.text.casefold()


def packed_numbers(numbers: Sequence[int]) -> dict[str, Any]:
    """Return whole numbers in letters, so many for each; none where all are zero."""
    largest = max(numbers, default=0)
    digits = next(digits for digits in count() if 36**digits > largest)
    letters = {
        number: "".join(_LETTERS[number // 36**place % 36] for place in reversed(range(digits)))
        for number in set(numbers)
    }
    return {"digits": digits, "at": "".join([letters[number] for number in numbers])}


_FILTERS = {"kind": lambda block: type(block).__name__, "sorted_by": sort_value}


def as_fragment(blocks: Sequence[Block]) -> str:
    """Return blocks as a part of a page that somebody else makes; nothing in it needs a script."""
    template = environment("intravar.documents", _FILTERS).get_template("blocks.html.j2")
    content = {"on": lambda table: table.on("page"), "packed": lambda table: None}
    return str(template.make_module(content).show(blocks))  # type: ignore[attr-defined]


#: Rows up to which a table is printed with the page; a longer one has a page of its own.
MOST_PRINTED = 40


def as_html(
    document: Document,
    words: Words = USUAL,
    *,
    where: str = "page",
    width: str = "",
    links: tuple[tuple[str, str], ...] = (),
) -> str:
    """Return a document as a page, in the words of whoever asked for the few around a table.

    Tables show the columns of `where`: "page", or "whole" for all of them. The `width` of a narrow
    page is "sheet". `links` are files beside the page, each with what it holds.
    """
    shown = {id(table): table.on(where) for table in tables(document)}
    packed = {key: packed_rows(table) for key, table in shown.items() if table.interactive}
    # The style of a table, and what sorts it: in the page, or packed.
    parts = ["table"] * bool(packed) + ["packed"] * any(packed.values())
    content: dict[str, Any] = {
        "document": document,
        "words": words,
        "headings": [block for block in walk(document.blocks) if getattr(block, "short", "")],
        "interactive": bool(packed),
        "on": lambda table: shown[id(table)],
        "packed": lambda table: packed.get(id(table)),
        "first_rows": ROWS_AT_ONCE,
        "most_printed": MOST_PRINTED,
        "width": width,
        "links": links,
        "whole": where == "whole",
    }
    return render_html(
        "intravar.documents",
        "document",
        content,
        filters=_FILTERS,
        looks=LOOKS,
        parts=["document", *parts],
        scripts=[*parts, "document"] if packed else [],
    )
