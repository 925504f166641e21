"""Several decisions of one patient together: each given those before it, and the bounds of all.

The start is the prediction of each decision by covariates alone. What the decisions before it add
is a logistic model on top of that: they may count more or less where the decision is likely anyway,
and more or less with every physician. It is learned without the fold that it predicts, and left out
where held-out decisions are predicted no better with it.

For any prediction Q of the combination of decisions that a patient gets, the quadratic score
1 - 2 Q(v) + sum Q^2 of the combination v has the mean 1 - sum P^2 + sum (P - Q)^2, P being the true
probabilities. The first part is the probability that two such patients differ in at least one
decision; the rest is never negative. With one decision it is the bound of
:mod:`intravar.prediction.bound`. The number of differences is the sum of all decisions' bounds.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from threadpoolctl import threadpool_limits

from intravar.arrays import FloatArray, IntArray
from intravar.inference.outcomes import positions, vectors
from intravar.prediction.bound import Bound, Losses, bound, losses_of
from intravar.prediction.several.effects import Logits, fit_effects
from intravar.prediction.stacking import clipped_logit, log_likelihood

#: Penalty on what decisions before add to the prediction.
RIDGE = 1.0


def conditionals(
    predicted: FloatArray, decided: IntArray, code: IntArray, fold: IntArray
) -> list[FloatArray]:
    """Return P(yes) of each decision given those before it.

    `predicted` is P(yes) by covariates alone; all decisions are known. Per decision the result has
    one row per patient and one column per combination of the decisions before it, as
    :func:`intravar.inference.outcomes.chained` takes it.
    """
    score = clipped_logit(predicted)
    tables = apart(predicted)
    for k in range(1, predicted.shape[1]):
        # Matrices are many and small: threads of BLAS would only wait for each other.
        with threadpool_limits(limits=1, user_api="blas"):
            table = _given_earlier(score, decided, k, code, fold)
        given = table[np.arange(len(table)), positions(decided[:, :k])]
        y = decided[:, k]
        with_them, without = (
            log_likelihood(clipped_logit(chance), y).sum() for chance in (given, predicted[:, k])
        )
        if with_them > without:
            tables[k] = table
    return tables


def _given_earlier(
    score: FloatArray, decided: IntArray, k: int, code: IntArray, fold: IntArray
) -> FloatArray:
    earlier, y = decided[:, :k].astype(np.float64), decided[:, k].astype(np.float64)
    combinations = vectors(k)
    features = _features(score, earlier, k)
    table = np.empty((len(y), len(combinations)))
    for number in np.unique(fold):
        out = fold == number
        weights = _weights(features[~out], score[~out, k], decided[~out, k])
        offset = (score[:, k] + features @ weights)[:, None]
        logits = Logits(
            (earlier,),
            offset,
            y[:, None],
            np.ones((len(y), 1), dtype=np.bool_),
            code,
            int(code.max()) + 1,
        )
        effects = fit_effects(logits.only(~out))
        rows = np.flatnonzero(out)
        for at, combination in enumerate(combinations):
            before = np.tile(combination, (len(rows), 1))
            common = score[rows, k] + _features(score[rows], before, k) @ weights
            table[rows, at] = effects.probability(before, common, slice(0, k), code[rows])
    return table


def _features(score: FloatArray, earlier: FloatArray, k: int) -> FloatArray:
    """Return what is looked at: scores, decisions before, and the one where the other."""
    columns = [np.ones(len(score)), score[:, k]]
    for before in range(k):
        yes = earlier[:, before]
        columns += [score[:, before], yes, yes * score[:, k], yes * score[:, before]]
    return np.column_stack(columns)


def _weights(features: FloatArray, offset: FloatArray, y: IntArray) -> FloatArray:
    """Return the weights of a penalised logistic model on top of an offset."""

    def objective(weights: FloatArray) -> tuple[float, FloatArray]:
        score = offset + features @ weights
        value = log_likelihood(score, y).sum() - 0.5 * RIDGE * weights @ weights
        return -float(value), RIDGE * weights - features.T @ (y - expit(score))

    # Newton's steps go far too far where yes is rare and decisions go together closely.
    start = np.zeros(features.shape[1])
    return np.asarray(minimize(objective, start, jac=True, method="L-BFGS-B", tol=1e-12).x)


def apart(predicted: FloatArray) -> list[FloatArray]:
    """Return the same if decisions were independent of each other.

    Examples
    --------
    >>> [each.tolist() for each in apart(np.array([[0.5, 0.2]]))]
    [[[0.5]], [[0.2, 0.2]]]
    """
    return [np.repeat(predicted[:, k : k + 1], 2**k, axis=1) for k in range(predicted.shape[1])]


def differ_bound(table: FloatArray, at: IntArray, code: IntArray, n_physicians: int) -> Bound:
    """Return the bound of the probability to differ in at least one decision, per physician.

    `table` has the predicted probability of every combination, one row per patient; `at` is the
    combination that every patient got.

    Examples
    --------
    >>> table, nobody = np.full((4, 4), 0.25), np.zeros(4, dtype=np.int64)
    >>> differ_bound(table, np.arange(4), nobody, 1).score.tolist()
    [0.75]
    """
    loss = 1 - 2 * table + np.square(table).sum(axis=1, keepdims=True)
    return _bound_of_table(loss, table, at, code, n_physicians)


def if_apart(predicted: FloatArray, decided: IntArray, code: IntArray, n_physicians: int) -> Bound:
    """Return the bound of :func:`differ_bound` if decisions were independent of each other.

    Each is wrong as often as it is, while the others are as expected: decisions that were seen in
    one patient go together, and products of their errors would say so.
    """
    each = losses_of(predicted, decided)
    alike = 1 - each.expected
    others = alike.prod(axis=1, keepdims=True) / alike
    expected, wrong = 1 - alike.prod(axis=1), (others * each.wrong).sum(axis=1)
    variance = (np.square(others) * each.variance).sum(axis=1)
    losses = Losses(expected, wrong, variance, np.clip((expected + wrong) / 2, 0.0, 1.0))
    return bound(losses, code, n_physicians)


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
    actual = loss[np.arange(len(at)), at]
    losses = Losses(mean, actual - mean, variance, actual / 2)
    return bound(losses, code, n_physicians)
