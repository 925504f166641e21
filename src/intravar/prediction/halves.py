"""Bounds of two halves of every panel, without learning everything anew.

Every patient of a half is predicted from the other folds of the same half. How candidates are put
together is taken over from the fit of the whole, which never saw the patient's fold either.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from intravar.arrays import FloatArray, IntArray
from intravar.observed import Observed
from intravar.prediction.bound import Bound, bound_of_losses, losses_of
from intravar.prediction.cross_fitting import half_scores
from intravar.prediction.held_out import HeldOut, held_out
from intravar.prediction.own.unexplained import learn_own_rules
from intravar.prediction.tasks import Task


@dataclass(frozen=True, eq=False)
class HalfBound:
    """The bound of some physicians, learned from a half of their patients.

    Attributes
    ----------
    bound
        One entry per physician.
    physician
        Their positions in the order that was given.
    n_patients
        Patients in the half.
    """

    bound: Bound
    physician: IntArray
    n_patients: IntArray


def half_predictions(
    observed: Observed, n_folds: int, seed: int, n_threads: int = 1
) -> list[tuple[FloatArray, FloatArray]]:
    """Return P(yes) of every patient from either half of the other folds: own, and pooled.

    In the order of the panels, learned the first time they are asked for; nothing without a rule.
    """
    return observed.learn(
        ("half predictions", n_folds, seed),
        lambda: _half_predictions(held_out(observed, n_folds, seed, n_threads), n_threads),
    )


def _half_predictions(found: HeldOut, n_threads: int) -> list[tuple[FloatArray, FloatArray]]:
    if not found.folds:
        return []
    with threadpool_limits(limits=1, user_api="blas"):
        scores = half_scores(found.task, found.folds, n_threads)
    return [(expit(own), expit(pooled)) for own, pooled in scores]


def half_bounds(
    observed: Observed, n_folds: int, seed: int, n_threads: int = 1
) -> tuple[HalfBound, HalfBound, HalfBound] | None:
    """Return the bounds of all patients and of either half, by one deal into folds.

    None where no rule is learned, or where a half holds decisions of one kind alone.
    """
    found = held_out(observed, n_folds, seed, n_threads)
    task, y = found.task, found.task.y
    parts = (task.part, ~task.part)
    predictions = half_predictions(observed, n_folds, seed, n_threads)
    if not predictions or any(len(np.unique(y[part])) < 2 for part in parts):
        return None
    with threadpool_limits(limits=1, user_api="blas"):
        whole = _bound(task, np.arange(len(y)), found.personal, found.pooled, seed)
        first, second = (
            _bound(task, np.flatnonzero(part), own, pooled, seed)
            for part, (own, pooled) in zip(parts, predictions, strict=True)
        )
    return whole, first, second


def _bound(task: Task, rows: IntArray, own: FloatArray, pooled: FloatArray, seed: int) -> HalfBound:
    """Return the bounds of the physicians of some patients."""
    some = task.take(rows)
    _, left = learn_own_rules(some, own[rows], pooled[rows], seed)
    losses = losses_of(own[rows], some.y)
    bound = bound_of_losses(losses, some.code, len(some.panels), left)
    return HalfBound(bound, some.panels.physicians, some.panels.sizes)
