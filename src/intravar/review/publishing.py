"""Add the figures of a review to the measurement that is handed on, and make its pages again."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from intravar import documents
from intravar.publication.folders import SUMMARY, add_files
from intravar.publication.rounding import coarse
from intravar.publication.suppression import is_few
from intravar.review.agreement import by_pair, judgement
from intravar.review.disclosure import Kind, Told, publishable, why_not_yet
from intravar.review.estimate import JudgedCounts, counted
from intravar.review.reading import Judged, Review, judged_pairs
from intravar.review.store import Folder, Stored, drawn, write_stored

#: Shares besides the figure are rounded to this.
STEP = 0.05
NOT_ENOUGH = "so few pairs stand behind the figure that any rounding would reveal small numbers"


def publish_review(opened: Folder, stored: Stored, found: Review) -> Review:
    """Publish what a review found, if it may be; return the review with what came of it."""
    judgements = {pair: judgement(given) for pair, given in by_pair(stored.answers).items()}
    smallest = opened.smallest_cell
    known = {pair: value for pair, value in judgements.items() if value is not None}
    why = why_not_yet(stored.published, known, found.n_left, smallest)
    if why is not None:
        return replace(found, why_not=why)
    told = review_json(opened, stored, found)
    if told is None:
        return replace(found, why_not=NOT_ENOUGH)
    # First what was published, then the figures: an interruption between hides, it does not tell.
    write_stored(opened.private, replace(stored, published=known))
    summary = {**opened.summary, "review": told}
    text = json.dumps(summary, indent=1, ensure_ascii=False, default=str)
    add_files(opened.out, {SUMMARY: text.encode()})
    present = [
        each for each in documents.MEASUREMENT_FORMATS if (opened.out / f"report.{each}").exists()
    ]
    documents.write_measurement_files(
        opened.out, [each for each in present if not documents.lacking([each])]
    )
    return replace(found, published=True)


def review_json(opened: Folder, stored: Stored, found: Review) -> dict[str, Any] | None:
    """Return what may be told of a review, in a form that fits into JSON; None if nothing may."""
    smallest = opened.smallest_cell
    record, n_frame = opened.frame
    judged = judged_pairs(drawn(stored), stored.answers)
    kinds = _kinds(judged)
    if is_few(record * n_frame, smallest) or is_few((1 - record) * n_frame, smallest):
        return None
    told = publishable(*kinds, record, n_frame, smallest)
    if told is None:
        return None
    open_counts = not any(kind.is_few(smallest) for kind in kinds) or smallest <= 1
    return {
        "discordance": told.discordance,
        "low": told.low,
        "high": told.high,
        "n_pairs": found.n_pairs,
        "record": round(record, 2 if smallest > 1 else 6),
        "step": told.step,
        "n_left": found.n_left,
        "explained": _coarse(found.explained, smallest) if open_counts else None,
        "reasons": _reasons(found, smallest) if open_counts else [],
        "unsure": _unsure(found, smallest, told) if open_counts else None,
        "agreement": _agreement(found, smallest),
        "physicians": _physicians(opened, judged, found),
    }


def _kinds(judged: Judged) -> tuple[Kind, Kind]:
    sums = counted(judged.comparable, judged.weight, judged.different)
    return _kind(judged, sums[0], different=True), _kind(judged, sums[1], different=False)


def _kind(judged: Judged, sums: JudgedCounts, *, different: bool) -> Kind:
    own = judged.different == different
    share = sums.comparable / sums.judged if sums.judged else 0.0
    return Kind(float(judged.comparable[own].sum()), int(own.sum()), share, sums.judged)


def _coarse(value: float | None, smallest: int) -> float | None:
    return coarse(value, STEP) if smallest > 1 else value


def _reasons(found: Review, smallest: int) -> list[dict[str, Any]]:
    """Return reasons that many pairs have; the others together, if they are many too."""
    total = sum(found.reasons.values())
    many = {why: n for why, n in found.reasons.items() if not is_few(n, smallest)}
    rest = total - sum(many.values())
    if many and rest and is_few(rest, smallest):
        # The rest would follow by subtraction: the rarest reason hides it.
        rest += many.pop(min(many, key=lambda why: many[why]))
    if rest and not is_few(rest, smallest):
        many["other reasons"] = many.get("other reasons", 0) + rest
    return [{"reason": why, "share": _coarse(n / total, smallest)} for why, n in many.items()]


def _unsure(found: Review, smallest: int, told: Told) -> dict[str, float] | None:
    """Return the figure with unsure pairs counted one way and the other."""
    if not found.n_unsure or is_few(found.n_unsure, smallest):
        return None
    both = (found.if_comparable, found.if_different)
    if None in both:
        return None
    low, high = sorted(float(each) for each in both if each is not None)
    step = told.step
    return {
        "low": round(step * np.floor(low / step + 1e-9), 6),
        "high": round(step * np.ceil(high / step - 1e-9), 6),
    }


def _agreement(found: Review, smallest: int) -> dict[str, Any] | None:
    agreed = found.agreement
    if agreed is None:
        return None
    if is_few(agreed.n_same, smallest) or is_few(agreed.n_pairs - agreed.n_same, smallest):
        return None
    step = 0.1 if smallest > 1 else 1e-6
    return {
        "kappa": coarse(agreed.kappa, step),
        "low": coarse(agreed.low, step),
        "high": coarse(agreed.high, step),
    }


def _physicians(opened: Folder, judged: Judged, found: Review) -> dict[str, dict[str, float]]:
    """Return the figures of physicians with no small count behind them, by what they are called."""
    smallest = opened.smallest_cell
    names = opened.shown_names
    whose = np.array(judged.physician, dtype=object)
    shown = {}
    for row in found.physicians.iter_rows(named=True):
        own = whose == row["physician"]
        part = Judged([], [], judged.different[own], judged.comparable[own], judged.weight[own])
        if row["physician"] not in names or (
            smallest > 1 and any(kind.is_few(smallest) for kind in _kinds(part))
        ):
            continue
        step = STEP if smallest > 1 else 1e-6
        low, high = np.floor(row["low"] / step + 1e-9), np.ceil(row["high"] / step - 1e-9)
        shown[names[row["physician"]]] = {
            "discordance": coarse(row["discordance"], step) or 0.0,
            "low": round(float(low) * step, 6),
            "high": round(float(high) * step, 6),
        }
    return dict(sorted(shown.items()))
