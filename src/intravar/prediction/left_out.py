"""Predictions without some of the covariates, cheaper than those that physicians are scored by.

Common trees, and rates of each physician around them. Only losses of such predictions are compared
with each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from intravar.arrays import BoolArray, FloatArray
from intravar.observed import Observed
from intravar.prediction.own.rules import Hyper, fit_rules, learn_hyper
from intravar.prediction.tasks import Task, View
from intravar.prediction.trees import common_trees
from intravar.processes import in_threads

#: What was learned of physicians' rates without each fold.
_ByFold: TypeAlias = dict[int, Hyper]


def losses_without(
    observed: Observed,
    origin: Sequence[str],
    sets: Sequence[tuple[str, ...]],
    n_folds: int,
    seeds: Sequence[int],
    n_threads: int = 1,
) -> dict[tuple[str, ...], FloatArray]:
    """Return twice the squared error of held-out predictions, per patient, over the deals.

    `origin` says for every column the covariate that it comes from; `sets` are covariates that are
    left out together, beside nothing left out.
    """
    view = View.of(observed)
    owner = np.array([origin[observed.names.index(name)] for name in view.layout.names])
    with threadpool_limits(limits=1, user_api="blas"):
        task = view.task(observed, n_folds, seeds[0])
        tasks = [task.dealt(seed) for seed in seeds]
        whole, starts = _losses(tasks, np.ones(len(owner), dtype=np.bool_), [{} for _ in tasks])
        left = in_threads(
            [partial(_losses, tasks, ~np.isin(owner, names), starts) for names in sets], n_threads
        )
    return {(): whole} | {names: loss for names, (loss, _) in zip(sets, left, strict=True)}


def _losses(
    tasks: Sequence[Task], columns: BoolArray, starts: Sequence[_ByFold]
) -> tuple[FloatArray, list[_ByFold]]:
    predicted, learned = zip(
        *(_predictions(task, columns, start) for task, start in zip(tasks, starts, strict=True)),
        strict=True,
    )
    return np.asarray(2 * (tasks[0].y - np.mean(predicted, axis=0)) ** 2), list(learned)


def _predictions(task: Task, columns: BoolArray, starts: _ByFold) -> tuple[FloatArray, _ByFold]:
    """Predict every patient from the other folds, by some of the columns.

    The search for what physicians have in common begins where it ended with all columns, without
    the same fold.
    """
    bins = np.ascontiguousarray(task.bins[:, columns])
    y, code, n_physicians = task.y, task.code, len(task.panels)
    found, learned = np.empty(len(y)), {}
    for fold in range(task.n_folds):
        own, others = np.flatnonzero(task.fold == fold), np.flatnonzero(task.fold != fold)
        score = common_trees(bins, y, code, others, task.half).crossed(bins, others, task.half)
        Z = np.column_stack([np.ones(len(y)), score])
        hyper = learn_hyper(Z, y, code, others, n_physicians, starts.get(fold))
        found[own] = fit_rules(Z, y, code, others, n_physicians, hyper).predict(Z, code, own)
        learned[fold] = hyper
    return found, learned
