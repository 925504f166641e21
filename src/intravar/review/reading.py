"""From answers to the reviewed discordance: of all together, and of physicians."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from intravar.errors import InputError, errors_in
from intravar.inference.intervals import LEVEL
from intravar.publication import results as published_results
from intravar.publication.findings import review_lines, review_sentence
from intravar.review import store
from intravar.review.answers import read_answers
from intravar.review.estimate import Estimate, Kind, estimate, pooled_estimates
from intravar.seeds import stream
from intravar.wording import USUAL, Words

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

    def lines(self, words: Words = USUAL) -> list[str]:
        """Say what a review found, for whoever may see the private folder."""
        lines = [f"{self.n_pairs:,} pairs judged, {self.n_unsure:,} unsure, {self.n_left:,} left."]
        if self.group is not None:
            total = sum(self.reasons.values())
            ends = [each for each in (self.if_comparable, self.if_different) if each is not None]
            unsure = published_results.Figure(None, min(ends), max(ends)) if ends else None
            exact = published_results.Review(
                published_results.Figure(*vars(self.group).values()),
                self.n_pairs,
                self.record,
                step=0.0,
                explained=self.explained,
                reasons={why: n / total for why, n in self.reasons.items()},
                unsure=unsure if self.n_unsure else None,
            )
            lines += [review_sentence(exact, words), *review_lines(exact, words)[1:]]
        if self.agreement is not None:
            agreed = self.agreement
            lines.append(
                f"Two reviewers said the same of {agreed.n_same} of {agreed.n_pairs} pairs (kappa "
                f"{agreed.kappa:.2f} [{agreed.low:.2f}, {agreed.high:.2f}])."
            )
        if self.contradicted:
            lines.append(f"Contradicted, each counts half: {', '.join(self.contradicted)}.")
        published = "Published, rounded: see report.html."
        return [*lines, published if self.published else f"Not published now: {self.why_not}."]


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


def results(folder: str | os.PathLike[str]) -> Review:
    """Return what the answers kept so far tell; nothing is published."""
    opened = store.open_folder(folder)
    return review_of(opened, store.read_stored(opened.private))


def review_of(opened: store.Folder, stored: store.Stored) -> Review:
    """Return what the answers so far tell; nothing is published."""
    stored.refuse_undrawn()
    record, n_frame = opened.frame
    judged = judged_pairs(stored)
    n_unsure = judged["comparable"].null_count()
    # As judged; and with every unsure pair counted as comparable, or as different.
    counted = [kinds_of(judged, unsure) for unsure in (None, 1.0, 0.0)]
    figures = [
        estimate(record, *kinds, n_frame) if all(kind.judged for kind in kinds) else None
        for kinds in counted
    ]
    otherwise = [figure.discordance if figure else None for figure in figures]
    different = counted[0][0]
    # A pair counts once for every reason that is given.
    reasons = Counter(
        reason or "no reason given"
        for given, why in judged.filter("different").select("answer", "reason").iter_rows()
        for reason in {r for word, r in zip(given, why, strict=True) if word == "different"}
    )
    return Review(
        group=figures[0],
        record=record,
        n_pairs=judged.height - n_unsure,
        n_unsure=n_unsure,
        n_left=len(stored.pairs) - judged.height,
        explained=1 - different.share if different.judged else None,
        reasons=dict(reasons.most_common()),
        if_comparable=otherwise[1],
        if_different=otherwise[2],
        agreement=agreement(judged["answer"].to_list()),
        contradicted=tuple(
            judged.filter(pl.col("comparable").is_between(0, 1, closed="none"))["pair"].sort()
        ),
        physicians=_physicians(opened, judged.drop_nulls("comparable")),
    )


def agreement(answers: Iterable[Sequence[str]]) -> Agreement | None:
    """Return how well reviewers agree, by answers to pairs; None where none was reviewed twice."""
    twice = [given for given in answers if len(given) > 1]
    if not twice:
        return None
    table = np.zeros((len(store.ANSWERS), len(store.ANSWERS)))
    for first, second, *_ in twice:
        table[store.ANSWERS.index(first), store.ANSWERS.index(second)] += 1
    # Which of two people is the first means nothing.
    table = (table + table.T) / 2
    cells = table.ravel()
    random = stream(0, "review", "kappa")
    drawn = random.dirichlet(cells + 0.5 / len(cells), size=DRAWS).reshape(-1, *table.shape)
    share = np.concatenate([table[None] / len(twice), drawn])
    same = np.einsum("kii->k", share)
    chance = np.einsum("ki,ki->k", share.sum(axis=1), share.sum(axis=2))
    middle, *others = np.where(chance < 1, (same - chance) / np.maximum(1 - chance, 1e-12), 1.0)
    low, high = np.quantile(others, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    ends = min(float(low), float(middle)), max(float(high), float(middle))
    return Agreement(float(middle), *ends, len(twice), int(np.trace(table)))


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
    first, second, *counted = (
        table[name].cast(pl.Float64).to_numpy()
        for name in ("differently", "alike", "c1", "n1", "c0", "n0")
    )
    figures = pooled_estimates((first, second), (counted[0], counted[1]), (counted[2], counted[3]))
    record = first / np.maximum(first + second, 1e-12)
    names = ("discordance", "low", "high", "record")
    columns = [pl.Series(name, each) for name, each in zip(names, (*figures, record), strict=True)]
    return table.select("physician", "n_pairs").with_columns(columns).filter(enough)
