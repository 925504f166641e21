"""Bounds for several decisions at once, from held-out tables of outcomes.

For any prediction Q of the combination of decisions that a patient gets, the quadratic score
1 - 2 Q(v) + sum Q^2 of the combination v has the mean 1 - sum P^2 + sum (P - Q)^2, P being the true
probabilities. The first part is the probability that two such patients differ in at least one
decision; the rest is never negative. With one decision it is the bound of
:mod:`intravar.prediction.bound`. The number of differences is the sum of all decisions' bounds.
"""

from __future__ import annotations

import numpy as np

from intravar.arrays import FloatArray, IntArray
from intravar.outcomes import vectors
from intravar.prediction.bound import Bound, Losses, bound_of_losses


def differ_bound(table: FloatArray, at: IntArray, code: IntArray, n_physicians: int) -> Bound:
    """Return the bound of the probability to differ in at least one decision, per physician.

    Parameters
    ----------
    table
        Predicted probability of every combination, one row per patient.
    at
        The combination that every patient got.
    code, n_physicians
        Physician of every patient, from 0, and how many there are.

    Examples
    --------
    >>> table, nobody = np.full((4, 4), 0.25), np.zeros(4, dtype=np.int64)
    >>> differ_bound(table, np.arange(4), nobody, 1).score.tolist()
    [0.75]
    """
    loss = 1 - 2 * table + np.square(table).sum(axis=1, keepdims=True)
    return _bound_of_table(loss, table, at, code, n_physicians)


def difference_bound(
    predicted: FloatArray, table: FloatArray, at: IntArray, code: IntArray, n_physicians: int
) -> Bound:
    """Return the bound of the mean discordance of the decisions, per physician.

    Times the number of decisions it is the expected number of differences. `predicted` is P(yes)
    of each decision by covariates alone; the others are as in :func:`differ_bound`.
    """
    n_decisions = predicted.shape[1]
    loss = np.zeros_like(table)
    for k, value in enumerate(vectors(n_decisions).T):
        loss += 2 * (value - predicted[:, k : k + 1]) ** 2 / n_decisions
    return _bound_of_table(loss, table, at, code, n_physicians)


def _bound_of_table(
    loss: FloatArray, table: FloatArray, at: IntArray, code: IntArray, n_physicians: int
) -> Bound:
    """Return the bound from the loss of every combination, twice a number between 0 and 1."""
    mean = (table * loss).sum(axis=1)
    variance = (table * np.square(loss - mean[:, None])).sum(axis=1)
    seen = loss[np.arange(len(at)), at]
    losses = Losses(mean, seen - mean, variance, seen / 2)
    return bound_of_losses(losses, code, n_physicians)
