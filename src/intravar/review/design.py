"""Which pairs are drawn, with which probability, who reviews them, and how sharp that would be."""

import os
from dataclasses import astuple, dataclass, replace
from itertools import cycle, islice

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, IntArray
from intravar.errors import InputError, option
from intravar.review.estimate import Kind, estimate
from intravar.review.publishing import publishable
from intravar.review.reading import judged_pairs, kinds_of
from intravar.review.store import DrawnPair, Stored, open_folder, read_stored

#: Before anything is reviewed: shares of pairs decided differently, and alike, thought comparable.
GUESS = (0.5, 0.7)
#: Share of reviewed pairs that should be decided differently: with shares c as guessed, the odds
#: sqrt((1 - c) / c) of both kinds make the variance of log c1 - log c0 smallest.
SHARE_DIFFERENT = 0.6
PAIRS = 120
#: Fewer pairs say nothing; more than these nobody reviews.
FEWEST_PAIRS, MOST_PAIRS = 20, 5_000
MOST_REVIEWERS = 20
#: Share that two people review, where there are two.
TWICE = 0.2
#: Numbers of pairs that are planned for.
SIZES = (30, 60, 120, 240)


def checked_size(pairs: int, reviewers: int, twice: float | None) -> float:
    """Return the share that is reviewed twice, or say what cannot be."""
    for name, given, least, most in (
        ("pairs", pairs, FEWEST_PAIRS, MOST_PAIRS),
        ("reviewers", reviewers, 1, MOST_REVIEWERS),
    ):
        if not least <= given <= most:
            raise InputError(f"{option(name)} is {given}; give {least} to {most:,}")
    if twice is None:
        return TWICE if reviewers > 1 else 0.0
    if not 0 <= twice <= 1:
        raise InputError(f"{option('twice')} is {twice:g}; it is a share from 0 to 1")
    if twice and reviewers < 2:
        raise InputError(
            f"{option('twice')} is {twice:g} with one reviewer; a pair is reviewed twice by two "
            f"people, ask for them with {option('reviewers', '2')}"
        )
    return twice


def draw_pairs(frame: pl.DataFrame, n: int, random: np.random.Generator, design: Stored) -> Stored:
    """Add `n` pairs to a sample; what was drawn before stays.

    The frame has all pairs that may be drawn: physician, first, second, different, weight. `random`
    is secret: who could repeat its draws could tell the pairs apart.
    """
    rows = frame.select("first", "second").iter_rows()
    place = {frozenset(pair): at for at, pair in enumerate(rows)}
    old = [place[frozenset((p.row_a, p.row_b))] for p in design.pairs]
    before = np.zeros(frame.height, dtype=np.bool_)
    before[old] = True
    different = frame["different"].to_numpy()
    taken = [
        _systematic(frame, different == kind, before, n_of_kind, random, each=design.each)
        for kind, n_of_kind in _of_each_kind(different, n, before).items()
    ]
    new = random.permutation(np.concatenate(taken))
    if not len(new):
        raise InputError(
            f"no more pairs can be added to the {len(old):,} that were drawn: of one kind, decided "
            "differently or alike, none are left"
        )
    # The probability with which every pair came into the whole sample.
    by = ["different", "physician"] if design.each else ["different"]
    sample = frame.with_columns(total=pl.col("weight").sum().over(by))[[*old, *new.tolist()]]
    chance = (pl.len().over(by) * pl.col("weight") / pl.col("total")).clip(0, 1)
    chances = sample.select(chance).to_series().to_list()
    pairs = [replace(p, probability=c) for p, c in zip(design.pairs, chances, strict=False)]
    # New pairs get names, sides and reviewers: shared evenly, some reviewed by two.
    twice = set(random.permutation(len(new))[: round(design.twice * len(new))].tolist())
    swapped = random.random(len(new)) < 0.5
    turns = cycle(design.reviewers)
    for number, (row, swap) in enumerate(
        zip(frame[new].iter_rows(named=True), swapped, strict=True)
    ):
        a, b = ("second", "first") if swap else ("first", "second")
        who = tuple(islice(turns, 2 if number in twice else 1))
        kind = (row["physician"], row["different"], chances[len(pairs)], row["weight"], who)
        pairs.append(DrawnPair(f"P{len(pairs) + 1:04d}", row[a], row[b], *kind))
    return replace(design, pairs=pairs)


def _of_each_kind(different: BoolArray, n: int, before: BoolArray) -> dict[bool, int]:
    """Return how many pairs of each kind are added.

    Pairs that are added later have the same share of both kinds as those before, even if that
    makes them fewer: otherwise a pair's number would tell how it was decided.
    """
    left = {kind: int(((different == kind) & ~before).sum()) for kind in (True, False)}
    if before.any():
        share = float(different[before].mean())
        room = [left[True] / share] if share > 0 else []
        room += [left[False] / (1 - share)] if share < 1 else []
        n = min(n, *(int(each + 1e-9) for each in room))
        first = round(share * n)
        return {True: min(first, left[True]), False: min(n - first, left[False])}
    first = min(round(SHARE_DIFFERENT * n), left[True])
    second = min(n - first, left[False])
    return {True: min(n - second, left[True]), False: second}


def _systematic(
    frame: pl.DataFrame,
    of_kind: BoolArray,
    before: BoolArray,
    n: int,
    random: np.random.Generator,
    *,
    each: bool,
) -> IntArray:
    """Draw pairs of one kind, spread over physicians: evenly, or as many as they have."""
    at = random.permutation(np.flatnonzero(of_kind & ~before))
    if n >= len(at):
        return at
    if each:  # one pair after another of whoever has the fewest
        had = frame.filter(of_kind & before).group_by("physician").len()
        joined = frame[at].join(had, on="physician", how="left", maintain_order="left")
        turn = pl.col("len").fill_null(0) + pl.int_range(pl.len()).over("physician")
        return np.asarray(at[joined.select(turn.arg_sort()).to_series().to_numpy()[:n]])
    # In random order of physicians, pairs of each together: every n-th part is one of the sample.
    _, code = np.unique(frame["physician"].to_numpy()[at], return_inverse=True)
    order = np.argsort(random.permutation(code.max() + 1)[code], kind="stable")
    weight = frame["weight"].to_numpy()[at]
    ends = np.cumsum(np.minimum(weight[order] * n / weight.sum(), 1.0))
    picked = np.searchsorted(ends, random.random() + np.arange(n), side="left")
    picked = np.unique(picked[picked < len(at)])
    missing = n - len(picked)
    if missing > 0:  # rounding at the end, or pairs of great weight
        rest = np.setdiff1d(np.arange(len(at)), picked)
        picked = np.concatenate([picked, random.choice(rest, size=missing, replace=False)])
    return np.asarray(at[order[picked]])


@dataclass(frozen=True)
class Planned:
    """What a review of so many pairs would give.

    Attributes
    ----------
    n_pairs
        Pairs that are judged.
    discordance, low, high
        The figure that is expected, with its 95 % interval.
    published_low, published_high
        The interval as it may be published: rounded, so that no small count follows from it; None
        where nothing may be.
    """

    n_pairs: int
    discordance: float
    low: float
    high: float
    published_low: float | None
    published_high: float | None


@dataclass(frozen=True)
class Plan:
    """How sharp reviews of several sizes would be.

    Attributes
    ----------
    record
        Share of all pairs alike in the record that were decided differently.
    n_frame
        Pairs that there are.
    comparable
        Shares of pairs decided differently, and alike, that are thought comparable: guessed, or as
        reviewed so far.
    reviewed
        Pairs reviewed so far.
    sizes
        One entry per size.
    """

    record: float
    n_frame: int
    comparable: tuple[float, float]
    reviewed: int
    sizes: tuple[Planned, ...]


def plan(folder: str | os.PathLike[str], sizes: tuple[int, ...] = SIZES) -> Plan:
    """Return the interval to expect of reviews of several sizes.

    Parameters
    ----------
    folder
        Of a measurement.
    sizes
        Numbers of pairs.
    """
    opened = open_folder(folder)
    record, n_frame = opened.frame
    if not 0 < record < 1:
        raise InputError("all pairs were decided in the same way; there is nothing to review")
    # As judged so far, where that is enough.
    judged = kinds_of(judged_pairs(read_stored(opened.private)))
    enough = all(kind.worth >= 10 and kind.comparable >= 1 for kind in judged)
    comparable = (judged[0].share, judged[1].share) if enough else GUESS
    planned = []
    for size in sizes:
        n = round(SHARE_DIFFERENT * size), size - round(SHARE_DIFFERENT * size)
        counts = [share * of for share, of in zip(comparable, n, strict=True)]
        first, second = map(Kind.whole, counts, n)
        value = estimate(record, first, second, n_frame)
        first, second = map(Kind.whole, map(round, counts), n)
        smallest = opened.published.request.smallest_cell
        published = publishable(first, second, record, n_frame, smallest)
        ends = (None, None) if published is None else (published[0].low, published[0].high)
        middle, low, high = astuple(value)
        planned.append(Planned(size, middle, low, high, *ends))
    reviewed = judged[0].judged + judged[1].judged
    return Plan(record, opened.pairs.height, comparable, reviewed, tuple(planned))
