"""Add the figures of a review to the measurement that is handed on, and make its pages again.

No small count of pairs follows from what is told. Four counts stand behind the figure: pairs
decided differently, or alike, that reviewers found comparable, or not. A reader may know how many
of each kind were reviewed and how the figure is made. So all counts that could be are gone through:
figures are rounded until those that look the same come from several counts. Where that takes
rounding to more than a fifth, nothing is told.

Figures are told in blocks: whoever sees them before and after a single answer could tell how that
pair was decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from intravar import documents
from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.publication import results
from intravar.publication.files import SUMMARY, files_of
from intravar.publication.folders import add_files
from intravar.publication.hiding import coarse, is_few
from intravar.review.estimate import Estimate, Kind, discordance_of
from intravar.review.reading import Review, judged_pairs, kinds_of
from intravar.review.store import REASONS, Folder, Stored, write_stored

#: Figures are rounded to the first of these that hides small counts.
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)
#: A small count must be one of so many that fit equally well.
FEWEST_COUNTS = 4
#: Judgements that must be new before figures are told again.
BLOCK = 20
#: Other counts than these many more or fewer are not gone through.
REACH = 300


@dataclass(frozen=True)
class Told(Estimate):
    """A figure with its interval as it may be told, and to what it was rounded."""

    step: float


def publishable(
    different: Kind, alike: Kind, record: float, n_frame: float, smallest: int
) -> Told | None:
    """Return the figure of judged pairs of both kinds as it may be told; None where it may not be.

    `record` is the share of all `n_frame` pairs that were decided differently, `smallest` the
    smallest count that is shown.

    Examples
    --------
    >>> publishable(Kind.whole(36, 72), Kind.whole(34, 48), 0.28, 2_000, 11)
    Told(discordance=0.22, low=0.16, high=0.28, step=0.01)
    >>> publishable(Kind.whole(4, 36), Kind.whole(20, 24), 0.28, 2_000, 11).step
    0.05
    """
    (first, first_worth), (second, second_worth) = _others(different), _others(alike)
    worth = (first_worth[:, None], different.worth), (second_worth[None, :], alike.worth)
    figures = discordance_of(record, *worth, n_frame)
    row, column = first.searchsorted(different.comparable), second.searchsorted(alike.comparable)
    own = int(row) * len(second) + int(column)
    flat = [np.broadcast_to(each, (len(first), len(second))).ravel() for each in figures]
    if not np.isfinite(flat[0][own]):
        return None
    if smallest <= 1:
        middle, low, high = (round(float(each[own]), 6) for each in flat)
        return Told(middle, low, high, 1e-6)
    # The four counts of every case.
    pairs = np.meshgrid(first, second, indexing="ij")
    judged = different.judged, alike.judged
    cases = [c.ravel() for count, n in zip(pairs, judged, strict=True) for c in (count, n - count)]
    open_still = np.isfinite(flat[0])
    for step in STEPS:
        rounded = _rounded(flat, step)
        # One number for the three, each of which has fewer than 1,000 steps.
        _, group = np.unique(rounded[open_still] @ (1_000_000, 1_000, 1), return_inverse=True)
        safe = _safe(group.ravel(), [each[open_still] for each in cases], smallest)
        if safe[np.searchsorted(np.flatnonzero(open_still), own)]:
            middle, low, high = (round(step * float(each), 6) for each in rounded[own])
            return Told(middle, low, high, step)
        open_still[np.flatnonzero(open_still)[safe]] = False
    return None


def _others(kind: Kind) -> tuple[FloatArray, FloatArray]:
    """Return the counts that could be, and what they would come to."""
    least = -min(int(kind.comparable), REACH)
    most = min(int(kind.judged - kind.comparable), REACH)
    count = kind.comparable + np.arange(least, most + 1)
    share = kind.share + (count - kind.comparable) / max(kind.judged, 1)
    return np.asarray(count, dtype=np.float64), np.clip(share, 0, 1) * kind.worth


def _rounded(figures: list[FloatArray], step: float) -> IntArray:
    """Return figures in steps, the ends of the interval outwards."""
    middle, low, high = (np.nan_to_num(each) / step for each in figures)
    ends = np.floor(low + 1e-9), np.ceil(high - 1e-9)
    return np.column_stack([np.rint(middle), *ends]).astype(np.int64)


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


def publish_review(opened: Folder, stored: Stored, review: Review) -> Review:
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
    write_stored(opened.private, replace(stored, published=now))
    decision = replace(opened.published.first, review=published)
    files = files_of(replace(opened.published, decisions=(decision,)))
    add_files(opened.out, {SUMMARY: files[SUMMARY]})
    present = [
        each for each in documents.MEASUREMENT_FORMATS if (opened.out / f"report.{each}").exists()
    ]
    documents.write_files(opened.out, [each for each in present if not documents.lacking([each])])
    return replace(review, published=True)


def published_review(opened: Folder, stored: Stored, review: Review) -> results.Review | None:
    """Return what may be published of a review; None if nothing may."""
    smallest = opened.published.request.smallest_cell
    record, n_frame = opened.frame
    judged = judged_pairs(stored)
    kinds = kinds_of(judged)
    if is_few(record * n_frame, smallest) or is_few((1 - record) * n_frame, smallest):
        return None
    figure = publishable(*kinds, record, n_frame, smallest)
    if figure is None:
        return None
    rounded = smallest > 1
    step = STEP if rounded else 1e-6
    open_counts = not any(kind.is_few(smallest) for kind in kinds) or not rounded
    unsure = agreement = None
    low, high = review.if_comparable, review.if_different
    if low is not None and high is not None and not is_few(review.n_unsure, smallest):
        unsure = results.Figure(None, *_outwards(min(low, high), max(low, high), figure.step))
    agreed = review.agreement
    if agreed is not None and not any(
        is_few(count, smallest) for count in (agreed.n_same, agreed.n_pairs - agreed.n_same)
    ):
        figures = (coarse(each, 2 * step) for each in (agreed.kappa, agreed.low, agreed.high))
        agreement = results.Figure(*figures)
    physicians = {}
    names = opened.shown_names
    for name, _, discordance, low, high, _ in review.physicians.iter_rows():
        own = kinds_of(judged.filter(pl.col("physician") == name))
        if name in names and not (rounded and any(kind.is_few(smallest) for kind in own)):
            own_figure = coarse(discordance, step) or 0.0, *_outwards(low, high, step)
            physicians[names[name]] = results.Figure(*own_figure)
    return results.Review(
        discordance=results.Figure(figure.discordance, figure.low, figure.high),
        n_pairs=review.n_pairs,
        record=round(record, 2 if rounded else 6),
        step=figure.step,
        n_left=review.n_left,
        explained=coarse(review.explained, step) if open_counts else None,
        reasons=_reasons(review.reasons, smallest, step) if open_counts else {},
        unsure=unsure if open_counts and review.n_unsure else None,
        agreement=agreement,
        physicians=dict(sorted(physicians.items())),
    )


def _reasons(reasons: Mapping[str, int], smallest: int, step: float) -> dict[str, float | None]:
    """Return reasons that many pairs have; the others together, if they are many too.

    Words of a reviewer's own are not told: they could name somebody.
    """
    total = sum(reasons.values())
    many = {why: n for why, n in reasons.items() if why in REASONS[:-1] and not is_few(n, smallest)}
    rest = total - sum(many.values())
    if many and rest and is_few(rest, smallest):
        # The rest would follow by subtraction: the rarest reason hides it.
        rest += many.pop(min(many, key=lambda why: many[why]))
    if rest and not is_few(rest, smallest):
        many["other reasons"] = rest
    return {why: coarse(n / total, step) for why, n in many.items()}


def _outwards(low: float, high: float, step: float) -> tuple[float, float]:
    """Round the ends of an interval away from its middle."""
    ends = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return round(float(ends[0]) * step, 6), round(float(ends[1]) * step, 6)
