"""Write a stored measurement in the formats that people use, from what was published."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from intravar.documents.blocks import Document
from intravar.documents.measurement.handover import PAGE, pages
from intravar.documents.measurement.report import report
from intravar.documents.pdf import paper_size
from intravar.documents.typesetting import check_packages, parse_formats
from intravar.publication.files import read_published
from intravar.publication.folders import add_files

#: What each format gives.
MEASUREMENT_FORMATS = {
    "html": f"{PAGE}, the page",
    "pdf": "report.pdf, to print and to send",
    "xlsx": "report.xlsx, a workbook",
    "docx": "report.docx, a text to edit",
}


def write_files(
    folder: str | os.PathLike[str], formats: str | Sequence[str] = "html", paper: str = "a4"
) -> list[Path]:
    """Make files of a stored measurement, beside it; nothing is measured.

    Everything is made before anything is written. Cases that were embedded in the page on request
    are not published, and not in the new one.

    Parameters
    ----------
    folder
        Folder that `intravar measure` or :func:`intravar.write_measurement` wrote. The private one
        beside it is not looked at.
    formats
        Some of html, pdf, xlsx and docx, in a list or with commas between.
    paper
        "a4" or "letter".

    Returns
    -------
    list of Path
        The files.
    """
    chosen = parse_formats(formats, MEASUREMENT_FORMATS)
    check_packages(chosen)
    size = paper_size(paper)
    path = Path(folder)
    published = read_published(path)
    document, html = report(published), pages(published)
    made: dict[str, bytes] = {}
    for name in chosen:
        made |= html if name == "html" else {f"report.{name}": written(document, name, size)}
    add_files(path, made)
    return [path / name for name in made]


def written(document: Document, name: str, paper: str = "a4") -> bytes:
    """Return a document in one of the formats but HTML."""
    if name == "pdf":
        from intravar.documents.pdf import as_pdf

        return as_pdf(document, paper)
    if name == "xlsx":
        from intravar.documents.workbook import as_xlsx

        return as_xlsx(document)
    from intravar.documents.word import as_docx

    return as_docx(document)
