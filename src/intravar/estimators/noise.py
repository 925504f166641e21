"""Noise, the whole of it: why two physicians decide differently for one patient.

For one patient and a physician drawn at random Var(y | x) = E_j p_j (1 - p_j) + Var_j p_j. The
first is the squared error of a perfect prediction of *this* physician's decisions, the whole that
of a perfect prediction that does not know the physician. Predictions are not perfect: their squared
error exceeds the variance by what they still have to learn. That part halves when patients double,
nearly; so the loss from half of the patients, L(n/2), shows how far the loss from all of them,
L(n), is from its end: 2 L(n) - L(n/2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm

from intravar.arrays import FloatArray, IntArray
from intravar.errors import renamed
from intravar.inference.intervals import LEVEL, checked_level
from intravar.observed import Observed, as_they_came, physician_or_groups
from intravar.prediction.held_out import half_predictions, held_out

#: The correction is itself unsure, by this share; with small panels, which learn more slowly than
#: that at first, by the square of this many patients over the size of a panel.
CORRECTION_ERROR = 0.2
SLOW_PATIENTS = 126.0
#: What is learned more slowly still is not seen at all; it may be this share of a component, and
#: this share of the whole, which all patients of all physicians teach.
UNSEEN_ERROR = 0.02
UNSEEN_OF_WHOLE = 0.008


#: One component: its value and standard error.
NoisePart = tuple[float, float]


def components(
    personal: Sequence[FloatArray],
    pooled: Sequence[FloatArray],
    y: IntArray,
    code: IntArray,
    n_physicians: int,
) -> dict[str, NoisePart]:
    """Return the components of noise from predictions that know the physician, and that do not.

    Each is P(yes) per patient, learned from all other folds; beside it that from either half of
    them, if there is any. System is the sum of the other three.
    """
    occasion, occasion_gain = _extrapolated(personal, y)
    whole, whole_gain = _extrapolated(pooled, y)
    level, level_error = level_variance(y - pooled[0], code, n_physicians)
    occasion_value = max(float(occasion.mean()), 0.0)
    pattern_value = max(float(whole.mean()) - level - occasion_value, 0.0)
    system_value = occasion_value + level + pattern_value
    unsure = max(CORRECTION_ERROR, (SLOW_PATIENTS * n_physicians / len(y)) ** 2)
    own_error = hypot(unsure * occasion_gain, UNSEEN_ERROR * occasion_value)
    whole_error = hypot(CORRECTION_ERROR * whole_gain, UNSEEN_OF_WHOLE * system_value)
    own, shared = _swing(personal), _swing(pooled)
    pattern_error = hypot(
        _chance_error(personal[0], shared - own),
        level_error,
        unsure * (whole_gain - occasion_gain),
        UNSEEN_ERROR * pattern_value,
    )
    return {
        "system": (system_value, hypot(_chance_error(pooled[0], shared), whole_error)),
        "level": (level, level_error),
        "pattern": (pattern_value, pattern_error),
        "occasion": (occasion_value, hypot(_chance_error(personal[0], own), own_error)),
    }


def level_variance(residual: FloatArray, code: IntArray, n_physicians: int) -> NoisePart:
    """Return the variance over physicians of how often they say yes, patients being equal.

    A physician's mean residual squared is too large by its own noise. The mean product of the
    residuals of two different patients is not: it is what products of two halves of a panel come
    to, over all ways to halve it.

    Examples
    --------
    >>> residual = np.array([0.5, 0.5, -0.5, -0.5])
    >>> level_variance(residual, np.array([0, 0, 1, 1]), 2)[0]
    0.25
    """
    size = np.bincount(code, minlength=n_physicians).astype(np.float64)
    use = size >= 2
    n, J = size[use], int(use.sum())
    if J < 2:
        return 0.0, float("nan")
    total, square = (
        np.bincount(code, each, minlength=n_physicians)[use] for each in (residual, residual**2)
    )
    mean, product = total / n, (total**2 - square) / (n * (n - 1))
    grand = (mean.sum() ** 2 - np.sum(mean**2) + product.sum()) / J**2
    noise = np.maximum(square / n - mean**2, 0.0) / n
    signal = np.maximum(product - grand, 0.0)
    error = np.sqrt(np.sum(4 * signal * noise + 2 * noise**2)) / J
    return max(float(product.mean() - grand), 0.0), float(error)


def _extrapolated(predicted: Sequence[FloatArray], y: IntArray | float) -> tuple[FloatArray, float]:
    """Return 2 L(n) - L(n/2) per patient, and by how much that corrects L(n) on average."""
    loss, *halves = ((y - each) ** 2 for each in predicted)
    if not halves:
        return loss, 0.0
    half = np.mean(halves, axis=0)
    gain = float(np.mean(half - loss))
    # Half of the patients cannot teach more than all of them.
    return (2 * loss - half, gain) if gain > 0 else (loss, 0.0)


def _swing(predicted: Sequence[FloatArray]) -> FloatArray:
    """Return by how much a patient's loss differs between yes and no."""
    return _extrapolated(predicted, 1.0)[0] - _extrapolated(predicted, 0.0)[0]


def _chance_error(p: FloatArray, swing: FloatArray) -> float:
    """Return the standard error of a mean loss: that of decisions, patients being given."""
    return float(np.sqrt(np.sum(p * (1 - p) * swing**2)) / len(p))


N_FOLDS = 5


@dataclass(frozen=True)
class Noise:
    """Variance of the decision for one patient and a physician drawn at random, and its parts.

    Attributes
    ----------
    system
        All of it: level + pattern + occasion, exactly.
    level
        Some physicians say yes more often than others.
    pattern
        They weigh patients differently.
    occasion
        The same physician would decide otherwise another time, or for reasons that are not
        recorded; half of a discordance.
    table
        component, value, low, high; of pandas if that was given, else of polars.
    """

    system: float
    level: float
    pattern: float
    occasion: float
    table: Any

    def describe(self) -> str:
        """Say it in words, per hundred patients that two of the physicians see.

        Examples
        --------
        >>> table = pl.DataFrame()
        >>> Noise(0.19, 0.01, 0.025, 0.155, table).describe()[:76]
        'Of 100 patients seen by two of these physicians, 38 are decided differently:'
        """
        level, pattern, occasion = (
            round(200 * value) for value in (self.level, self.pattern, self.occasion)
        )
        return (
            f"Of 100 patients seen by two of these physicians, {round(200 * self.system)} are "
            f"decided differently: {level} because some say yes more often, {pattern} because they "
            f"weigh patients differently, {occasion} because the same physician would decide "
            "otherwise another time (or for reasons not recorded)."
        )


@renamed(seed="random_state")
def noise(
    X: Any,
    y: Any,
    physician: Any = None,
    *,
    groups: Any = None,
    level: float = LEVEL,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Noise:
    """Take noise apart: level, pattern and occasion.

    Parameters
    ----------
    X
        Covariates, one row per patient; may have gaps.
    y
        Decision per patient, 0 or 1.
    physician, groups
        Physician per patient, by any name; give it as either.
    level
        Nominal coverage of the intervals.
    random_state
        Of the folds; nothing else is random.
    n_jobs
        Threads to learn with; results do not depend on it.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=1000, n_physicians=5)
    >>> parts = intravar.noise(*cohort.observed())
    >>> parts.table.columns
    ['component', 'value', 'low', 'high']
    >>> parts.system == parts.level + parts.pattern + parts.occasion
    True
    """
    observed = Observed.of(X, y, physician_or_groups(physician, groups), keep_missing=True)
    parts = noise_of(observed, level=level, seed=random_state, n_jobs=n_jobs)
    return as_they_came(parts, as_pandas=observed.as_pandas)


def noise_of(
    observed: Observed, *, level: float = LEVEL, seed: int = 0, n_jobs: int | None = None
) -> Noise:
    """Take apart the noise of input that was checked before; see :func:`noise`."""
    z = float(norm.ppf((1 + checked_level(level)) / 2))

    def learned() -> dict[str, NoisePart]:
        _, task, _, whole = held_out(observed, N_FOLDS, seed, n_jobs or 1)
        halves = half_predictions(observed, N_FOLDS, seed, n_jobs or 1)
        personal, pooled, _ = zip(whole, *halves, strict=True)
        return components(personal, pooled, task.y, task.code, len(task))

    parts = observed.learn(("noise", N_FOLDS, seed), learned)
    rows = [
        (name, value, max(value - z * error, 0.0), value + z * error)
        for name, (value, error) in parts.items()
    ]
    table = pl.DataFrame(rows, schema=["component", "value", "low", "high"], orient="row")
    return Noise(**{name: value for name, (value, _) in parts.items()}, table=table)
