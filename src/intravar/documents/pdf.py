"""Write a document as PDF, by typst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from intravar.documents.blocks import Block, Document, Figure, Note, Section, SideBySide
from intravar.documents.colours import LOOKS, key_mark, on_paper
from intravar.documents.html import template_text
from intravar.documents.typesetting import portable
from intravar.errors import InputError
from intravar.tables import MOST_WIDE, Table

PAPERS = {"a4": "a4", "letter": "us-letter"}


def paper_size(name: str) -> str:
    """Return what typst calls a paper."""
    if name not in PAPERS:
        raise InputError(f"unknown paper '{name}'; there are {', '.join(PAPERS)}")
    return PAPERS[name]


def as_pdf(document: Document, paper: str = "a4") -> bytes:
    """Return a document as PDF, on paper as typst calls it."""
    content = {**vars(document), "paper": paper, "blocks": _listed(document.blocks)}
    return portable(template_text("document.typ"), content)


def _listed(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Return blocks in a form that fits into JSON."""
    return [part for block in blocks for part in _plain_run(block)]


def _plain_run(block: Block) -> list[dict[str, Any]]:
    """Return a block; figures side by side in rows of two or three, or one beside a table."""
    if not isinstance(block, SideBySide):
        return [_plain(block)]
    if isinstance(block.blocks[0], Section):
        return [{"kind": "cards", "blocks": _listed(block.blocks)}]
    figures = [each for each in block.blocks if isinstance(each, Figure)]
    if len(block.blocks) < 2 or not figures or len(figures) < len(block.blocks) != 2:
        return _listed(block.blocks)
    step = 2 if len(block.blocks) in (2, 4) else 3
    parts = [
        _figure(each, narrow=True) if isinstance(each, Figure) else _plain(each)
        for each in block.blocks
    ]
    rows = [parts[at : at + step] for at in range(0, len(parts), step)]
    return [{"kind": "beside", "across": step, "blocks": row} for row in rows]


def _plain(block: Block) -> dict[str, Any]:
    if isinstance(block, Table):
        table = block.on("paper")
        return {
            "kind": "table",
            "dense": len(table.rows) > MOST_WIDE,
            "caption": table.caption,
            "heads": [column.heading for column in table.columns],
            "shares": [column.share for column in table.columns],
            "words": [at for at, column in enumerate(table.columns) if column.words],
            "rows": [[cell.text for cell in row.cells] for row in table.rows],
        }
    if isinstance(block, Figure):
        return _figure(block)
    content = {"kind": type(block).__name__.lower(), **vars(block)}
    if isinstance(block, Note):
        content["ink"] = LOOKS.get(block.look, LOOKS["care"]).light
        content["ground"] = LOOKS.get(f"{block.look}-ground", LOOKS["care-ground"]).light
    if "blocks" in content:
        content["blocks"] = _listed(content["blocks"])
    return content


def _figure(figure: Figure, *, narrow: bool = False) -> dict[str, Any]:
    return {
        "kind": "figure",
        "svg": on_paper(figure.svgs[-1 if figure.half or narrow else 0], LOOKS),
        "title": figure.title,
        "words": figure.alternative,
        "reading": figure.reading,
        "key": [{"mark": key_mark(look), "words": words} for look, words in figure.key],
        "half": figure.half,
    }
