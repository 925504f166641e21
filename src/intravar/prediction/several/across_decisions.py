"""Shrinkage across decisions: what a physician does in one informs the others.

For every decision there is a prediction that does not know who decides, the share of colleagues who
would say yes. How closely a physician goes with it, and how often the physician says yes on the
whole, are two effects per decision; all of a physician's have one normal prior
(:mod:`intravar.prediction.several.physician_effects`). Predictions by these effects are blended
with those that know one decision only, as far as held-out decisions say that it helps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.prediction.bound import panel_means
from intravar.prediction.several.physician_effects import (
    Logits,
    PhysicianEffects,
    fit_effects,
    without_each_fold,
)
from intravar.prediction.stacking import clipped_logit, fit_blend

#: With fewer known decisions outside a fold nothing is blended.
FEWEST = 40


@dataclass(frozen=True, eq=False)
class Across:
    """Predictions that know all decisions of a physician.

    Attributes
    ----------
    predicted
        Held-out P(yes), one row per patient and one column per decision.
    correlation
        Of the steadiness of physicians, by pair of decisions: of how closely they go with what
        colleagues would do.
    excess
        Per physician and decision, by how much twice the squared error exceeds the discordance
        because the physician's effects are not known exactly.
    """

    predicted: FloatArray
    correlation: FloatArray
    excess: FloatArray


def across_decisions(
    own: FloatArray,
    pooled: FloatArray,
    decided: FloatArray,
    known: BoolArray,
    code: IntArray,
    fold: IntArray,
    *,
    together: bool = True,
) -> Across:
    """Return predictions that let a physician's decisions inform each other.

    Parameters
    ----------
    own, pooled
        Held-out P(yes) of each decision on its own, by who decides and without; one row per
        patient and one column per decision.
    decided, known
        The decisions, and which of them are known.
    code, fold
        Physician and fold of every patient, from 0.
    together
        Whether decisions may inform each other at all.
    """
    n_decisions, J = own.shape[1], int(code.max()) + 1
    designs = tuple(_design(pooled[:, k], known[:, k]) for k in range(n_decisions))
    logits = Logits(designs, np.zeros_like(own), decided, known, code, J)
    # Matrices are many and small: threads of BLAS would only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        everything = fit_effects(logits, together=together)
        by_effects = np.empty_like(own)
        for out, found in without_each_fold(logits, fold, everything, together=together):
            for k, (design, span) in enumerate(zip(designs, logits.spans, strict=True)):
                by_effects[out, k] = found.probability(
                    design[out], np.zeros(int(out.sum())), span, code[out]
                )
        predicted = np.column_stack(
            [
                _blended(own[:, k], by_effects[:, k], decided[:, k], known[:, k], fold)
                for k in range(n_decisions)
            ]
        )
    excess = [_excess(everything, logits, k) for k in range(n_decisions)]
    return Across(predicted, _steadiness(everything, logits), np.column_stack(excess))


def _design(pooled: FloatArray, known: BoolArray) -> FloatArray:
    """Return a column of ones, and the colleagues' share with mean 0 and spread 1."""
    spread = float(pooled[known].std())
    away = (pooled - pooled[known].mean()) / (spread if spread > 0 else 1.0)
    return np.column_stack([np.ones(len(away)), away])


def _blended(
    own: FloatArray, other: FloatArray, decided: FloatArray, known: BoolArray, fold: IntArray
) -> FloatArray:
    table = np.column_stack([clipped_logit(own), clipped_logit(other)])
    found = own.copy()
    for number in np.unique(fold):
        out, rest = fold == number, (fold != number) & known
        if rest.sum() < FEWEST:
            continue
        weights = fit_blend(table[rest], decided[rest].astype(np.int64))
        found[out] = expit(weights[0] + table[out] @ weights[1:])
    return found


def _steadiness(found: PhysicianEffects, logits: Logits) -> FloatArray:
    """Return the correlation of the second effects, those of going with colleagues."""
    at = [span.start + 1 for span in logits.spans]
    covariance = found.covariance[np.ix_(at, at)]
    spread = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(spread, spread))


def _excess(found: PhysicianEffects, logits: Logits, k: int) -> FloatArray:
    """Return what the uncertainty of the effects adds in a decision, per physician."""
    rows = np.flatnonzero(logits.known[:, k])
    code, design, span = logits.code[rows], logits.designs[k][rows], logits.spans[k]
    p = found.probability(design, logits.offset[rows, k], span, code)
    variance = np.square(p * (1 - p)) * found.unsure(design, span, code)
    size = np.maximum(np.bincount(code, minlength=logits.n_physicians), 1).astype(np.float64)
    return panel_means(2 * variance, code, size)
