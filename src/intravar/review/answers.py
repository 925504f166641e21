"""Read what reviewers answered: in CSV, Excel or what the form saved."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from intravar.errors import InputError
from intravar.review.store import ANSWERS, DATE, Answer, Stored
from intravar.sources import read_source

#: Columns of a file of answers.
COLUMNS = ("pair", "answer", "reason", "comment")
SHEET = "answers"
_REVIEWER = re.compile(r"(?<![A-Za-z0-9])(R\d+)(?![0-9])")
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
    files: Sequence[str | os.PathLike[str]], design: Stored
) -> dict[str, dict[str, Answer]]:
    """Return the answers in some files, by reviewer and pair; rows without one are left out."""
    answers: dict[str, dict[str, Answer]] = {}
    read_from: dict[tuple[str, str], Path] = {}
    for file in map(Path, files):
        reviewer, rows = _rows_of(file, design)
        if reviewer not in design.reviewers:
            raise InputError(
                f"'{file}' is of reviewer '{reviewer}'; there are {', '.join(design.reviewers)}"
            )
        own = answers.setdefault(reviewer, {})
        for row in rows:
            pair, given, reason, comment = (_text(row.get(name)) for name in COLUMNS)
            word = _MEANT.get(given.lower(), given.lower())
            if not any((pair, given, reason, comment)):
                continue
            if not pair:
                raise InputError(f"a row of '{file}' has an answer but no pair; name the pair")
            design.refuse_other(pair, reviewer, f" in '{file}'")
            if not given and not reason:
                continue
            if word not in ANSWERS:
                problem = f"answer '{given}'" if given else f"reason '{reason}' but no answer"
                hint = "; did Excel turn it into a date?" if DATE.fullmatch(given) else ""
                raise InputError(
                    f"pair '{pair}' in '{file}' has the {problem}{hint}; give one of "
                    f"{', '.join(ANSWERS)}"
                )
            before = own.get(pair)
            if before is not None and before.answer != word:
                raise InputError(
                    f"pair '{pair}' of {reviewer} is '{before.answer}' in "
                    f"'{read_from[reviewer, pair]}' and '{word}' in '{file}'; keep one"
                )
            if before is None or not before.reason:
                own[pair] = Answer(word, reason, comment)
                read_from[reviewer, pair] = file
    return answers


def _rows_of(file: Path, design: Stored) -> tuple[str, list[dict[str, Any]]]:
    """Return whose answers a file holds, and its rows."""
    if file.suffix.lower() == ".json":
        try:
            stored = json.loads(file.read_text("utf-8-sig"))
            return str(stored["reviewer"]), [dict(row) for row in stored["answers"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"'{file}' is not a file that the form of a review saved") from error
    named = _REVIEWER.findall(file.stem)
    if not named and design.n_reviewers > 1:
        raise InputError(
            f"whose answers are in '{file}'? put the reviewer into its name, 'answers-R1.csv' say"
        )
    excel = {"sheet": SHEET} if file.suffix.lower() in (".xlsx", ".xls", ".ods") else {}
    try:
        table = read_source(str(file), as_text=COLUMNS, **excel).table
    except InputError as error:
        if "is not UTF-8" not in str(error):
            raise
        # What Excel saves as CSV in Western Europe.
        table = read_source(str(file), as_text=COLUMNS, encoding="cp1252").table
    names = {name.strip().lower(): name for name in table.columns}
    for name in COLUMNS[:2]:
        if name not in names:
            raise InputError(
                f"'{file}' has no column '{name}'; a file of answers has {', '.join(COLUMNS)}"
            )
    answers = table.select(table[names[name]].alias(name) for name in COLUMNS if name in names)
    return named[-1] if named else design.reviewers[0], answers.rows(named=True)


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip().removeprefix("'")
