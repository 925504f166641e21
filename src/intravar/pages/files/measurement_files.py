"""Write the report of a measurement in the formats that people use, from what was published."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from intravar.pages.files.extra_packages import check_packages
from intravar.pages.files.measurement_document import measurement_document
from intravar.pages.files.paper import paper_size, style_on_paper, template_text
from intravar.pages.measurement.handover import PAGE, damaged, stored_outputs, stored_pages
from intravar.pages.measurement.measurement_page import LOOKS
from intravar.publication.folders import add_files
from intravar.publication.outputs import Outputs

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
        Folder that `intravar measure` wrote. The private one beside it is not looked at.
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
    outputs = stored_outputs(path)
    makers: dict[str, Callable[[], dict[str, bytes]]] = {
        "html": lambda: stored_pages(path, outputs),
        "pdf": lambda: {"report.pdf": _pdf(outputs, size)},
        "xlsx": lambda: {"report.xlsx": _xlsx(outputs)},
        "docx": lambda: {"report.docx": _docx(outputs)},
    }
    made: dict[str, bytes] = {}
    try:
        for name in formats:
            made |= makers[name]()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(path) from error
    add_files(path, made)
    return [path / name for name in made]


def _pdf(outputs: Outputs, paper: str) -> bytes:
    from intravar.pages.files.portable_report import report_pdf

    return report_pdf(measurement_document(outputs), picture_style(), paper)


def _docx(outputs: Outputs) -> bytes:
    from intravar.pages.files.word_document import word_document

    return word_document(measurement_document(outputs), picture_style())


def _xlsx(outputs: Outputs) -> bytes:
    from intravar.pages.files.workbook import workbook

    return workbook(outputs)


def picture_style() -> str:
    """Return what colours the pictures of a measurement on paper."""
    css = template_text("intravar.pages.measurement", "measurement.css")
    return style_on_paper(css, LOOKS)
