"""Candidates of one fold: what physicians have in common, what is predicted with it, and the blend.

What is common is learned from the patients of the other folds, of a sample of physicians where
there are many. Any panel is then read by it: common trees score the patients, the physician's own
rule and forest are learned from the own patients outside of the fold. Of a patient who was learned
from, the common score is handed in, by trees that had not seen the own decision; that is all that
sets those learned from apart. No result depends on who else is read.

The common score comes from trees of all physicians' decisions: first blind to who decided; then,
once rates of the physicians are known, weighed by how much each physician discriminates.

Candidates are put together by predictions that had not seen the decisions they are held against.
Beside a blend of the candidates there are trees along personal axes. A physician's largest weight
is turned upwards and called the first axis, the next one the second. Along these axes rules of one
kind look alike, whichever covariates they are about, and trees grown on all physicians learn their
common shape: a sum, a conjunction, a threshold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.learning import personal_rules
from intravar.learning.boosted_trees import (
    MISSING_BIN,
    MOST_SEEN,
    Bins,
    CutTrees,
    Growth,
    Rates,
    Trees,
    bin_edges,
    binned,
    grow_trees,
)
from intravar.prediction.level_columns import LevelColumns, chosen_columns, learn_level_columns
from intravar.prediction.own_forests import own_forests
from intravar.prediction.tasks import Task, telling_columns

DEPTH = 4
RATE = 0.15
RIDGE = 5.0
LEAST_INFORMATION = 5.0
#: One tree per so many rows, within limits: few patients do not bear many trees.
ROWS_PER_TREE, FEWEST, MOST = 25, 12, 90
LARGEST_START = 3.0
POOLED, COLLEAGUES = "pooled", "colleagues"
PERSONAL, OWN = "personal", "own forest"
#: Candidates that do not know who decides.
BLIND = (POOLED, COLLEAGUES)
#: Physicians whose personal rules make up the average colleague.
MOST_COLLEAGUES = 40
#: Numbers of camps that are tried; with fewer physicians there are none.
CAMPS, FEWEST_FOR_CAMPS = (2, 3), 8
#: How much of the axes' trees may enter the mixture with the blend, in logits.
MIXTURES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Penalty on the blend's weights, which are pulled towards the mean of the candidates.
PENALTY = 5.0
#: How many axes are looked along.
MOST_AXES = 4
EDGE = 1e-4


def clipped_logit(probability: FloatArray) -> FloatArray:
    """Return the logit of probabilities, kept away from 0 and 1."""
    return np.asarray(logit(np.clip(probability, EDGE, 1 - EDGE)))


def log_likelihood(score: FloatArray, y: IntArray) -> FloatArray:
    """Return the log-likelihood of every decision under logits of P(yes)."""
    return np.asarray(log_expit(np.where(y == 1, score, -score)))


def grown(
    bins: Bins,
    y: npt.NDArray[Any],
    code: IntArray | None = None,
    rates: Rates | None = None,
) -> Trees:
    """Boost F on some rows; the outcome may be a share.

    Without the physicians' rates it is a logistic model.
    """
    n = len(bins)
    trees = int(np.clip(n // ROWS_PER_TREE, FEWEST, MOST))
    start = 0.0
    if rates is None and n:
        share = (float(np.sum(y)) + 0.5) / (n + 1)
        start = float(np.clip(logit(share), -LARGEST_START, LARGEST_START))
    who = np.zeros(n, dtype=np.int64) if code is None else code
    growth = Growth(start, trees, DEPTH, RATE, RIDGE, LEAST_INFORMATION, MISSING_BIN)
    return grow_trees(bins, y, who, rates or Rates(), growth)


class CommonTrees(NamedTuple):
    """Trees of either half of the patients learned from."""

    one: Trees
    other: Trees

    def scores(
        self, bins: Bins, rows: IntArray | None = None, half: BoolArray | None = None
    ) -> FloatArray:
        """Return the score of all patients, given those learned from, if any, and their halves.

        A model of one half of the rows scores the other half, so that no score has seen its own
        patient's decision; patients that were not learned from get the mean of both models.
        """
        one, other = (trees.scores(bins) for trees in self)
        score = np.asarray(0.5 * (one + other))
        if rows is not None and half is not None:
            score[rows] = np.where(half, one, other)[rows]
        return score

    def worth_a_look(self, always: IntArray, n_columns: int) -> IntArray:
        """Return the columns at which forests look: all, unless they are very many.

        Then it is `always`, those that go with decisions, and beside them those at which the trees
        look most often.
        """
        if n_columns <= MOST_SEEN:
            return np.arange(n_columns)
        often = (self.one.splits(n_columns) + self.other.splits(n_columns)).astype(np.float64)
        often[always] = np.inf
        columns = np.argsort(-often, kind="stable")[:MOST_SEEN]
        return np.sort(columns[often[columns] > 0])


def common_trees(
    bins: Bins,
    y: IntArray,
    code: IntArray,
    rows: IntArray,
    half: BoolArray,
    rates: Rates | None = None,
) -> CommonTrees:
    """Grow the trees of either half of `rows`; without rates it is not known who decides."""
    one, other = (
        grown(bins[own], y[own], None if rates is None else code[own], rates)
        for own in (rows[half[rows] == which] for which in (False, True))
    )
    return CommonTrees(one, other)


class Level(NamedTuple):
    """Held-out predictions of some patients, a row each, and the names of the candidates.

    Columns are what is known of the patients along their axes, then the logits of the candidates.
    With sampling weights the logits are those of the sample, and `offset` leads to those of the
    population.
    """

    names: tuple[str, ...]
    values: FloatArray
    offset: FloatArray | None = None

    def take(self, rows: IntArray | BoolArray) -> Level:
        """Return the predictions of some of the patients."""
        offset = None if self.offset is None else self.offset[rows]
        return Level(self.names, self.values[rows], offset)

    def in_population(self, score: FloatArray) -> FloatArray:
        """Return logits of the population for logits of the sample."""
        return score if self.offset is None else score + self.offset

    @property
    def logits(self) -> FloatArray:
        """Logits of the candidates alone."""
        return np.ascontiguousarray(self.values[:, -len(self.names) :])

    @property
    def blind(self) -> FloatArray:
        """Logits of those that do not know who decides."""
        at = [self.names.index(name) for name in BLIND]
        return np.ascontiguousarray(self.logits[:, at])


class SeenColumns(NamedTuple):
    """What was computed of all patients while some of them were learned from.

    Attributes
    ----------
    score
        The common score. That of a patient who was learned from has not seen the own decision.
    encoded
        Encoded columns of categories with many levels, in the same way.
    """

    score: FloatArray
    encoded: FloatArray


class SampledOdds(NamedTuple):
    """How many more patients of the population a "yes" stands for than a "no", by covariates.

    Where the chance of being sampled depends on the decision, as in a case-control sample, the odds
    of "yes" in the population are those in the sample times the mean weight of a "yes" over that of
    a "no", for equal covariates. Candidates are therefore learned without weights, which is more
    accurate than weighting them, and their logits are shifted.

    `most` is the largest weight of "no" and of "yes"; the trees, None where a decision has one
    weight, predict the share of the largest.
    """

    most: tuple[float, float]
    trees: tuple[Trees | None, Trees | None]

    @classmethod
    def of(cls, bins: Bins, y: IntArray, weight: FloatArray) -> SampledOdds:
        """Learn it from patients with weights."""
        most: list[float] = []
        trees: list[Trees | None] = []
        for decision in (0, 1):
            rows = y == decision
            known = weight[rows]
            most.append(float(known.max(initial=0.0)) or float(weight.max()))
            varies = len(known) > 0 and known.min() < known.max()
            trees.append(grown(bins[rows], known / most[-1]) if varies else None)
        return cls((most[0], most[1]), (trees[0], trees[1]))

    def log_ratio(self, bins: Bins) -> FloatArray:
        """Return the logarithm of the mean weight of a "yes" over that of a "no"."""
        logs = []
        for most, trees in zip(self.most, self.trees, strict=True):
            share = np.zeros(len(bins)) if trees is None else log_expit(trees.scores(bins))
            logs.append(np.log(most) + share)
        return np.asarray(logs[1] - logs[0])


class Candidates(NamedTuple):
    """What is common to the candidates of one fold.

    Columns that rules weigh; common trees, blind to who decided and weighed by rates; mean and
    covariance of the physicians' parameters; the average colleague; P(yes) of whoever has no
    patients to grow a forest on; camps by name; covariates that forests look at; columns of
    categories with many levels, which follow the covariates; with sampling weights, the odds of
    being sampled.
    """

    chosen: IntArray
    first: CommonTrees
    second: CommonTrees
    hyper: personal_rules.Hyper
    colleagues: personal_rules.PersonalRules
    share: float
    camps: Mapping[str, personal_rules.CampRules]
    own: IntArray
    levels: LevelColumns
    odds: SampledOdds | None = None

    def predict(
        self, task: Task, known: BoolArray, asked: BoolArray, seen: SeenColumns | None = None
    ) -> Level:
        """Predict the patients of `asked` from those `known` of the same physicians.

        `seen` has the common score and the encoded columns of all patients, where some of them were
        learned from.
        """
        wanted = np.flatnonzero(asked)
        encoded = self.levels.encode(task) if seen is None else seen.encoded
        bins = self.levels.bins(task.bins, encoded)
        score = self.second.scores(bins) if seen is None else seen.score
        columns = chosen_columns(task.columns, self.levels.scaled(encoded), self.chosen)
        Z = np.column_stack([np.ones(len(score)), score, columns])
        table = task.table(Z, np.flatnonzero(known))
        rules = personal_rules.fit_rules(table, self.hyper)
        # A large table is not held twice for nothing.
        whole = len(self.own) == task.filled.shape[1] and not encoded.shape[1]
        forest = table._replace(
            Z=task.filled if whole else chosen_columns(task.filled, encoded, self.own)
        )
        p_yes = {
            COLLEAGUES: self.colleagues.average(Z, wanted),
            PERSONAL: rules.predict(Z, task.code, wanted),
            OWN: own_forests(forest, wanted, self.share),
        }
        for name, camps in self.camps.items():
            p_yes[name] = camps.predict(table, wanted, rules)
        logits = [self.first.scores(bins[wanted]), *map(clipped_logit, p_yes.values())]
        axes = _personal_axes(table, wanted, rules)
        offset = None if self.odds is None else self.odds.log_ratio(task.bins[wanted])
        return Level((POOLED, *p_yes), np.column_stack([axes, *logits]), offset)


def _personal_axes(
    table: personal_rules.Table, rows: IntArray, rules: personal_rules.PersonalRules
) -> FloatArray:
    """Return the patients of `rows` along their physicians' axes, and what is known of these.

    The rules, learned from the table, have not seen the decisions of these patients. Weights of all
    columns of the design but the first, a constant, are compared.
    """
    Z, code = table.Z, table.code
    panel = np.bincount(code[table.rows], minlength=table.n)
    weights = rules.theta[:, 1:-2]
    order = np.argsort(-np.abs(weights), axis=1, kind="stable")[:, :MOST_AXES]
    largest = np.take_along_axis(weights, order, axis=1)
    who = code[rows]
    along = np.take_along_axis(Z[rows, 1:], order[who], axis=1) * np.sign(largest[who])
    size = np.abs(largest) / np.maximum(np.abs(largest[:, :1]), 1e-9)
    sharpness, rates = rules.score(Z, code, rows), rules.theta[who, -2:]
    return np.column_stack([along, size[who, 1:], sharpness, rates, np.log1p(panel[who])])


def learn_candidates(
    task: Task, known: BoolArray, start: personal_rules.Hyper | None = None
) -> tuple[Candidates, SeenColumns]:
    """Learn what is common from the patients of `known`; return what it says of them as well.

    Of very many patients those of a sample of physicians are learned from. The search for what is
    common to rules may begin at a neighbouring fit, which saves rounds.
    """
    y, code, half = task.y, task.code, task.half
    rows = np.flatnonzero(known & task.sampled)
    levels, encoded = learn_level_columns(task, rows)
    bins = levels.bins(task.bins, encoded)
    n_covariates = task.filled.shape[1]
    scaled = levels.scaled(encoded)
    chosen = telling_columns(task.table(task.columns, rows), scaled)
    columns = chosen_columns(task.columns, scaled, chosen)
    Z = np.column_stack([np.ones(len(y)), np.zeros(len(y)), columns])
    table = task.table(Z, rows)
    first = common_trees(bins, y, code, rows, half)
    Z[:, 1] = first.scores(bins, rows, half)
    begin = start if start is not None and len(start.mean) == Z.shape[1] + 2 else None
    hyper = personal_rules.learn_hyper(table, begin)
    # Once more, now that it is known who follows a rule closely and whose decisions say little.
    low, high = expit(personal_rules.fit_rules(table, hyper).theta[:, -2:]).T
    second = common_trees(bins, y, code, rows, half, Rates(high, low))
    Z[:, 1] = score = second.scores(bins, rows, half)
    hyper = personal_rules.learn_hyper(table, hyper)
    rules = personal_rules.fit_rules(table, hyper)
    present = np.unique(code[rows])
    owner = np.concatenate([task.owner, n_covariates + np.arange(encoded.shape[1])])
    # The same in every fold, though one with few patients may be missing from some.
    several = len(np.unique(code[task.sampled])) >= FEWEST_FOR_CAMPS
    candidates = Candidates(
        chosen,
        first,
        second,
        hyper,
        rules.take(present[:: max(1, len(present) // MOST_COLLEAGUES)]),
        float((y[rows].sum() + 1) / (len(rows) + 2)),
        {
            f"{n} camps": personal_rules.learn_camps(table, rules, n)
            for n in (CAMPS if several else ())
        },
        second.worth_a_look(owner[chosen], n_covariates + encoded.shape[1]),
        levels,
        None
        if task.weight is None
        else SampledOdds.of(task.bins[rows], y[rows], task.weight[rows]),
    )
    return candidates, SeenColumns(score, encoded)


def scale_to_effective_size(weight: FloatArray) -> FloatArray:
    """Return weights whose sum is the effective sample size, as a penalty should meet them."""
    return np.asarray(weight * (weight.sum() / (weight @ weight)))


def fit_blend(
    table: FloatArray,
    y: IntArray,
    weight: FloatArray | None = None,
    offset: FloatArray | None = None,
) -> FloatArray:
    """Return intercept and weights of a logistic blend of the candidates' logits.

    Parameters
    ----------
    table
        Logits of the candidates, one row per patient.
    y
        Decision of every patient, 0 or 1.
    weight
        Sampling weight of every patient.
    offset
        Added to the blend of every patient.
    """
    n_candidates = table.shape[1]
    counts = np.ones(len(y)) if weight is None else scale_to_effective_size(weight)
    shift = 0.0 if offset is None else offset
    centre = np.r_[0.0, np.full(n_candidates, 1 / n_candidates)]

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        score = weights[0] + table @ weights[1:] + shift
        away = weights - centre
        residual = counts * (y - expit(score))
        value = (counts * log_likelihood(score, y)).sum() - 0.5 * PENALTY * away @ away
        slope = np.r_[residual.sum(), table.T @ residual] - PENALTY * away
        return -float(value), -slope

    limits = [(None, None)] + [(0.0, None)] * n_candidates
    return np.asarray(minimize(objective, centre, jac=True, method="L-BFGS-B", bounds=limits).x)


class Stack(NamedTuple):
    """A mixture of the blend and of the axes' trees, learned from held-out predictions.

    Both blends have an intercept and weights of candidates, the blind one of those that do not know
    who decides. `mixture` is the share of the axes' trees, which are None without one.
    """

    blend: FloatArray
    blind_blend: FloatArray
    mixture: float
    axes_trees: CutTrees | None

    def scores(self, level: Level) -> tuple[FloatArray, FloatArray]:
        """Return the logit of P(yes), and the same by the candidates that do not know who decides.

        Every patient's has the same bits whoever else is asked about.
        """
        blended = summed(self.blend, level.logits.T)
        if self.axes_trees is not None:
            along = self.axes_trees.logit(level.values)
            blended = (1 - self.mixture) * blended + self.mixture * along
        blind = summed(self.blind_blend, level.blind.T)
        return level.in_population(blended), level.in_population(blind)


def summed(weights: FloatArray, columns: Iterable[FloatArray]) -> FloatArray:
    """Return intercept plus weighted columns, added one by one.

    A product with a matrix may round a row by where it stands in the matrix.
    """
    total = weights[0]
    for weight, column in zip(weights[1:], columns, strict=True):
        total = total + weight * column
    return np.asarray(total)


def fit_stack(
    level: Level, y: IntArray, part: BoolArray, weight: FloatArray | None = None
) -> Stack:
    """Learn how to put the candidates together; two parts take turns in being held out.

    With sampling weights it is the likelihood in the population that is maximised.
    """
    total = np.zeros(len(MIXTURES))
    for inside in (part, ~part):
        known, other = level.take(inside), level.take(~inside)
        in_part = None if weight is None else weight[inside]
        weights = fit_blend(known.logits, y[inside], in_part, known.offset)
        blended = weights[0] + other.logits @ weights[1:]
        along = _grow_along_axes(known, y[inside]).logit(other.values)
        for at, share in enumerate(MIXTURES):
            mixed = other.in_population((1 - share) * blended + share * along)
            likelihood = log_likelihood(mixed, y[~inside])
            total[at] += (likelihood if weight is None else weight[~inside] * likelihood).sum()
    mixture = MIXTURES[int(np.argmax(total))]
    trees = _grow_along_axes(level, y) if mixture else None
    blend, blind = (
        fit_blend(logits, y, weight, level.offset) for logits in (level.logits, level.blind)
    )
    return Stack(blend, blind, mixture, trees)


def _grow_along_axes(level: Level, y: IntArray) -> CutTrees:
    edges = bin_edges(level.values)
    return CutTrees(edges, grown(binned(level.values, edges), y))
