"""Held-out predictions of checked input, made once for all that ask, and those of two halves.

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
from intravar.prediction.cross_fitting import Fold, FoldScores, cross_fit, half_scores
from intravar.prediction.own.fitted import learn_own_rules
from intravar.prediction.tasks import Task, View

#: With fewer patients no rule is looked for.
FEWEST_PATIENTS = 40
#: The share of all physicians counts as so many patients of one's own.
SHARED = 2.0


@dataclass(frozen=True)
class Shares:
    """Too few patients, or one decision for all: shares instead of rules.

    Attributes
    ----------
    n_patients, n_yes
        Patients who were learned from, and how many of them were decided for.
    """

    n_patients: int
    n_yes: int

    def predict(
        self, y: IntArray, code: IntArray, n_physicians: int, *, counted: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the share of the physician's other patients decided for, and that of all.

        The first is drawn towards the second, and that towards one half. Where these patients are
        `counted` among those learned from, each is left out of the share of all.

        Examples
        --------
        >>> y, one = np.array([1, 1, 0]), np.zeros(3, dtype=np.int64)
        >>> Shares(3, 2).predict(y, one, 1, counted=True)[0].round(2).tolist()
        [0.5, 0.5, 0.92]
        >>> Shares(9, 4).predict(y[1:], one[1:], 1, counted=False)[0].round(2).tolist()
        [0.3, 0.63]
        """
        n, yes = self.n_patients - int(counted), self.n_yes - counted * y
        everywhere = (yes + 0.5) / (n + 1)
        own = np.bincount(code, y, minlength=n_physicians)[code] - y
        size = np.bincount(code, minlength=n_physicians)[code] - 1
        personal = (own + SHARED * everywhere) / (size + SHARED)
        pooled = (yes + SHARED * everywhere) / (n + SHARED)
        return np.asarray(personal), np.broadcast_to(pooled, len(y)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions of the patients who were learned from, in the order of the panels.

    Attributes
    ----------
    view, task
        How panels are made ready, and the panels.
    folds, scores
        What was learned without each fold, and what it says; None where there are too few patients,
        or one decision for all.
    personal, pooled
        P(yes) by predictions that know the physician, and that do not.
    """

    view: View
    task: Task
    folds: tuple[Fold, ...]
    scores: FoldScores | None
    personal: FloatArray
    pooled: FloatArray


def held_out(observed: Observed, n_folds: int, seed: int, n_threads: int = 1) -> HeldOut:
    """Return the predictions of every patient, learned the first time they are asked for."""
    return observed.learn(
        ("held-out", n_folds, seed), lambda: _held_out(observed, n_folds, seed, n_threads)
    )


def _held_out(observed: Observed, n_folds: int, seed: int, n_threads: int) -> HeldOut:
    view = observed.learn("view", lambda: View.of(observed))
    first = observed.learn(("task", n_folds), lambda: view.task(observed, n_folds, seed))
    task = first.dealt(seed)
    y = task.y
    too_few = len(y) < FEWEST_PATIENTS or y.min() == y.max()
    if too_few or len(np.unique(task.fold)) < n_folds:
        shares = Shares(len(y), int(y.sum()))
        own, pooled = shares.predict(y, task.code, len(task.panels), counted=True)
        return HeldOut(view, task, (), None, own, pooled)
    # The products are many and small: threads of BLAS would only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        folds, scores = cross_fit(task, n_threads)
    return HeldOut(view, task, folds, scores, expit(scores.score), expit(scores.pooled))


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
