"""A review in the private folder of a measurement: the pairs drawn, and the answers to them."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from filelock import FileLock, Timeout

from intravar.errors import InputError
from intravar.measurement.verdict import NOTHING
from intravar.publication import files
from intravar.publication.explain import private_table
from intravar.publication.pseudonyms import KEY_FILE, Pseudonyms, read_key
from intravar.publication.results import Published
from intravar.wording import declared_in

WORDS = declared_in(__package__, "words")
#: What a reviewer may answer, and the reasons that are offered.
ANSWERS, REASONS = tuple(WORDS["answers"]), tuple(WORDS["reasons"])
#: Columns of a file of answers, and its sheet in a workbook.
COLUMNS, SHEET = ("pair", "answer", "reason", "comment"), "answers"
#: What is kept of patients besides what is recorded of them.
KEPT = ("row", "physician", "decision")
#: Which id or row is behind a number of the packet; in the private folder.
MAPPING_FILE = "review-patients.csv"
#: What Excel makes of a text that it takes for a date.
DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./-]\w{2,3}([./-]\d{2,4})?|\d{5}(\.0)?")


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


@dataclass(frozen=True)
class DrawnPair:
    """A pair that was drawn: two rows of the source, counted from 1, in an order by lot.

    `weight` are the pairs of the frame that it stands for there, `probability` that with which it
    was drawn. Physician, and whether it was decided differently, are never in a packet.
    """

    pair: str
    row_a: int
    row_b: int
    physician: str
    different: bool
    probability: float
    weight: float
    reviewers: Sequence[str]


@dataclass(frozen=True)
class Stored:
    """What is kept of a review: the sample of pairs, what reviewers see of them, and answers.

    Pairs are in the order of the packet; there are none before they are drawn. `each`: every
    physician gets the same number of pairs; `twice`: the share of pairs that two review; `show`:
    columns of the source that reviewers see beside the recorded values. `names` are of all values;
    `patients` has, by row, what a patient is called and the values. `published` are the answers, by
    pair, from which figures were published. `originals` has the id or row behind every number
    of the packet, where ids or rows would unblind; `notes` are warnings about blinding.
    """

    pairs: Sequence[DrawnPair] = ()
    each: bool = False
    n_reviewers: int = 1
    twice: float = 0.0
    show: Sequence[str] = ()
    names: Sequence[str] = ()
    patients: Mapping[str, Sequence[str]] = field(default_factory=dict)
    answers: Mapping[str, Mapping[str, Answer]] = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)
    originals: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def reviewers(self) -> tuple[str, ...]:
        """What reviewers are called."""
        return tuple(f"R{number}" for number in range(1, self.n_reviewers + 1))

    def refuse_undrawn(self) -> None:
        """Say so if no pairs were drawn."""
        if not self.pairs:
            raise InputError("no pairs were drawn yet; draw them with 'intravar review draw'")

    def refuse_other(self, pair: str, reviewer: str, where: str = "") -> None:
        """Refuse an answer to a pair that was not drawn, or that somebody else is to review."""
        drawn = next((each for each in self.pairs if each.pair == pair), None)
        if drawn is None:
            hint = "; did Excel turn it into a date or a number?" if DATE.fullmatch(pair) else ""
            raise InputError(
                f"pair '{pair}'{where} was not drawn{hint}; there are P0001 to "
                f"P{len(self.pairs):04d}"
            )
        if reviewer not in drawn.reviewers:
            listed = " and ".join(drawn.reviewers)
            raise InputError(
                f"pair '{pair}'{where} is not for reviewer '{reviewer}' but for {listed}"
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
    out, private = files.measurement_folders(folder)
    published = files.read_published(out)
    if published.joint is not None:
        raise InputError(f"'{out}' holds several decisions; measure the one to review by itself")
    if published.first.verdict == NOTHING:
        why = "; ".join(published.first.verdict_reasons)
        raise InputError(f"'{out}' is not interpretable: {why}; measure again before a review")
    remedy = "review where the measurement was made, or measure again with this version"
    pairs, patients = (
        private_table(out, name, "pairs", remedy)
        for name in (files.PAIRS_FILE, files.PATIENTS_FILE)
    )
    return Folder(out, private, published, pairs, patients)


def read_stored(private: Path) -> Stored:
    """Return what is kept of the review, if there is one."""
    file = private / files.REVIEW_FILE
    if not file.exists():
        return Stored()
    try:
        kept = json.loads(file.read_text("utf-8"))
        kept["pairs"] = [DrawnPair(**pair) for pair in kept["pairs"]]
        kept["answers"] = {
            who: {pair: Answer(**given) for pair, given in answers.items()}
            for who, answers in kept["answers"].items()
        }
        return Stored(**kept)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"the review in '{file}' is damaged; restore it from a copy") from error


def write_stored(private: Path, stored: Stored) -> None:
    """Write a review, and the ids behind the numbers of its packet."""
    content = json.dumps(asdict(stored), ensure_ascii=False, indent=0)
    written = {files.REVIEW_FILE: content.encode()}
    # A mapping of an earlier draw must not stay beside pairs that do not need one.
    if stored.originals or (private / MAPPING_FILE).exists():
        rows = list(stored.originals.items())
        schema = {"number": pl.String, "patient": pl.String}
        table = pl.DataFrame(rows, schema=schema, orient="row")
        written[MAPPING_FILE] = files.safe_csv(table).encode()
    files.add_files(private, written, "private")


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
    _, private = files.measurement_folders(folder)
    with changing(private) as stored:
        stored.refuse_undrawn()
        stored.refuse_other(pair, reviewer)
        given = dict(stored.answers.get(reviewer, {}))
        if answer:
            given[pair] = Answer(answer, reason, comment)
        else:
            given.pop(pair, None)
        write_stored(private, replace(stored, answers={**stored.answers, reviewer: given}))
