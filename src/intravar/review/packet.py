"""What reviewers see: pairs of patients, blinded, and the packet of files and a form for answers.

What would tell a reviewer the decision, or the physician, is refused or replaced; see
:mod:`intravar.review.blinding`.
"""

import hashlib
import io
import json
import os
import secrets
import shutil
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intravar.documents.typesetting import CREATED
from intravar.errors import InputError, option, unknown_name
from intravar.measurement.cases import as_text, typed
from intravar.preparation.decisions import physician_names
from intravar.publication.files import escaped, safe_csv
from intravar.request import Request
from intravar.review import blinding, store
from intravar.sources import read_source
from intravar.text import clean_name
from intravar.writing import check_writable, write_private

NOTE, QUESTION = str(store.WORDS["note"]), str(store.WORDS["question"])


@dataclass(frozen=True)
class Patient:
    """One of the two patients of a pair, as a reviewer sees them.

    Attributes
    ----------
    patient
        The id, or the row of the source; a number of the packet if these would unblind.
    values
        What is recorded, and what else is shown, in the order of `ReviewPair.names`.
    """

    patient: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class ReviewPair:
    """A pair as a reviewer may see it: no decision, no physician.

    Attributes
    ----------
    pair
        What it is called.
    names
        Of the values, the most important first.
    a, b
        The two patients.
    differs
        For every value, whether the two differ.
    reviewers
        Who is to review it.
    answers
        What reviewers said so far.
    """

    pair: str
    names: tuple[str, ...]
    a: Patient
    b: Patient
    differs: tuple[bool, ...]
    reviewers: tuple[str, ...]
    answers: dict[str, store.Answer]


def pairs_of(stored: store.Stored) -> list[ReviewPair]:
    """Return drawn pairs as reviewers may see them."""
    shown = []
    for drawn in stored.pairs:
        (a, *one), (b, *two) = (stored.patients[str(row)] for row in (drawn.row_a, drawn.row_b))
        answers = {
            who: given[drawn.pair] for who, given in stored.answers.items() if drawn.pair in given
        }
        patients = Patient(a, tuple(one)), Patient(b, tuple(two))
        differs = tuple(x != y for x, y in zip(one, two, strict=True))
        names, reviewers = tuple(stored.names), tuple(drawn.reviewers)
        shown.append(ReviewPair(drawn.pair, names, *patients, differs, reviewers, answers))
    return shown


def with_patients(opened: store.Folder, sample: store.Stored, source: Any = None) -> store.Stored:
    """Add what reviewers see of the patients: what they are called, recorded values, and others.

    Names and other values come from the source. Other values that reveal the decision or the
    physician are refused; names that do are replaced by numbers of the packet.
    """
    request, patients = opened.published.request, opened.patients
    ids = [request.patient] if request.patient else []
    wanted = list(dict.fromkeys([*sample.show, *ids]))
    refused = dict.fromkeys(request.after, "known only after the decision")
    refused |= {request.physician: "who decided", request.decision: "the decision"}
    for name in wanted:
        if name in refused:
            raise InputError(f"column '{name}' is {refused[name]}; reviewers must not see it")
    if source is None and wanted:
        source = _measured_source(opened.out / "request.toml", wanted)
    if source is None and sample.show:
        raise InputError(
            f"request.toml does not name the measured table; {option('show')} takes it from source="
        )
    columns = pl.DataFrame()
    names = patients["row"]  # rows stand for the ids of a frame in memory
    if source is not None and wanted:
        columns = columns_of_source(source, request, patients, wanted)
        if ids:
            names = columns[ids[0]].cast(pl.String).fill_null("missing")
    visible = columns.select(sample.show)
    tested = blinding.Blinding.of(patients, opened.pairs)
    blinding.refuse_shown(visible, patients, tested)
    notes = blinding.record_warnings(tested)
    reveals = blinding.why_names_reveal(names, patients, tested)
    if reveals is not None:
        notes.append(_why_numbers(ids, reveals, opened))
    values = [*patients.drop(store.KEPT), *visible]
    position = dict(zip(patients["row"].to_list(), range(patients.height), strict=True))
    shown: dict[str, list[str]] = {}
    originals: dict[str, str] = {}
    for pair in sample.pairs:
        for side, row in (("A", pair.row_a), ("B", pair.row_b)):
            at = position[row]
            called = str(names[at])
            if reveals is not None:
                originals[f"{pair.pair}-{side}"] = called
                called = f"{pair.pair}-{side}"
            shown[str(row)] = [called, *(as_text(column[at]) for column in values)]
    return replace(
        sample,
        names=[opened.published.words.label(column.name) for column in values],
        patients=shown,
        originals=originals,
        notes=notes,
    )


def _why_numbers(ids: Sequence[str], reveals: str, opened: store.Folder) -> str:
    """Return why reviewers see numbers of the packet instead of ids or rows."""
    what = f"the ids in column '{ids[0]}' tell" if ids else "the rows of the table tell"
    return (
        f"{what} {reveals}; reviewers see numbers such as P0001-A instead, and whoever fetches the "
        f"charts finds the {'ids' if ids else 'rows'} in '{opened.private / store.MAPPING_FILE}'"
    )


def _measured_source(file: Path, wanted: Sequence[str]) -> str | None:
    """Return the table that was measured, which has some columns; None if it was a frame."""
    try:
        source = tomllib.loads(file.read_text("utf-8")).get("source")
    except (OSError, ValueError) as error:
        columns = ", ".join(f"'{name}'" for name in wanted)
        raise InputError(
            f"'{file}' cannot be read: it says which table has {columns}; restore it, or measure "
            "again"
        ) from error
    return source if source is None or "://" in str(source) else str(file.parent / str(source))


def columns_of_source(
    source: Any, request: Request, patients: pl.DataFrame, columns: Sequence[str]
) -> pl.DataFrame:
    """Return columns of the source for every patient who was kept, in the order of the patients.

    The source is read again, and every patient (row counted from 1, physician, decision,
    covariates) is compared with what is read: where a row holds something else now, nothing is
    shown, because it could be another patient's.
    """
    as_text = (request.physician, request.decision, *request.categorical)
    identifiers = [name for name in (request.patient, request.case) if name is not None]
    read = read_source(
        source, as_text=as_text, identifiers=identifiers, where=request.where, **request.reading
    )
    for name in columns:
        if name not in read.table.columns:
            raise unknown_name("column", name, read.table.columns, remedy="of the source")
    rows = patients["row"].to_numpy() - 1
    if np.isin(rows, read.rows).all():
        place = pl.Series(np.searchsorted(read.rows, rows))
        names = physician_names(read.table[clean_name(request.physician)])[0].cast(pl.String)
        table, covariates = read.table[place], patients.drop(store.KEPT).iter_columns()
        if names[place].eq_missing(patients["physician"]).all() and all(
            _unchanged(column, table) for column in covariates
        ):
            return table.select(columns)
    what = f"'{source}'" if isinstance(source, str | Path) else "the table"
    raise InputError(
        f"{what} is not what was measured: rows have changed; measure again, or leave "
        f"{option('show')} and {option('patient')} out"
    )


def _unchanged(measured: pl.Series, table: pl.DataFrame) -> bool:
    """Tell whether a table still holds a column that was measured; others are not compared."""
    name = measured.name
    name = name if name in table.columns else name.removesuffix(" (covariate)")
    if name not in table.columns:
        return True
    kinds: dict[Any, str] = {pl.String: "category", pl.Date: "date"}
    again = typed(table[name], kinds.get(measured.dtype, "number"))
    return bool(again.cast(measured.dtype, strict=False).eq_missing(measured).all())


def checked_packet(out: str | os.PathLike[str]) -> Path:
    """Return the folder of a packet, or say why it cannot be written; nothing is written yet."""
    path = Path(out).absolute()
    if path.exists():
        raise InputError(f"'{out}' is there already; name another folder with {option('out')}")
    if not path.parent.is_dir():
        raise InputError(f"folder '{path.parent}' does not exist; make it first")
    check_writable(path.parent)
    return path


@contextmanager
def packet_at(path: Path, design: store.Stored, opened: store.Folder) -> Iterator[None]:
    """Write a packet, whole or not at all.

    The body keeps the design in the private folder: when all files are written and before the
    folder has its name, so that no packet is ever there without its design.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    part.mkdir(mode=0o700)
    try:
        for name, content in packet_files(design, opened).items():
            write_private(part / name, content)
        yield
        os.replace(part, path)
    except OSError as error:
        raise InputError(f"cannot write '{path}': {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def packet_files(design: store.Stored, opened: store.Folder) -> dict[str, bytes]:
    """Return the files of a packet by their names."""
    pairs = pairs_of(design)
    listed = [(p.pair, p.a.patient, p.b.patient) for p in pairs]
    files = {
        "pairs.csv": _csv(listed, ("pair", "patient_a", "patient_b")),
        "README.txt": f"{NOTE}\n".encode(),
    }
    for reviewer in design.reviewers:
        own = [pair for pair in pairs if reviewer in pair.reviewers]
        rows = [_answered(pair, reviewer) for pair in own]
        files[f"answers-{reviewer}.csv"] = _csv(rows, store.COLUMNS)
        files[f"answers-{reviewer}.xlsx"] = _workbook(own, reviewer)
    files["review.html"] = _form(pairs, design, opened)
    return files


def _csv(rows: Sequence[tuple[str, ...]], columns: Sequence[str]) -> bytes:
    table = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    return safe_csv(table).encode()


def _answered(pair: ReviewPair, reviewer: str) -> tuple[str, ...]:
    """Return what :data:`COLUMNS` hold for a pair: its name, and what was answered so far."""
    given = pair.answers.get(reviewer)
    return pair.pair, *(("", "", "") if given is None else astuple(given))


def _workbook(pairs: Sequence[ReviewPair], reviewer: str) -> bytes:
    """Return a workbook: a row per pair, both patients side by side, drop-downs for answers."""
    try:
        import xlsxwriter
    except ImportError as error:
        raise InputError('the workbook needs a package: pip install "intravar[files]"') from error
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True, "strings_to_formulas": False})
    sheet, lists = book.add_worksheet(store.SHEET), book.add_worksheet("lists")
    head = book.add_format({"bold": True, "text_wrap": True, "valign": "top", "bottom": 1})
    text = book.add_format({"num_format": "@"})
    other = book.add_format({"num_format": "@", "bold": True, "bg_color": "#FFE9A8"})
    entry = book.add_format({"num_format": "@", "bg_color": "#E8F1FB", "border": 1})
    heads = [f"{name} {side}" for name in (pairs[0].names if pairs else ()) for side in "AB"]
    for column, name in enumerate([*store.COLUMNS, "patient A", "patient B", *heads]):
        sheet.write_string(0, column, escaped(name), head)
    for row, pair in enumerate(pairs, 1):
        cells = list(zip(_answered(pair, reviewer), (text, entry, entry, entry), strict=True))
        cells += [(pair.a.patient, text), (pair.b.patient, text)]
        for *both, differs in zip(pair.a.values, pair.b.values, pair.differs, strict=True):
            cells += [(str(value), other if differs else text) for value in both]
        for column, (value, form) in enumerate(cells):
            sheet.write_string(row, column, escaped(value), form)
    for column, (words, error_type) in enumerate(
        ((store.ANSWERS, "stop"), (store.REASONS, "warning"))
    ):
        for row, word in enumerate(words):
            lists.write_string(row, column, word)
        source = f"=lists!${'AB'[column]}$1:${'AB'[column]}${len(words)}"
        choice = {"validate": "list", "source": source, "error_type": error_type}
        sheet.data_validation(1, column + 1, max(len(pairs), 1), column + 1, choice)
    lists.write_string(len(store.REASONS) + 1, 0, NOTE)
    lists.write_string(len(store.REASONS) + 2, 0, QUESTION)
    for first, last, width in ((0, 0, 8), (1, 3, 18), (4, 5, 12)):
        sheet.set_column(first, last, width)
    sheet.freeze_panes(1, 6)
    # The workbook holds no time and no name of a person.
    book.set_properties({"title": f"answers of {reviewer}", "created": CREATED})
    book.close()
    return content.getvalue()


def _form(pairs: Sequence[ReviewPair], design: store.Stored, opened: store.Folder) -> bytes:
    """Return the form: one page that needs no network, with all pairs in it."""
    content: dict[str, Any] = {
        "reviewers": list(design.reviewers),
        "names": list(design.names),
        "answers": list(store.ANSWERS),
        "reasons": list(store.REASONS),
        "question": QUESTION,
        "note": NOTE,
        "decision": opened.published.words.decision or opened.published.request.decision,
        "pairs": [
            {
                "pair": p.pair,
                "a": [p.a.patient, *p.a.values],
                "b": [p.b.patient, *p.b.values],
                "reviewers": list(p.reviewers),
            }
            for p in pairs
        ],
        "given": {
            who: {p.pair: vars(p.answers[who]) for p in pairs if who in p.answers}
            for who in design.reviewers
        },
    }
    # Answers that a browser keeps belong to these pairs and no others.
    digest = hashlib.sha256(json.dumps(content["pairs"]).encode()).hexdigest()[:16]
    content["packet"] = f"{pairs[0].pair}-{digest}"
    embedded = json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")
    page = files("intravar.review").joinpath("form.html").read_text("utf-8")
    return page.replace("/*CONTENT*/", embedded).encode()
