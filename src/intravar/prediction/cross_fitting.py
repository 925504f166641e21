"""Nested cross-fitting: every patient predicted by models that never saw the own decision.

For fold k all candidates are learned from the other folds. How to put them together is learned
from predictions of the other folds by models that left out one more fold: neither has seen a
decision of fold k. One model per pair of folds serves both of its folds.

What is common to physicians is learned from a sample of them where there are many; what is
personal is learned panel by panel, for everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray
from intravar.engines.threads import in_threads
from intravar.prediction.axes import clipped_logit, personal_axes
from intravar.prediction.camps import camp_predictions
from intravar.prediction.canonical import Canonical, panel_folds
from intravar.prediction.column_bins import (
    ColumnScale,
    column_scales,
    scaled_columns,
    telling_columns,
)
from intravar.prediction.fold_common import (
    COLLEAGUES,
    OWN,
    PERSONAL,
    POOLED,
    AverageColleague,
    FoldCommon,
)
from intravar.prediction.forests import filled, own_forests
from intravar.prediction.personal import Hyper, PersonalRules, fit_rules, learn_hyper
from intravar.prediction.pooled import common_trees
from intravar.prediction.stacking import Level, Stack, fit_stack
from intravar.prediction.trees import Bins, TreeRates, bin_edges, binned
from intravar.seeds import stream

#: Physicians are sampled, for what is common, until they have so many patients.
MOST_COMMON = 40_000
#: Candidates that do not know who decides.
BLIND = (POOLED, COLLEAGUES)
#: Physicians whose personal rules make up the average colleague.
MOST_COLLEAGUES = 40
#: Numbers of camps that are tried.
CAMPS = (2, 3)
#: With fewer physicians there are no camps.
FEWEST_FOR_CAMPS = 8


@dataclass(frozen=True, eq=False)
class PredictionTask:
    """A cohort made ready.

    Attributes
    ----------
    cohort
        The patients in canonical order.
    columns, owner
        Columns of a personal rule, and the covariate that each belongs to.
    covariates, bins
        Covariates without gaps, and binned.
    fold
        Fold of every patient.
    half
        Half to which a patient belongs where models of two halves score each other.
    part
        Half to which a patient belongs where one half is learned from alone.
    sampled
        Whether what is common is learned from the patient's physician.
    scales, edges
        How columns and bins come from covariates.
    """

    cohort: Canonical
    columns: FloatArray
    owner: IntArray
    covariates: FloatArray
    bins: Bins
    fold: IntArray
    half: npt.NDArray[np.bool_]
    part: npt.NDArray[np.bool_]
    sampled: npt.NDArray[np.bool_]
    scales: tuple[ColumnScale, ...]
    edges: list[FloatArray]

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1


@dataclass(frozen=True, eq=False)
class Learned:
    """All candidates learned from some rows, and what they predict for others."""

    rules: PersonalRules
    level: Level
    common: FoldCommon


@dataclass(frozen=True, eq=False)
class FoldScores:
    """Held-out predictions of all patients, in canonical order.

    Attributes
    ----------
    score
        Logit of P(yes), best prediction of this physician.
    pooled
        Logit of P(yes), best prediction that does not know the physician.
    by_candidate
        The same by every candidate alone.
    stacks, commons
        How candidates were put together, and what was common, by fold.
    """

    score: FloatArray
    pooled: FloatArray
    by_candidate: dict[str, FloatArray]
    stacks: list[Stack]
    commons: list[FoldCommon]


def prepare(cohort: Canonical, n_folds: int, seed: int) -> PredictionTask:
    """Make a cohort ready; nothing here looks at decisions."""
    scales, edges = column_scales(cohort.covariates), bin_edges(cohort.covariates)
    columns, owner = scaled_columns(cohort.covariates, scales)
    fold = panel_folds(cohort, n_folds, seed)
    half, part = (panel_folds(cohort, 2, seed + number) == 1 for number in (1, 2))
    sizes = np.bincount(cohort.code, minlength=cohort.n_physicians)
    order = stream(seed, "prediction", "sample").permutation(cohort.n_physicians)
    taken = np.cumsum(sizes[order]) - sizes[order] < MOST_COMMON
    sampled = np.zeros(cohort.n_physicians, dtype=np.bool_)
    sampled[order[taken]] = True
    bins = binned(cohort.covariates, edges)
    return PredictionTask(
        cohort,
        columns,
        owner,
        filled(cohort.covariates),
        bins,
        fold,
        half,
        part,
        sampled[cohort.code],
        scales,
        edges,
    )


def cross_fit(task: PredictionTask, n_threads: int = 1) -> FoldScores:
    """Predict every patient from the other folds."""
    y, fold = task.cohort.decision, task.fold
    folds = range(task.n_folds)
    left_out = [*combinations(folds, 2), *((k,) for k in folds)]
    learned = in_threads([partial(_learn_without, task, out) for out in left_out], n_threads)
    fits = dict(zip(left_out, learned, strict=True))
    score, pooled = np.zeros(len(y)), np.zeros(len(y))
    by_candidate: dict[str, FloatArray] = {}
    stacks, commons = [], []
    for k in folds:
        own, single = fold == k, fits[(k,)]
        stack = _stack_without(task, k, fits)
        score[own], pooled[own] = stack.scores(single.level), stack.blind_scores(single.level)
        for name, values in single.level.logits.items():
            by_candidate.setdefault(name, np.zeros(len(y)))[own] = values
        stacks.append(stack)
        commons.append(single.common)
    return FoldScores(score, pooled, by_candidate, stacks, commons)


def _learn_without(task: PredictionTask, left_out: tuple[int, ...]) -> Learned:
    """Learn without one fold, for all; or without two, for the sample, to put candidates together.

    Always started from nowhere: whatever a fold taught would reach it through its pairs.
    """
    out = np.isin(task.fold, left_out)
    if len(left_out) == 1:
        return learn(task, ~out, out, None)
    return learn(task, ~out & task.sampled, out & task.sampled, None)


def half_scores(
    task: PredictionTask, fit: FoldScores, n_threads: int = 1
) -> list[tuple[FloatArray, FloatArray]]:
    """Predict every patient from either half of the other folds: scores, and pooled scores.

    Held against predictions from all of the other folds, they show what twice as many patients
    teach.
    """
    y, folds = task.cohort.decision, range(task.n_folds)
    learned = iter(
        in_threads(
            [
                partial(learn, task, (task.fold != k) & part, task.fold == k, fit.commons[k].hyper)
                for part in (task.part, ~task.part)
                for k in folds
            ],
            n_threads,
        )
    )
    found = []
    for _ in range(2):
        score, pooled = np.zeros(len(y)), np.zeros(len(y))
        for k, stack in enumerate(fit.stacks):
            own, level = task.fold == k, next(learned).level
            score[own], pooled[own] = stack.scores(level), stack.blind_scores(level)
        found.append((score, pooled))
    return found


def _stack_without(task: PredictionTask, k: int, fits: dict[tuple[int, ...], Learned]) -> Stack:
    """Learn how to put candidates together from predictions that never saw fold k."""
    fold, rows, levels = task.fold, [], []
    for other in range(task.n_folds):
        if other == k:
            continue
        pair = fits[(min(k, other), max(k, other))]
        asked = np.flatnonzero(np.isin(fold, [k, other]) & task.sampled)
        here = np.flatnonzero(fold[asked] == other)
        rows.append(asked[here])
        levels.append(pair.level.take(here))
    all_rows = np.concatenate(rows)
    names = levels[0].logits
    level = Level(
        {name: np.concatenate([each.logits[name] for each in levels]) for name in names},
        np.vstack([each.axes for each in levels]),
    )
    order = np.argsort(all_rows)
    return fit_stack(
        level.take(order),
        task.cohort.decision[all_rows[order]],
        task.half[all_rows[order]],
        BLIND,
    )


def learn(
    task: PredictionTask,
    train: npt.NDArray[np.bool_],
    asked: npt.NDArray[np.bool_],
    start: Hyper | None,
) -> Learned:
    """Learn all candidates from the patients of `train` and predict those `asked` about."""
    cohort = task.cohort
    y, code, J = cohort.decision, cohort.code, cohort.n_physicians
    rows, wanted = np.flatnonzero(train), np.flatnonzero(asked)
    common = np.flatnonzero(train & task.sampled)
    used = np.sort(np.concatenate([rows, wanted]))
    chosen = telling_columns(task.columns, y, code, common, J)
    Z = np.column_stack([np.ones(len(y)), np.zeros(len(y)), task.columns[:, chosen]])
    first = common_trees(task.bins, y, common, task.half)
    Z[used, 1] = first.crossed(task.bins, common, task.half, used)
    pooled = Z[wanted, 1]
    begin = start if start is not None and len(start.mean) == Z.shape[1] + 2 else None
    hyper = learn_hyper(Z, y, code, common, J, begin)
    # Once more, now that it is known who follows a rule closely and whose decisions say little.
    rates = _rates(fit_rules(Z, y, code, common, J, hyper), code)
    second = common_trees(task.bins, y, common, task.half, rates)
    Z[used, 1] = second.crossed(task.bins, common, task.half, used)
    hyper = learn_hyper(Z, y, code, common, J, hyper)
    rules = fit_rules(Z, y, code, rows, J, hyper)
    panel = np.bincount(code[rows], minlength=J)
    colleagues = np.flatnonzero(panel)[:: max(1, int((panel > 0).sum()) // MOST_COLLEAGUES)]
    share = float((y[rows].sum() + 1) / (len(rows) + 2))
    own = second.worth_a_look(task.owner[chosen], task.covariates.shape[1])
    logits = {
        POOLED: pooled,
        COLLEAGUES: clipped_logit(rules.average(Z, wanted, colleagues)),
        PERSONAL: clipped_logit(rules.predict(Z, code, wanted)),
        OWN: clipped_logit(own_forests(task.covariates, y, code, rows, wanted, J, share, own)),
    }
    camps = {}
    if J >= FEWEST_FOR_CAMPS:
        for n_camps in CAMPS:
            name = f"{n_camps} camps"
            found, camps[name] = camp_predictions(Z, y, code, rows, wanted, rules, n_camps)
            logits[name] = clipped_logit(found)
    axes = personal_axes(Z, code, wanted, rules, 1, panel)
    average = AverageColleague.of(rules, colleagues)
    kept = FoldCommon(chosen, first, second, hyper, average, share, camps, own)
    return Learned(rules, Level(logits, axes), kept)


def _rates(rules: PersonalRules, code: IntArray) -> TreeRates:
    low, high = expit(rules.theta[:, -2]), expit(rules.theta[:, -1])
    return TreeRates(low[code], high[code])
