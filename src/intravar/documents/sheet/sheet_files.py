"""Write the sheets of physicians: a file or two each, in a folder of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import polars as pl

from intravar.documents.colours import INKS
from intravar.documents.files.extra_packages import check_packages
from intravar.documents.files.paper import (
    colour_of,
    on_paper,
    paper_size,
    style_on_paper,
    template_text,
    words_in,
)
from intravar.documents.files.typesetting import portable
from intravar.documents.html import render_html
from intravar.documents.measurement.handover import damaged, stored_outputs
from intravar.documents.measurement.measurement_page import LOOKS
from intravar.documents.measurement.several_handover import stored_several
from intravar.documents.sheet.several_sheet import several_sheet
from intravar.documents.sheet.sheet_cases import surprising
from intravar.documents.sheet.sheet_content import PATIENT_LEVEL, Sheet, sheet_of
from intravar.errors import InputError, option
from intravar.ledger import Ledger
from intravar.publication.addressing import Addresses
from intravar.publication.explain import measurement_folders
from intravar.publication.folders import private_folder, read_several
from intravar.publication.outputs import Outputs
from intravar.publication.several_outputs import SeveralOutputs
from intravar.writing import check_writable, make_folder, make_private, write_private

_PACKAGE = "intravar.documents.sheet"
#: What each format gives.
SHEET_FORMATS = ("html", "pdf")
NAMED = "This sheet names a person. Hand it to nobody else."


class SheetFiles(NamedTuple):
    """What was written: the files, and whether they are for the owner's eyes alone."""

    files: list[Path]
    private: bool


def write_sheets(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    physician: str | None = None,
    formats: Sequence[str] = ("html",),
    names: bool = False,
    cases: bool = False,
    paper: str = "a4",
) -> SheetFiles:
    """Write one page per physician, from what was published of a measurement.

    Everything is made before anything is written. With names or cases the folder is private.

    Parameters
    ----------
    folder
        What `intravar measure --out` wrote, of one decision or of several together.
    out
        Folder for the sheets; another than the measurement's.
    physician
        Whose sheet, by name or pseudonym; everybody's if it is not given.
    formats
        Some of html and pdf.
    names
        Whether names stand on the sheets; they are read from the private folder.
    cases
        Whether decisions that surprised stand on the sheets; patient-level.
    paper
        "a4" or "letter".

    Returns
    -------
    SheetFiles
        Named by pseudonyms, in their order.
    """
    check_packages(formats)
    size = paper_size(paper)
    outputs: Outputs | SeveralOutputs
    if read_several(Path(folder)) is None:
        path, private = measurement_folders(folder)
        outputs = stored_outputs(path)
        listed = outputs.physicians["physician"].to_list()
    else:
        path, private = Path(folder), private_folder(Path(folder).resolve())
        outputs = stored_several(path)
        listed = outputs.joint["physician"].to_list()
        if cases:
            first = next(iter(outputs.summary["folders"].values()))
            raise InputError(
                f"{option('cases')} shows decisions of one kind; ask for it of the folder of one "
                f"decision, such as '{path.with_name(first)}'"
            )
    target = _checked_target(Path(out), path, private)
    known = Addresses.of(listed, private)
    chosen = list(known.published) if physician is None else [known.found(physician)]
    made: dict[str, bytes] = {}
    for shown in chosen:
        sheet = _sheet(path, outputs, shown, known.name_of(shown) if names else shown, cases=cases)
        stem = known.pseudonym_of(shown) or f"sheet-{known.published.index(shown) + 1:04d}"
        for form in formats:
            made[f"{stem}.{form}"] = _made(sheet, form, size, path)
    return SheetFiles(_written(target, made, private=names or cases), names or cases)


def _checked_target(out: Path, path: Path, private: Path) -> Path:
    if out.resolve() in (path.resolve(), private.resolve()):
        raise InputError(
            f"'{out}' is the folder of the measurement; name another with {option('out')}"
        )
    return out


def _sheet(
    path: Path, outputs: Outputs | SeveralOutputs, shown: str, called: str, *, cases: bool
) -> Sheet:
    told = surprising(path, shown, outputs.summary) if cases else ()
    named = called != shown
    why = " ".join([PATIENT_LEVEL] * cases + [NAMED] * named) or None
    try:
        if isinstance(outputs, SeveralOutputs):
            return several_sheet(outputs, shown, called=called, private=why)
        return sheet_of(outputs, shown, called=called, cases=told, private=why)
    except (ValueError, KeyError, TypeError, AttributeError, pl.exceptions.PolarsError) as error:
        if isinstance(error, InputError):
            raise
        raise damaged(path) from error


def _made(sheet: Sheet, form: str, paper: str, path: Path) -> bytes:
    if form == "pdf":
        return sheet_pdf(sheet, paper)
    try:
        return sheet_html(sheet).encode()
    except jinja2.UndefinedError as error:
        raise damaged(path) from error


def sheet_html(sheet: Sheet) -> str:
    """Return a sheet as a page."""
    return render_html(_PACKAGE, "sheet", {"sheet": sheet}, looks=LOOKS)


def sheet_pdf(sheet: Sheet, paper: str = "a4") -> bytes:
    """Return a sheet as PDF."""
    style = style_on_paper(template_text(_PACKAGE, "sheet.css"), INKS | LOOKS)
    content = {
        "sheet": _plain(sheet, style),
        "paper": paper,
        "noise_words": words_in(sheet.noise[0]) if sheet.noise else "",
    }
    return portable(template_text(_PACKAGE, "sheet.typ"), content)


def _plain(sheet: Sheet, style: str) -> Mapping[str, Any]:
    """Return a sheet in a form that fits into JSON, with pictures as they are on paper."""
    pictures = {
        name: on_paper(svgs[0], style) if svgs else None
        for name, svgs in (("strip", sheet.strip), ("noise", sheet.noise))
    }
    key = [{"colour": colour_of(style, kind), "words": told} for kind, told in sheet.noise_key]
    cases = [vars(case) for case in sheet.cases]
    parts = [
        {
            "heading": part.heading,
            "line": part.line,
            "picture": on_paper(part.pictures[0], style) if part.pictures else None,
            "words": words_in(part.pictures[0]) if part.pictures else "",
        }
        for part in sheet.parts
    ]
    return vars(sheet) | pictures | {"cases": cases, "noise_key": key, "parts": parts}


def _written(target: Path, made: Mapping[str, bytes], *, private: bool) -> list[Path]:
    """Write the sheets into their folder, the owner's alone if they are private."""
    make_folder(target)
    check_writable(target)
    if private:
        make_private(target)
    ledger = Ledger(target)
    ledger.check(made)  # all of them before the first is written
    for name, content in made.items():
        with ledger.writing(name) as beside:
            if private:
                write_private(beside, content)
            else:
                beside.write_bytes(content)
    return [target / name for name in made]
