"""The packet for reviewers: pairs, files for answers, and a form that works without a network."""

import hashlib
import io
import json
import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from intravar.documents.typesetting import CREATED
from intravar.errors import InputError, option
from intravar.publication.files import escaped, safe_csv
from intravar.review.drawing import ReviewPair
from intravar.review.reading import COLUMNS, SHEET
from intravar.review.store import ANSWERS, REASONS, Folder, Stored
from intravar.writing import check_writable, write_private

NOTE = (
    "Data of single cases: keep this packet where the charts are, give it to the reviewers "
    "alone, and delete it when they are done."
)
QUESTION = (
    "Are these two comparable for this decision, or do they differ in something that matters?"
)


def checked_packet(out: str | os.PathLike[str]) -> Path:
    """Return the folder of a packet, or say why it cannot be written; nothing is written yet."""
    path = Path(out).absolute()
    if path.exists():
        raise InputError(f"'{out}' is there already; name another folder with {option('out')}")
    if not path.parent.is_dir():
        raise InputError(f"folder '{path.parent}' does not exist; make it first")
    check_writable(path.parent)
    return path


def write_packet(
    path: Path,
    pairs: Sequence[ReviewPair],
    design: Stored,
    opened: Folder,
    keep: Callable[[], None],
) -> None:
    """Write a packet, whole or not at all.

    `keep` keeps the design in the private folder; it is called when all files are written and
    before the folder has its name, so that no packet is ever there without its design.
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    part.mkdir(mode=0o700)
    try:
        for name, content in packet_files(pairs, design, opened).items():
            write_private(part / name, content)
        keep()
        os.replace(part, path)
    except OSError as error:
        raise InputError(f"cannot write '{path}': {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def packet_files(pairs: Sequence[ReviewPair], design: Stored, opened: Folder) -> dict[str, bytes]:
    """Return the files of a packet by their names."""
    listed = pl.DataFrame(
        [(p.pair, p.a.patient, p.b.patient) for p in pairs],
        schema={"pair": pl.String, "patient_a": pl.String, "patient_b": pl.String},
        orient="row",
    )
    files = {"pairs.csv": safe_csv(listed).encode(), "README.txt": f"{NOTE}\n".encode()}
    for reviewer in design.reviewers:
        own = [pair for pair in pairs if reviewer in pair.reviewers]
        rows = [_answered(pair, reviewer) for pair in own]
        table = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")
        files[f"answers-{reviewer}.csv"] = safe_csv(table).encode()
        files[f"answers-{reviewer}.xlsx"] = _workbook(own, reviewer)
    files["review.html"] = _form(pairs, design, opened)
    return files


def _answered(pair: ReviewPair, reviewer: str) -> tuple[str, str, str, str]:
    """Return what :data:`COLUMNS` hold for a pair: its name, and what was answered so far."""
    given = pair.answers.get(reviewer)
    if given is None:
        return pair.pair, "", "", ""
    return pair.pair, given.answer, given.reason, given.comment


def _workbook(pairs: Sequence[ReviewPair], reviewer: str) -> bytes:
    """Return a workbook: a row per pair, both patients side by side, drop-downs for answers."""
    try:
        import xlsxwriter
    except ImportError as error:
        raise InputError('the workbook needs a package: pip install "intravar[files]"') from error
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, {"in_memory": True, "strings_to_formulas": False})
    sheet, lists = book.add_worksheet(SHEET), book.add_worksheet("lists")
    head = book.add_format({"bold": True, "text_wrap": True, "valign": "top", "bottom": 1})
    text = book.add_format({"num_format": "@"})
    other = book.add_format({"num_format": "@", "bold": True, "bg_color": "#FFE9A8"})
    entry = book.add_format({"num_format": "@", "bg_color": "#E8F1FB", "border": 1})
    heads = [f"{name} {side}" for name in (pairs[0].names if pairs else ()) for side in "AB"]
    for column, name in enumerate([*COLUMNS, "patient A", "patient B", *heads]):
        sheet.write_string(0, column, escaped(name), head)
    for row, pair in enumerate(pairs, 1):
        cells = list(zip(_answered(pair, reviewer), (text, entry, entry, entry), strict=True))
        cells += [(pair.a.patient, text), (pair.b.patient, text)]
        for *both, differs in zip(pair.a.values, pair.b.values, pair.differs, strict=True):
            cells += [(str(value), other if differs else text) for value in both]
        for column, (value, form) in enumerate(cells):
            sheet.write_string(row, column, escaped(value), form)
    for column, (words, error_type) in enumerate(((ANSWERS, "stop"), (REASONS, "warning"))):
        for row, word in enumerate(words):
            lists.write_string(row, column, word)
        source = f"=lists!${'AB'[column]}$1:${'AB'[column]}${len(words)}"
        choice = {"validate": "list", "source": source, "error_type": error_type}
        sheet.data_validation(1, column + 1, max(len(pairs), 1), column + 1, choice)
    lists.write_string(len(REASONS) + 1, 0, NOTE)
    lists.write_string(len(REASONS) + 2, 0, QUESTION)
    for first, last, width in ((0, 0, 8), (1, 3, 18), (4, 5, 12)):
        sheet.set_column(first, last, width)
    sheet.freeze_panes(1, 6)
    # The workbook holds no time and no name of a person.
    book.set_properties({"title": f"answers of {reviewer}", "created": CREATED})
    book.close()
    return content.getvalue()


def _form(pairs: Sequence[ReviewPair], design: Stored, opened: Folder) -> bytes:
    """Return the form: one page that needs no network, with all pairs in it."""
    content: dict[str, Any] = {
        "reviewers": list(design.reviewers),
        "names": list(pairs[0].names) if pairs else [],
        "answers": list(ANSWERS),
        "reasons": list(REASONS),
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
    }
    content["given"] = {
        who: {p.pair: p.answers[who].__dict__ for p in pairs if who in p.answers}
        for who in design.reviewers
    }
    # Answers that a browser keeps belong to these pairs and no others.
    digest = hashlib.sha256(json.dumps(content["pairs"]).encode()).hexdigest()[:16]
    content["packet"] = f"{pairs[0].pair if pairs else ''}-{digest}"
    embedded = json.dumps(content, ensure_ascii=False).replace("<", "\\u003c")
    page = files("intravar.review").joinpath("form.html").read_text("utf-8")
    return page.replace("/*CONTENT*/", embedded).encode()
