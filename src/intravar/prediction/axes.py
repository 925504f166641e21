"""Personal axes: every patient seen along the covariates that their physician weighs most.

A physician's largest weight is turned upwards and called the first axis, the next one the second.
Along these axes rules of one kind look alike, whichever covariates they are about, and trees grown
on all physicians learn their common shape: a sum, a conjunction, a threshold.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logit

from intravar.arrays import FloatArray, IntArray
from intravar.prediction.personal import PersonalRules

#: How many axes are looked along.
MOST_AXES = 4
EDGE = 1e-4


def clipped_logit(probability: FloatArray) -> FloatArray:
    """Return the logit of probabilities, kept away from 0 and 1."""
    return np.asarray(logit(np.clip(probability, EDGE, 1 - EDGE)))


def personal_axes(
    Z: FloatArray, code: IntArray, rows: IntArray, rules: PersonalRules, first: int, panel: IntArray
) -> FloatArray:
    """Return the patients along their physicians' axes, and what is known of the physicians.

    Parameters
    ----------
    Z, code
        Columns of the rule and physician of every patient.
    rows
        Patients to be described.
    rules
        Personal rules that have not seen the decisions of these patients.
    first
        Column of Z from which on weights are compared.
    panel
        Patients of every physician that the rules were learned from.
    """
    weights = rules.theta[:, first:-2]
    n_axes = min(MOST_AXES, weights.shape[1])
    order = np.argsort(-np.abs(weights), axis=1, kind="stable")[:, :n_axes]
    largest = np.take_along_axis(weights, order, axis=1)
    who = code[rows]
    along = np.take_along_axis(Z[rows, first:], order[who], axis=1) * np.sign(largest[who])
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
