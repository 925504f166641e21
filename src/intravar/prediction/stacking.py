"""Putting candidates together: the one, or the mixture, that predicts held-out decisions best.

Everything here is learned from predictions that had not seen the decisions they are held against.

Beside a blend of the candidates there are trees along personal axes. A physician's largest weight
is turned upwards and called the first axis, the next one the second. Along these axes rules of one
kind look alike, whichever covariates they are about, and trees grown on all physicians learn their
common shape: a sum, a conjunction, a threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from intravar.arrays import FloatArray, IntArray
from intravar.learning.boosted_trees import Trees, bin_edges, binned
from intravar.learning.personal_rules import PersonalRules
from intravar.prediction.trees import grown

BLEND = "blend"
#: How much of the axes' trees may enter the mixture with the blend, in logits.
MIXTURES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Penalty on the blend's weights, which are pulled towards the mean of the candidates.
PENALTY = 5.0
#: How many axes are looked along.
MOST_AXES = 4
EDGE = 1e-4


@dataclass(frozen=True, eq=False)
class Level:
    """Held-out predictions of some patients: logits by candidate, and their axes."""

    logits: dict[str, FloatArray]
    axes: FloatArray

    def table(self, names: Sequence[str] | None = None) -> FloatArray:
        """Return the logits of some candidates, by default of all, as columns."""
        return np.column_stack([self.logits[name] for name in names or self.logits])

    def features(self) -> FloatArray:
        """Return what the axes' trees look at."""
        return np.column_stack([self.axes, self.table()])

    def take(self, rows: IntArray) -> Level:
        """Return some of the patients."""
        logits = {name: values[rows] for name, values in self.logits.items()}
        return Level(logits, self.axes[rows])

    @classmethod
    def together(cls, parts: Sequence[Level]) -> Level:
        """Return patients of several parts, one part after the other."""
        names = parts[0].logits
        return cls(
            {name: np.concatenate([each.logits[name] for each in parts]) for name in names},
            np.vstack([each.axes for each in parts]),
        )


def clipped_logit(probability: FloatArray) -> FloatArray:
    """Return the logit of probabilities, kept away from 0 and 1."""
    return np.asarray(logit(np.clip(probability, EDGE, 1 - EDGE)))


def personal_axes(
    Z: FloatArray, code: IntArray, rows: IntArray, rules: PersonalRules, panel: IntArray
) -> FloatArray:
    """Return the patients of `rows` along their physicians' axes, and what is known of these.

    The rules, learned from `panel` patients of every physician, have not seen the decisions of
    these patients. Weights of all columns of Z but the first, a constant, are compared.
    """
    weights = rules.theta[:, 1:-2]
    n_axes = min(MOST_AXES, weights.shape[1])
    order = np.argsort(-np.abs(weights), axis=1, kind="stable")[:, :n_axes]
    largest = np.take_along_axis(weights, order, axis=1)
    who = code[rows]
    along = np.take_along_axis(Z[rows, 1:], order[who], axis=1) * np.sign(largest[who])
    size = np.abs(largest) / np.maximum(np.abs(largest[:, :1]), 1e-9)
    return np.column_stack(
        [
            along,
            size[who, 1:],
            rules.score(Z, code, rows),
            rules.theta[who, -2:],
            np.log1p(panel[who]),
        ]
    )


def log_likelihood(score: FloatArray, y: IntArray) -> FloatArray:
    """Return the log-likelihood of every decision under logits of P(yes)."""
    return np.asarray(log_expit(np.where(y == 1, score, -score)))


def fit_blend(table: FloatArray, y: IntArray) -> FloatArray:
    """Return intercept and weights of a logistic blend of the candidates' logits."""
    n_candidates = table.shape[1]
    centre = np.r_[0.0, np.full(n_candidates, 1 / n_candidates)]

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        score = weights[0] + table @ weights[1:]
        away = weights - centre
        residual = y - expit(score)
        value = log_likelihood(score, y).sum() - 0.5 * PENALTY * away @ away
        slope = np.r_[residual.sum(), table.T @ residual] - PENALTY * away
        return -float(value), -slope

    limits = [(None, None)] + [(0.0, None)] * n_candidates
    return np.asarray(minimize(objective, centre, jac=True, method="L-BFGS-B", bounds=limits).x)


@dataclass(frozen=True, eq=False)
class Stack:
    """A mixture of the blend and of the axes' trees, learned from held-out predictions.

    Both blends have an intercept and weights of candidates, the blind one of those that do not know
    who decides. `mixture` is the share of the axes' trees, which are None without one; beside them
    the edges of the bins that they look at.
    """

    blend: FloatArray
    mixture: float
    axes_trees: tuple[Trees, list[FloatArray]] | None
    blind_blend: FloatArray
    blind: Sequence[str]

    def scores(self, level: Level) -> tuple[FloatArray, FloatArray]:
        """Return the logit of P(yes), and the same by the candidates that do not know who decides.

        Every patient's has the same bits whoever else is asked about.
        """
        blended = summed(self.blend, list(level.logits.values()))
        blind = summed(self.blind_blend, [level.logits[name] for name in self.blind])
        if self.axes_trees is not None:
            along = _along_axes(level, *self.axes_trees)
            blended = (1 - self.mixture) * blended + self.mixture * along
        return blended, blind


def summed(weights: FloatArray, columns: Sequence[FloatArray]) -> FloatArray:
    """Return intercept plus weighted columns, added one by one.

    A product with a matrix may round a row by where it stands in the matrix.
    """
    total = np.full(len(columns[0]), weights[0])
    for weight, column in zip(weights[1:], columns, strict=True):
        total += weight * column
    return total


def fit_stack(
    level: Level, y: IntArray, part: npt.NDArray[np.bool_], blind: Sequence[str]
) -> Stack:
    """Learn how to put the candidates together; two parts take turns in being held out.

    `blind` are candidates that do not know who decides.
    """
    total = np.zeros(len(MIXTURES))
    for inside in (part, ~part):
        known, other = level.take(np.flatnonzero(inside)), level.take(np.flatnonzero(~inside))
        weights = fit_blend(known.table(), y[inside])
        blended = weights[0] + other.table() @ weights[1:]
        along = _along_axes(other, *_grow_along_axes(known, y[inside]))
        for at, share in enumerate(MIXTURES):
            mixed = (1 - share) * blended + share * along
            total[at] += log_likelihood(mixed, y[~inside]).sum()
    mixture = MIXTURES[int(np.argmax(total))]
    return Stack(
        fit_blend(level.table(), y),
        mixture,
        _grow_along_axes(level, y) if mixture else None,
        fit_blend(level.table(blind), y),
        blind,
    )


def _grow_along_axes(level: Level, y: IntArray) -> tuple[Trees, list[FloatArray]]:
    features = level.features()
    edges = bin_edges(features)
    return grown(binned(features, edges), y), edges


def _along_axes(level: Level, trees: Trees, edges: list[FloatArray]) -> FloatArray:
    return trees.scores(binned(level.features(), edges))
