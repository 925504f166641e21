"""The report of a measurement as PDF."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from intravar.documents.files.paper import colour_of, on_paper, template_text
from intravar.documents.files.parts import (
    Bullets,
    DocumentPart,
    FramedPicture,
    Passage,
    PlainTable,
    SectionHeading,
    WholeDocument,
)
from intravar.documents.files.typesetting import portable


def report_pdf(document: WholeDocument, style: str, paper: str = "a4") -> bytes:
    """Return a document as PDF.

    Parameters
    ----------
    document
        What it holds.
    style
        Rules that colour its pictures.
    paper
        "a4" or "us-letter".
    """
    content = {
        "title": document.title,
        "about": document.about,
        "paper": paper,
        "parts": _all_parts(document.parts, style),
    }
    return portable(template_text("intravar.documents.files", "report.typ"), content)


def _all_parts(parts: Sequence[DocumentPart], style: str) -> list[dict[str, Any]]:
    found = []
    for kind, run in groupby(parts, key=_picture_kind):
        if kind:
            pictures = [part for part in run if isinstance(part, FramedPicture)]
            found += _pictures(pictures, style)
        else:
            found += [_plain(part) for part in run]
    return found


def _picture_kind(part: DocumentPart) -> str:
    """Return what kind of picture a part is; nothing where it is none."""
    return ("half" if part.half else "whole") if isinstance(part, FramedPicture) else ""


def _plain(part: DocumentPart) -> dict[str, Any]:
    """Return a part in a form that fits into JSON."""
    if isinstance(part, SectionHeading):
        return {"kind": "heading", "text": part.text, "level": part.level}
    if isinstance(part, Passage):
        return {"kind": "passage", "text": part.text, "quiet": part.quiet}
    if isinstance(part, Bullets):
        return {"kind": "bullets", "items": list(part.items)}
    if isinstance(part, PlainTable):
        return {"kind": "table", **{name: _listed(value) for name, value in vars(part).items()}}
    return {"kind": "page"}


def _pictures(pictures: Sequence[FramedPicture], style: str) -> list[dict[str, Any]]:
    """Return pictures one below the other, those of half the width two in a row."""
    half = pictures[0].half
    step = 2 if half else 1
    rows = [pictures[at : at + step] for at in range(0, len(pictures), step)]
    return [
        {"kind": "pictures", "half": half, "pictures": [_picture(each, style) for each in row]}
        for row in rows
    ]


def _picture(part: FramedPicture, style: str) -> dict[str, Any]:
    return {
        "svg": on_paper(part.svg, style),
        "title": part.title,
        "words": part.words,
        "caption": part.caption,
        "key": [{"colour": colour_of(style, kind), "words": said} for kind, said in part.key],
    }


def _listed(value: Any) -> Any:
    return value if isinstance(value, str) else list(value)
