"""What reviewers answered: in CSV, Excel or what the form saved; how well they agree, and why."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import FloatArray
from intravar.errors import InputError
from intravar.inference.intervals import LEVEL
from intravar.review.design import DATE, Design
from intravar.review.store import ANSWERS, Answer, Answers
from intravar.seeds import stream
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
    files: Sequence[str | os.PathLike[str]], design: Design
) -> dict[str, dict[str, Answer]]:
    """Return the answers in some files, by reviewer and pair; rows without one are left out."""
    found: dict[str, dict[str, Answer]] = {}
    read_from: dict[tuple[str, str], Path] = {}
    for file in map(Path, files):
        reviewer, answers = _answers_of(file, design)
        own = found.setdefault(reviewer, {})
        for pair, answer in answers.items():
            before = own.get(pair)
            if before is not None and before.answer != answer.answer:
                raise InputError(
                    f"pair '{pair}' of {reviewer} is '{before.answer}' in "
                    f"'{read_from[reviewer, pair]}' and '{answer.answer}' in '{file}'; keep one"
                )
            if before is None or not before.reason:
                own[pair] = answer
                read_from[reviewer, pair] = file
    return found


def _answers_of(file: Path, design: Design) -> tuple[str, dict[str, Answer]]:
    """Return whose answers a file holds, and the answers by pair."""
    saved = file.suffix.lower() == ".json"
    reviewer, rows = _saved_rows(file) if saved else (_reviewer_of(file, design), _table_rows(file))
    if reviewer not in design.reviewers:
        raise InputError(
            f"'{file}' is of reviewer '{reviewer}'; there are {', '.join(design.reviewers)}"
        )
    listed: set[str] = set()
    found = {}
    for pair, given, reason, comment in rows:
        if not any((pair, given, reason, comment)):
            continue
        if not pair:
            raise InputError(f"a row of '{file}' has an answer but no pair; name the pair")
        where = f" in '{file}'"
        design.refuse_other(pair, reviewer, where)
        if pair in listed:
            raise InputError(f"pair '{pair}' stands twice{where}; keep one row")
        listed.add(pair)
        word = _MEANT.get(given.lower(), given.lower())
        if word in ANSWERS:
            found[pair] = Answer(word, reason, comment)
        elif given or reason:
            said = f"answer '{given}'" if given else f"reason '{reason}' but no answer"
            hint = "; did Excel turn it into a date?" if DATE.fullmatch(given) else ""
            raise InputError(
                f"pair '{pair}'{where} has the {said}{hint}; give one of {', '.join(ANSWERS)}"
            )
    return reviewer, found


def _saved_rows(file: Path) -> tuple[str, list[tuple[str, ...]]]:
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


# --- how well reviewers agree, and what their answers say besides ---

#: Counts of a judged pair: comparable, different; a pair that nobody is sure of has none.
JUDGED = {"comparable": 1.0, "different": 0.0}
DRAWS = 4_000


@dataclass(frozen=True)
class Agreement:
    """How often two reviewers say the same of a pair.

    Cohen's kappa has a 95 % interval: 1 always, 0 as often as by chance.
    """

    kappa: float
    low: float
    high: float
    n_pairs: int
    n_same: int


def judgement(answers: Iterable[Answer]) -> float | None:
    """Return what the answers to a pair come to: 1 comparable, 0 different; None if all unsure.

    Examples
    --------
    >>> judgement([Answer("comparable"), Answer("different")])
    0.5
    >>> judgement([Answer("unsure")]) is None
    True
    """
    known = [JUDGED[each.answer] for each in answers if each.answer in JUDGED]
    return sum(known) / len(known) if known else None


def by_pair(answers: Answers) -> dict[str, list[Answer]]:
    """Return the answers to every pair, reviewers in the order of their names."""
    found: dict[str, list[Answer]] = {}
    for reviewer in sorted(answers):
        for pair, given in answers[reviewer].items():
            found.setdefault(pair, []).append(given)
    return found


def agreement(given: Mapping[str, Sequence[Answer]]) -> Agreement | None:
    """Return how well reviewers agree, by answers to pairs; None where none was reviewed twice."""
    twice = [answers for answers in given.values() if len(answers) > 1]
    if not twice:
        return None
    table = np.zeros((len(ANSWERS), len(ANSWERS)))
    for first, second, *_ in twice:
        table[ANSWERS.index(first.answer), ANSWERS.index(second.answer)] += 1
    # Which of two people is the first means nothing.
    table = (table + table.T) / 2
    random = stream(0, "review", "kappa")
    cells = table.ravel()
    drawn = random.dirichlet(cells + 0.5 / len(cells), size=DRAWS).reshape(-1, *table.shape)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(_kappa(drawn), [tail, 1 - tail])
    middle = float(_kappa(table[None])[0])
    same = int(np.trace(table))
    return Agreement(middle, min(float(low), middle), max(float(high), middle), len(twice), same)


def _kappa(tables: FloatArray) -> FloatArray:
    share = tables / tables.sum(axis=(1, 2), keepdims=True)
    same = np.einsum("kii->k", share)
    chance = np.einsum("ki,ki->k", share.sum(axis=1), share.sum(axis=2))
    return np.asarray(np.where(chance < 1, (same - chance) / np.maximum(1 - chance, 1e-12), 1.0))


def reasons(given: Mapping[str, Sequence[Answer]], design: Design) -> dict[str, int]:
    """Count the reasons why pairs that were decided differently are not comparable.

    A pair counts once for every reason that is given; the most frequent come first.
    """
    different = {p.pair for p in design.pairs if p.different}
    found: Counter[str] = Counter()
    for pair in (pair for pair in given if pair in different):
        answers = (each for each in given[pair] if each.answer == "different")
        found.update({each.reason or "no reason given" for each in answers})
    return dict(found.most_common())
