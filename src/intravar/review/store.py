"""A review in the private folder of a measurement: the pairs drawn, and the answers to them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from filelock import FileLock, Timeout

from intravar.errors import InputError
from intravar.measurement.verdict import NOTHING
from intravar.publication.explain import measurement_folders, private_table
from intravar.publication.files import read_published
from intravar.publication.folders import PAIRS_FILE, PATIENTS_FILE, REVIEW_FILE, add_files
from intravar.publication.pseudonyms import KEY_FILE, Pseudonyms, read_key
from intravar.publication.results import Published
from intravar.review.design import Design, DrawnPair
from intravar.wording import Words

#: What a reviewer may answer.
ANSWERS = ("comparable", "different", "unsure")
#: Reasons that are offered; others go into the comment.
REASONS = (
    "contraindication",
    "other illness or frailty",
    "other treatment",
    "tried before",
    "patient's wish",
    "recorded values differ",
    "other",
)


@dataclass(frozen=True)
class Answer:
    """What a reviewer says of a pair.

    Attributes
    ----------
    answer
        One of :data:`ANSWERS`.
    reason
        Why two patients differ; one of :data:`REASONS`, words of the reviewer's own, or empty.
    comment
        Anything else.
    """

    answer: str
    reason: str = ""
    comment: str = ""

    def __post_init__(self) -> None:
        if self.answer not in ANSWERS:
            raise InputError(f"answer {self.answer!r} is none of {', '.join(ANSWERS)}")


#: Answers by reviewer and pair.
Answers = Mapping[str, Mapping[str, Answer]]


@dataclass(frozen=True)
class Stored:
    """What is kept of a review; there is no design before pairs were drawn.

    By row: what patients are `called`, where that is not their row, and the values that are `shown`
    besides. By pair: answers of every reviewer, and those from which figures were `published`.
    """

    design: Design | None = None
    called: Mapping[int, str] = field(default_factory=dict)
    shown: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    answers: Answers = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)

    def as_bytes(self) -> bytes:
        """Return what is written to the private folder."""

        def plain(value: Any) -> Any:
            return vars(value) if isinstance(value, Design) else [*vars(value).values()]

        content = {"what": "review", **vars(self)}
        return json.dumps(content, default=plain, ensure_ascii=False, indent=0).encode()

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Stored:
        """Return what was written."""
        design = stored["design"]
        if design is not None:
            pairs = tuple(DrawnPair(*(*row[:-1], tuple(row[-1]))) for row in design["pairs"])
            design = Design(**{**design, "pairs": pairs, "show": tuple(design["show"])})
        return cls(
            design,
            {int(row): name for row, name in stored["called"].items()},
            {int(row): tuple(values) for row, values in stored["shown"].items()},
            {
                who: {pair: Answer(*given) for pair, given in pairs.items()}
                for who, pairs in stored["answers"].items()
            },
            stored["published"],
        )


@dataclass(frozen=True, eq=False)
class Folder:
    """A stored measurement as a review sees it: the folder to hand on, and the private one.

    `pairs` are all that may be reviewed: physician, first, second, different, weight. `patients`
    are the recorded values: row, physician, decision, covariates.
    """

    out: Path
    private: Path
    published: Published
    pairs: pl.DataFrame
    patients: pl.DataFrame

    @property
    def words(self) -> Words:
        """What whoever measured calls things."""
        return self.published.words

    @property
    def smallest_cell(self) -> int:
        """The smallest count that is shown."""
        return self.published.request.smallest_cell

    @property
    def frame(self) -> tuple[float, float]:
        """The share of all pairs that were decided differently, and what they are worth."""
        weight, different = self.pairs["weight"], self.pairs["different"]
        total = float(weight.sum())
        if not total:
            return 0.0, 0.0
        worth = total**2 / float((weight**2).sum())
        return float(weight.filter(different).sum()) / total, worth

    @property
    def shown_names(self) -> dict[str, str]:
        """What every physician is called in the published tables."""
        names = self.pairs["physician"].unique(maintain_order=True).to_list()
        given = Pseudonyms.of(names, read_key(self.private / KEY_FILE)).by_name
        published = {row.physician for row in self.published.first.physicians}
        return {name: name if name in published else given[name] for name in names}

    def random(self, *purpose: str) -> np.random.Generator:
        """Return draws that follow from the key: nobody without it can repeat them."""
        key = int.from_bytes(read_key(self.private / KEY_FILE), "big")
        names = int.from_bytes("\x00".join(purpose).encode(), "big")
        return np.random.default_rng(np.random.SeedSequence([key, names]))


def open_folder(folder: str | os.PathLike[str]) -> Folder:
    """Open a stored measurement for review."""
    out, private = measurement_folders(folder)
    published = read_published(out)
    if published.joint is not None:
        raise InputError(f"'{out}' holds several decisions; measure the one to review by itself")
    if published.first.verdict == NOTHING:
        why = "; ".join(published.first.verdict_reasons)
        raise InputError(f"'{out}' is not interpretable: {why}; measure again before a review")
    remedy = "review where the measurement was made, or measure again with this version"
    pairs, patients = (
        private_table(out, name, "pairs", remedy) for name in (PAIRS_FILE, PATIENTS_FILE)
    )
    return Folder(out, private, published, pairs, patients)


def read_stored(private: Path) -> Stored:
    """Return what is kept of the review, if there is one."""
    file = private / REVIEW_FILE
    if not file.exists():
        return Stored()
    try:
        return Stored.of_json(json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(f"the review in '{file}' is damaged; restore it from a copy") from error


def write_stored(private: Path, stored: Stored) -> None:
    """Keep a review, whole or not at all."""
    add_files(private, {REVIEW_FILE: stored.as_bytes()}, "private")


@contextmanager
def changing(private: Path) -> Iterator[Stored]:
    """Give what is kept, while nobody else changes it."""
    lock = private.with_name(f".{private.name}.review.lock")
    try:
        with FileLock(lock, timeout=10):
            try:
                yield read_stored(private)
            finally:
                with suppress(OSError):
                    lock.unlink(missing_ok=True)
    except Timeout as error:
        raise InputError(f"another program is changing the review in '{private}'") from error


def answer(
    folder: str | os.PathLike[str],
    pair: str,
    answer: str,
    *,
    reviewer: str = "R1",
    reason: str = "",
    comment: str = "",
) -> None:
    """Keep one answer; nothing is published, see :func:`intravar.review.read`.

    Parameters
    ----------
    folder
        Of the measurement.
    pair, answer
        Which pair, and "comparable", "different" or "unsure"; an empty answer takes back what was
        answered before.
    reviewer
        Who answers.
    reason, comment
        Why the patients differ, and anything else.
    """
    _, private = measurement_folders(folder)
    with changing(private) as stored:
        drawn(stored).refuse_other(pair, reviewer)
        given = dict(stored.answers.get(reviewer, {}))
        if answer:
            given[pair] = Answer(answer, reason, comment)
        else:
            given.pop(pair, None)
        write_stored(private, replace(stored, answers={**stored.answers, reviewer: given}))


def drawn(stored: Stored) -> Design:
    """Return the pairs that were drawn, or say that none were."""
    if stored.design is None:
        raise InputError("no pairs were drawn yet; draw them with 'intravar review draw'")
    return stored.design
