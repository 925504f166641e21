"""Nested cross-fitting: every patient predicted by models that never saw the own decision.

For fold k all candidates are learned from the other folds. How to put them together is learned
from predictions of the other folds by models that left out one more fold: neither has seen a
decision of fold k. One model per pair of folds serves both of its folds.

What is common to physicians is learned from a sample of them where there are many; what is
personal is learned panel by panel, for everybody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from intravar.prediction.axes import clipped_logit, personal_axes
from intravar.prediction.camps import camp_predictions
from intravar.prediction.canonical import Canonical, Floats, Ints, panel_folds
from intravar.prediction.columns import standard_columns, telling_columns
from intravar.prediction.forests import filled, own_forests
from intravar.prediction.personal import Hyper, PersonalRules, fit_rules, learn_hyper
from intravar.prediction.pooled import common_score
from intravar.prediction.stacking import Level, Stack, fit_stack
from intravar.prediction.trees import Bins, Rates, bin_edges, binned
from intravar.seeds import stream

#: Physicians are sampled, for what is common, until they have so many patients.
MOST_COMMON = 40_000
POOLED, PERSONAL, OWN = "pooled", "personal", "own forest"
#: Numbers of camps that are tried.
CAMPS = (2, 3)
#: With fewer physicians there are no camps.
FEWEST_FOR_CAMPS = 8


@dataclass(frozen=True, eq=False)
class Task:
    """A cohort made ready: columns, folds, halves, and who is sampled for what is common."""

    cohort: Canonical
    columns: Floats
    owner: Ints
    covariates: Floats
    bins: Bins
    fold: Ints
    half: npt.NDArray[np.bool_]
    sampled: npt.NDArray[np.bool_]

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.fold.max()) + 1


@dataclass(frozen=True, eq=False)
class Learned:
    """All candidates learned from some rows, and what they predict for others."""

    rows: Ints
    chosen: Ints
    rules: PersonalRules
    level: Level


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Held-out predictions of all patients, in canonical order.

    Attributes
    ----------
    score
        Logit of P(yes), best prediction of this physician.
    by_candidate
        The same by every candidate alone.
    mixture
        Share of the axes' trees, by fold.
    learned
        What was learned, by fold.
    """

    score: Floats
    by_candidate: dict[str, Floats]
    mixture: list[float]
    learned: list[Learned]


def prepare(cohort: Canonical, n_folds: int, seed: int) -> Task:
    """Make a cohort ready; nothing here looks at decisions."""
    columns, owner = standard_columns(cohort.covariates)
    fold = panel_folds(cohort, n_folds, seed)
    half = panel_folds(cohort, 2 * n_folds, seed + 1) % 2 == 1
    sizes = np.bincount(cohort.code, minlength=cohort.n_physicians)
    order = stream(seed, "prediction", "sample").permutation(cohort.n_physicians)
    taken = np.cumsum(sizes[order]) - sizes[order] < MOST_COMMON
    sampled = np.zeros(cohort.n_physicians, dtype=np.bool_)
    sampled[order[taken]] = True
    bins = binned(cohort.covariates, bin_edges(cohort.covariates))
    return Task(
        cohort,
        columns,
        owner,
        filled(cohort.covariates),
        bins,
        fold,
        half,
        sampled[cohort.code],
    )


def cross_fit(task: Task) -> CrossFit:
    """Predict every patient from the other folds."""
    y, fold = task.cohort.decision, task.fold
    pairs: dict[frozenset[int], Learned] = {}
    singles = [learn(task, fold != k, fold == k, None) for k in range(task.n_folds)]
    score = np.zeros(len(y))
    by_candidate = {name: np.zeros(len(y)) for name in singles[0].level.logits}
    mixture = []
    for k, single in enumerate(singles):
        stack = _stack_without(task, k, single, pairs)
        own = np.flatnonzero(fold == k)
        score[own] = stack.scores(single.level)
        for name, values in single.level.logits.items():
            by_candidate[name][own] = values
        mixture.append(stack.mixture)
    return CrossFit(score, by_candidate, mixture, singles)


def _stack_without(
    task: Task, k: int, single: Learned, pairs: dict[frozenset[int], Learned]
) -> Stack:
    """Learn how to put candidates together from predictions that never saw fold k."""
    fold, rows, levels = task.fold, [], []
    for other in range(task.n_folds):
        if other == k:
            continue
        key = frozenset([k, other])
        if key not in pairs:
            out = np.isin(fold, [k, other])
            pairs[key] = learn(task, ~out & task.sampled, out & task.sampled, single.rules.hyper)
        pair = pairs[key]
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
        level.take(order), task.cohort.decision[all_rows[order]], task.half[all_rows[order]]
    )


def learn(
    task: Task,
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
    Z[used, 1] = common_score(task.bins, y, common, task.half, used)
    pooled = Z[wanted, 1]
    begin = start if start is not None and len(start.mean) == Z.shape[1] + 2 else None
    hyper = learn_hyper(Z, y, code, common, J, begin)
    # Once more, now that it is known who follows a rule closely and whose decisions say little.
    rates = _rates(fit_rules(Z, y, code, common, J, hyper), code)
    Z[used, 1] = common_score(task.bins, y, common, task.half, used, rates)
    hyper = learn_hyper(Z, y, code, common, J, hyper)
    rules = fit_rules(Z, y, code, rows, J, hyper)
    logits = {
        POOLED: pooled,
        PERSONAL: clipped_logit(rules.predict(Z, code, wanted)),
        OWN: clipped_logit(own_forests(task.covariates, y, code, rows, wanted, J)),
    }
    if J >= FEWEST_FOR_CAMPS:
        for n_camps in CAMPS:
            found = camp_predictions(Z, y, code, rows, wanted, rules, n_camps)
            logits[f"{n_camps} camps"] = clipped_logit(found)
    panel = np.bincount(code[rows], minlength=J)
    axes = personal_axes(Z, code, wanted, rules, 1, panel)
    return Learned(rows, chosen, rules, Level(logits, axes))


def _rates(rules: PersonalRules, code: Ints) -> Rates:
    low, high = expit(rules.theta[:, -2]), expit(rules.theta[:, -1])
    return Rates(low[code], high[code])
