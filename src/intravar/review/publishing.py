"""Add the figures of a review to the measurement that is handed on, and make its pages again.

No small count of pairs follows from what is told. Four counts stand behind the figure: pairs
decided differently, or alike, that reviewers found comparable, or not. A reader may know how many
of each kind were reviewed and how the figure is made. So all counts that could be are gone through:
figures are rounded until those that look the same come from several counts. Where that takes
rounding to more than a fifth, nothing is told.

Figures are told in blocks: whoever sees them before and after a single answer could tell how that
pair was decided.
"""

import os
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace

import numpy as np
import polars as pl

from intravar import documents
from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.errors import InputError
from intravar.publication import results
from intravar.publication.files import SUMMARY, add_files, files_of
from intravar.publication.hiding import coarse, rounded_figure
from intravar.publication.policy import is_few
from intravar.publication.results import Figure
from intravar.review import store
from intravar.review.estimate import GUESS, SHARE_DIFFERENT, Kind, discordance_of, estimate
from intravar.review.reading import Review, judged_pairs, kinds_of

#: Figures are rounded to the first of these that hides small counts.
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
#: A small count must be one of so many that fit equally well.
FEWEST_COUNTS = 4
#: Judgements that must be new before figures are told again.
BLOCK = 20
#: Other counts than these many more or fewer are not gone through.
REACH = 300


def publishable(
    different: Kind, alike: Kind, record: float, n_frame: float, smallest: int
) -> tuple[Figure, float] | None:
    """Return the figure of judged pairs of both kinds as it may be published, and its step.

    None where it may not be. `record` is the share of all `n_frame` pairs that were decided
    differently, `smallest` the smallest count that is shown.

    Examples
    --------
    >>> publishable(Kind.whole(36, 72), Kind.whole(34, 48), 0.28, 2_000, 11)
    (Figure(value=0.22, low=0.16, high=0.28), 0.01)
    >>> publishable(Kind.whole(4, 36), Kind.whole(20, 24), 0.28, 2_000, 11)[1]
    0.05
    """
    (first, first_worth), (second, second_worth) = _others(different), _others(alike)
    worth = (first_worth[:, None], different.worth), (second_worth[None, :], alike.worth)
    shape = len(first), len(second)
    figures = discordance_of(record, *worth, n_frame)
    flat = np.array([np.broadcast_to(each, shape).ravel() for each in figures])
    own = np.ravel_multi_index(
        (first.searchsorted(different.comparable), second.searchsorted(alike.comparable)), shape
    )
    if not np.isfinite(flat[0, own]):
        return None
    if smallest <= 1:
        return Figure(*flat[:, own].round(6).tolist()), 1e-6
    # The four counts of every case.
    pairs = np.meshgrid(first, second, indexing="ij")
    judged = different.judged, alike.judged
    cases = [c.ravel() for count, n in zip(pairs, judged, strict=True) for c in (count, n - count)]
    open_still = np.flatnonzero(np.isfinite(flat[0]))
    for step in STEPS:
        middle, low, high = np.nan_to_num(flat[:, open_still]) / step
        # The ends of the interval outwards.
        rounded = np.array([np.rint(middle), np.floor(low + 1e-9), np.ceil(high - 1e-9)])
        # One number for the three, each of which has fewer than 1,000 steps.
        _, group = np.unique((1e6, 1e3, 1.0) @ rounded, return_inverse=True)
        safe = _safe(group, [each[open_still] for each in cases], smallest)
        at = np.searchsorted(open_still, own)
        if safe[at]:
            return Figure(*(step * rounded[:, at]).round(6).tolist()), step
        open_still = open_still[~safe]
    return None


def _others(kind: Kind) -> tuple[FloatArray, FloatArray]:
    """Return the counts that could be, and what they would come to."""
    least = -min(int(kind.comparable), REACH)
    most = min(int(kind.judged - kind.comparable), REACH)
    count = kind.comparable + np.arange(least, most + 1)
    share = kind.share + (count - kind.comparable) / max(kind.judged, 1)
    return np.asarray(count, dtype=np.float64), np.clip(share, 0, 1) * kind.worth


def _safe(group: IntArray, counts: list[FloatArray], smallest: int) -> BoolArray:
    """Tell of every case whether the small counts of all cases that look the same are hidden.

    A small count is hidden if several counts, small or not, fit equally well.
    """
    n = int(group.max(initial=0)) + 1
    safe = np.ones(n, dtype=np.bool_)
    for count in counts:
        few = np.bincount(group, weights=count < smallest + 1, minlength=n) > 0
        distinct = np.unique(group + 1j * count)
        values = np.bincount(distinct.real.astype(np.int64), minlength=n)
        safe &= ~few | (values >= FEWEST_COUNTS)
    return np.asarray(safe[group])


def why_not_yet(
    before: Mapping[str, str], now: Mapping[str, str], left: int, smallest: int
) -> str | None:
    """Say why figures are not told now; None where they are.

    `before` and `now` are answers and reasons by pair when figures were told last, and now; `left`
    are pairs without an answer.
    """
    if smallest <= 1:
        return None
    new = sum(before.get(pair) != now.get(pair) for pair in {**before, **now})
    if before and not new:
        return None  # the same figures again, where writing them was cut short
    if new < BLOCK:
        return (
            f"{new} pairs are new or answered otherwise since figures were published, and it takes "
            f"{BLOCK}: fewer would tell how a single pair was decided"
        )
    if 0 < left < BLOCK:
        return (
            f"{left} pairs are left: with them alone the next figures would tell how single pairs "
            "were decided; they are published when all are answered"
        )
    return None


#: Shares besides the figure are rounded to this.
STEP = 0.05
NOT_ENOUGH = "so few pairs stand behind the figure that any rounding would reveal small numbers"


def publish_review(opened: store.Folder, stored: store.Stored, review: Review) -> Review:
    """Publish what a review found, if it may be; return the review with what came of it."""
    now = {
        pair: "; ".join(map(" ".join, zip(answers, reasons, strict=True)))
        for pair, answers, reasons in judged_pairs(stored)
        .select("pair", "answer", "reason")
        .iter_rows()
    }
    why = why_not_yet(stored.published, now, review.n_left, opened.published.request.smallest_cell)
    if why is not None:
        return replace(review, why_not=why)
    published = published_review(opened, stored, review)
    if published is None:
        return replace(review, why_not=NOT_ENOUGH)
    # First the answers, then the figures: cut short between, the next reading tells the same.
    store.write_stored(opened.private, replace(stored, published=now))
    decision = replace(opened.published.first, review=published)
    files = files_of(replace(opened.published, decisions=(decision,)))
    add_files(opened.out, {SUMMARY: files[SUMMARY]})
    present = [
        each for each in documents.MEASUREMENT_FORMATS if (opened.out / f"report.{each}").exists()
    ]
    documents.write_files(opened.out, [each for each in present if not documents.lacking([each])])
    return replace(review, published=True)


def published_review(
    opened: store.Folder, stored: store.Stored, review: Review
) -> results.Review | None:
    """Return what may be published of a review; None if nothing may."""
    smallest = opened.published.request.smallest_cell
    record, n_frame = opened.frame
    judged = judged_pairs(stored)
    kinds = kinds_of(judged)
    if is_few(record * n_frame, smallest) or is_few((1 - record) * n_frame, smallest):
        return None
    published = publishable(*kinds, record, n_frame, smallest)
    if published is None:
        return None
    figure, figure_step = published
    step = STEP if smallest > 1 else 1e-6
    unsure, agreement, physicians = None, None, {}
    if review.unsure is not None and not is_few(review.n_unsure, smallest):
        unsure = rounded_figure(astuple(review.unsure), figure_step)
    same, other = review.n_same, review.n_twice - review.n_same
    if review.agreement is not None and not any(is_few(n, smallest) for n in (same, other)):
        agreement = Figure(*(coarse(each, 2 * step) for each in astuple(review.agreement)))
    names = opened.shown_names
    for name, _, *ends, _ in review.physicians.iter_rows():
        own = kinds_of(judged.filter(pl.col("physician") == name))
        if name in names and not any(kind.is_few(smallest) for kind in own):
            physicians[names[name]] = rounded_figure(ends, step)
    open_counts = not any(kind.is_few(smallest) for kind in kinds)
    return results.Review(
        discordance=figure,
        n_pairs=review.n_pairs,
        record=round(record, 2 if smallest > 1 else 6),
        step=figure_step,
        n_left=review.n_left,
        explained=coarse(review.explained, step) if open_counts else None,
        reasons=_reasons(review.reasons, smallest, step) if open_counts else {},
        unsure=unsure if open_counts else None,
        agreement=agreement,
        physicians=dict(sorted(physicians.items())),
    )


def _reasons(reasons: Mapping[str, int], smallest: int, step: float) -> dict[str, float | None]:
    """Return reasons that many pairs have; the others together, if they are many too.

    Words of a reviewer's own are not told: they could name somebody.
    """
    total = sum(reasons.values())
    many = {
        why: n
        for why, n in reasons.items()
        if why in store.REASONS[:-1] and not is_few(n, smallest)
    }
    rest = total - sum(many.values())
    if many and rest and is_few(rest, smallest):
        # The rest would follow by subtraction: the rarest reason hides it.
        rest += many.pop(min(many, key=lambda why: many[why]))
    if rest and not is_few(rest, smallest):
        many["other reasons"] = rest
    return {why: coarse(n / total, step) for why, n in many.items()}


#: Numbers of pairs that are planned for.
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
    opened = store.open_folder(folder)
    record, n_frame = opened.frame
    if not 0 < record < 1:
        raise InputError("all pairs were decided in the same way; there is nothing to review")
    # As judged so far, where that is enough.
    judged = kinds_of(judged_pairs(store.read_stored(opened.private)))
    enough = all(kind.worth >= 10 and kind.comparable >= 1 for kind in judged)
    comparable = (judged[0].share, judged[1].share) if enough else GUESS
    smallest, planned = opened.published.request.smallest_cell, []
    for size in sizes:
        n = round(SHARE_DIFFERENT * size), size - round(SHARE_DIFFERENT * size)
        counts = [share * of for share, of in zip(comparable, n, strict=True)]
        first, second = map(Kind.whole, counts, n)
        expected = estimate(record, first, second, n_frame)
        first, second = map(Kind.whole, map(round, counts), n)
        told = publishable(first, second, record, n_frame, smallest)
        ends = (None, None) if told is None else (told[0].low, told[0].high)
        middle, low, high = astuple(expected)
        planned.append(Planned(size, middle, low, high, *ends))
    reviewed = judged[0].judged + judged[1].judged
    return Plan(record, opened.pairs.height, comparable, reviewed, tuple(planned))
