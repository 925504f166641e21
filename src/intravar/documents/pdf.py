"""Write a document as PDF, by typst."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from intravar.documents.blocks import (
    Annex,
    Block,
    Bullets,
    Cards,
    Document,
    Figure,
    Heading,
    KeyFigures,
    Note,
    Paragraph,
    SideBySide,
    Table,
)
from intravar.documents.charts.paper import chart_style, colour_of, on_paper
from intravar.documents.colours import LOOKS
from intravar.documents.html import template_text
from intravar.documents.typesetting import portable
from intravar.errors import InputError

PAPERS = {"a4": "a4", "letter": "us-letter"}


def paper_size(name: str) -> str:
    """Return what typst calls a paper."""
    if name not in PAPERS:
        raise InputError(f"unknown paper '{name}'; there are {', '.join(PAPERS)}")
    return PAPERS[name]


def as_pdf(document: Document, paper: str = "a4") -> bytes:
    """Return a document as PDF.

    Parameters
    ----------
    document
        What it holds.
    paper
        "a4" or "us-letter".
    """
    content = {
        "title": document.title,
        "about": document.about,
        "paper": paper,
        "blocks": _listed(document.blocks),
    }
    return portable(template_text("document.typ"), content)


def _listed(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Return blocks in a form that fits into JSON; small figures in a row stand two and two."""
    found: list[dict[str, Any]] = []
    for half, run in groupby(blocks, key=lambda each: isinstance(each, Figure) and each.half):
        made = [_plain(block) for block in run]
        step = 2 if half else 1
        for at in range(0, len(made), step):
            pair = made[at : at + step]
            found += [{"kind": "beside", "blocks": pair}] if half and len(pair) > 1 else pair
    return found


def _plain(block: Block) -> dict[str, Any]:
    if isinstance(block, Heading):
        return {"kind": "heading", "text": block.text, "level": block.level}
    if isinstance(block, Paragraph):
        return {"kind": "paragraph", "text": block.text, "quiet": block.quiet}
    if isinstance(block, Bullets):
        return {"kind": "bullets", "items": list(block.items), "numbered": block.numbered}
    if isinstance(block, KeyFigures):
        return {"kind": "figures", "items": [list(item) for item in block.items]}
    if isinstance(block, Note):
        look = LOOKS.get(block.look, LOOKS["care"]).light
        ground = LOOKS.get(f"{block.look}-ground", LOOKS["care-ground"]).light
        return {"kind": "note", **vars(block), "ink": look, "ground": ground}
    if isinstance(block, Table):
        return _table(block.on("paper"))
    if isinstance(block, Figure):
        return _figure(block)
    if isinstance(block, Cards):
        cards = [
            {"title": card.title, "wide": card.wide, "blocks": _listed(card.blocks)}
            for card in block.cards
        ]
        return {"kind": "cards", "cards": cards}
    if isinstance(block, Annex):
        blocks = _listed(block.blocks)
        return {"kind": "annex", "title": block.title, "page": block.new_page, "blocks": blocks}
    assert isinstance(block, SideBySide)
    return {"kind": "run", "blocks": _listed(block.blocks)}


def _table(table: Table) -> dict[str, Any]:
    return {
        "kind": "table",
        "caption": table.caption,
        "heads": [column.heading for column in table.columns],
        "shares": [column.share for column in table.columns],
        "words": [at for at, column in enumerate(table.columns) if column.words],
        "rows": [[cell.text for cell in row.cells] for row in table.rows],
    }


def _figure(figure: Figure) -> dict[str, Any]:
    style = chart_style(LOOKS)
    key = [
        {"colour": colour_of(style, kind.split()[-1]), "words": told} for kind, told in figure.key
    ]
    return {
        "kind": "figure",
        "svg": on_paper(figure.svgs[-1 if figure.half else 0], LOOKS),
        "title": figure.title,
        "words": figure.alternative,
        "reading": figure.reading,
        "key": key,
        "half": figure.half,
    }
