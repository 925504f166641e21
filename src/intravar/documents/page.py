"""Write a document as a page: one HTML file that opens offline and fetches nothing.

The rows of a very long table are packed for a script that shows some at a time: every column is its
different texts, the lowest value first, and which of them each row has.
"""

from __future__ import annotations

from collections.abc import Sequence
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
            "size": ROWS_AT_ONCE,
            "who": [row.p for row in table.rows],
            "shown": [int(row.shown) for row in table.rows],
            "columns": [
                {"name": column.name, "kind": column.kind, **_packed_column(cells)}
                for column, cells in zip(table.columns, columns, strict=True)
            ],
        }
    )


def _packed_column(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the texts of a column in order, from where on they are no value, and where."""

    def order(cell: Cell) -> tuple[bool, bool, float, str]:
        value = sort_value(cell)  # numbers, then words, then what is no value
        number = isinstance(value, int | float)
        return value == "", not number, value if number else 0.0, cell.text.casefold()

    texts = sorted({cell.text: order(cell) for cell in cells}.items(), key=lambda each: each[1])
    place = {text: at for at, (text, _) in enumerate(texts)}
    return {
        "texts": list(place),
        "empty": sum(not nothing for _, (nothing, *_) in texts),
        "at": [place[cell.text] for cell in cells],
    }


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
    columns_shown = {id(table): table.on(where) for table in tables(document)}
    packed = {key: packed_rows(table) for key, table in columns_shown.items() if table.interactive}
    content: dict[str, Any] = {
        "document": document,
        "words": words,
        "headings": [block for block in walk(document.blocks) if getattr(block, "short", "")],
        "interactive": bool(packed),
        "on": lambda table: columns_shown[id(table)],
        "packed": lambda table: packed.get(id(table)),
        "first_rows": ROWS_AT_ONCE,
        "most_printed": MOST_PRINTED,
        "width": width,
        "links": links,
        "whole": where == "whole",
    }
    return render_html("intravar.documents", "document", content, filters=_FILTERS, looks=LOOKS)
