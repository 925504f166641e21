"""Add the figures of a review to the measurement that is handed on, and make its pages again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from intravar import documents
from intravar.publication import results
from intravar.publication.files import SUMMARY, files_of
from intravar.publication.folders import add_files
from intravar.publication.hiding import coarse, is_few
from intravar.review.answers import by_pair
from intravar.review.disclosure import Told, publishable, why_not_yet
from intravar.review.reading import Review, judged_pairs, kinds_of
from intravar.review.store import REASONS, Folder, Stored, drawn, write_stored

#: Shares besides the figure are rounded to this.
STEP = 0.05
NOT_ENOUGH = "so few pairs stand behind the figure that any rounding would reveal small numbers"


def publish_review(opened: Folder, stored: Stored, found: Review) -> Review:
    """Publish what a review found, if it may be; return the review with what came of it."""
    smallest = opened.smallest_cell
    now = {
        pair: "; ".join(f"{each.answer} {each.reason}" for each in given)
        for pair, given in by_pair(stored.answers).items()
    }
    why = why_not_yet(stored.published, now, found.n_left, smallest)
    if why is not None:
        return replace(found, why_not=why)
    told = published_review(opened, stored, found)
    if told is None:
        return replace(found, why_not=NOT_ENOUGH)
    # First the answers, then the figures: cut short between, the next reading tells the same.
    write_stored(opened.private, replace(stored, published=now))
    decision = replace(opened.published.first, review=told)
    files = files_of(replace(opened.published, decisions=(decision,)))
    add_files(opened.out, {SUMMARY: files[SUMMARY]})
    present = [
        each for each in documents.MEASUREMENT_FORMATS if (opened.out / f"report.{each}").exists()
    ]
    documents.write_files(opened.out, [each for each in present if not documents.lacking([each])])
    return replace(found, published=True)


def published_review(opened: Folder, stored: Stored, found: Review) -> results.Review | None:
    """Return what may be told of a review; None if nothing may."""
    smallest = opened.smallest_cell
    record, n_frame = opened.frame
    judged = judged_pairs(drawn(stored), stored.answers)
    kinds = kinds_of(judged)
    if is_few(record * n_frame, smallest) or is_few((1 - record) * n_frame, smallest):
        return None
    told = publishable(*kinds, record, n_frame, smallest)
    if told is None:
        return None
    open_counts = not any(kind.is_few(smallest) for kind in kinds) or smallest <= 1
    return results.Review(
        discordance=told.discordance,
        low=told.low,
        high=told.high,
        n_pairs=found.n_pairs,
        record=round(record, 2 if smallest > 1 else 6),
        step=told.step,
        n_left=found.n_left,
        explained=_coarse(found.explained, smallest) if open_counts else None,
        reasons=_reasons(found, smallest) if open_counts else (),
        unsure=_unsure(found, smallest, told) if open_counts else None,
        agreement=_agreement(found, smallest),
        physicians=_physicians(opened, judged, found),
    )


def _coarse(value: float | None, smallest: int) -> float | None:
    return coarse(value, STEP) if smallest > 1 else value


def _reasons(found: Review, smallest: int) -> tuple[results.ReviewReason, ...]:
    """Return reasons that many pairs have; the others together, if they are many too.

    Words of a reviewer's own are not told: they could name somebody.
    """
    total = sum(found.reasons.values())
    listed = {why: n for why, n in found.reasons.items() if why in REASONS[:-1]}
    many = {why: n for why, n in listed.items() if not is_few(n, smallest)}
    rest = total - sum(many.values())
    if many and rest and is_few(rest, smallest):
        # The rest would follow by subtraction: the rarest reason hides it.
        rest += many.pop(min(many, key=lambda why: many[why]))
    if rest and not is_few(rest, smallest):
        many["other reasons"] = rest
    return tuple(results.ReviewReason(why, _coarse(n / total, smallest)) for why, n in many.items())


def _unsure(found: Review, smallest: int, told: Told) -> results.ReviewRange | None:
    """Return the figure with unsure pairs counted one way and the other."""
    if not found.n_unsure or is_few(found.n_unsure, smallest):
        return None
    if found.if_comparable is None or found.if_different is None:
        return None
    low, high = sorted((found.if_comparable, found.if_different))
    return results.ReviewRange(*_outwards(low, high, told.step))


def _agreement(found: Review, smallest: int) -> results.ReviewAgreement | None:
    agreed = found.agreement
    if agreed is None:
        return None
    if is_few(agreed.n_same, smallest) or is_few(agreed.n_pairs - agreed.n_same, smallest):
        return None
    step = 0.1 if smallest > 1 else 1e-6
    return results.ReviewAgreement(
        coarse(agreed.kappa, step), coarse(agreed.low, step), coarse(agreed.high, step)
    )


def _physicians(
    opened: Folder, judged: pl.DataFrame, found: Review
) -> dict[str, results.ReviewFigure]:
    """Return the figures of physicians with no small count behind them, by what they are called."""
    smallest, names = opened.smallest_cell, opened.shown_names
    step = STEP if smallest > 1 else 1e-6
    shown = {}
    for name, _, discordance, low, high, _ in found.physicians.iter_rows():
        kinds = kinds_of(judged.filter(pl.col("physician") == name))
        few = smallest > 1 and any(kind.is_few(smallest) for kind in kinds)
        if name in names and not few:
            middle = coarse(discordance, step) or 0.0
            shown[names[name]] = results.ReviewFigure(middle, *_outwards(low, high, step))
    return dict(sorted(shown.items()))


def _outwards(low: float, high: float, step: float) -> tuple[float, float]:
    """Round the ends of an interval away from its middle."""
    ends = np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9)
    return round(float(ends[0]) * step, 6), round(float(ends[1]) * step, 6)
