"""Nested cross-fitting: every patient predicted by models that never saw the own decision.

For fold k all candidates are learned from the other folds. How to put them together is learned
from predictions of the other folds by models that left out one more fold: neither has seen a
decision of fold k. One model per pair of folds serves both of its folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray
from intravar.prediction.candidates import BLIND, Candidates, learn_candidates
from intravar.prediction.own.rules import Hyper
from intravar.prediction.stacking import Level, Stack, fit_stack
from intravar.prediction.tasks import Task
from intravar.processes import in_threads


@dataclass(frozen=True, eq=False)
class Fold:
    """What is common, learned without one fold, and how candidates are put together."""

    candidates: Candidates
    stack: Stack


@dataclass(frozen=True, eq=False)
class FoldScores:
    """Predictions of all patients from the folds that they are not in.

    Attributes
    ----------
    score
        Logit of P(yes), best prediction of this physician.
    pooled
        Logit of P(yes), best prediction that does not know the physician.
    by_candidate
        The same by every candidate alone.
    """

    score: FloatArray
    pooled: FloatArray
    by_candidate: dict[str, FloatArray]


def cross_fit(task: Task, n_threads: int = 1) -> tuple[tuple[Fold, ...], FoldScores]:
    """Learn every fold from the other folds; predict every patient on the way.

    The result does not depend on the number of threads.
    """
    numbers = range(task.n_folds)
    pairs = list(combinations(numbers, 2))
    work = [partial(_predict_pair, task, pair) for pair in pairs]
    levels = dict(zip(pairs, in_threads(work, n_threads), strict=True))
    learned = in_threads(
        [partial(learn_candidates, task, task.fold != k) for k in numbers], n_threads
    )
    folds = tuple(
        Fold(candidates, _stack_without(task, k, levels))
        for k, (candidates, _) in enumerate(learned)
    )
    return folds, read_folds(folds, task, [score for _, score in learned], n_threads)


def _predict_pair(task: Task, pair: tuple[int, int]) -> Level:
    """Predict two folds from all others, for the sample alone, to put candidates together.

    Started from nowhere: whatever a fold taught would reach it through its pairs.
    """
    out = np.isin(task.fold, pair)
    candidates, score = learn_candidates(task, ~out)
    return candidates.predict(task, ~out & task.sampled, out & task.sampled, score)


def read_folds(
    folds: Sequence[Fold],
    task: Task,
    columns: Sequence[FloatArray] | None = None,
    n_threads: int = 1,
) -> FoldScores:
    """Predict the patients of every fold.

    Parameters
    ----------
    folds
        What was learned without each fold.
    task
        The panels.
    columns
        By fold, the common score of all patients, where some of them were learned from.
    n_threads
        Threads; the result does not depend on it.
    """
    n = len(task.y)
    score, pooled = np.zeros(n), np.zeros(n)
    by_candidate: dict[str, FloatArray] = {}
    used = [k for k in range(len(folds)) if (task.fold == k).any()]
    levels = in_threads([partial(_predict_fold, folds, task, columns, k) for k in used], n_threads)
    for k, level in zip(used, levels, strict=True):
        out = task.fold == k
        score[out], pooled[out] = folds[k].stack.scores(level)
        for name, values in level.logits.items():
            by_candidate.setdefault(name, np.zeros(n))[out] = values
    return FoldScores(score, pooled, by_candidate)


def _predict_fold(
    folds: Sequence[Fold], task: Task, columns: Sequence[FloatArray] | None, k: int
) -> Level:
    out = task.fold == k
    handed_in = None if columns is None else columns[k]
    return folds[k].candidates.predict(task, ~out, out, handed_in)


def half_scores(
    task: Task, folds: Sequence[Fold], n_threads: int = 1
) -> list[tuple[FloatArray, FloatArray]]:
    """Predict every patient from either half of the other folds: scores, and pooled scores.

    Held against predictions from all of the other folds, they show what twice as many patients
    teach.
    """
    parts = (task.part, ~task.part)
    work = [
        partial(_predict_from, task, (task.fold != k) & part, k, fold.candidates.hyper)
        for part in parts
        for k, fold in enumerate(folds)
    ]
    levels = iter(in_threads(work, n_threads))
    found = []
    for _ in parts:
        score, pooled = np.zeros(len(task.y)), np.zeros(len(task.y))
        for k, fold in enumerate(folds):
            own = task.fold == k
            score[own], pooled[own] = fold.stack.scores(next(levels))
        found.append((score, pooled))
    return found


def _predict_from(task: Task, known: npt.NDArray[np.bool_], k: int, start: Hyper) -> Level:
    """Predict a fold from some patients of the others."""
    candidates, score = learn_candidates(task, known, start)
    return candidates.predict(task, known, task.fold == k, score)


def _stack_without(task: Task, k: int, pairs: Mapping[tuple[int, int], Level]) -> Stack:
    """Learn how to put candidates together from predictions that never saw fold k."""
    fold, rows, levels = task.fold, [], []
    for other in range(task.n_folds):
        if other == k:
            continue
        pair = (min(k, other), max(k, other))
        asked = np.flatnonzero(np.isin(fold, pair) & task.sampled)
        here = np.flatnonzero(fold[asked] == other)
        rows.append(asked[here])
        levels.append(pairs[pair].take(here))
    all_rows = np.concatenate(rows)
    order = np.argsort(all_rows)
    rows_in_order = all_rows[order]
    level = Level.together(levels).take(order)
    return fit_stack(level, task.y[rows_in_order], task.half[rows_in_order], BLIND)
