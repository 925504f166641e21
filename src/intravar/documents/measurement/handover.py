"""From a measurement to the folders that are handed on and kept, and to files of other formats."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path

import polars as pl

from intravar.documents.blocks import Block, Document
from intravar.documents.measurement.report import case_blocks, report, table_document
from intravar.documents.page import as_html
from intravar.documents.typesetting import lacking, parse_formats
from intravar.documents.workbook import as_xlsx
from intravar.measurement.cases import cases_of, patients_of, review_pairs_of, side_by_side
from intravar.measurement.result import Measurement
from intravar.publication.disclosure import published_of
from intravar.publication.files import files_of, parquet_bytes, read_published
from intravar.publication.folders import (
    CASES_FILE,
    FIGURES_FILE,
    JOINT_FILE,
    PAIRS_FILE,
    PATIENTS_FILE,
    add_files,
    checked_out,
    file_of,
    private_folder,
    write_folders,
)
from intravar.publication.pseudonyms import KEY_FILE, Pseudonyms, read_key
from intravar.publication.results import Published
from intravar.tables import table_of

PAGE = "report.html"
#: The page of the table alone, with all columns.
ANNEX = "physicians.html"
REQUEST = "request.toml"
PRIVATE_NOTE = "{Case}-level data and the key of the pseudonyms. Do not hand this folder on.\n"
PRIVATE_KEY = "Private: it tells who is who."
#: Cases of a physician that are embedded in the page on request.
PAIRS_IN_PAGE = 2


def write_measurement(
    measurement: Measurement,
    out: str | os.PathLike[str],
    *,
    show_names: bool = False,
    key: str | os.PathLike[str] | bytes | None = None,
    pairs_in_report: bool = False,
    replace: bool = False,
) -> Published:
    """Write what may be handed on to a folder, and what may not to a private one beside it.

    Parameters
    ----------
    measurement
        With everything in it.
    out
        The folder to hand on; the private one has its name and "-private" behind it.
    show_names
        Whether real names are written instead of pseudonyms.
    key
        Key of the pseudonyms, or key file of an earlier measurement. By default that of the
        measurement which is there already, else a new one.
    pairs_in_report
        Whether the page embeds the cases behind the scores; it is patient-level then.
    replace
        Whether the result of another request may be overwritten.

    Returns
    -------
    Published
        What was written for others.
    """
    source = measurement.check.source
    together = measurement.together
    request = measurement.request if together is None else together.request
    path = checked_out(out, request, source, replace=replace)
    # Everybody who has patients in any decision, under the same pseudonym from run to run.
    tables = [each.table["physician"].cast(pl.String) for each in measurement.decisions.values()]
    listed = pl.concat(tables).unique(maintain_order=True).to_list()
    before = private_folder(path) / KEY_FILE
    key = before if key is None and before.is_file() else key
    given = key if key is None or isinstance(key, bytes) else read_key(Path(key))
    pseudonyms = Pseudonyms.of(listed, given)
    names = {name: name for name in pseudonyms.by_name} if show_names else pseudonyms.by_name
    published = published_of(measurement, names, pseudonyms.secret)
    pairs = _pairs_for_page(measurement, published, names) if pairs_in_report else None
    public = files_of(published) | pages(published, pairs)
    public[REQUEST] = request.to_toml(from_folder(source, path)).encode()
    write_folders(path, public, _private_files(measurement, pseudonyms))
    return published


def from_folder(source: str, folder: Path) -> str | None:
    """Return a source as it is seen from a folder; None if it was a frame in memory."""
    if "://" in source:
        return source
    if not Path(source).exists():
        return None
    try:
        return Path(os.path.relpath(source, folder)).as_posix()
    except ValueError:  # on another drive
        return Path(source).absolute().as_posix()


def _private_files(measurement: Measurement, pseudonyms: Pseudonyms) -> dict[str, bytes]:
    note = measurement.request.words.fill(PRIVATE_NOTE)
    files = {KEY_FILE: pseudonyms.as_json().encode(), "README.txt": note.encode()}
    if not lacking(["xlsx"]):
        rows = sorted((pseudonym, name) for name, pseudonym in pseudonyms.by_name.items())
        heads = [("pseudonym", 1, itemgetter(0)), ("name", 1, itemgetter(1))]
        table = table_of("Key", "", rows, heads, words=(0, 1))
        files["key.xlsx"] = as_xlsx(Document("Key of the pseudonyms", PRIVATE_KEY, [table]))
    called = pl.col("physician").cast(pl.String)
    if measurement.together is not None:
        joint = measurement.together.joint.physicians.with_columns(called)
        files[JOINT_FILE] = parquet_bytes(joint)
    for at, each in enumerate(measurement.decisions.values()):
        for name, kept in {
            FIGURES_FILE: each.table.with_columns(called),
            CASES_FILE: cases_of(each),
            PATIENTS_FILE: patients_of(each),
            PAIRS_FILE: review_pairs_of(each),
        }.items():
            files[file_of(name, at)] = parquet_bytes(kept)
    return files


def pages(published: Published, pairs: Mapping[str, list[Block]] | None = None) -> dict[str, bytes]:
    """Return the page of a measurement, with `pairs` if asked for, and that of its table alone."""
    words = published.words
    links = ((ANNEX, "All columns"), ("physicians.csv", "As a table"))
    return {
        PAGE: as_html(report(published, pairs), words, links=links).encode(),
        ANNEX: as_html(table_document(published), words, where="whole").encode(),
    }


def _pairs_for_page(
    measurement: Measurement, published: Published, names: Mapping[str, str]
) -> dict[str, list[Block]]:
    """Return the cases that tell most of every reportable physician, for whoever asked."""
    blocks = {}
    for decision in published.decisions:
        measured = measurement.decisions[decision.decision]
        cases, patients = cases_of(measured), patients_of(measured)
        reportable = {row.physician for row in decision.physicians if row.reportable}
        label = published.words.label(decision.decision)
        suffix = "" if published.joint is None else f", {label}"
        for name, pseudonym in sorted(names.items(), key=lambda item: item[1]):
            if pseudonym in reportable:
                rows = side_by_side(cases, patients, name, most=PAIRS_IN_PAGE)
                who = f"{pseudonym}{suffix}"
                blocks[who] = case_blocks(rows, label, published.words, name=who)
    return blocks


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
    from intravar.documents.pdf import as_pdf, paper_size
    from intravar.documents.word import as_docx

    chosen = parse_formats(formats, MEASUREMENT_FORMATS)
    size = paper_size(paper)
    path = Path(folder)
    published = read_published(path)
    document, html = report(published), pages(published)
    writers: dict[str, Callable[[Document], bytes]]
    writers = {"pdf": partial(as_pdf, paper=size), "xlsx": as_xlsx, "docx": as_docx}
    files: dict[str, bytes] = {}
    for name in chosen:
        files |= html if name == "html" else {f"report.{name}": writers[name](document)}
    add_files(path, files)
    return [path / name for name in files]
