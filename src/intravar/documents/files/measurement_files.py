"""Write the report of a measurement in the formats that people use, from what was published."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from intravar.documents.files.extra_packages import check_packages
from intravar.documents.files.measurement_document import measurement_document
from intravar.documents.files.paper import paper_size, style_on_paper, template_text
from intravar.documents.files.parts import WholeDocument
from intravar.documents.files.several_document import several_document
from intravar.documents.measurement.handover import PAGE, damaged, stored_outputs, stored_pages
from intravar.documents.measurement.measurement_page import LOOKS
from intravar.documents.measurement.several_handover import stored_several, stored_several_page
from intravar.errors import InputError
from intravar.publication.folders import add_files, read_several

#: What each format gives.
MEASUREMENT_FORMATS = {
    "html": f"{PAGE}, the page",
    "pdf": "report.pdf, to print and to send",
    "xlsx": "report.xlsx, a workbook",
    "docx": "report.docx, a text to edit",
}


def write_measurement_files(
    folder: str | os.PathLike[str], formats: Sequence[str] = ("html",), paper: str = "a4"
) -> list[Path]:
    """Make files of a stored measurement, beside it; nothing is measured.

    Everything is made before anything is written.

    Parameters
    ----------
    folder
        Folder that `intravar measure` wrote, of one decision or of several together. The private
        one beside it is not looked at.
    formats
        Some of :data:`MEASUREMENT_FORMATS`.
    paper
        "a4" or "letter".

    Returns
    -------
    list of Path
        The files.
    """
    check_packages(formats)
    size = paper_size(paper)
    path = Path(folder)
    makers = _of_several(path) if read_several(path) else _of_one(path)
    made: dict[str, bytes] = {}
    try:
        for name in formats:
            made |= makers(name, size)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise damaged(path) from error
    add_files(path, made)
    return [path / name for name in made]


#: From a format and a paper to files by their names.
Maker = Callable[[str, str], dict[str, bytes]]


def _of_one(path: Path) -> Maker:
    """Return what makes the files of one decision."""
    outputs = stored_outputs(path)

    def made(name: str, paper: str) -> dict[str, bytes]:
        if name == "html":
            return stored_pages(path, outputs)
        if name == "xlsx":
            from intravar.documents.files.workbook import workbook

            return {"report.xlsx": workbook(outputs)}
        return _document(measurement_document(outputs), name, paper)

    return made


def _of_several(path: Path) -> Maker:
    """Return what makes the files of several decisions together."""
    outputs = stored_several(path)

    def made(name: str, paper: str) -> dict[str, bytes]:
        if name == "html":
            return stored_several_page(path, outputs)
        if name == "xlsx":
            from intravar.documents.files.several_workbook import several_workbook

            return {"report.xlsx": several_workbook(outputs)}
        return _document(several_document(outputs), name, paper)

    return made


def _document(document: WholeDocument, name: str, paper: str) -> dict[str, bytes]:
    if name == "pdf":
        from intravar.documents.files.portable_report import report_pdf

        return {"report.pdf": report_pdf(document, picture_style(), paper)}
    from intravar.documents.files.word_document import word_document

    return {"report.docx": word_document(document, picture_style())}


def picture_style() -> str:
    """Return what colours the pictures of a measurement on paper."""
    css = template_text("intravar.documents.measurement", "measurement.css")
    return style_on_paper(css, LOOKS)
