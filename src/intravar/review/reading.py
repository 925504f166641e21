"""Read what reviewers answered, and what it tells: of all together, and of physicians."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intravar.errors import InputError, errors_in
from intravar.inference.intervals import LEVEL
from intravar.publication import results as published_results
from intravar.publication.results import Figure
from intravar.publication.sentences import review_lines, review_sentence
from intravar.review import store
from intravar.review.estimate import Kind, estimate, pooled_estimates
from intravar.seeds import stream
from intravar.sources import read_source
from intravar.wording import USUAL, Words

_REVIEWER = re.compile(r"(?<![A-Za-z0-9])(R\d+)(?![0-9])")
#: Answers by other words that people write.
_MEANT = {word: meant for meant, words in store.WORDS["answers"].items() for word in words}
#: Pairs of a physician that must be judged before a figure of theirs is given.
FEWEST_OF_PHYSICIAN = 6
#: What answers count for; a pair that nobody is sure of counts neither way.
JUDGED = {"comparable": 1.0, "different": 0.0, "unsure": None}
#: Draws of the tables of two reviewers' answers.
DRAWS = 4_000
ANSWERED_SCHEMA = {
    "pair": pl.String,
    "physician": pl.String,
    "different": pl.Boolean,
    "weight": pl.Float64,
    "answer": pl.String,
    "reason": pl.String,
}


@dataclass(frozen=True, eq=False)
class Review:
    """What a review found; it is patient-level, the published part is in summary.json.

    Attributes
    ----------
    group
        The discordance among comparable pairs, all physicians together; None before pairs of both
        kinds are judged, and where none was found comparable.
    record
        Share of all pairs alike in the record that were decided differently.
    n_pairs, n_unsure, n_left
        Pairs judged, pairs of which nobody was sure, and pairs without an answer.
    explained
        Share of the pairs decided differently that reviewers found not comparable.
    reasons
        Why, by frequency.
    unsure
        Between what the figure lies if every unsure pair counts as comparable, or as different.
    agreement
        Cohen's kappa of two reviewers, 1 always, 0 as often as by chance; None where no pair was
        reviewed twice.
    n_twice, n_same
        Pairs that were reviewed twice, and those of which both reviewers said the same.
    contradicted
        Pairs of which two reviewers said the opposite; each counts half.
    physicians
        Figures of physicians with enough pairs, pulled towards the mean.
    published, why_not
        Whether figures were published by this reading, and if not, why.
    """

    group: Figure | None
    record: float
    n_pairs: int
    n_unsure: int
    n_left: int
    explained: float | None
    reasons: dict[str, int]
    unsure: Figure | None
    agreement: Figure | None
    n_twice: int
    n_same: int
    contradicted: tuple[str, ...]
    physicians: pl.DataFrame
    published: bool = False
    why_not: str | None = None

    def lines(self, words: Words = USUAL) -> list[str]:
        """Say what a review found, for whoever may see the private folder."""
        lines = [f"{self.n_pairs:,} pairs judged, {self.n_unsure:,} unsure, {self.n_left:,} left."]
        if self.group is not None:
            total = sum(self.reasons.values())
            exact = published_results.Review(
                self.group,
                self.n_pairs,
                self.record,
                step=0.0,
                explained=self.explained,
                reasons={why: n / total for why, n in self.reasons.items()},
                unsure=self.unsure,
            )
            lines += [review_sentence(exact, words), *review_lines(exact, words)[1:]]
        if (kappa := self.agreement) is not None:
            lines.append(
                f"Two reviewers said the same of {self.n_same} of {self.n_twice} pairs (kappa "
                f"{kappa.value:z.2f} [{kappa.low:z.2f}, {kappa.high:z.2f}])."
            )
        if self.contradicted:
            lines.append(f"Contradicted, each counts half: {', '.join(self.contradicted)}.")
        if self.published:
            lines.append("Published, rounded: see report.html.")
        return [*lines, f"Not published now: {self.why_not}."] if self.why_not else lines


def read(folder: str | os.PathLike[str], files: Sequence[str | os.PathLike[str]] = ()) -> Review:
    """Take answers in, and add what they tell to the measurement.

    Answers of each reviewer are kept apart; those in a file take the place of the same reviewer's
    earlier ones to the same pairs, and no others.

    Parameters
    ----------
    folder
        Of the measurement whose pairs were reviewed.
    files
        Answers as CSV, Excel, or what the form saved; none to use those kept already.
    """
    from intravar.review.publishing import publish_review

    opened = store.open_folder(folder)
    with errors_in(opened.published.words), store.changing(opened.private) as stored:
        stored.refuse_undrawn()
        new = read_answers(files, stored)
        answers = {
            who: {**stored.answers.get(who, {}), **new.get(who, {})}
            for who in sorted({*stored.answers, *new})
        }
        if not any(answers.values()):
            raise InputError("there are no answers yet; fill in a file of the packet and read it")
        stored = replace(stored, answers=answers)
        store.write_stored(opened.private, stored)
        return publish_review(opened, stored, review_of(opened, stored))


def read_answers(
    files: Sequence[str | os.PathLike[str]], design: store.Stored
) -> dict[str, dict[str, store.Answer]]:
    """Return the answers in some files, by reviewer and pair; rows without one are left out."""
    answers: dict[str, dict[str, store.Answer]] = {}
    read_from: dict[tuple[str, str], Path] = {}
    for file in map(Path, files):
        reviewer, rows = _rows_of(file, design)
        if reviewer not in design.reviewers:
            raise InputError(
                f"'{file}' is of reviewer '{reviewer}'; there are {', '.join(design.reviewers)}"
            )
        own = answers.setdefault(reviewer, {})
        for row in rows:
            cells = ("" if row.get(name) is None else str(row[name]) for name in store.COLUMNS)
            pair, given, reason, comment = (cell.strip().removeprefix("'") for cell in cells)
            if not any((pair, given, reason, comment)):
                continue
            if not pair:
                raise InputError(f"a row of '{file}' has an answer but no pair; name the pair")
            design.refuse_other(pair, reviewer, f" in '{file}'")
            if not given and not reason:
                continue
            word = _MEANT.get(given.lower(), given.lower())
            if word not in store.ANSWERS:
                problem = f"answer '{given}'" if given else f"reason '{reason}' but no answer"
                hint = "; did Excel turn it into a date?" if store.DATE.fullmatch(given) else ""
                raise InputError(
                    f"pair '{pair}' in '{file}' has the {problem}{hint}; give one of "
                    f"{', '.join(store.ANSWERS)}"
                )
            before = own.get(pair)
            if before is not None and before.answer != word:
                raise InputError(
                    f"pair '{pair}' of {reviewer} is '{before.answer}' in "
                    f"'{read_from[reviewer, pair]}' and '{word}' in '{file}'; keep one"
                )
            if before is None or not before.reason:
                own[pair] = store.Answer(word, reason, comment)
                read_from[reviewer, pair] = file
    return answers


def _rows_of(file: Path, design: store.Stored) -> tuple[str, list[dict[str, Any]]]:
    """Return whose answers a file holds, and its rows."""
    if file.suffix.lower() == ".json":
        try:
            stored = json.loads(file.read_text("utf-8-sig"))
            return str(stored["reviewer"]), [dict(row) for row in stored["answers"]]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"'{file}' is not a file that the form of a review saved") from error
    named = _REVIEWER.findall(file.stem)
    if not named and design.n_reviewers > 1:
        raise InputError(
            f"whose answers are in '{file}'? put the reviewer into its name, 'answers-R1.csv' say"
        )
    excel = {"sheet": store.SHEET} if file.suffix.lower() in (".xlsx", ".xls", ".ods") else {}
    try:
        table = read_source(str(file), as_text=store.COLUMNS, **excel).table
    except InputError as error:
        if "is not UTF-8" not in str(error):
            raise
        # What Excel saves as CSV in Western Europe.
        table = read_source(str(file), as_text=store.COLUMNS, encoding="cp1252").table
    names = {name.strip().lower(): name for name in table.columns}
    for name in store.COLUMNS[:2]:
        if name not in names:
            raise InputError(
                f"'{file}' has no column '{name}'; a file of answers has {', '.join(store.COLUMNS)}"
            )
    answers = table.select(
        table[names[name]].alias(name) for name in store.COLUMNS if name in names
    )
    return named[-1] if named else design.reviewers[0], answers.rows(named=True)


def results(folder: str | os.PathLike[str]) -> Review:
    """Return what the answers kept so far tell; nothing is published."""
    opened = store.open_folder(folder)
    return review_of(opened, store.read_stored(opened.private))


def review_of(opened: store.Folder, stored: store.Stored) -> Review:
    """Return what the answers so far tell; nothing is published."""
    stored.refuse_undrawn()
    judged = judged_pairs(stored)
    n_unsure = judged["comparable"].null_count()
    # As judged; and with every unsure pair counted as comparable, or as different.
    counted = [kinds_of(judged, unsure) for unsure in (None, 1.0, 0.0)]
    record, n_frame = opened.frame
    figures = [
        estimate(record, *kinds, n_frame)
        if all(kind.judged for kind in kinds) and any(kind.comparable for kind in kinds)
        else None
        for kinds in counted
    ]
    ends = sorted(figure.value or 0.0 for figure in figures[1:] if figure is not None)
    different = counted[0][0]
    # A pair counts once for every reason that is given.
    reasons = Counter(
        reason or "no reason given"
        for given, why in judged.filter("different").select("answer", "reason").iter_rows()
        for reason in {r for word, r in zip(given, why, strict=True) if word == "different"}
    )
    twice = [given for given in judged["answer"].to_list() if len(given) > 1]
    return Review(
        group=figures[0],
        record=record,
        n_pairs=judged.height - n_unsure,
        n_unsure=n_unsure,
        n_left=len(stored.pairs) - judged.height,
        explained=1 - different.share if different.judged else None,
        reasons=dict(reasons.most_common()),
        unsure=Figure(None, *ends) if n_unsure and len(ends) == 2 else None,
        agreement=_agreement(twice) if twice else None,
        n_twice=len(twice),
        n_same=sum(first == second for first, second, *_ in twice),
        contradicted=tuple(
            judged.filter(pl.col("comparable").is_between(0, 1, closed="none"))["pair"].sort()
        ),
        physicians=_physicians(opened, judged.drop_nulls("comparable")),
    )


def judged_pairs(stored: store.Stored) -> pl.DataFrame:
    """Return the pairs with an answer: pair, physician, different, weight, comparable, answers.

    The weight is the pairs of the frame that a pair stands for. Comparable is 1 or 0, between where
    reviewers contradict each other, missing where nobody is sure. There are one or two answers and
    their reasons, reviewers in the order of their names.
    """
    rows = [
        (p.pair, p.physician, p.different, p.weight / p.probability, given.answer, given.reason)
        for p in stored.pairs
        for _, answers in sorted(stored.answers.items())
        if (given := answers.get(p.pair)) is not None
    ]
    comparable = pl.col("answer").replace_strict(JUDGED, return_dtype=pl.Float64).mean()
    return (
        pl.DataFrame(rows, schema=ANSWERED_SCHEMA, orient="row")
        .group_by("pair", "physician", "different", "weight", maintain_order=True)
        .agg("answer", "reason", comparable=comparable)
    )


def kinds_of(judged: pl.DataFrame, unsure: float | None = None) -> tuple[Kind, Kind]:
    """Count judged pairs of both kinds: decided differently, and alike.

    One that nobody is sure of counts `unsure`, or is left out.
    """
    filled = pl.col("comparable").fill_null(pl.lit(unsure, pl.Float64))
    counted = judged.with_columns(filled).drop_nulls("comparable")
    different, alike = (
        Kind.of(rows["comparable"].to_numpy(), rows["weight"].to_numpy())
        for rows in (counted.filter("different"), counted.filter(~pl.col("different")))
    )
    return different, alike


def _agreement(twice: Iterable[Sequence[str]]) -> Figure:
    """Return Cohen's kappa of two reviewers, with its 95 % interval, by their answers to pairs."""
    table = np.zeros((len(store.ANSWERS), len(store.ANSWERS)))
    for first, second, *_ in twice:
        table[store.ANSWERS.index(first), store.ANSWERS.index(second)] += 1
    # Which of two people is the first means nothing.
    table = (table + table.T) / 2
    cells = table.ravel()
    random = stream(0, "review", "kappa")
    drawn = random.dirichlet(cells + 0.5 / len(cells), size=DRAWS).reshape(-1, *table.shape)
    share = np.concatenate([table[None] / table.sum(), drawn])
    same = np.einsum("kii->k", share)
    chance = np.einsum("ki,ki->k", share.sum(axis=1), share.sum(axis=2))
    kappa = np.where(chance < 1, (same - chance) / np.maximum(1 - chance, 1e-12), 1.0)
    low, high = np.quantile(kappa[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Figure(*(float(each) for each in (kappa[0], min(low, kappa[0]), max(high, kappa[0]))))


def _physicians(opened: store.Folder, judged: pl.DataFrame) -> pl.DataFrame:
    """Return the figures of physicians with enough judged pairs, the names in order."""
    different, weight, comparable = (pl.col(n) for n in ("different", "weight", "comparable"))
    worth = weight.sum() / (weight**2).sum()
    frame = opened.pairs.group_by("physician").agg(
        differently=weight.filter(different).sum() * worth,
        alike=weight.filter(~different).sum() * worth,
    )
    counts = judged.group_by("physician").agg(
        pl.len().cast(pl.Int64).alias("n_pairs"),
        c1=comparable.filter(different).sum(),
        n1=different.sum(),
        c0=comparable.filter(~different).sum(),
        n0=(~different).sum(),
    )
    table = frame.join(counts, on="physician", how="left").fill_null(0).sort("physician")
    enough = table["n_pairs"] >= FEWEST_OF_PHYSICIAN
    if not enough.any():  # others are needed only to pull figures towards them
        table, enough = table.clear(), enough.clear()
    first, second, c1, n1, c0, n0 = (
        table[name].cast(pl.Float64).to_numpy()
        for name in ("differently", "alike", "c1", "n1", "c0", "n0")
    )
    middle, low, high = pooled_estimates((first, second), (c1, n1), (c0, n0))
    record = first / np.maximum(first + second, 1e-12)
    figures = {"discordance": middle, "low": low, "high": high, "record": record}
    columns = [pl.Series(name, each) for name, each in figures.items()]
    return table.select("physician", "n_pairs").with_columns(columns).filter(enough)
