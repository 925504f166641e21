"""Nested cross-fitting: every patient predicted by models that never saw the own decision.

For fold k all candidates are learned from the other folds. How to put them together is learned
from predictions of the other folds by models that left out one more fold: neither has seen a
decision of fold k. One model per pair of folds serves both of its folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray
from intravar.prediction.candidates import BLIND, Candidates, learn_candidates
from intravar.prediction.stacking import Level, Stack, fit_stack
from intravar.prediction.tasks import Task


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


def cross_fit(task: Task) -> tuple[tuple[Fold, ...], FoldScores]:
    """Learn every fold from the other folds; predict every patient on the way."""
    folds, columns = [], []
    pairs: dict[frozenset[int], Level] = {}
    for k in range(task.n_folds):
        candidates, score = learn_candidates(task, task.fold != k)
        folds.append(Fold(candidates, _stack_without(task, k, pairs)))
        columns.append(score)
    return tuple(folds), read_folds(folds, task, columns)


def read_folds(
    folds: Sequence[Fold], task: Task, columns: Sequence[FloatArray] | None = None
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
    """
    n = len(task.y)
    score, pooled = np.zeros(n), np.zeros(n)
    by_candidate: dict[str, FloatArray] = {}
    for k, fold in enumerate(folds):
        out = task.fold == k
        if not out.any():
            continue
        handed_in = None if columns is None else columns[k]
        level = fold.candidates.predict(task, ~out, out, handed_in)
        score[out], pooled[out] = fold.stack.scores(level)
        for name, values in level.logits.items():
            by_candidate.setdefault(name, np.zeros(n))[out] = values
    return FoldScores(score, pooled, by_candidate)


def half_scores(task: Task, folds: Sequence[Fold]) -> list[tuple[FloatArray, FloatArray]]:
    """Predict every patient from either half of the other folds: scores, and pooled scores.

    Held against predictions from all of the other folds, they show what twice as many patients
    teach.
    """
    found = []
    for part in (task.part, ~task.part):
        score, pooled = np.zeros(len(part)), np.zeros(len(part))
        for k, fold in enumerate(folds):
            own = task.fold == k
            known = ~own & part
            candidates, column = learn_candidates(task, known, fold.candidates.hyper)
            score[own], pooled[own] = fold.stack.scores(
                candidates.predict(task, known, own, column)
            )
        found.append((score, pooled))
    return found


def _stack_without(task: Task, k: int, pairs: dict[frozenset[int], Level]) -> Stack:
    """Learn how to put candidates together from predictions that never saw fold k."""
    fold, rows, levels = task.fold, [], []
    for other in range(task.n_folds):
        if other == k:
            continue
        key = frozenset([k, other])
        out = np.isin(fold, [k, other])
        asked = np.flatnonzero(out & task.sampled)
        if key not in pairs:
            # Started from nowhere: whatever fold k taught would reach fold k through its pairs.
            candidates, column = learn_candidates(task, ~out)
            pairs[key] = candidates.predict(task, ~out & task.sampled, out & task.sampled, column)
        here = np.flatnonzero(fold[asked] == other)
        rows.append(asked[here])
        levels.append(pairs[key].take(here))
    all_rows = np.concatenate(rows)
    order = np.argsort(all_rows)
    rows_in_order = all_rows[order]
    level = Level.together(levels).take(order)
    return fit_stack(level, task.y[rows_in_order], task.half[rows_in_order], BLIND)
