"""Camps: physicians who follow one of a few rules, each camp learned from all of its members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.own.rules import (
    Hyper,
    PersonalRules,
    fit_rules,
    learn_hyper,
    start_hyper,
)

ROUNDS = 20


@dataclass(frozen=True, eq=False)
class CampRules:
    """What was learned of camps: directions and weights of their rules.

    `hyper` is what is common to thresholds and rates of the physicians.
    """

    centres: FloatArray
    weights: FloatArray
    hyper: Hyper

    def predict(
        self,
        Z: FloatArray,
        y: IntArray,
        code: IntArray,
        rows: IntArray,
        asked: IntArray,
        rules: PersonalRules,
    ) -> FloatArray:
        """Return P(yes) of patients: the camp's rule, the physician's threshold and rates.

        `rules` are those of the physicians, learned from `rows`. Nobody's result depends on who
        else is asked about.
        """
        slopes = rules.theta[:, 1:-2]
        # Sums along columns, not products of matrices, which may round by the place of a row.
        near = np.zeros((len(slopes), len(self.centres)))
        for at, slope in enumerate(slopes.T):
            near += slope[:, None] * self.centres[None, :, at]
        member = np.argmax(near, axis=1)[code]
        score = np.zeros(len(Z))
        for at, column in enumerate(Z.T):
            score += column * self.weights[member, at]
        own = np.column_stack([np.ones(len(Z)), score])
        return fit_rules(own, y, code, rows, len(rules.theta), self.hyper).predict(own, code, asked)


def find_camps(theta: FloatArray, n_camps: int) -> tuple[IntArray, FloatArray]:
    """Return the camp of every physician, by the direction of the weights, and the camps' centres.

    Directions are clustered around centres that lie far apart at first; lengths are left out,
    because a physician who follows a rule loosely weighs everything less.
    """
    slopes = theta[:, 1:-2]
    length = np.linalg.norm(slopes, axis=1, keepdims=True)
    direction = slopes / np.maximum(length, 1e-9)
    centres = direction[[int(np.argmax(length))]]
    while len(centres) < n_camps:
        nearest = np.max(direction @ centres.T, axis=1)
        centres = np.vstack([centres, direction[int(np.argmin(nearest))]])
    for _ in range(ROUNDS):
        camp = np.argmax(direction @ centres.T, axis=1)
        for number in range(n_camps):
            if (camp == number).any():
                centre = slopes[camp == number].sum(axis=0)
                centres[number] = centre / max(float(np.linalg.norm(centre)), 1e-9)
    return np.asarray(np.argmax(direction @ centres.T, axis=1), dtype=np.int64), centres


def learn_camps(
    Z: FloatArray,
    y: IntArray,
    code: IntArray,
    rows: IntArray,
    rules: PersonalRules,
    n_camps: int,
) -> CampRules:
    """Learn the rule of every camp, and what is common to thresholds and rates around it.

    By the personal rules learned from `rows`, physicians are put into camps.
    """
    present, who = np.unique(code[rows], return_inverse=True)
    camp, centres = find_camps(rules.theta[present], n_camps)
    member = camp[who]
    own, decided = Z[rows], y[rows]
    everybody = np.arange(len(rows))
    # To learn a camp's rule, its members count as one physician with a large panel.
    together = fit_rules(own, decided, member, everybody, n_camps, start_hyper(Z.shape[1]))
    score = together.score(own, member, everybody)
    table = np.column_stack([np.ones(len(rows)), score])
    hyper = learn_hyper(table, decided, who, everybody, len(present))
    return CampRules(centres, together.theta[:, : Z.shape[1]].copy(), hyper)
