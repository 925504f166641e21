"""Several decisions of one patient: effects of physicians in all, each decision given others.

For every decision there is a prediction that does not know who decides, the share of colleagues who
would say yes. How closely a physician goes with it, and how often the physician says yes on the
whole, are two effects per decision. For decision k of a patient of physician j,
logit P(yes) = offset + z' theta_jk. All effects of one physician, theta_j, are normal around a
common mean with a common covariance, so that what a physician does in one decision tells about the
others as far as physicians on the whole say it does. Mean and covariance are learned by EM; the
posterior of every physician is taken for normal around its mode (Laplace). Predictions by these
effects are blended with those that know one decision only, as far as held-out decisions say that it
helps.

What the decisions before it add to a decision is a logistic model on top of that: they may count
more or less where the decision is likely anyway, and more or less with every physician. It is
learned without the fold that it predicts, and left out where held-out decisions are predicted no
better with it.

For any prediction Q of the combination of decisions that a patient gets, the quadratic score
1 - 2 Q(v) + sum Q^2 of the combination v has the mean 1 - sum P^2 + sum (P - Q)^2, P being the true
probabilities. The first part is the probability that two such patients differ in at least one
decision; the rest is never negative. With one decision it is the bound of
:mod:`intravar.prediction.bound`. The number of differences is the sum of all decisions' bounds.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from threadpoolctl import threadpool_limits

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.inference.outcomes import positions, vectors
from intravar.prediction.bound import Bound, Losses, bound, losses_of, panel_means
from intravar.prediction.candidates import clipped_logit, fit_blend, log_likelihood

#: Decisions have nothing to do with each other in so many physicians that are thought of.
APART = 5.0
#: Rounds of EM, and the change of the covariance that ends them.
ROUNDS, ENOUGH = 100, 1e-4
#: Rounds without a fold, started from what all patients taught.
FOLD_ROUNDS = 25
#: Newton steps in the first round and in those after it; the longest step of an effect.
FIRST_STEPS, STEPS, LONGEST = 8, 2, 2.0
_RIDGE = 1e-6
#: With fewer known decisions outside a fold nothing is blended.
FEWEST = 40
#: Penalty on what decisions before add to the prediction.
RIDGE = 1.0


class Logits(NamedTuple):
    """The models of the decisions, before any effect is known.

    A design per decision has a row per patient and a column per effect; `offset`, `decided` and
    `known` have a row per patient and a column per decision, and `decided` counts where `known`.
    """

    designs: tuple[FloatArray, ...]
    offset: FloatArray
    decided: FloatArray
    known: BoolArray
    code: IntArray
    n_physicians: int

    @property
    def spans(self) -> list[slice]:
        """Where the effects of every decision stand among all."""
        ends = np.cumsum([0, *(design.shape[1] for design in self.designs)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]


class PhysicianEffects(NamedTuple):
    """Mean and covariance of effects over physicians; effects of each, with their error's."""

    mean: FloatArray
    covariance: FloatArray
    value: FloatArray
    error: FloatArray

    def probability(
        self, design: FloatArray, offset: FloatArray | float, span: slice, code: IntArray
    ) -> FloatArray:
        """Return P(yes) of patients in one decision, what is not sure of the effects averaged."""
        score = offset + np.einsum("id,id->i", design, self.value[code, span])
        # The mean of a logistic curve over a normal error, closely (MacKay 1992).
        return np.asarray(expit(score / np.sqrt(1 + np.pi * self.unsure(design, span, code) / 8)))

    def unsure(self, design: FloatArray, span: slice, code: IntArray) -> FloatArray:
        """Return the variance of the logit of patients in one decision, given the decisions."""
        error = self.error[code, span, span]
        return np.asarray(np.einsum("id,ide,ie->i", design, error, design))


def fit_effects(
    logits: Logits, start: PhysicianEffects | None = None, rounds: int = ROUNDS
) -> PhysicianEffects:
    """Learn the effects of all physicians, correlated between decisions.

    EM starts from `start`, by default at no effects, and takes so many rounds at the most.

    Examples
    --------
    Two physicians, one decision, an intercept each.

    >>> design = np.ones((40, 1))
    >>> decided = np.repeat([[0.0], [1.0]], 20, axis=0)
    >>> code = np.repeat([0, 1], 20)
    >>> effects = fit_effects(
    ...     Logits((design,), np.zeros((40, 1)), decided, np.ones((40, 1), dtype=bool), code, 2)
    ... )
    >>> bool(effects.value[0, 0] < -1 and effects.value[1, 0] > 1)
    True
    """
    spans, J = logits.spans, logits.n_physicians
    size = spans[-1].stop
    own = np.zeros((size, size))
    for span in spans:
        own[span, span] = 1.0
    mean, covariance, value = (np.zeros(size), np.eye(size), np.zeros((J, size)))
    if start is not None:
        mean, covariance, value, _ = start
    for number in range(rounds):
        steps = STEPS if number else FIRST_STEPS
        value, error = _posterior(logits, mean, covariance, value, steps)
        mean = value.mean(axis=0)
        away = value - mean
        # Few physicians agree by chance: some that do not are thought of beside them.
        spread = error.sum(axis=0) + away.T @ away + APART * own * covariance
        spread = spread / (J + APART) + _RIDGE * np.eye(size)
        change = np.abs(spread - covariance).max() / np.abs(covariance).max()
        covariance = spread
        if change < ENOUGH:
            break
    return PhysicianEffects(mean, covariance, value, error)


def _posterior(
    logits: Logits, mean: FloatArray, covariance: FloatArray, value: FloatArray, steps: int
) -> tuple[FloatArray, FloatArray]:
    """Climb to every physician's most likely effects; return them and the error's covariance."""

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(logits.code, values, minlength=logits.n_physicians).astype(np.float64)

    precision = np.linalg.inv(covariance)
    for _ in range(steps):
        slope = -(value - mean) @ precision
        curve = np.repeat(precision[None], logits.n_physicians, axis=0)
        for k, (design, span) in enumerate(zip(logits.designs, logits.spans, strict=True)):
            score = logits.offset[:, k] + np.einsum("id,id->i", design, value[logits.code, span])
            p = expit(score)
            residual = np.where(logits.known[:, k], logits.decided[:, k] - p, 0.0)
            weight = np.where(logits.known[:, k], p * (1 - p), 0.0)
            for a, one in enumerate(design.T, span.start):
                slope[:, a] += total(residual * one)
                for b, other in enumerate(design.T, span.start):
                    curve[:, a, b] += total(weight * one * other)
        step = np.linalg.solve(curve, slope[:, :, None])[:, :, 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        value = value + step * np.minimum(1.0, LONGEST / np.maximum(longest, 1e-12))
    return value, np.linalg.inv(curve)


class Across(NamedTuple):
    """Predictions that know all decisions of a physician.

    `predicted` is held-out P(yes) by patient and decision; `correlation` that of the steadiness of
    physicians, of how closely they go with colleagues, by pair of decisions; `excess`, by physician
    and decision, what twice the squared error has above the discordance because effects are not
    known exactly.
    """

    predicted: FloatArray
    correlation: FloatArray
    excess: FloatArray


def across_decisions(
    own: FloatArray,
    pooled: FloatArray,
    decided: FloatArray,
    known: BoolArray,
    code: IntArray,
    fold: IntArray,
) -> Across:
    """Return predictions that let a physician's decisions inform each other.

    `own` and `pooled` are held-out P(yes) of each decision on its own, by who decides and without;
    one row per patient and one column per decision, as `decided` and `known`.
    """
    designs = tuple(_design(*each) for each in zip(pooled.T, known.T, strict=True))
    logits = Logits(designs, np.zeros_like(own), decided, known, code, int(code.max()) + 1)
    # Matrices are many and small: threads of BLAS would only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        everything = fit_effects(logits)
        by_effects = np.empty_like(own)
        for number in np.unique(fold):
            out = fold == number
            effects = fit_effects(
                logits._replace(known=known & ~out[:, None]), everything, FOLD_ROUNDS
            )
            for k, (design, span) in enumerate(zip(designs, logits.spans, strict=True)):
                by_effects[out, k] = effects.probability(design[out], 0.0, span, code[out])
        columns = zip(own.T, by_effects.T, decided.T, known.T, strict=True)
        predicted = np.column_stack([_blended(*each, fold) for each in columns])
    # What the uncertainty of the effects adds in a decision, per physician.
    excess = []
    for rows, design, span in zip(map(np.flatnonzero, known.T), designs, logits.spans, strict=True):
        given, whose = design[rows], code[rows]
        p = everything.probability(given, 0.0, span, whose)
        variance = np.square(p * (1 - p)) * everything.unsure(given, span, whose)
        excess.append(panel_means(2 * variance, whose, logits.n_physicians))
    # The second effects are those of going with colleagues.
    at = [span.start + 1 for span in logits.spans]
    covariance = everything.covariance[np.ix_(at, at)]
    spread = np.sqrt(np.diag(covariance))
    return Across(predicted, covariance / np.outer(spread, spread), np.column_stack(excess))


def _design(pooled: FloatArray, known: BoolArray) -> FloatArray:
    """Return a column of ones, and the colleagues' share with mean 0 and spread 1."""
    spread = float(pooled[known].std())
    away = (pooled - pooled[known].mean()) / (spread if spread > 0 else 1.0)
    return np.column_stack([np.ones(len(away)), away])


def _blended(
    own: FloatArray, other: FloatArray, decided: FloatArray, known: BoolArray, fold: IntArray
) -> FloatArray:
    table = np.column_stack([clipped_logit(own), clipped_logit(other)])
    blended = own.copy()
    for number in np.unique(fold):
        out, rest = fold == number, (fold != number) & known
        if rest.sum() < FEWEST:
            continue
        weights = fit_blend(table[rest], decided[rest].astype(np.int64))
        blended[out] = expit(weights[0] + table[out] @ weights[1:])
    return blended


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
        with threadpool_limits(limits=1, user_api="blas"):
            table = _given_earlier(score, decided, k, code, fold)
        given = table[np.arange(len(table)), positions(decided[:, :k])]
        with_them, without = (
            log_likelihood(clipped_logit(chance), decided[:, k]).sum()
            for chance in (given, predicted[:, k])
        )
        if with_them > without:
            tables[k] = table
    return tables


def _given_earlier(
    score: FloatArray, decided: IntArray, k: int, code: IntArray, fold: IntArray
) -> FloatArray:
    earlier, y = decided[:, :k].astype(np.float64), decided[:, k : k + 1].astype(np.float64)
    combinations = vectors(k)
    features = _features(score, earlier, k)
    table = np.empty((len(y), len(combinations)))
    for number in np.unique(fold):
        out = fold == number
        weights = _weights(features[~out], score[~out, k], decided[~out, k])
        offset = (score[:, k] + features @ weights)[:, None]
        known = ~out[:, None]
        effects = fit_effects(Logits((earlier,), offset, y, known, code, int(code.max()) + 1))
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


def differ_bound(
    table: FloatArray,
    at: IntArray,
    code: IntArray,
    n_physicians: int,
    *,
    unit: IntArray | None = None,
) -> Bound:
    """Return the bound of the probability to differ in at least one decision, per physician.

    `table` has the predicted probability of every combination, one row per patient; `at` is the
    combination that every patient got. Rows that share a `unit` depend on each other.

    Examples
    --------
    >>> table, nobody = np.full((4, 4), 0.25), np.zeros(4, dtype=np.int64)
    >>> differ_bound(table, np.arange(4), nobody, 1).score.tolist()
    [0.75]
    """
    loss = 1 - 2 * table + np.square(table).sum(axis=1, keepdims=True)
    return _bound_of_table(loss, table, at, code, n_physicians, unit)


def difference_bound(
    predicted: FloatArray,
    table: FloatArray,
    at: IntArray,
    code: IntArray,
    n_physicians: int,
    *,
    unit: IntArray | None = None,
) -> Bound:
    """Return the bound of the mean discordance of the decisions, per physician.

    Times the number of decisions it is the expected number of differences. `predicted` is P(yes)
    of each decision by covariates alone; the others are as in :func:`differ_bound`.
    """
    n_decisions = predicted.shape[1]
    loss = np.zeros_like(table)
    for k, value in enumerate(vectors(n_decisions).T):
        loss += 2 * (value - predicted[:, k : k + 1]) ** 2 / n_decisions
    return _bound_of_table(loss, table, at, code, n_physicians, unit)


def _bound_of_table(
    loss: FloatArray,
    table: FloatArray,
    at: IntArray,
    code: IntArray,
    n_physicians: int,
    unit: IntArray | None,
) -> Bound:
    """Return the bound from the loss of every combination, twice a number between 0 and 1."""
    mean = (table * loss).sum(axis=1)
    variance = (table * np.square(loss - mean[:, None])).sum(axis=1)
    actual = loss[np.arange(len(at)), at]
    losses = Losses(
        expected=mean,
        wrong=actual - mean,
        variance=variance,
        loss=actual / 2,
        code=code,
        n_physicians=n_physicians,
        unit=unit,
    )
    return bound(losses)


def if_apart(predicted: FloatArray, decided: IntArray, code: IntArray, n_physicians: int) -> Bound:
    """Return the bound of :func:`differ_bound` if decisions were independent of each other.

    Each is wrong as often as it is, while the others are as expected: decisions that were seen in
    one patient go together, and products of their errors would say so.
    """
    each = losses_of(predicted, decided, code, n_physicians)
    alike = 1 - each.expected
    others = alike.prod(axis=1, keepdims=True) / alike
    expected, wrong = 1 - alike.prod(axis=1), (others * each.wrong).sum(axis=1)
    variance = (np.square(others) * each.variance).sum(axis=1)
    loss = np.clip((expected + wrong) / 2, 0.0, 1.0)
    return bound(Losses(expected, wrong, variance, loss, code, n_physicians))
