"""Components of noise: from held-out predictions to variances with intervals.

For one patient and a physician drawn at random Var(y | x) = E_j p_j (1 - p_j) + Var_j p_j. The
first is the squared error of a perfect prediction of *this* physician's decisions, the whole that
of a perfect prediction that does not know the physician. Predictions are not perfect: their squared
error exceeds the variance by what they still have to learn. That part halves when patients double,
nearly; so the loss from half of the patients, L(n/2), shows how far the loss from all of them,
L(n), is from its end: 2 L(n) - L(n/2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intravar.arrays import FloatArray, IntArray

#: The correction is itself unsure, by this share; with small panels, which learn more slowly than
#: that at first, by the square of this many patients over the size of a panel.
CORRECTION_ERROR = 0.2
SLOW_PATIENTS = 126.0
#: What is learned more slowly still is not seen at all; it may be this share of a component, and
#: this share of the whole, which all patients of all physicians teach.
UNSEEN_ERROR = 0.02
UNSEEN_OF_WHOLE = 0.008


class NoisePart(NamedTuple):
    """One component: its value and standard error."""

    value: float
    standard_error: float


class Components(NamedTuple):
    """All of them; system is the sum of the other three."""

    system: NoisePart
    level: NoisePart
    pattern: NoisePart
    occasion: NoisePart


class FoldPredictions(NamedTuple):
    """P(yes) per patient: learned from all other folds, and from either half of them."""

    full: FloatArray
    halves: tuple[FloatArray, ...]


def components(
    personal: FoldPredictions,
    pooled: FoldPredictions,
    y: IntArray,
    code: IntArray,
    n_physicians: int,
) -> Components:
    """Return the components of noise from predictions that know the physician, and that do not."""
    occasion, occasion_gain = _extrapolated(personal, y)
    whole, whole_gain = _extrapolated(pooled, y)
    level = level_variance(y - pooled.full, code, n_physicians)
    occasion_value = max(float(occasion.mean()), 0.0)
    pattern_value = max(float(whole.mean()) - level.value - occasion_value, 0.0)
    system_value = occasion_value + level.value + pattern_value
    unsure = max(CORRECTION_ERROR, (SLOW_PATIENTS * n_physicians / len(y)) ** 2)
    own_error = _root(unsure * occasion_gain, UNSEEN_ERROR * occasion_value)
    whole_error = _root(CORRECTION_ERROR * whole_gain, UNSEEN_OF_WHOLE * system_value)
    return Components(
        NoisePart(system_value, _root(_chance_error(pooled), whole_error)),
        level,
        NoisePart(
            pattern_value,
            _root(
                _between_error(personal, pooled),
                level.standard_error,
                unsure * (whole_gain - occasion_gain),
                UNSEEN_ERROR * pattern_value,
            ),
        ),
        NoisePart(occasion_value, _root(_chance_error(personal), own_error)),
    )


def level_variance(residual: FloatArray, code: IntArray, n_physicians: int) -> NoisePart:
    """Return the variance over physicians of how often they say yes, patients being equal.

    A physician's mean residual squared is too large by its own noise. The mean product of the
    residuals of two different patients is not: it is what products of two halves of a panel come
    to, over all ways to halve it.

    Examples
    --------
    >>> residual = np.array([0.5, 0.5, -0.5, -0.5])
    >>> level_variance(residual, np.array([0, 0, 1, 1]), 2).value
    0.25
    """
    size = np.bincount(code, minlength=n_physicians).astype(np.float64)
    use = size >= 2
    if use.sum() < 2:
        return NoisePart(0.0, float("nan"))
    total = np.bincount(code, residual, minlength=n_physicians)[use]
    square = np.bincount(code, residual**2, minlength=n_physicians)[use]
    n = size[use]
    mean, product = total / n, (total**2 - square) / (n * (n - 1))
    J = len(n)
    grand = (mean.sum() ** 2 - np.sum(mean**2) + product.sum()) / J**2
    noise = np.maximum(square / n - mean**2, 0.0) / n
    signal = np.maximum(product - grand, 0.0)
    error = np.sqrt(np.sum(4 * signal * noise + 2 * noise**2)) / J
    return NoisePart(max(float(product.mean() - grand), 0.0), float(error))


def _extrapolated(predicted: FoldPredictions, y: IntArray | float) -> tuple[FloatArray, float]:
    """Return 2 L(n) - L(n/2) per patient, and by how much that corrects L(n) on average."""
    loss = (y - predicted.full) ** 2
    if not predicted.halves:
        return loss, 0.0
    half = np.mean([(y - each) ** 2 for each in predicted.halves], axis=0)
    gain = float(np.mean(half - loss))
    # Half of the patients cannot teach more than all of them.
    return (2 * loss - half, gain) if gain > 0 else (loss, 0.0)


def _swing(predicted: FoldPredictions) -> FloatArray:
    """Return by how much a patient's loss differs between yes and no."""
    return _extrapolated(predicted, 1.0)[0] - _extrapolated(predicted, 0.0)[0]


def _chance_error(predicted: FoldPredictions) -> float:
    """Return the standard error of a mean loss: that of decisions, patients being given."""
    p = predicted.full
    return float(np.sqrt(np.sum(p * (1 - p) * _swing(predicted) ** 2)) / len(p))


def _between_error(personal: FoldPredictions, pooled: FoldPredictions) -> float:
    swing = _swing(pooled) - _swing(personal)
    p = personal.full
    return float(np.sqrt(np.sum(p * (1 - p) * swing**2)) / len(p))


def _root(*errors: float) -> float:
    return float(np.sqrt(np.sum(np.square(errors))))
