"""Which pairs are drawn, with which probability, and who reviews them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import InputError, option

#: Before anything is reviewed: shares of pairs decided differently, and alike, thought comparable.
GUESS = (0.5, 0.7)
PAIRS = 120
#: Fewer pairs say nothing; more than these nobody reviews.
FEWEST_PAIRS, MOST_PAIRS = 20, 5_000
MOST_REVIEWERS = 20
#: Share that two people review, where there are two.
TWICE = 0.2


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

    def as_json(self) -> dict[str, Any]:
        """Return the design in a form that fits into JSON."""
        return vars(self) | {"pairs": [list(vars(pair).values()) for pair in self.pairs]}

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> Design:
        """Return the design that was stored."""
        pairs = tuple(DrawnPair(*(*row[:-1], tuple(row[-1]))) for row in stored["pairs"])
        return cls(**{**stored, "pairs": pairs, "show": tuple(stored["show"])})


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


def _of_each_kind(frame: pl.DataFrame, n: int, before: np.ndarray[Any, Any]) -> dict[bool, int]:
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
    before: np.ndarray[Any, Any],
    random: np.random.Generator,
    *,
    each: bool,
) -> IntArray:
    """Draw pairs of one kind, spread over physicians: evenly, or as many as they have."""
    at = np.flatnonzero((frame["different"] == kind).to_numpy() & ~before)
    if n >= len(at):
        return at
    at = random.permutation(at)
    names = frame["physician"].to_numpy()[at]
    weight = frame["weight"].to_numpy()[at]
    if each:
        return _evenly(at, names, n, before, frame, kind)
    # In random order of physicians, pairs of each together: every n-th part is one of the sample.
    _, code = np.unique(names, return_inverse=True)
    order = np.argsort(random.permutation(code.max() + 1)[code], kind="stable")
    size = np.minimum(weight[order] * n / weight.sum(), 1.0)
    ends = np.cumsum(size)
    picked = np.searchsorted(ends, random.random() + np.arange(n), side="left")
    picked = np.unique(picked[picked < len(at)])
    missing = n - len(picked)
    if missing > 0:  # rounding at the end, or pairs of great weight
        rest = np.setdiff1d(np.arange(len(at)), picked)
        picked = np.concatenate([picked, random.choice(rest, size=missing, replace=False)])
    return np.asarray(at[order[picked]])


def _evenly(
    at: IntArray,
    names: np.ndarray[Any, Any],
    n: int,
    before: np.ndarray[Any, Any],
    frame: pl.DataFrame,
    kind: bool,
) -> IntArray:
    """Take one pair after another of whoever has the fewest; `at` is in an order by lot."""
    kinds = (frame["different"] == kind).to_numpy() & before
    had = dict(
        zip(*np.unique(frame["physician"].to_numpy()[kinds], return_counts=True), strict=True)
    )
    place: dict[str, int] = {}
    turn = []
    for name in names.tolist():
        place[name] = place.get(name, int(had.get(name, 0))) + 1
        turn.append(place[name])
    return np.asarray(at[np.argsort(np.array(turn), kind="stable")[:n]])


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
    """Give new pairs their names, sides and reviewers, all of it by lot."""
    who = _assigned(pairs.height, design, random)
    swapped = random.random(pairs.height) < 0.5
    found = []
    for number, row in enumerate(pairs.iter_rows(named=True)):
        a, b = ("second", "first") if swapped[number] else ("first", "second")
        kind = (row["physician"], row["different"], chance[number], row["weight"], who[number])
        found.append(DrawnPair(f"P{n_before + number + 1:04d}", row[a], row[b], *kind))
    return found


def _assigned(n: int, design: Design, random: np.random.Generator) -> Sequence[tuple[str, ...]]:
    """Deal pairs to reviewers evenly; some to two of them."""
    names = design.reviewers
    again = set(random.permutation(n)[: round(design.twice * n)].tolist())
    found, turn = [], 0
    for number in range(n):
        found.append(
            tuple(names[(turn + k) % len(names)] for k in range(2 if number in again else 1))
        )
        turn += len(found[-1])
    return found
