"""Tables in which rows depend on each other, and tables in which they only look alike."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from intravar.arrays import FloatArray, IntArray

N_COVARIATES = 6


class Rows(NamedTuple):
    """Covariates, decision, physician and patient of every row, and the true discordance."""

    X: FloatArray
    y: IntArray
    physician: IntArray
    patient: IntArray
    truth: FloatArray


def _probability(X: FloatArray, physician: IntArray, random: np.random.Generator) -> FloatArray:
    """Return P(yes) by a rule that physicians share, each with a threshold and a slope."""
    n_physicians = int(physician.max()) + 1
    weights = random.normal(size=X.shape[1])
    threshold = random.normal(0, 0.5, n_physicians)
    slope = 2 * np.exp(random.normal(0, 0.4, n_physicians))
    drive = X @ (weights / np.linalg.norm(weights))
    return np.asarray(expit(slope[physician] * drive + threshold[physician]))


def _rows(
    X: FloatArray, y: IntArray, physician: IntArray, patient: IntArray, chance: FloatArray
) -> Rows:
    truth = np.bincount(physician, 2 * chance * (1 - chance)) / np.bincount(physician)
    return Rows(X, y, physician, patient, truth)


def independent(seed: int, n_physicians: int = 30, panel: int = 200) -> Rows:
    """Return independent patients with continuous covariates."""
    random = np.random.default_rng(seed)
    physician = np.repeat(np.arange(n_physicians), panel)
    X = random.normal(size=(len(physician), N_COVARIATES))
    return _decided(X, physician, random)


def coarse(seed: int, n_physicians: int = 30, panel: int = 200) -> Rows:
    """Return independent patients, many of whom are equal by chance."""
    random = np.random.default_rng(seed)
    physician = np.repeat(np.arange(n_physicians), panel)
    X = random.integers(0, (3, 2, 2, 5), size=(len(physician), 4)).astype(np.float64)
    return _decided(X, physician, random)


def typical(seed: int, n_physicians: int = 30, panel: int = 200) -> Rows:
    """Return independent patients who lie close to one of 40 types, the same everywhere."""
    random = np.random.default_rng(seed)
    physician = np.repeat(np.arange(n_physicians), panel)
    types = random.normal(size=(40, N_COVARIATES))
    kind = random.integers(0, 40, len(physician))
    X = np.round(types[kind] + 0.1 * random.normal(size=(len(physician), N_COVARIATES)), 1)
    return _decided(X, physician, random)


def other_case_mix(seed: int, n_physicians: int = 30, panel: int = 200) -> Rows:
    """Return independent patients who differ more between physicians than within."""
    random = np.random.default_rng(seed)
    physician = np.repeat(np.arange(n_physicians), panel)
    centre = random.normal(size=(n_physicians, N_COVARIATES))
    X = centre[physician] + 0.3 * random.normal(size=(len(physician), N_COVARIATES))
    return _decided(X, physician, random)


def _decided(X: FloatArray, physician: IntArray, random: np.random.Generator) -> Rows:
    chance = _probability((X - X.mean(axis=0)) / X.std(axis=0), physician, random)
    y = (random.random(len(chance)) < chance).astype(np.int64)
    return _rows(X, y, physician, np.arange(len(y)), chance)


def visits(
    seed: int,
    n_physicians: int = 30,
    panel: int = 200,
    *,
    of_a_patient: tuple[int, int] = (3, 10),
    kept: float = 0.8,
) -> Rows:
    """Return repeat visits: covariates change a little, the previous decision is often kept."""
    random = np.random.default_rng(seed)
    X = np.empty((n_physicians * panel, N_COVARIATES))
    patient = np.empty(len(X), dtype=np.int64)
    first = np.zeros(len(X), dtype=np.bool_)
    row = 0
    while row < len(X):
        left_in_panel = panel - row % panel
        number = min(int(random.integers(*of_a_patient, endpoint=True)), left_in_panel)
        same = slice(row, row + number)
        X[same] = random.normal(size=N_COVARIATES)
        X[same] += 0.15 * random.normal(size=(number, N_COVARIATES))
        patient[same] = row
        first[row] = True
        row += number
    physician = np.repeat(np.arange(n_physicians), panel)
    chance = _probability(X, physician, random)
    new = first | (random.random(len(X)) >= kept)
    drawn = random.random(len(X)) < chance
    y = drawn[np.maximum.accumulate(np.where(new, np.arange(len(X)), 0))]
    return _rows(X, y.astype(np.int64), physician, patient, chance)


def near_copies(seed: int, n_physicians: int = 30, panel: int = 200) -> Rows:
    """Return rows repeated one to four times with two columns jittered, the decision kept."""
    random = np.random.default_rng(seed)
    original = independent(seed, n_physicians, panel)
    copied = np.repeat(np.arange(len(original.y)), random.integers(1, 5, len(original.y)))
    physician = original.physician[copied]
    inside = np.concatenate([np.flatnonzero(physician == j)[:panel] for j in range(n_physicians)])
    copied, physician = copied[inside], physician[inside]
    X = original.X[copied].copy()
    jitter = random.uniform(0.02, 0.05, size=(len(X), 2))
    X[:, :2] += jitter * random.normal(size=(len(X), 2))
    # The chance that was drawn from belongs to the original row.
    again = np.random.default_rng(seed)
    again.normal(size=(n_physicians * panel, N_COVARIATES))
    scaled = (original.X - original.X.mean(axis=0)) / original.X.std(axis=0)
    chance = _probability(scaled, original.physician, again)
    return _rows(X, original.y[copied], physician, copied, chance[copied])
