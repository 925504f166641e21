"""From answers to the reviewed discordance: of all together, and of physicians."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray
from intravar.errors import InputError
from intravar.review.agreement import Agreement, agreement, by_pair, judgement, reasons
from intravar.review.answers import read_answers
from intravar.review.design import Design
from intravar.review.estimate import (
    Estimate,
    Kind,
    counted,
    counted_by,
    estimate,
    pooled_estimates,
)
from intravar.review.store import (
    Answers,
    Folder,
    Stored,
    changing,
    drawn,
    open_folder,
    read_stored,
    write_stored,
)
from intravar.wording import Sentence

#: Pairs of a physician that must be judged before a figure of theirs is given.
FEWEST_OF_PHYSICIAN = 6
PHYSICIAN_SCHEMA = {
    "physician": pl.String,
    "n_pairs": pl.Int64,
    "discordance": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "record": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class Judged:
    """Pairs with a judgement, as arrays.

    Attributes
    ----------
    pair, physician
        Which pair, and whose patients.
    different
        Whether they were decided differently.
    comparable
        1 comparable, 0 not; between where reviewers contradict each other.
    weight
        Pairs of the frame that each stands for.
    """

    pair: list[str]
    physician: list[str]
    different: BoolArray
    comparable: FloatArray
    weight: FloatArray

    @property
    def kinds(self) -> tuple[Kind, Kind]:
        """Pairs decided differently, and alike."""
        return counted(self.comparable, self.weight, self.different)


@dataclass(frozen=True, eq=False)
class Review:
    """What a review found; it is patient-level, the published part is in summary.json.

    Attributes
    ----------
    group
        The discordance among comparable pairs, all physicians together; None before enough pairs
        are judged.
    record
        Share of all pairs alike in the record that were decided differently.
    n_pairs, n_unsure, n_left
        Pairs judged, pairs of which nobody was sure, and pairs without an answer.
    explained
        Share of the pairs decided differently that reviewers found not comparable.
    reasons
        Why, by frequency.
    if_comparable, if_different
        The figure if every unsure pair counted as comparable, or as different.
    agreement
        Between two reviewers; None where no pair was reviewed twice.
    contradicted
        Pairs of which two reviewers said the opposite; each counts half.
    physicians
        Figures of physicians with enough pairs, pulled towards the mean.
    published, why_not
        Whether figures were published by this reading, and if not, why.
    """

    group: Estimate | None
    record: float
    n_pairs: int
    n_unsure: int
    n_left: int
    explained: float | None
    reasons: dict[str, int]
    if_comparable: float | None
    if_different: float | None
    agreement: Agreement | None
    contradicted: tuple[str, ...]
    physicians: pl.DataFrame
    published: bool = False
    why_not: str | None = None

    def lines(self) -> list[str]:
        """Say what a review found, for whoever may see the private folder."""
        lines = [
            f"{self.n_pairs:,} pairs judged, {self.n_unsure:,} unsure, {self.n_left:,} left.",
        ]
        if self.group is not None:
            group = self.group
            lines.append(
                Sentence(
                    "Of 100 pairs of {cases} whom reviewers found comparable, "
                    "{discordance:.0f} [{low:.0f}, {high:.0f}] were decided differently; of "
                    "all pairs alike in the record, {record:.0f}.",
                    discordance=100 * group.discordance,
                    low=100 * group.low,
                    high=100 * group.high,
                    record=100 * self.record,
                )
            )
        if self.explained is not None:
            lines.append(
                f"Of 100 pairs that were decided differently, {100 * self.explained:.0f} differ in "
                "something that matters."
            )
        if self.reasons:
            listed = ", ".join(f"{why} ({n})" for why, n in self.reasons.items())
            lines.append(f"Reasons: {listed}.")
        if self.n_unsure and self.if_comparable is not None and self.if_different is not None:
            lines.append(
                f"With every unsure pair counted as comparable it would be "
                f"{100 * self.if_comparable:.0f}, as different {100 * self.if_different:.0f}."
            )
        if self.agreement is not None:
            agreed = self.agreement
            lines.append(
                f"Two reviewers said the same of {agreed.n_same} of {agreed.n_pairs} pairs (kappa "
                f"{agreed.kappa:.2f} [{agreed.low:.2f}, {agreed.high:.2f}])."
            )
        if self.contradicted:
            lines.append(f"Contradicted, each counts half: {', '.join(self.contradicted)}.")
        if self.published:
            lines.append("Published, rounded: see report.html.")
        else:
            lines.append(f"Not published now: {self.why_not}.")
        return lines


def judged_pairs(design: Design, answers: Answers, unsure: float | None = None) -> Judged:
    """Return the pairs with a judgement.

    Parameters
    ----------
    design, answers
        What was drawn, and what was said.
    unsure
        What a pair counts that nobody is sure of; by default it is left out.
    """
    given = by_pair(answers)
    rows = []
    for p in design.pairs:
        if p.pair not in given:
            continue
        value = judgement(given[p.pair])
        value = unsure if value is None else value
        if value is not None:
            rows.append((p.pair, p.physician, p.different, value, p.weight / p.probability))
    columns = list(zip(*rows, strict=True)) or [()] * 5
    return Judged(
        list(columns[0]),
        list(columns[1]),
        np.array(columns[2], dtype=np.bool_),
        np.array(columns[3], dtype=np.float64),
        np.array(columns[4], dtype=np.float64),
    )


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

    opened = open_folder(folder)
    with changing(opened.private) as stored:
        design = drawn(stored)
        answers = _merged(stored, read_answers(files, design))
        if not answers:
            raise InputError("there are no answers yet; fill in a file of the packet and read it")
        kept = replace(stored, answers=answers)
        write_stored(opened.private, kept)
        found = review_of(opened, kept)
        return publish_review(opened, kept, found)


def results(folder: str | os.PathLike[str]) -> Review:
    """Return what the answers kept so far tell; nothing is published."""
    opened = open_folder(folder)
    return review_of(opened, read_stored(opened.private))


def _merged(stored: Stored, new: Answers) -> Answers:
    reviewers = sorted({*stored.answers, *new})
    merged = {who: {**stored.answers.get(who, {}), **new.get(who, {})} for who in reviewers}
    return {who: given for who, given in merged.items() if given}


def review_of(opened: Folder, stored: Stored) -> Review:
    """Return what the answers so far tell; nothing is published."""
    design, answers = drawn(stored), stored.answers
    record, n_frame = opened.frame
    given = by_pair(answers)
    judged = judged_pairs(design, answers)
    different, alike = judged.kinds
    enough = different.judged > 0 and alike.judged > 0
    group = estimate(record, different, alike, n_frame) if enough else None
    both = [_with_unsure(design, answers, value, record, n_frame) for value in (1.0, 0.0)]
    contradicted = tuple(
        pair
        for pair, said in sorted(given.items())
        if {"comparable", "different"} <= {each.answer for each in said}
    )
    explained = 1 - different.share if different.judged else None
    return Review(
        group,
        record,
        len(judged.pair),
        len(given) - len(judged.pair),
        sum(p.pair not in given for p in design.pairs),
        explained,
        reasons(answers, design),
        both[0],
        both[1],
        agreement(answers),
        contradicted,
        _physicians(opened, judged),
    )


def _with_unsure(
    design: Design, answers: Answers, value: float, record: float, n_frame: float
) -> float | None:
    judged = judged_pairs(design, answers, unsure=value)
    different, alike = judged.kinds
    if not different.judged or not alike.judged:
        return None
    return estimate(record, different, alike, n_frame).discordance


def _physicians(opened: Folder, judged: Judged) -> pl.DataFrame:
    """Return the figures of physicians with enough judged pairs, the names in order."""
    frame = (
        opened.pairs.group_by("physician")
        .agg(
            pl.col("weight").filter("different").sum().alias("differently"),
            pl.col("weight").filter(~pl.col("different")).sum().alias("alike"),
            (
                pl.col("weight").sum() ** 2 / (pl.col("weight") ** 2).sum() / pl.col("weight").sum()
            ).alias("worth"),
        )
        .sort("physician")
    )
    names = frame["physician"].to_list()
    place = {name: at for at, name in enumerate(names)}
    code = np.array([place[name] for name in judged.physician], dtype=np.int64)
    n = np.bincount(code, minlength=len(names))
    if not (n >= FEWEST_OF_PHYSICIAN).any():
        return pl.DataFrame(schema=PHYSICIAN_SCHEMA)
    worth = frame["worth"].to_numpy()
    pairs = tuple(worth * frame[name].to_numpy() for name in ("differently", "alike"))
    middle, low, high = pooled_estimates(
        (pairs[0], pairs[1]),
        counted_by(code, len(names), judged.comparable, judged.different),
        counted_by(code, len(names), judged.comparable, ~judged.different),
    )
    record = pairs[0] / np.maximum(pairs[0] + pairs[1], 1e-12)
    table = pl.DataFrame([names, n, middle, low, high, record], schema=PHYSICIAN_SCHEMA)
    return table.filter(pl.col("n_pairs") >= FEWEST_OF_PHYSICIAN)
