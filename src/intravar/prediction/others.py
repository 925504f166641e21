"""Physicians beyond the sample, read by what a sample of physicians taught in common.

Every fold has its common part, which was learned without the patients of that fold; the patients of
another physician are dealt to the same folds, and those of fold k are predicted by the common part
of fold k and by what the physician's other patients teach about the physician.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.observed import Observed
from intravar.prediction.bound import Bound, Reading, losses_of, panel_means
from intravar.prediction.colleagues import ColleaguesLosses
from intravar.prediction.explained import OwnRules
from intravar.prediction.fold_common import FoldCommon, OtherPanels
from intravar.prediction.held_out import HeldOut
from intravar.prediction.other_panels import Ready
from intravar.prediction.small import SharesBeyond
from intravar.prediction.stacking import Stack, log_likelihood
from intravar.prediction.weights import SharedWeights


@dataclass(frozen=True, eq=False)
class Deal:
    """What was learned in one deal of the sample: by fold, the common part and how it is used."""

    seed: int
    folds: tuple[tuple[FoldCommon, Stack], ...]


def kept_deals(found: Sequence[HeldOut]) -> tuple[Deal, ...]:
    """Keep what is common of the deals of a sample."""
    return tuple(
        Deal(each.seed, tuple(zip(each.fit.commons, each.fit.stacks, strict=True)))
        for each in found
        if each.fit is not None
    )


@dataclass(frozen=True, eq=False)
class CommonPart:
    """All that a sample taught in common; nothing in it belongs to a patient.

    Attributes
    ----------
    ready
        How panels are made ready.
    n_folds
        Number of folds.
    deals
        What was learned in every deal; none where no rule was looked for.
    shares
        What is said then.
    reading, own_rules, losses, weights
        How losses are read, what own rules leave, what colleagues lose, who weighs what.
    """

    ready: Ready
    n_folds: int
    deals: tuple[Deal, ...]
    shares: SharesBeyond
    reading: Reading
    own_rules: OwnRules | None
    losses: ColleaguesLosses
    weights: SharedWeights


@dataclass(frozen=True, eq=False)
class Read:
    """What is said of other physicians; patients and physicians in the order that was given.

    Attributes
    ----------
    personal, pooled
        P(yes) per patient by predictions that know the physician, and that do not.
    bound, expected, gain
        Per physician: the bound, what colleagues would score, log-likelihood gained.
    candidates
        Held-out log-likelihood per patient, by candidate.
    weights
        Every weight beside that of the others.
    """

    personal: FloatArray
    pooled: FloatArray
    bound: Bound
    expected: FloatArray
    gain: FloatArray
    candidates: dict[str, float]
    weights: pl.DataFrame


def read_others(common: CommonPart, observed: Observed, seed: int) -> Read:
    """Read physicians who were not learned from; everybody's result is that of the own panel.

    Parameters
    ----------
    common
        What the sample taught.
    observed
        The other physicians' patients.
    seed
        That of the sample's first deal.
    """
    panels = common.ready.panels(observed, common.n_folds, seed)
    y, code, J = panels.decision, panels.code, panels.n_physicians
    personal, pooled, candidates = _predictions(common, observed, panels)
    left = None
    if common.own_rules is not None:
        left = common.own_rules.left(panels.columns, pooled, y, code, J)
    size = np.maximum(np.bincount(code, minlength=J), 1).astype(np.float64)
    gain = np.zeros(len(y))
    if common.deals:
        best, blind = _told(personal, y), _told(pooled, y)
        gain = best - blind
        candidates = {"best": float(best.mean()), **candidates}
    return Read(
        _given_order(personal, panels.row),
        _given_order(pooled, panels.row),
        common.reading.of(losses_of(personal, y), code, J, left),
        2 * panel_means(common.losses.expected(panels.bins), code, size),
        panel_means(gain, code, size),
        candidates,
        common.weights.table(panels.columns, y, code, observed.physicians),
    )


def _predictions(
    common: CommonPart, observed: Observed, first: OtherPanels
) -> tuple[FloatArray, FloatArray, dict[str, float]]:
    """Return P(yes) by predictions that know the physician, and that do not, and by candidate."""
    y, code = first.decision, first.code
    if not common.deals:
        personal = common.shares.personal(y, code, first.n_physicians)
        return personal, np.full(len(y), common.shares.pooled), {}
    personal, pooled = np.zeros(len(y)), np.zeros(len(y))
    candidates: dict[str, float] = {}
    for number, deal in enumerate(common.deals):
        panels = first if number == 0 else common.ready.panels(observed, common.n_folds, deal.seed)
        score, blind, by_candidate = _read_deal(deal.folds, panels)
        # Rows lie in one order, however they are dealt.
        personal += expit(score)
        pooled += expit(blind)
        if number == 0:
            candidates = {
                name: float(log_likelihood(values, y).mean())
                for name, values in by_candidate.items()
            }
    return personal / len(common.deals), pooled / len(common.deals), candidates


def _read_deal(
    folds: Sequence[tuple[FoldCommon, Stack]], panels: OtherPanels
) -> tuple[FloatArray, FloatArray, dict[str, FloatArray]]:
    n = len(panels.decision)
    score, pooled = np.zeros(n), np.zeros(n)
    by_candidate: dict[str, FloatArray] = {}
    for k, (common, stack) in enumerate(folds):
        out = panels.fold == k
        if not out.any():
            continue
        level = common.read(panels, out)
        score[out], pooled[out] = stack.each(level)
        for name, values in level.logits.items():
            by_candidate.setdefault(name, np.zeros(n))[out] = values
    return score, pooled, by_candidate


def _told(chance: FloatArray, y: IntArray) -> FloatArray:
    return np.asarray(np.log(np.where(y == 1, chance, 1 - chance)))


def _given_order(values: FloatArray, row: IntArray) -> FloatArray:
    found: Any = np.empty_like(values)
    found[row] = values
    return np.asarray(found)
