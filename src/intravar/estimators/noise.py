"""Noise, the whole of it: why two physicians decide differently for one patient."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm

from intravar.arrays import FloatArray
from intravar.checks import physician_or_groups
from intravar.deprecation import renamed
from intravar.frames import as_they_came
from intravar.inference.intervals import LEVEL, checked_level
from intravar.observed import Observed
from intravar.prediction.components import Components, FoldPredictions, components
from intravar.prediction.held_out import half_predictions, held_out

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

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=1000, n_physicians=5)
    >>> found = intravar.noise(*cohort.observed())
    >>> found.table.columns
    ['component', 'value', 'low', 'high']
    >>> found.system == found.level + found.pattern + found.occasion
    True
    """
    observed = Observed.of(X, y, physician_or_groups(physician, groups), keep_missing=True)
    found = noise_of(observed, level=level, seed=random_state)
    return as_they_came(found, as_pandas=observed.as_pandas)


def noise_of(observed: Observed, *, level: float = LEVEL, seed: int = 0) -> Noise:
    """Take apart the noise of input that was checked before; see :func:`noise`."""
    z = float(norm.ppf((1 + checked_level(level)) / 2))
    key: Hashable = ("noise", N_FOLDS, seed)
    parts = observed.learn(key, lambda: _components(observed, seed))
    rows = []
    for name, part in parts._asdict().items():
        reach = z * part.standard_error if np.isfinite(part.standard_error) else np.nan
        rows.append((name, part.value, max(part.value - reach, 0.0), part.value + reach))
    table = pl.DataFrame(rows, schema=["component", "value", "low", "high"], orient="row")
    system, leaning, pattern, occasion = (part.value for part in parts)
    return Noise(system, leaning, pattern, occasion, table)


def _components(observed: Observed, seed: int) -> Components:
    found = held_out(observed, N_FOLDS, seed)
    task = found.task
    own: tuple[FloatArray, ...] = ()
    pooled: tuple[FloatArray, ...] = ()
    if found.folds:
        own, pooled = zip(*half_predictions(observed, N_FOLDS, seed), strict=True)
    return components(
        FoldPredictions(found.personal, own),
        FoldPredictions(found.pooled, pooled),
        task.y,
        task.code,
        len(task.panels),
    )
