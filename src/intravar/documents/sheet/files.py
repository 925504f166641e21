"""Write the sheets: a file or two for each decider with a figure, in a folder with a list."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from intravar.documents.blocks import Block, Heading
from intravar.documents.measurement.report import cases_of_each
from intravar.documents.page import as_html
from intravar.documents.pdf import as_pdf, paper_size
from intravar.documents.sheet.sheet import TOGETHER, Ends, sheet, with_figure
from intravar.documents.typesetting import parse_formats
from intravar.errors import InputError, option
from intravar.publication import explain
from intravar.publication.files import read_published, safe_csv
from intravar.publication.folders import FIGURES_FILE, JOINT_FILE, file_of
from intravar.publication.pseudonyms import Addresses
from intravar.publication.results import Published
from intravar.writing import Ledger, check_writable, make_folder, make_private, write_private

#: What each format gives.
SHEET_FORMATS = ("html", "pdf")
#: The list of the sheets, for a mail merge.
LIST = "sheets.csv"
#: Surprising decisions that stand on a sheet.
MOST_CASES = 3
NAMED = "This sheet names a person. Hand it to nobody else."
CASES = "This sheet shows single {cases}. Keep it where the data are."
EXACT = "This sheet shows an exact figure that is not published. Hand it to nobody else."


class SheetFiles(NamedTuple):
    """What was written: the files, and whether they are for the owner's eyes alone."""

    files: list[Path]
    private: bool


def write_sheets(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    physician: str | None = None,
    formats: str | Sequence[str] = "html",
    names: bool = False,
    cases: bool = False,
    exact: bool = False,
    paper: str = "a4",
) -> SheetFiles:
    """Write one page for each decider with a figure, from what was published of a measurement.

    Everything is made before anything is written. With names, cases or exact figures the folder is
    private. :data:`LIST` beside the sheets tells which file is whose.

    Parameters
    ----------
    folder
        What `intravar measure --out` or :func:`intravar.write_measurement` wrote.
    out
        Folder for the sheets; another than the measurement's. Exact figures go to the private
        folder by default, and nowhere else.
    physician
        Whose sheet, by name or pseudonym; that of everybody with a figure if it is not given.
    formats
        Some of html and pdf, in a list or with commas between.
    names
        Whether names stand on the sheets; they are read from the private folder.
    cases
        Whether decisions that surprised stand on the sheets; patient-level.
    exact
        Whether exact figures stand where only a range is published.
    paper
        "a4" or "letter".

    Returns
    -------
    SheetFiles
        In the order of pseudonyms; the list last, unless one decider was asked for.
    """
    chosen_formats = parse_formats(formats, SHEET_FORMATS)
    size = paper_size(paper)
    path, private = explain.measurement_folders(folder)
    target = _target(None if out is None else Path(out), path, private, exact=exact)
    published = read_published(path)
    words = published.words
    everybody = {row.physician for each in published.decisions for row in each.physicians}
    known = Addresses.of(sorted(everybody), private, words.decider)
    figures = _figures(path, published) if exact else {}
    chosen = with_figure(published) if physician is None else [known.published_name(physician)]
    named = names or any(name in everybody for name in known.names.values())
    contents: dict[str, bytes] = {}
    listed = []
    for published_name in chosen:
        called = known.name_of(published_name) if named else published_name
        why = [EXACT] * exact + [words.fill(CASES)] * cases + [NAMED] * names
        document = sheet(
            published,
            published_name,
            called=called,
            cases=surprising(path, published_name, published) if cases else (),
            private=" ".join(why) or None,
            exact=figures.get(known.name_of(published_name)) if exact else None,
        )
        pseudonyms = (each for each, name in known.names.items() if name == published_name)
        stem = _stem(called if named else next(pseudonyms, published_name), contents)
        files = {form: f"{stem}.{form}" for form in chosen_formats}
        for form, name in files.items():
            contents[name] = (
                as_pdf(document, size)
                if form == "pdf"
                else as_html(document, words, width="sheet").encode()
            )
        listed.append({words.decider: called, **files})
    if physician is None:
        contents[LIST] = safe_csv(pl.DataFrame(listed)).encode()
    keep = names or cases or exact
    return SheetFiles(_written(target, contents, private=keep), keep)


def _target(out: Path | None, path: Path, private: Path, *, exact: bool) -> Path:
    """Return the folder of the sheets, or say why it cannot be."""
    if exact:
        if out is None:
            return private / "sheets"
        if not out.resolve().is_relative_to(private.resolve()):
            raise InputError(
                "exact figures are for the private folder; leave {} out, or name a folder in '{}'",
                option("out"),
                private,
            )
        return out
    if out is None:
        raise InputError("name a folder for the sheets with {}", option("out"))
    if out.resolve() in (path.resolve(), private.resolve()):
        raise InputError(
            "'{}' is the folder of the measurement; name another with {}", out, option("out")
        )
    return out


def surprising(folder: Path, physician: str, published: Published) -> list[Block]:
    """Return decisions of a decider beside similar cases decided otherwise. Patient-level."""
    cases = cases_of_each(folder, physician, published, most=MOST_CASES)
    return [Heading("Decisions of yours that surprised"), *cases] if cases else []


def _figures(path: Path, published: Published) -> dict[str, dict[str, Ends]]:
    """Return the exact figures by name: of each decision, and of several together."""
    remedy = "make the sheets where it was measured, or measure again"
    kept = {
        each.decision: (file_of(FIGURES_FILE, at), ("discordance", "low", "high"))
        for at, each in enumerate(published.decisions)
    }
    if published.joint is not None:
        kept[TOGETHER] = JOINT_FILE, ("differ", "differ_low", "differ_high")
    figures: dict[str, dict[str, Ends]] = {}
    for decision, (file, ends) in kept.items():
        table = explain.private_table(path, file, "exact figures", remedy)
        for name, *figure in table.drop_nulls(ends).select("physician", *ends).iter_rows():
            figures.setdefault(name, {})[decision] = (figure[0], figure[1], figure[2])
    return figures


def _stem(called: str, files: Mapping[str, bytes]) -> str:
    """Return a file's name that every system takes, and nobody else has.

    Examples
    --------
    >>> _stem("Dr. Ada/Lovelace", {}), _stem("Ada", {"Ada.html": b""})
    ('Dr. Ada_Lovelace', 'Ada-2')
    """
    plain = re.sub(r"[^\w .-]", "_", called).strip(" .")[:80] or "sheet"
    taken = {Path(name).stem.casefold() for name in files}
    stem, number = plain, 1
    while stem.casefold() in taken:
        number += 1
        stem = f"{plain}-{number}"
    return stem


def _written(target: Path, files: Mapping[str, bytes], *, private: bool) -> list[Path]:
    """Write the sheets into their folder, the owner's alone if they are private."""
    make_folder(target)
    check_writable(target)
    if private:
        make_private(target)
    ledger = Ledger(target)
    ledger.check(files)  # all of them before the first is written
    for name, content in files.items():
        with ledger.writing(name) as beside:
            if private:
                write_private(beside, content)
            else:
                beside.write_bytes(content)
    return [target / name for name in files]
