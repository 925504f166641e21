"""How well physicians can be predicted: learned from some in common, read of any.

Every patient is predicted without the own decision. Cross-fitting is nested: for fold k all
candidates are learned from the other folds. How to put them together is learned from predictions of
the other folds by models that left out one more fold: neither has seen a decision of fold k. One
model per pair of folds serves both of its folds.

The patients of any physician are dealt to the same folds; those of fold k are predicted by what was
learned without fold k and by what the physician's other patients teach about the physician. Of
physicians who were learned from, what was predicted on the way is handed in.

What colleagues would lose says what to expect with a patient: hard cases are no reproach.

Every patient of a half is predicted from the other folds of the same half. How candidates are put
together is taken over from the fit of the whole, which never saw the patient's fold either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.inference.intervals import LEVEL, Interval, TwoHalves
from intravar.learning.boosted_trees import Bins, Trees
from intravar.learning.personal_rules import Hyper, fit_rules, learn_hyper
from intravar.observed import Observed
from intravar.prediction.bound import (
    Bound,
    Losses,
    LossReader,
    bound,
    cap_at_rates,
    learn_reader,
    losses_of,
    panel_means,
)
from intravar.prediction.candidates import (
    Candidates,
    Level,
    SampledOdds,
    SeenColumns,
    Stack,
    clipped_logit,
    common_trees,
    fit_stack,
    grown,
    learn_candidates,
)
from intravar.prediction.level_columns import learn_level_columns
from intravar.prediction.own_rules import OwnRules, learn_own_rules, learn_weights
from intravar.prediction.tasks import TIME, Task, View
from intravar.processes import in_threads
from intravar.seeds import stream

#: With fewer patients no rule is looked for.
FEWEST_PATIENTS = 40
#: The share of all physicians counts as so many patients of one's own.
SHARED = 2.0
#: Physicians are dealt into so many groups; what to expect of one is learned from the others.
GROUPS = 5
#: Losses are learned from at most so many patients of colleagues.
MOST_ROWS = 40_000
_TINY = 1e-12

#: What is common, learned without one fold, and how candidates are put together.
Fold: TypeAlias = tuple[Candidates, Stack]


class Predicted(NamedTuple):
    """P(yes) of patients in the order of the panels, from the folds that they are not in.

    Personal predictions know the physician, pooled ones do not. Beside them the logits of every
    candidate alone; there are none where no rule is looked for.
    """

    personal: FloatArray
    pooled: FloatArray
    by_candidate: dict[str, FloatArray]


def cross_fit(task: Task, n_threads: int = 1) -> tuple[tuple[Fold, ...], Predicted]:
    """Learn every fold from the other folds; predict every patient on the way.

    The result does not depend on the number of threads.
    """
    numbers = range(task.n_folds)
    pairs = list(combinations(numbers, 2))
    # To put candidates together, two folds are predicted from all others, for the sample alone.
    # Started from nowhere: whatever a fold taught would reach it through its pairs.
    outs = [np.isin(task.fold, pair) for pair in pairs]
    work = [partial(_predict_from, task, ~out & task.sampled, out & task.sampled) for out in outs]
    levels = dict(zip(pairs, in_threads(work, n_threads), strict=True))
    learned = in_threads(
        [partial(learn_candidates, task, task.fold != k) for k in numbers], n_threads
    )
    candidates, seen = zip(*learned, strict=True)
    folds = tuple((each, _stack_without(task, k, levels)) for k, each in enumerate(candidates))
    return folds, read_folds(folds, task, seen, n_threads)


def _predict_from(
    task: Task, known: BoolArray, asked: BoolArray, start: Hyper | None = None
) -> Level:
    """Predict some patients from others, who alone are learned from."""
    candidates, seen = learn_candidates(task, known, start)
    return candidates.predict(task, known, asked, seen)


def _stack_without(task: Task, k: int, levels: Mapping[tuple[int, int], Level]) -> Stack:
    """Learn how to put candidates together from predictions that never saw fold k."""
    sampled = np.flatnonzero(task.sampled)
    fold = task.fold[sampled]
    first = next(iter(levels.values()))
    values = np.empty((len(fold), first.values.shape[1]))
    offset = None if first.offset is None else np.empty(len(fold))
    for pair, level in levels.items():
        if k in pair:
            rows = np.isin(fold, pair)
            values[rows] = level.values
            if offset is not None and level.offset is not None:
                offset[rows] = level.offset
    others = fold != k
    known = sampled[others]
    return fit_stack(
        Level(first.names, values, offset).take(others),
        task.y[known],
        task.half[known],
        None if task.weight is None else task.weight[known],
    )


def read_folds(
    folds: Sequence[Fold], task: Task, seen: Sequence[SeenColumns] = (), n_threads: int = 1
) -> Predicted:
    """Predict the patients of every fold by what was learned without it.

    `seen` is, by fold, what was computed of all patients, where some of them were learned from.
    """
    given: Sequence[SeenColumns | None] = seen or [None] * len(folds)
    work = {
        k: partial(candidates.predict, task, task.fold != k, task.fold == k, given[k])
        for k, (candidates, _) in enumerate(folds)
        if (task.fold == k).any()
    }
    levels = in_threads(list(work.values()), n_threads)
    return _put_together(folds, task, dict(zip(work, levels, strict=True)))


def _put_together(folds: Sequence[Fold], task: Task, levels: Mapping[int, Level]) -> Predicted:
    """Put the candidates of every fold together."""
    n = len(task.y)
    score, pooled = np.zeros(n), np.zeros(n)
    by_candidate: dict[str, FloatArray] = {}
    for k, level in levels.items():
        out = task.fold == k
        score[out], pooled[out] = folds[k][1].scores(level)
        for name, values in zip(level.names, level.logits.T, strict=True):
            by_candidate.setdefault(name, np.zeros(n))[out] = level.in_population(values)
    return Predicted(expit(score), expit(pooled), by_candidate)


def predict_shares(
    y: IntArray,
    code: IntArray,
    n_physicians: int,
    *,
    n_others: FloatArray | IntArray | float,
    n_yes: FloatArray | IntArray | float,
    unit: IntArray | None = None,
    weight: FloatArray | None = None,
) -> Predicted:
    """Predict by shares instead of rules: too few patients, or one decision for all.

    The share is that of "yes" among the physician's other patients, shrunk towards the share among
    the `n_others` patients learned from, `n_yes` of whom got a "yes", and that towards one half.

    Parameters
    ----------
    y, code
        Decision and physician of every row.
    n_physicians
        Number of physicians.
    n_others, n_yes
        Number of rows learned from, and of those with a "yes". A row that was learned from is left
        out of both, together with the other rows of its unit.
    unit
        Independent unit of every row, if rows depend on each other.
    weight
        Sampling weight of every row. Rows count in proportion to it.

    Examples
    --------
    >>> y, one = np.array([1, 1, 0]), np.zeros(3, dtype=np.int64)
    >>> predict_shares(y, one, 1, n_others=2, n_yes=2 - y).personal.round(2).tolist()
    [0.5, 0.5, 0.92]
    >>> predict_shares(y[1:], one[1:], 1, n_others=9, n_yes=4).personal.round(2).tolist()
    [0.3, 0.63]
    """
    everywhere = (n_yes + 0.5) / (n_others + 1)
    counts = None
    if weight is not None:
        counts = weight / np.maximum(panel_means(weight, code, n_physicians), _TINY)[code]
    same, same_yes = unit_counts(y, unit, counts)
    own = np.bincount(code, _counted(y, counts), minlength=n_physicians)[code] - same_yes
    size = np.bincount(code, counts, minlength=n_physicians)[code] - same
    personal = (own + SHARED * everywhere) / (size + SHARED)
    pooled = (n_yes + SHARED * everywhere) / (n_others + SHARED)
    return Predicted(personal, np.broadcast_to(pooled, len(y)).astype(np.float64), {})


def unit_counts(
    y: IntArray, unit: IntArray | None, counts: FloatArray | None = None
) -> tuple[FloatArray | IntArray, FloatArray | IntArray]:
    """Return the number of rows in the unit of every row, and of those with a "yes".

    `counts` is what every row counts, by default one.
    """
    each = np.ones(len(y), dtype=np.int64) if counts is None else counts
    if unit is None:
        return each, _counted(y, counts)
    size = np.bincount(unit, counts)[unit]
    n_yes = np.bincount(unit, _counted(y, counts))[unit]
    return size, n_yes


def _counted(y: IntArray, counts: FloatArray | None) -> FloatArray | IntArray:
    """Return what every "yes" counts, and 0 for a "no"."""
    return y if counts is None else counts * y


class HeldOut(NamedTuple):
    """Predictions of the patients who were learned from, in the order of the panels.

    There are no folds where there are too few patients, or one decision for all.
    """

    view: View
    task: Task
    folds: tuple[Fold, ...]
    predicted: Predicted


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
    n_units = len(y) if task.unit is None else len(np.unique(task.unit))
    too_few = n_units < FEWEST_PATIENTS or y.min() == y.max()
    if too_few or len(np.unique(task.fold)) < n_folds:
        counts = None if task.weight is None else task.weight / task.weight.mean()
        same, same_yes = unit_counts(y, task.unit, counts)
        predicted = predict_shares(
            y,
            task.code,
            len(task),
            n_others=len(y) - same,
            n_yes=_counted(y, counts).sum() - same_yes,
            unit=task.unit,
            weight=task.weight,
        )
        return HeldOut(view, task, (), predicted)
    # The products are many and small: threads of BLAS would only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        return HeldOut(view, task, *cross_fit(task, n_threads))


#: Handed in of patients who were learned from: their predictions, and the loss of colleagues.
HandedIn: TypeAlias = tuple[Predicted, FloatArray]


class PredictionCommon(NamedTuple):
    """All that was learned in common; nothing in it belongs to a patient.

    By seed of a deal, what was learned without each fold, or no deal where no rule was looked for;
    patients learned from and those decided for, whose shares predict then; how losses are read,
    what own rules leave, trees of what colleagues lose, who weighs what.
    """

    view: View
    n_folds: int
    deals: dict[int, tuple[Fold, ...]]
    n_learned: tuple[float, float]
    reader: LossReader
    own_rules: OwnRules | None
    losses: list[LossTrees]
    weights: OwnRules

    def predict(self, task: Task) -> HandedIn:
        """Predict patients of physicians who were not learned from."""
        deals = [read_folds(folds, task.dealt(seed)) for seed, folds in self.deals.items()]
        if not deals:
            n_others, n_yes = self.n_learned
            shares = predict_shares(
                task.y,
                task.code,
                len(task),
                n_others=n_others,
                n_yes=n_yes,
                unit=task.unit,
                weight=task.weight,
            )
            deals = [shares]
        if not self.losses:
            return _averaged(deals), np.full(len(task.y), np.nan)
        # None of the trees has seen these patients, so that all count alike: logits are averaged.
        expected = LossTrees.average(self.losses, task.bins)
        return _averaged(deals), expected

    def bound(self, task: Task, predicted: Predicted) -> Bound:
        """Return the bound of every panel, each from the own patients alone."""
        left = None if self.own_rules is None else self.own_rules.left(task, predicted.pooled)
        losses = _losses_of(task, predicted.personal)
        return cap_at_rates(self.reader.of(losses, left), losses, task.y)


def learn_predictions(
    observed: Observed, n_folds: int, seeds: Sequence[int], n_threads: int = 1
) -> tuple[PredictionCommon, HandedIn]:
    """Learn what physicians have in common; return what is predicted of them as well.

    Where a rule is looked for, several deals, one by each seed, are averaged.
    """
    first = held_out(observed, n_folds, seeds[0], n_threads)
    task, deals = first.task, {seeds[0]: first}
    if first.folds:
        every = {seed: held_out(observed, n_folds, seed, n_threads) for seed in seeds}
        deals = {seed: deal for seed, deal in every.items() if deal.folds}
    predicted = _averaged([deal.predicted for deal in deals.values()])
    left, own_rules = None, None
    # Rules that have seen the decisions are those of the sample, not of the population.
    if first.folds and task.weight is None:
        own_rules, left = learn_own_rules(task, predicted.personal, predicted.pooled, seeds[0])
    losses = _losses_of(task, predicted.personal)
    colleagues, trees = expected_losses(task, losses.loss, seeds[0])
    common = PredictionCommon(
        first.view,
        n_folds,
        {seed: deal.folds for seed, deal in deals.items() if deal.folds},
        _count_learned(task),
        learn_reader(losses, left),
        own_rules,
        trees,
        learn_weights(task),
    )
    return common, (predicted, colleagues)


def _count_learned(task: Task) -> tuple[float, float]:
    """Return how many patients are learned from, and how many are decided for, by weight."""
    n = len(task.y)
    if task.weight is None:
        return n, int(task.y.sum())
    return n, n * float(task.weight @ task.y / task.weight.sum())


def _losses_of(task: Task, prediction: FloatArray) -> Losses:
    return losses_of(prediction, task.y, task.code, len(task), weight=task.weight, unit=task.unit)


def _averaged(deals: Sequence[Predicted]) -> Predicted:
    """Return P(yes) averaged over deals; candidates are those of the first."""
    personal, pooled = (np.mean(each, axis=0) for each in list(zip(*deals, strict=True))[:2])
    return Predicted(personal, pooled, deals[0].by_candidate)


class LossTrees(NamedTuple):
    """Trees of the losses that physicians have with patients, by covariates.

    With sampling weights, `loss` predicts the loss times the weight and `weight` the weight alone,
    both as shares of the largest weight: their ratio is the mean loss in the population.
    """

    loss: Trees
    weight: Trees | None = None

    @classmethod
    def of(cls, bins: Bins, loss: FloatArray, weight: FloatArray | None) -> LossTrees:
        """Grow the trees."""
        if weight is None:
            return cls(grown(bins, loss))
        share = weight / weight.max()
        return cls(grown(bins, share * loss), grown(bins, share))

    @staticmethod
    def average(trees: Sequence[LossTrees], bins: Bins) -> FloatArray:
        """Return the expected loss of every patient, logits averaged over several sets of trees."""
        loss = expit(np.sum([each.loss.scores(bins) for each in trees], axis=0) / len(trees))
        weights = [each.weight.scores(bins) for each in trees if each.weight is not None]
        if weights:
            loss = np.minimum(loss / expit(np.sum(weights, axis=0) / len(weights)), 1.0)
        return np.asarray(loss)


def expected_losses(task: Task, loss: FloatArray, seed: int) -> tuple[FloatArray, list[LossTrees]]:
    """Return the loss that other physicians have with a patient like this one, for every patient.

    `loss` is the held-out squared error; NaN where there is no colleague. Beside it the trees of
    the losses of all groups but one, for physicians who were not learned from.
    """
    bins, n_physicians = task.bins, len(task)
    if n_physicians < 2:
        return np.full(len(loss), np.nan), []
    random = stream(seed, "prediction", "colleagues")
    group = random.permutation(n_physicians) % min(GROUPS, n_physicians)
    expected = np.empty(len(loss))
    trees: list[LossTrees] = []
    for number in range(int(group.max()) + 1):
        own = group[task.code] == number
        others = np.flatnonzero(~own)
        if len(others) > MOST_ROWS:
            others = np.sort(random.choice(others, MOST_ROWS, replace=False))
        weight = None if task.weight is None else task.weight[others]
        trees.append(LossTrees.of(bins[others], loss[others], weight))
        expected[own] = LossTrees.average(trees[-1:], bins[own])
    return expected, trees


def half_predictions(
    observed: Observed, n_folds: int, seed: int, n_threads: int = 1
) -> list[Predicted]:
    """Return the predictions of every patient from either half of the other folds.

    Learned the first time they are asked for; nothing without a rule. Held against predictions from
    all of the other folds, they show what twice as many patients teach.
    """
    return observed.learn(
        ("half predictions", n_folds, seed),
        lambda: _half_predictions(held_out(observed, n_folds, seed, n_threads), n_threads),
    )


def _half_predictions(whole: HeldOut, n_threads: int) -> list[Predicted]:
    task, n_folds = whole.task, len(whole.folds)
    work = [
        partial(_predict_from, task, (task.fold != k) & part, task.fold == k, candidates.hyper)
        for part in (task.lone_half, ~task.lone_half)
        for k, (candidates, _) in enumerate(whole.folds)
    ]
    with threadpool_limits(limits=1, user_api="blas"):
        levels = in_threads(work, n_threads)
        halves = (levels[:n_folds], levels[n_folds:]) if levels else ()
        return [_put_together(whole.folds, task, dict(enumerate(half))) for half in halves]


def two_halves(observed: Observed, n_folds: int, seed: int, n_threads: int = 1) -> TwoHalves | None:
    """Return the bounds of either half of the patients, and of all, by one deal into folds.

    None where no rule is learned, or where a half holds decisions of one kind alone.
    """
    learned = held_out(observed, n_folds, seed, n_threads)
    task = learned.task
    parts = (task.lone_half, ~task.lone_half, np.ones(len(task.y), dtype=np.bool_))
    halves = half_predictions(observed, n_folds, seed, n_threads)
    if not halves or any(len(np.unique(task.y[part])) < 2 for part in parts):
        return None
    work = [
        partial(_bound, task, np.flatnonzero(part), *predicted[:2])
        for part, predicted in zip(parts, [*halves, learned.predicted], strict=True)
    ]
    with threadpool_limits(limits=1, user_api="blas"):
        score, *ends = np.stack(in_threads(work, n_threads), axis=1)
    interval = Interval(*(end[:2] for end in ends))
    return TwoHalves(score[:2], interval, score[2], is_bound=True)


def _bound(task: Task, rows: IntArray, own: FloatArray, pooled: FloatArray) -> FloatArray:
    """Return the bounds of physicians by some of their patients, NaN with fewer than two.

    Rows are scores, ends of intervals and standard errors, in the places of all physicians.
    """
    some = task.take(rows)
    left = None
    if task.weight is None:
        _, left = learn_own_rules(some, own[rows], pooled[rows], task.seed)
    losses = _losses_of(some, own[rows])
    limit = cap_at_rates(bound(losses, left), losses, some.y)
    score = np.where(some.counts[0] >= 2, limit.score, np.nan)
    columns = np.full((4, len(task)), np.nan)
    columns[:, some.places] = [score, *limit.interval(LEVEL)]
    return columns


def losses_without(
    observed: Observed,
    origin: Sequence[str],
    sets: Sequence[tuple[str, ...]],
    n_folds: int,
    seeds: Sequence[int],
    n_threads: int = 1,
) -> dict[tuple[str, ...], FloatArray]:
    """Return twice the squared error of held-out predictions, per patient, over the deals.

    With sampling weights every loss is multiplied by the weight over the mean weight, so that the
    plain mean of the losses is that of the population.

    Predictions are cheaper than those that physicians are scored by: common trees, and rates of
    each physician around them. Only losses of such predictions are compared with each other.
    `origin` says for every column the covariate that it comes from; `sets` are covariates that are
    left out together, beside nothing left out. Where decisions have dates, the time stays with all
    of them; the set `(TIME,)` leaves it out.
    """
    view = View.of(observed)
    owner = np.array(
        [origin[observed.names.index(name)] for name in view.layout.names]
        + ([] if view.clock is None else [TIME])
    )
    with threadpool_limits(limits=1, user_api="blas"):
        task = view.task(observed, n_folds, seeds[0])
        tasks = [task.dealt(seed) for seed in seeds]
        left_out = [(), *sets]
        work = [partial(_losses, tasks, ~np.isin(owner, names), names) for names in left_out]
        return dict(zip(left_out, in_threads(work, n_threads), strict=True))


def _losses(
    tasks: Sequence[Task], columns: BoolArray, left_out: tuple[str, ...] = ()
) -> FloatArray:
    """Predict every patient from the other folds, by some of the columns; return the losses."""
    # A physician's own weight of the time shows a change that colleagues do not share.
    is_time = np.array([name == TIME for name in tasks[0].names]) & columns
    time = tasks[0].columns[:, is_time[tasks[0].owner]]
    kept = np.ascontiguousarray(tasks[0].bins[:, columns])
    y, code, weight = tasks[0].y, tasks[0].code, tasks[0].weight
    predicted = np.zeros(len(y))
    for task in tasks:
        for fold in range(task.n_folds):
            own, others = np.flatnonzero(task.fold == fold), np.flatnonzero(task.fold != fold)
            levels, encoded = learn_level_columns(task, others, left_out)
            bins = levels.bins(kept, encoded)
            score = common_trees(bins, y, code, others, task.half).scores(bins, others, task.half)
            table = task.table(np.column_stack([np.ones(len(y)), score, time]), others)
            rules = fit_rules(table, learn_hyper(table))
            p = rules.predict(table.Z, code, own)
            if weight is not None:
                odds = SampledOdds.of(bins[others], y[others], weight[others])
                p = expit(clipped_logit(p) + odds.log_ratio(bins[own]))
            predicted[own] += p / len(tasks)
    loss = 2 * (y - predicted) ** 2
    return np.asarray(loss if weight is None else loss * weight / weight.mean())
