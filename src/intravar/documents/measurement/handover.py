"""From a measurement to the folders that are handed on and kept, to other formats and to sheets."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import polars as pl

from intravar.documents import typesetting
from intravar.documents.blocks import Block, Document, Heading, told
from intravar.documents.html import as_html
from intravar.documents.measurement.evidence import case_blocks, cases_of_each
from intravar.documents.measurement.report import report, table_document
from intravar.documents.sheet import TOGETHER, Ends, sheet, with_figure
from intravar.documents.workbook import as_xlsx
from intravar.errors import InputError, option
from intravar.measurement.cases import cases_of, patients_of, review_pairs_of, side_by_side
from intravar.measurement.result import Measurement
from intravar.publication import files as stored
from intravar.publication.disclosure import published_of
from intravar.publication.explain import private_table
from intravar.publication.pseudonyms import (
    KEY_FILE,
    Addresses,
    Pseudonyms,
    read_key,
    read_rounding_key,
)
from intravar.publication.results import Published
from intravar.publication.rounding_key import rounding_key
from intravar.tables import table_of
from intravar.writing import Ledger, check_writable, make_folder, make_private, write_private

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
        measurement which is there already, else a new one. Figures are rounded by the key in the
        key file, or by one derived from the user's own key, which is the same in every folder.
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
    path = stored.checked_out(out, request, source, replace=replace)
    # Everybody who has patients in any decision, under the same pseudonym from run to run.
    tables = [each.table["physician"].cast(pl.String) for each in measurement.decisions.values()]
    listed = pl.concat(tables).unique(maintain_order=True).to_list()
    before = stored.private_folder(path) / KEY_FILE
    key = before if key is None and before.is_file() else key
    pseudonyms = _pseudonyms(listed, key)
    names = {name: name for name in pseudonyms.by_name} if show_names else pseudonyms.by_name
    published = published_of(measurement, names, pseudonyms.secret)
    pairs = _pairs_for_page(measurement, published, names) if pairs_in_report else None
    public = stored.files_of(published) | pages(published, pairs)
    public[REQUEST] = request.to_toml(from_folder(source, path)).encode()
    stored.write_folders(path, public, _private_files(measurement, pseudonyms))
    return published


def _pseudonyms(names: Sequence[str], key: str | os.PathLike[str] | bytes | None) -> Pseudonyms:
    """Return pseudonyms of names and the key of the rounding, by a key, a key file or neither."""
    if key is None:
        return Pseudonyms.of(names, rounding=rounding_key(names))
    if isinstance(key, bytes):
        return Pseudonyms.of(names, key)
    path = Path(key)
    return Pseudonyms.of(names, read_key(path), read_rounding_key(path))


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
    if not typesetting.lacking(["xlsx"]):
        rows = sorted((pseudonym, name) for name, pseudonym in pseudonyms.by_name.items())
        heads = [("pseudonym", 1, itemgetter(0)), ("name", 1, itemgetter(1))]
        table = table_of("Key", "", rows, heads, words=(0, 1))
        files["key.xlsx"] = as_xlsx(Document("Key of the pseudonyms", PRIVATE_KEY, [table]))
    called = pl.col("physician").cast(pl.String)
    if measurement.together is not None:
        joint = measurement.together.joint.physicians.with_columns(called)
        files[stored.JOINT_FILE] = stored.parquet_bytes(joint)
    for at, each in enumerate(measurement.decisions.values()):
        for name, kept in {
            stored.FIGURES_FILE: each.table.with_columns(called),
            stored.CASES_FILE: cases_of(each),
            stored.PATIENTS_FILE: patients_of(each),
            stored.PAIRS_FILE: review_pairs_of(each),
        }.items():
            files[stored.file_of(name, at)] = stored.parquet_bytes(kept)
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
    blocks, name_of = {}, {pseudonym: name for name, pseudonym in names.items()}
    for decision in published.decisions:
        measured = measurement.decisions[decision.decision]
        cases, patients = cases_of(measured), patients_of(measured)
        label = published.words.label(decision.decision)
        for row in decision.physicians:
            if row.reportable:
                own = side_by_side(cases, patients, name_of[row.physician], most=PAIRS_IN_PAGE)
                who = row.physician if published.joint is None else f"{row.physician}, {label}"
                blocks[who] = case_blocks(own, label, published.words, name=who)
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
    from intravar.documents.word import as_docx

    chosen = typesetting.parse_formats(formats, MEASUREMENT_FORMATS)
    size = typesetting.paper_size(paper)
    path = Path(folder)
    published = stored.read_published(path)
    document = report(published)
    writers: dict[str, Callable[[Document], bytes]]
    writers = {"pdf": partial(typesetting.as_pdf, paper=size), "xlsx": as_xlsx, "docx": as_docx}
    files: dict[str, bytes] = {}
    for name in chosen:
        html = name == "html"
        files |= pages(published) if html else {f"report.{name}": writers[name](document)}
    stored.add_files(path, files)
    return [path / name for name in files]


#: Formats of a sheet.
SHEET_FORMATS = ("html", "pdf")
#: The list of the sheets, for a mail merge.
LIST = "sheets.csv"
#: Surprising decisions that stand on a sheet, and the heading over them.
MOST_CASES, SURPRISED = 3, "Decisions of yours that surprised"


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
    chosen_formats = typesetting.parse_formats(formats, SHEET_FORMATS)
    size = typesetting.paper_size(paper)
    path, private = stored.measurement_folders(folder)
    target = _target(None if out is None else Path(out), path, private, exact=exact)
    published = stored.read_published(path)
    words = published.words
    everybody = {row.physician for each in published.decisions for row in each.physicians}
    known = Addresses.of(sorted(everybody), private, words.decider)
    figures = _figures(path, published) if exact else {}
    chosen = with_figure(published) if physician is None else [known.published_name(physician)]
    named = names or any(name in everybody for name in known.names.values())
    writers: dict[str, Callable[[Document], bytes]] = {
        "pdf": partial(typesetting.as_pdf, paper=size),
        "html": lambda document: as_html(document, words, width="sheet").encode(),
    }
    asked = {"exact": exact, "cases": cases, "names": names}
    why = [told(what, words) for what, wanted in asked.items() if wanted]
    contents: dict[str, bytes] = {}
    listed = []
    for published_name in chosen:
        called = known.name_of(published_name) if named else published_name
        surprises = cases_of_each(path, published_name, published, most=MOST_CASES) if cases else []
        document = sheet(
            published,
            published_name,
            called=called,
            cases=[Heading(SURPRISED), *surprises] if surprises else (),
            private=" ".join(why) or None,
            exact=figures.get(known.name_of(published_name)) if exact else None,
        )
        pseudonyms = (each for each, name in known.names.items() if name == published_name)
        stem = _stem(called if named else next(pseudonyms, published_name), contents)
        files = {form: f"{stem}.{form}" for form in chosen_formats}
        contents |= {name: writers[form](document) for form, name in files.items()}
        listed.append({words.decider: called, **files})
    if physician is None:
        contents[LIST] = stored.safe_csv(pl.DataFrame(listed)).encode()
    return SheetFiles(_written(target, contents, private=bool(why)), bool(why))


def _target(out: Path | None, path: Path, private: Path, *, exact: bool) -> Path:
    """Return the folder of the sheets, or say why it cannot be."""
    if exact:
        target = private / "sheets" if out is None else out
        if not target.resolve().is_relative_to(private.resolve()):
            raise InputError(
                f"exact figures are for the private folder; leave {option('out')} out, or name a "
                f"folder in '{private}'"
            )
        return target
    if out is None or out.resolve() in (path.resolve(), private.resolve()):
        raise InputError(f"name a folder for the sheets alone with {option('out')}")
    return out


def _figures(path: Path, published: Published) -> dict[str, dict[str, Ends]]:
    """Return the exact figures by name: of each decision, and of several together."""
    remedy = "make the sheets where it was measured, or measure again"
    kept = {
        each.decision: (stored.file_of(stored.FIGURES_FILE, at), ("discordance", "low", "high"))
        for at, each in enumerate(published.decisions)
    }
    if published.joint is not None:
        kept[TOGETHER] = stored.JOINT_FILE, ("differ", "differ_low", "differ_high")
    figures: dict[str, dict[str, Ends]] = {}
    for decision, (file, ends) in kept.items():
        table = private_table(path, file, "exact figures", remedy)
        for name, *figure in table.drop_nulls(ends[0]).select("physician", *ends).iter_rows():
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
    stems = (f"{plain}-{number}" if number > 1 else plain for number in count(1))
    return next(stem for stem in stems if stem.casefold() not in taken)


def _written(target: Path, files: Mapping[str, bytes], *, private: bool) -> list[Path]:
    """Write the sheets into their folder, the owner's alone if they are private."""
    make_folder(target)
    check_writable(target)
    if private:
        make_private(target)
    return Ledger(target).write_all(files, write_private if private else Path.write_bytes)
