"""Write a document as a page: one HTML file that opens offline and fetches nothing."""

from __future__ import annotations

from typing import Any

from intravar.documents.blocks import Annex, Document, Heading, tables, walk
from intravar.documents.colours import LOOKS
from intravar.documents.html import render_html
from intravar.documents.packing import ROWS_AT_ONCE, packed_rows, sort_value
from intravar.wording import USUAL, Words

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
    """Return a document as a page.

    Parameters
    ----------
    document
        What it holds.
    words
        What things are called, for the few words around a table.
    where
        Which columns its tables show: "page", or "whole" for all of them.
    width
        "sheet" for a narrow page.
    links
        Files beside the page, each with what it holds.
    """
    shown = {id(table): table.on(where) for table in tables(document)}
    packed = {key: packed_rows(table) for key, table in shown.items() if table.interactive}
    headings = [
        block
        for block in walk(document.blocks)
        if isinstance(block, Heading | Annex) and block.short
    ]
    interactive = any(table.interactive for table in shown.values())
    parts = ["document"]
    if interactive:
        parts += ["table", "packed"] if any(packed.values()) else ["table"]
    scripts = [*(("table",) if interactive else ()), *(("packed",) if any(packed.values()) else ())]
    content: dict[str, Any] = {
        "document": document,
        "words": words,
        "headings": headings,
        "interactive": interactive,
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
        filters={"kind": lambda block: type(block).__name__, "sorted_by": sort_value},
        looks=LOOKS,
        parts=parts,
        scripts=[*scripts, "document"] if interactive else [],
    )
