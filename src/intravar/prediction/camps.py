"""Camps: physicians who follow one of a few rules, each camp learned from all of its members."""

from __future__ import annotations

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.personal import PersonalRules, fit_rules, learn_hyper, start_hyper

ROUNDS = 20


def find_camps(rules: PersonalRules, n_camps: int) -> IntArray:
    """Return the camp of every physician, by the direction of the weights.

    Directions are clustered around centres that lie far apart at first; lengths are left out,
    because a physician who follows a rule loosely weighs everything less.
    """
    slopes = rules.theta[:, 1:-2]
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
    return np.asarray(np.argmax(direction @ centres.T, axis=1), dtype=np.int64)


def camp_predictions(
    Z: FloatArray,
    y: IntArray,
    code: IntArray,
    rows: IntArray,
    asked: IntArray,
    rules: PersonalRules,
    n_camps: int,
) -> FloatArray:
    """Return P(yes) of the rows asked about: the camp's rule, the physician's threshold and rates.

    Parameters
    ----------
    Z, y, code
        Columns of the rule, decisions and physicians of all patients.
    rows, asked
        Patients to learn from, and to predict.
    rules
        Personal rules learned from `rows`, by which physicians are put into camps.
    n_camps
        How many there are.
    """
    camp = find_camps(rules, n_camps)
    member = camp[code]
    # To learn a camp's rule, its members count as one physician with a large panel.
    together = fit_rules(Z, y, member, rows, n_camps, start_hyper(Z.shape[1]))
    score = np.zeros(len(Z))
    used = np.concatenate([rows, asked])
    score[used] = together.score(Z, member, used)
    own = np.column_stack([np.ones(len(Z)), score])
    n_physicians = len(rules.theta)
    hyper = learn_hyper(own, y, code, rows, n_physicians)
    return fit_rules(own, y, code, rows, n_physicians, hyper).predict(own, code, asked)
