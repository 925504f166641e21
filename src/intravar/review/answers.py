"""Read what reviewers answered: CSV, Excel, or the file that the form saves."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from intravar.errors import InputError
from intravar.review.design import Design
from intravar.review.store import ANSWERS, Answer
from intravar.sources import read_source

#: Columns of a file of answers.
COLUMNS = ("pair", "answer", "reason", "comment")
SHEET = "answers"
_REVIEWER = re.compile(r"(?<![A-Za-z0-9])(R\d+)(?![0-9])")
#: What Excel makes of a text that it takes for a date.
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./-]\w{2,3}([./-]\d{2,4})?|\d{5}(\.0)?")
#: Other words that people write.
_MEANT = {
    "c": "comparable",
    "yes": "comparable",
    "same": "comparable",
    "d": "different",
    "no": "different",
    "u": "unsure",
    "?": "unsure",
    "not sure": "unsure",
}


def read_answers(
    files: Sequence[str | os.PathLike[str]], design: Design
) -> dict[str, dict[str, Answer]]:
    """Return the answers in some files, by reviewer and pair.

    Parameters
    ----------
    files
        CSV or Excel files, or what the form saved; rows without an answer are left out.
    design
        The pairs that were drawn.
    """
    found: dict[str, dict[str, Answer]] = {}
    read_from: dict[tuple[str, str], Path] = {}
    for file in map(Path, files):
        for reviewer, pair, answer in _answers_of(file, design):
            before = found.setdefault(reviewer, {}).get(pair)
            if before is not None and before.answer != answer.answer:
                raise InputError(
                    f"pair '{pair}' of {reviewer} is '{before.answer}' in "
                    f"'{read_from[reviewer, pair]}' and '{answer.answer}' in '{file}'; keep one"
                )
            if before is None or not before.reason:
                found[reviewer][pair] = answer
                read_from[reviewer, pair] = file
    return found


def _answers_of(file: Path, design: Design) -> list[tuple[str, str, Answer]]:
    if file.suffix.lower() == ".json":
        reviewer, rows = _saved_rows(file)
    else:
        reviewer, rows = None, _table_rows(file)
    reviewer = reviewer or _reviewer_of(file, design)
    if reviewer not in design.reviewers:
        raise InputError(
            f"'{file}' is of reviewer '{reviewer}'; there are {', '.join(design.reviewers)}"
        )
    known = {p.pair: p.reviewers for p in design.pairs}
    listed: set[str] = set()
    found = []
    for pair, word, reason, comment in rows:
        if not any((pair, word, reason, comment)):
            continue
        if pair not in known:
            raise _unknown_pair(pair, file, len(known))
        if pair in listed:
            raise InputError(f"pair '{pair}' stands twice in '{file}'; keep one row")
        listed.add(pair)
        if reviewer not in known[pair]:
            raise InputError(
                f"pair '{pair}' in '{file}' is for {' and '.join(known[pair])}, not for {reviewer}"
            )
        if word:
            found.append((reviewer, pair, Answer(_word(word, pair, file), reason, comment)))
        elif reason:
            raise InputError(
                f"pair '{pair}' in '{file}' has the reason '{reason}' but no answer; give one of "
                f"{', '.join(ANSWERS)}"
            )
    return found


def _word(given: str, pair: str, file: Path) -> str:
    plain = given.strip().lower()
    word = _MEANT.get(plain, plain)
    if word in ANSWERS:
        return word
    hint = "; did Excel turn it into a date?" if _DATE.fullmatch(plain) else ""
    raise InputError(
        f"pair '{pair}' in '{file}' has the answer '{given}'{hint}; give one of "
        f"{', '.join(ANSWERS)}"
    )


def _unknown_pair(pair: str, file: Path, n: int) -> InputError:
    if not pair:
        return InputError(f"a row of '{file}' has an answer but no pair; name the pair")
    hint = "; did Excel turn it into a date or a number?" if _DATE.fullmatch(pair) else ""
    return InputError(f"pair '{pair}' in '{file}' was not drawn{hint}; there are P0001 to P{n:04d}")


def _saved_rows(file: Path) -> tuple[str | None, list[tuple[str, ...]]]:
    """Return the reviewer and the rows of a file that the form saved."""
    try:
        stored = json.loads(file.read_text("utf-8-sig"))
        rows = [tuple(_text(row.get(name)) for name in COLUMNS) for row in stored["answers"]]
        return str(stored["reviewer"]), rows
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"'{file}' is not a file that the form of a review saved") from error


def _table_rows(file: Path) -> list[tuple[str, ...]]:
    """Return the rows of a CSV or Excel file."""
    excel = {"sheet": SHEET} if file.suffix.lower() in (".xlsx", ".xls", ".ods") else {}
    try:
        table = read_source(str(file), as_text=COLUMNS, **excel).table
    except InputError as error:
        if "is not UTF-8" not in str(error):
            raise
        # What Excel saves as CSV in Western Europe.
        table = read_source(str(file), as_text=COLUMNS, encoding="cp1252").table
    lower = {name.strip().lower(): name for name in table.columns}
    missing = [name for name in COLUMNS[:2] if name not in lower]
    if missing:
        raise InputError(
            f"'{file}' has no column '{missing[0]}'; a file of answers has {', '.join(COLUMNS)}"
        )
    texts = [
        table[lower[name]].cast(pl.String).to_list() if name in lower else [""] * table.height
        for name in COLUMNS
    ]
    return [tuple(_text(value) for value in row) for row in zip(*texts, strict=True)]


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip().removeprefix("'")


def _reviewer_of(file: Path, design: Design) -> str:
    """Return whose file it is, by its name."""
    named = _REVIEWER.findall(file.stem)
    if named:
        return str(named[-1])
    if design.n_reviewers == 1:
        return design.reviewers[0]
    raise InputError(
        f"whose answers are in '{file}'? put the reviewer into its name, 'answers-R1.csv' say"
    )
