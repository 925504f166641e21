"""Which pairs are drawn, with which probability, and who reviews them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, IntArray
from intravar.errors import InputError, option

#: Before anything is reviewed: shares of pairs decided differently, and alike, thought comparable.
GUESS = (0.5, 0.7)
PAIRS = 120
#: Fewer pairs say nothing; more than these nobody reviews.
FEWEST_PAIRS, MOST_PAIRS = 20, 5_000
MOST_REVIEWERS = 20
#: Share that two people review, where there are two.
TWICE = 0.2
#: What Excel makes of a text that it takes for a date.
DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./-]\w{2,3}([./-]\d{2,4})?|\d{5}(\.0)?")


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
    reviewers: tuple[str, ...]


@dataclass(frozen=True)
class Design:
    """A sample of pairs in the order of the packet, as it is kept in the private folder.

    `each`: every physician gets the same number of pairs; `twice`: the share of pairs that two
    review; `show`: columns of the source that reviewers see beside the recorded values.
    """

    pairs: tuple[DrawnPair, ...]
    each: bool = False
    n_reviewers: int = 1
    twice: float = 0.0
    show: tuple[str, ...] = field(default=())

    @property
    def reviewers(self) -> tuple[str, ...]:
        """What reviewers are called."""
        return tuple(f"R{number}" for number in range(1, self.n_reviewers + 1))

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


def share_different(guess: tuple[float, float] = GUESS) -> float:
    """Return the share of reviewed pairs that should be decided differently.

    It makes the variance of log c1 - log c0 smallest, and so that of the discordance.

    Examples
    --------
    >>> round(share_different(), 2)
    0.6
    """
    first, second = (math.sqrt((1 - share) / share) for share in guess)
    return first / (first + second)


def checked_size(pairs: int, reviewers: int, twice: float | None) -> float:
    """Return the share that is reviewed twice, or say what cannot be."""
    if not FEWEST_PAIRS <= pairs <= MOST_PAIRS:
        raise InputError(
            "{} is {}; give {} to {:,} pairs", option("pairs"), pairs, FEWEST_PAIRS, MOST_PAIRS
        )
    if not 1 <= reviewers <= MOST_REVIEWERS:
        raise InputError("{} is {}; give 1 to {}", option("reviewers"), reviewers, MOST_REVIEWERS)
    if twice is None:
        return TWICE if reviewers > 1 else 0.0
    if not 0 <= twice <= 1:
        raise InputError("{} is {:g}; it is a share from 0 to 1", option("twice"), twice)
    if twice and reviewers < 2:
        raise InputError(
            "{} is {:g} with one reviewer; a pair is reviewed twice by two people, ask "
            "for them with {}",
            option("twice"),
            twice,
            option("reviewers", "2"),
        )
    return twice


def draw_pairs(frame: pl.DataFrame, n: int, random: np.random.Generator, design: Design) -> Design:
    """Add `n` pairs to a design; what was drawn before stays.

    The frame has all pairs that may be drawn: physician, first, second, different, weight. `random`
    is secret: who could repeat its draws could tell the pairs apart.
    """
    rows = frame.select("first", "second").iter_rows()
    place = {frozenset(pair): at for at, pair in enumerate(rows)}
    old = [place[frozenset((p.row_a, p.row_b))] for p in design.pairs]
    before = np.zeros(frame.height, dtype=np.bool_)
    before[old] = True
    taken = [
        _systematic(frame, kind, n_of_kind, before, random, each=design.each)
        for kind, n_of_kind in _of_each_kind(frame, n, before).items()
    ]
    new = random.permutation(np.concatenate(taken))
    chance = _probabilities(frame, [*old, *new.tolist()], each=design.each)
    again = [replace(p, probability=c) for p, c in zip(design.pairs, chance, strict=False)]
    added = _packed(frame[new], chance[len(old) :], random, design, len(old))
    return replace(design, pairs=(*again, *added))


def _of_each_kind(frame: pl.DataFrame, n: int, before: BoolArray) -> dict[bool, int]:
    """Return how many pairs of each kind are added.

    Pairs that are added later have the same share of both kinds as those before, even if that
    makes them fewer: otherwise a pair's number would tell how it was decided.
    """
    different = frame["different"].to_numpy()
    left = {kind: int(((different == kind) & ~before).sum()) for kind in (True, False)}
    if before.any():
        share = float(different[before].mean())
        room = [left[True] / share] if share > 0 else []
        room += [left[False] / (1 - share)] if share < 1 else []
        n = min(n, *(int(each + 1e-9) for each in room))
        first = round(share * n)
        return {True: min(first, left[True]), False: min(n - first, left[False])}
    first = min(round(share_different() * n), left[True])
    second = min(n - first, left[False])
    return {True: min(n - second, left[True]), False: second}


def _systematic(
    frame: pl.DataFrame,
    kind: bool,
    n: int,
    before: BoolArray,
    random: np.random.Generator,
    *,
    each: bool,
) -> IntArray:
    """Draw pairs of one kind, spread over physicians: evenly, or as many as they have."""
    of_kind = (frame["different"] == kind).to_numpy()
    at = np.flatnonzero(of_kind & ~before)
    if n >= len(at):
        return at
    at = random.permutation(at)
    if each:  # one pair after another of whoever has the fewest
        had = frame.filter(of_kind & before).group_by("physician").len()
        joined = frame[at].join(had, on="physician", how="left", maintain_order="left")
        turn = pl.col("len").fill_null(0) + pl.int_range(pl.len()).over("physician")
        order = np.argsort(joined.select(turn).to_series().to_numpy(), kind="stable")
        return np.asarray(at[order[:n]])
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


def _probabilities(frame: pl.DataFrame, chosen: Sequence[int], *, each: bool) -> list[float]:
    """Return the probability with which every chosen pair came into the whole sample."""
    by = ["different", "physician"] if each else ["different"]
    totals = frame.group_by(by).agg(pl.col("weight").sum().alias("total"))
    sample = frame[list(chosen)].join(totals, on=by, how="left", maintain_order="left")
    chance = (pl.len().over(by) * pl.col("weight") / pl.col("total")).clip(0, 1)
    return sample.select(chance.alias("chance"))["chance"].to_list()


def _packed(
    pairs: pl.DataFrame,
    chance: Sequence[float],
    random: np.random.Generator,
    design: Design,
    n_before: int,
) -> list[DrawnPair]:
    """Give new pairs their names, sides and reviewers: dealt evenly, some to two of them."""
    n = pairs.height
    twice = set(random.permutation(n)[: round(design.twice * n)].tolist())
    swapped = random.random(n) < 0.5
    turns = cycle(design.reviewers)
    found = []
    for number, row in enumerate(pairs.iter_rows(named=True)):
        a, b = ("second", "first") if swapped[number] else ("first", "second")
        who = tuple(islice(turns, 2 if number in twice else 1))
        kind = (row["physician"], row["different"], chance[number], row["weight"], who)
        found.append(DrawnPair(f"P{n_before + number + 1:04d}", row[a], row[b], *kind))
    return found
