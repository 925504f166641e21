"""Held-out predictions of checked input, made once for all that ask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from intravar.arrays import FloatArray
from intravar.observed import Observed
from intravar.prediction.canonical import canonical
from intravar.prediction.cross_fitting import FoldScores, PredictionTask, cross_fit, prepare
from intravar.prediction.small import shares_of_others

#: With fewer patients no rule is looked for.
FEWEST_PATIENTS = 40


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions in canonical order.

    Attributes
    ----------
    task
        The cohort, made ready.
    fit
        The cross-fit; None where there are too few patients, or one decision for all.
    personal, pooled
        P(yes) by predictions that know the physician, and that do not.
    seed
        Of the folds.
    """

    task: PredictionTask
    fit: FoldScores | None
    personal: FloatArray
    pooled: FloatArray
    seed: int


def held_out(observed: Observed, n_folds: int, seed: int, n_threads: int = 1) -> HeldOut:
    """Return the predictions of every patient, learned the first time they are asked for."""
    return observed.learn(
        ("held-out", n_folds, seed), lambda: _held_out(observed, n_folds, seed, n_threads)
    )


def _held_out(observed: Observed, n_folds: int, seed: int, n_threads: int) -> HeldOut:
    cohort = canonical(observed.covariates, observed.decision, observed.code)
    task = prepare(cohort, n_folds, seed)
    y = cohort.decision
    if len(y) < FEWEST_PATIENTS or y.min() == y.max() or task.n_folds < n_folds:
        everybody = np.zeros(len(y), dtype=np.int64)
        own = shares_of_others(y, cohort.code, cohort.n_physicians)
        return HeldOut(task, None, own, shares_of_others(y, everybody, 1), seed)
    # The products are many and small: threads of BLAS would only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        fit = cross_fit(task, n_threads)
    return HeldOut(task, fit, expit(fit.score), expit(fit.pooled), seed)
