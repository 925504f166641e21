"""How sharp a review would be, before anything is drawn."""

from __future__ import annotations

import os
from dataclasses import dataclass

from intravar.errors import InputError
from intravar.review.design import GUESS, SHARE_DIFFERENT
from intravar.review.estimate import Kind, estimate
from intravar.review.publishing import publishable
from intravar.review.reading import judged_pairs, kinds_of
from intravar.review.store import open_folder, read_stored

SIZES = (30, 60, 120, 240)


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
    first, second = kinds_of(judged_pairs(read_stored(opened.private)))
    enough = min(first.worth, second.worth) >= 10 and min(first.comparable, second.comparable) >= 1
    comparable = (first.share, second.share) if enough else GUESS
    planned = []
    for size in sizes:
        n1 = round(SHARE_DIFFERENT * size)
        n0 = size - n1
        c1, c0 = comparable[0] * n1, comparable[1] * n0
        value = estimate(record, Kind.whole(c1, n1), Kind.whole(c0, n0), n_frame)
        kinds = Kind.whole(round(c1), n1), Kind.whole(round(c0), n0)
        published = publishable(*kinds, record, n_frame, opened.published.request.smallest_cell)
        ends = (None, None) if published is None else (published.low, published.high)
        planned.append(Planned(size, value.discordance, value.low, value.high, *ends))
    reviewed = first.judged + second.judged
    return Plan(record, opened.pairs.height, comparable, reviewed, tuple(planned))
