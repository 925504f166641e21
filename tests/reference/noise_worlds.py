"""Worlds of yes/no decisions in which the components of noise are known.

A world is the probability of "yes" of every physician for any patient. Covariates are independent
and normal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray

#: Standard deviation of the log odds over the patients of a graded rule.
SLOPE = 3.0
#: Patients by whom the truth is computed.
N_TRUTH = 2_000

#: P(yes) of a physician for patients.
Rule = Callable[[FloatArray, int], FloatArray]


@dataclass(frozen=True, kw_only=True)
class NoiseWorld:
    """Patients with their decisions, and the true components of noise."""

    X: FloatArray
    y: IntArray
    physician: IntArray
    truth: dict[str, float]


def make_noise_world(
    name: str, *, n_physicians: int, panel: int, n_covariates: int, seed: int
) -> NoiseWorld:
    """Draw a world by the name of its rules, with equal panels."""
    random = np.random.default_rng([seed, n_physicians, panel, *name.encode()])
    rule = RULES[name](random, n_physicians, n_covariates)
    physician = np.repeat(np.arange(n_physicians), panel)
    X = random.normal(size=(len(physician), n_covariates))
    p = np.concatenate([rule(X[physician == j], j) for j in range(n_physicians)])
    y = (random.random(len(p)) < p).astype(np.int64)
    others = random.normal(size=(N_TRUTH, n_covariates))
    every = np.stack([rule(others, j) for j in range(n_physicians)])
    occasion = float(np.mean(every * (1 - every)))
    between = float(every.var(axis=0).mean())
    level = float(every.mean(axis=1).var())
    truth = {
        "system": occasion + between,
        "level": level,
        "pattern": between - level,
        "occasion": occasion,
    }
    return NoiseWorld(X=X, y=y, physician=physician, truth=truth)


def _graded(weights: FloatArray) -> Rule:
    """Return a logistic rule of weights per physician, all equally steep."""
    scaled = SLOPE * weights / np.linalg.norm(weights, axis=1, keepdims=True)
    return lambda X, j: np.asarray(expit(X @ scaled[j]))


def _shared(random: np.random.Generator, n_physicians: int, n_covariates: int) -> Rule:
    return _graded(np.tile(random.normal(size=n_covariates), (n_physicians, 1)))


def _personal(random: np.random.Generator, n_physicians: int, n_covariates: int) -> Rule:
    return _graded(random.normal(size=(n_physicians, n_covariates)))


def _partly_personal(random: np.random.Generator, n_physicians: int, n_covariates: int) -> Rule:
    common = random.normal(size=n_covariates)
    return _graded(common + 0.5 * random.normal(size=(n_physicians, n_covariates)))


def _half_personal(random: np.random.Generator, n_physicians: int, n_covariates: int) -> Rule:
    weights = random.normal(size=(n_physicians, n_covariates))
    weights[::2] = random.normal(size=n_covariates)
    return _graded(weights)


def _sharp(random: np.random.Generator, n_physicians: int, n_covariates: int) -> Rule:
    weights = random.normal(size=(n_physicians, n_covariates))
    return lambda X, j: (X @ weights[j] > 0).astype(np.float64)


def _explained(random: np.random.Generator, n_physicians: int, n_covariates: int) -> Rule:
    weights = random.normal(size=n_covariates)
    return lambda X, j: (X @ weights > 0).astype(np.float64)


def _coins(random: np.random.Generator, n_physicians: int, n_covariates: int) -> Rule:
    return lambda X, j: np.full(len(X), 0.5)


def _rates(random: np.random.Generator, n_physicians: int, n_covariates: int) -> Rule:
    rate = expit(random.normal(size=n_physicians))
    return lambda X, j: np.full(len(X), rate[j])


def _conjunctions(random: np.random.Generator, n_physicians: int, n_covariates: int) -> Rule:
    return _two_conditions(random, n_physicians, n_covariates, np.logical_and)


def _exclusive(random: np.random.Generator, n_physicians: int, n_covariates: int) -> Rule:
    return _two_conditions(random, n_physicians, n_covariates, np.logical_xor)


def _two_conditions(
    random: np.random.Generator, n_physicians: int, n_covariates: int, both: np.ufunc
) -> Rule:
    """Return rules of two covariates of each physician's own, followed to varying degrees."""
    covariates = [random.choice(n_covariates, size=2, replace=False) for _ in range(n_physicians)]
    sign = random.choice([-1, 1], size=(n_physicians, 2))
    cut = random.normal(0, 0.5, size=(n_physicians, 2))
    high = random.uniform(0.7, 1.0, n_physicians)
    low = random.uniform(0.0, 0.15, n_physicians)

    def probability(X: FloatArray, j: int) -> FloatArray:
        met = X[:, covariates[j]] * sign[j] > cut[j]
        return np.where(both(met[:, 0], met[:, 1]), high[j], low[j])

    return probability


RULES: dict[str, Callable[[np.random.Generator, int, int], Rule]] = {
    "shared": _shared,
    "personal": _personal,
    "partly personal": _partly_personal,
    "half personal": _half_personal,
    "sharp": _sharp,
    "explained": _explained,
    "coins": _coins,
    "rates": _rates,
    "conjunctions": _conjunctions,
    "exclusive": _exclusive,
}
