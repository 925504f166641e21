"""The exact components of noise in a simulated cohort."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from intravar.study.simulation.catalogue import find_condition
from intravar.study.simulation.scenario import Scenario


class NoiseTruth(NamedTuple):
    """Variances of a decision for one patient and a physician drawn at random.

    Attributes
    ----------
    system
        All of it: occasion + level + pattern.
    level
        Some physicians say yes more often than others.
    pattern
        They weigh patients differently.
    occasion
        The same physician would decide otherwise another time.
    """

    system: float
    level: float
    pattern: float
    occasion: float


def noise_truth(
    condition: str | Scenario,
    *,
    seed: int | None = None,
    n_patients: int | None = None,
    n_physicians: int | None = None,
) -> NoiseTruth:
    """Return the components of the cohort that :func:`intravar.simulate` makes of the same.

    Every patient with every physician: p_j(x) is known for all pairs. What is hidden from the
    record is not hidden here.

    Examples
    --------
    >>> truth = noise_truth("stress-two-camps", n_patients=400, n_physicians=4)
    >>> bool(abs(truth.system - truth.level - truth.pattern - truth.occasion) < 1e-12)
    True
    """
    if isinstance(condition, Scenario):
        scenario, default = condition, 0
    else:
        found = find_condition(condition)
        scenario, default = found.scenario, found.seed
    scenario = scenario.resized(n_patients, n_physicians)
    total, square = np.zeros(scenario.n_patients), np.zeros(scenario.n_patients)
    means = []
    for p in scenario.probabilities(default if seed is None else seed):
        total += p
        square += p**2
        means.append(float(p.mean()))
    mean, mean_square = total / len(means), square / len(means)
    between = float(np.mean(mean_square - mean**2))
    level = float(np.var(means))
    occasion = float(np.mean(mean - mean_square))
    return NoiseTruth(occasion + between, level, between - level, occasion)
