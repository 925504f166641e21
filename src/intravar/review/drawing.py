"""Draw pairs for a blind review: which, with which probability, and who reviews them."""

import os
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import cycle, islice
from typing import Any

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, IntArray
from intravar.errors import InputError, errors_in, option
from intravar.publication.files import measurement_folders
from intravar.review import blinding, packet, store
from intravar.review.estimate import SHARE_DIFFERENT
from intravar.review.store import DrawnPair, Folder, Stored

PAIRS = 120
#: Fewer pairs say nothing; more than these nobody reviews.
FEWEST_PAIRS, MOST_PAIRS = 20, 5_000
MOST_REVIEWERS = 20
#: Share that two people review, where there are two.
TWICE = 0.2


def draw(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    pairs: int = PAIRS,
    more: int | None = None,
    reviewers: int = 1,
    twice: float | None = None,
    each: bool = False,
    show: Sequence[str] = (),
    source: Any = None,
    replace_drawn: bool = False,
) -> list[packet.ReviewPair]:
    """Draw pairs for a blind review, and write the packet for the reviewers.

    Parameters
    ----------
    folder
        Of a measurement; the private folder beside it is read and keeps the design.
    out
        Folder of the packet; None writes none.
    pairs
        How many to draw.
    more
        How many to add to those drawn before, in the same design; nothing else is asked then.
    reviewers, twice
        How many people review, and the share of pairs that two of them do.
    each
        Whether every physician gets equally many pairs; by default the figure of all together is
        made as sharp as it can be.
    show
        Columns of the source that reviewers see besides the recorded values.
    source
        The table, if it was a frame in memory; by default the one that was measured.
    replace_drawn
        Whether pairs that have answers may be dropped for new ones.

    Returns
    -------
    list of ReviewPair
        All pairs, in the order of the packet.

    Warns
    -----
    BlindingWarning
        If ids or rows were replaced by numbers of the packet because they reveal the decision or
        the physician, and if recorded covariates reveal the physician.
    """
    opened = store.open_folder(folder)
    path = None if out is None else packet.checked_packet(out)
    with errors_in(opened.published.words), store.changing(opened.private) as stored:
        _refuse_nothing_to_review(opened)
        n_answered = len({pair for given in stored.answers.values() for pair in given})
        if more is not None:
            stored.refuse_undrawn()
            checked_size(more, stored.n_reviewers, stored.twice)
        elif n_answered and not replace_drawn:
            raise InputError(
                f"{n_answered:,} pairs that were drawn before have answers; add to them with "
                f"{option('more', '60')}, or drop them with {option('replace')}"
            )
        else:
            share = checked_size(pairs, reviewers, twice)
            stored = Stored(each=each, n_reviewers=reviewers, twice=share, show=tuple(show))
        n = pairs if more is None else more
        random = opened.random("review", f"{len(stored.pairs)}+{n}")
        sample = packet.with_patients(opened, draw_pairs(opened.pairs, n, random, stored), source)
        with nullcontext() if path is None else packet.packet_at(path, sample, opened):
            store.write_stored(opened.private, sample)
    for note in sample.notes:
        warnings.warn(note, blinding.BlindingWarning, stacklevel=2)
    return packet.pairs_of(sample)


def pairs(folder: str | os.PathLike[str], reviewer: str | None = None) -> list[packet.ReviewPair]:
    """Return the pairs that were drawn, with the values of both patients and answers so far.

    Parameters
    ----------
    folder
        Of the measurement.
    reviewer
        Whose pairs; by default all.
    """
    stored = store.read_stored(measurement_folders(folder)[1])
    stored.refuse_undrawn()
    if reviewer is not None and reviewer not in stored.reviewers:
        known = ", ".join(stored.reviewers)
        raise InputError(f"there is no reviewer '{reviewer}'; there are {known}")
    return [
        each for each in packet.pairs_of(stored) if reviewer is None or reviewer in each.reviewers
    ]


def _refuse_nothing_to_review(opened: Folder) -> None:
    """Say why there are no pairs to review, and name the column that may be the cause."""
    if opened.published.request.weight is not None:
        raise InputError(
            f"this result was measured with {option('weight')}, and pairs cannot be drawn from a "
            "weighted sample; measure without weights to review pairs of the sample"
        )
    blinding.refuse_leaking_record(opened.patients)
    different, n = int(opened.pairs["different"].sum()), opened.pairs.height
    if 0 < different < n:
        return
    leaks = ", ".join(f"'{column}'" for column in opened.published.first.check.leaks)
    raise InputError(
        "there is nothing to review: {different:,} of {n:,} pairs alike in the record of the same "
        "{decider} were decided differently{named}",
        different=different,
        n=n,
        named=f"; does one of {leaks} tell the decision?" if leaks else "",
    )


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
