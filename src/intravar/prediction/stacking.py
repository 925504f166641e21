"""Putting candidates together: the one, or the mixture, that predicts held-out decisions best.

Everything here is learned from predictions that had not seen the decisions they are held against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.trees import bin_edges, binned, boosted

BLEND = "blend"
#: How much of the axes' trees may enter the mixture with the blend, in logits.
MIXTURES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: Penalty on the blend's weights, which are pulled towards the mean of the candidates.
PENALTY = 5.0


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
    """A mixture of the blend and of the axes' trees, learned from held-out predictions."""

    blend: FloatArray
    mixture: float
    level: Level
    y: IntArray
    blind: Sequence[str]

    def scores(self, level: Level) -> FloatArray:
        """Return the logit of P(yes) of other patients."""
        blended = self.blend[0] + level.table() @ self.blend[1:]
        if self.mixture == 0:
            return np.asarray(blended)
        grown = _grown(self.level, self.y, level)
        return np.asarray((1 - self.mixture) * blended + self.mixture * grown)

    def blind_scores(self, level: Level) -> FloatArray:
        """Return the same by the candidates that do not know who decides."""
        weights = fit_blend(self.level.table(self.blind), self.y)
        return np.asarray(weights[0] + level.table(self.blind) @ weights[1:])


def fit_stack(
    level: Level, y: IntArray, part: npt.NDArray[np.bool_], blind: Sequence[str]
) -> Stack:
    """Learn how to put the candidates together; two parts take turns in being held out.

    Parameters
    ----------
    level
        Held-out predictions.
    y
        Decisions.
    part
        NoisePart to which every patient belongs.
    blind
        Candidates that do not know who decides.
    """
    total = np.zeros(len(MIXTURES))
    for inside in (part, ~part):
        known, other = level.take(np.flatnonzero(inside)), level.take(np.flatnonzero(~inside))
        weights = fit_blend(known.table(), y[inside])
        blended = weights[0] + other.table() @ weights[1:]
        grown = _grown(known, y[inside], other)
        for at, share in enumerate(MIXTURES):
            mixed = (1 - share) * blended + share * grown
            total[at] += log_likelihood(mixed, y[~inside]).sum()
    mixture = MIXTURES[int(np.argmax(total))]
    return Stack(fit_blend(level.table(), y), mixture, level, y, blind)


def _grown(level: Level, y: IntArray, asked: Level) -> FloatArray:
    """Grow the axes' trees on one level and score another."""
    features = level.features()
    edges = bin_edges(features)
    return boosted(binned(features, edges), y, binned(asked.features(), edges))
