"""Effects of physicians in several decisions: what a physician does in one informs the others.

For every decision there is a prediction that does not know who decides, the share of colleagues who
would say yes. How closely a physician goes with it, and how often the physician says yes on the
whole, are two effects per decision. For decision k of a patient of physician j,
logit P(yes) = offset + z' theta_jk. All effects of one physician, theta_j, are normal around a
common mean with a common covariance, so that what a physician does in one decision tells about the
others as far as physicians on the whole say it does. Mean and covariance are learned by EM; the
posterior of every physician is taken for normal around its mode (Laplace). Predictions by these
effects are blended with those that know one decision only, as far as held-out decisions say that it
helps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.special import expit
from threadpoolctl import threadpool_limits

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.prediction.bound import panel_means
from intravar.prediction.stacking import clipped_logit, fit_blend

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


@dataclass(frozen=True, eq=False)
class Logits:
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

    def only(self, rows: BoolArray) -> Logits:
        """Return the same with nothing known of the other rows."""
        return replace(self, known=self.known & rows[:, None])


@dataclass(frozen=True, eq=False)
class PhysicianEffects:
    """Mean and covariance of effects over physicians; effects of each, with their error's."""

    mean: FloatArray
    covariance: FloatArray
    value: FloatArray
    error: FloatArray

    def probability(
        self, design: FloatArray, offset: FloatArray, span: slice, code: IntArray
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
    logits: Logits,
    *,
    together: bool = True,
    start: PhysicianEffects | None = None,
    rounds: int = ROUNDS,
) -> PhysicianEffects:
    """Learn the effects of all physicians; those in different decisions are correlated if together.

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
    if start is None:
        mean, covariance = np.zeros(size), np.eye(size)
        value = np.zeros((J, size))
    else:
        mean, covariance, value = start.mean, start.covariance, start.value
    error = np.zeros((J, size, size))
    for number in range(rounds):
        steps = STEPS if number else FIRST_STEPS
        value, error = _posterior(logits, mean, covariance, value, steps)
        mean = value.mean(axis=0)
        away = value - mean
        # Few physicians agree by chance: some that do not are thought of beside them.
        spread = error.sum(axis=0) + away.T @ away + APART * own * covariance
        spread = spread / (J + APART) + _RIDGE * np.eye(size)
        if not together:
            spread = spread * own
        change = np.abs(spread - covariance).max() / np.abs(covariance).max()
        covariance = spread
        if change < ENOUGH:
            break
    return PhysicianEffects(mean, covariance, value, error)


def _posterior(
    logits: Logits, mean: FloatArray, covariance: FloatArray, value: FloatArray, steps: int
) -> tuple[FloatArray, FloatArray]:
    """Climb to every physician's most likely effects; return them and the error's covariance."""
    precision = np.linalg.inv(covariance)
    for _ in range(steps):
        slope = -(value - mean) @ precision
        curve = np.repeat(precision[None], logits.n_physicians, axis=0)
        for k, (design, span) in enumerate(zip(logits.designs, logits.spans, strict=True)):
            score = logits.offset[:, k] + np.einsum("id,id->i", design, value[logits.code, span])
            p = expit(score)
            residual = np.where(logits.known[:, k], logits.decided[:, k] - p, 0.0)
            weight = np.where(logits.known[:, k], p * (1 - p), 0.0)
            for a in range(design.shape[1]):
                at = span.start + a
                slope[:, at] += _totals(logits, residual * design[:, a])
                for b in range(design.shape[1]):
                    total = _totals(logits, weight * design[:, a] * design[:, b])
                    curve[:, at, span.start + b] += total
        step = np.linalg.solve(curve, slope[:, :, None])[:, :, 0]
        longest = np.abs(step).max(axis=1, keepdims=True)
        value = value + step * np.minimum(1.0, LONGEST / np.maximum(longest, 1e-12))
    return value, np.linalg.inv(curve)


def _totals(logits: Logits, values: FloatArray) -> FloatArray:
    return np.asarray(
        np.bincount(logits.code, values, minlength=logits.n_physicians), dtype=np.float64
    )


@dataclass(frozen=True, eq=False)
class Across:
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
    *,
    together: bool = True,
) -> Across:
    """Return predictions that let a physician's decisions inform each other, if together.

    `own` and `pooled` are held-out P(yes) of each decision on its own, by who decides and without;
    one row per patient and one column per decision, as `decided` and `known`.
    """
    n_decisions, J = own.shape[1], int(code.max()) + 1
    designs = tuple(_design(pooled[:, k], known[:, k]) for k in range(n_decisions))
    logits = Logits(designs, np.zeros_like(own), decided, known, code, J)
    # Matrices are many and small: threads of BLAS would only wait for each other.
    with threadpool_limits(limits=1, user_api="blas"):
        everything = fit_effects(logits, together=together)
        by_effects = np.empty_like(own)
        for number in np.unique(fold):
            out = fold == number
            effects = fit_effects(
                logits.only(~out), together=together, start=everything, rounds=FOLD_ROUNDS
            )
            for k, (design, span) in enumerate(zip(designs, logits.spans, strict=True)):
                by_effects[out, k] = effects.probability(
                    design[out], np.zeros(int(out.sum())), span, code[out]
                )
        predicted = np.column_stack(
            [
                _blended(own[:, k], by_effects[:, k], decided[:, k], known[:, k], fold)
                for k in range(n_decisions)
            ]
        )
    excess = [_excess(everything, logits, k) for k in range(n_decisions)]
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


def _excess(effects: PhysicianEffects, logits: Logits, k: int) -> FloatArray:
    """Return what the uncertainty of the effects adds in a decision, per physician."""
    rows = np.flatnonzero(logits.known[:, k])
    code, design, span = logits.code[rows], logits.designs[k][rows], logits.spans[k]
    p = effects.probability(design, logits.offset[rows, k], span, code)
    variance = np.square(p * (1 - p)) * effects.unsure(design, span, code)
    return panel_means(2 * variance, code, logits.n_physicians)
