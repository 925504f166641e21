"""How much of a physician's decisions the record explains, beyond the rate.

Two patients of a physician who decides "yes" at a rate r, drawn at random, are decided differently
with probability 2 r (1 - r). Patients alike in the record are decided differently with the
comparable discordance. One less the ratio of the two is the share of the variation that the record
explains. A score that is an upper limit gives a share that is a lower limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from intravar.arrays import FloatArray, IntArray
from intravar.inference.intervals import LEVEL

_Z = float(norm.ppf(0.5 + LEVEL / 2))


@dataclass(frozen=True)
class Explained:
    """The explained share of all physicians together.

    Attributes
    ----------
    share, low, high
        With its 95 % interval; below 0 where predictions are worse than the rate.
    """

    share: float
    low: float
    high: float


def any_two(n_patients: IntArray, n_for: IntArray) -> FloatArray:
    """Return how often two patients of each physician are decided differently, whoever they are.

    Without bias: pairs decided differently over all pairs. NaN with fewer than two patients.

    Examples
    --------
    >>> any_two(np.array([4, 100, 1]), np.array([2, 50, 1])).round(3).tolist()
    [0.667, 0.505, nan]
    """
    n, yes = n_patients.astype(np.float64), n_for.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(n > 1, 2 * yes * (n - yes) / (n * (n - 1)), np.nan)


def explained_of_each(
    score: FloatArray, error: FloatArray, n_patients: IntArray, n_for: IntArray
) -> dict[str, FloatArray]:
    """Return the explained share of every physician with its ends, as result columns.

    Parameters
    ----------
    score, error
        Discordance of every physician and its standard error; NaN where there is none.
    n_patients, n_for
        Patients, and those decided for.

    Examples
    --------
    >>> n, error = np.array([200, 200]), np.array([0.02, 0.02])
    >>> found = explained_of_each(np.array([0.25, 0.5]), error, n, np.array([100, 100]))
    >>> found["explained"].round(2).tolist()
    [0.5, 0.0]
    """
    whole = any_two(n_patients, n_for)
    known = np.isfinite(score) & (whole > 0)
    share = np.full(len(score), np.nan)
    half = np.full(len(score), np.nan)
    share[known] = 1 - score[known] / whole[known]
    # The rate's own error is left out: it moves score and whole together.
    half[known] = _Z * error[known] / whole[known]
    return {
        "explained": np.clip(share, 0.0, 1.0),
        "explained_low": np.clip(share - half, 0.0, 1.0),
        "explained_high": np.clip(share + half, 0.0, 1.0),
    }


def explained_of_all(
    score: FloatArray,
    error: FloatArray,
    n_patients: IntArray,
    n_for: IntArray,
    doubt: float = 0.0,
) -> Explained | None:
    """Return the explained share over the patients of all physicians; None where there is none.

    Parameters
    ----------
    score, error, n_patients, n_for
        As in :func:`explained_of_each`.
    doubt
        Standard deviation of what all scores have in common.

    Examples
    --------
    >>> n, error = np.array([200, 200]), np.array([0.02, 0.02])
    >>> found = explained_of_all(np.array([0.25, 0.5]), error, n, np.array([100, 100]))
    >>> round(found.share, 2), round(found.low, 2), round(found.high, 2)
    (0.25, 0.2, 0.31)
    """
    whole = any_two(n_patients, n_for)
    known = np.isfinite(score) & np.isfinite(error) & np.isfinite(whole)
    n = n_patients[known].astype(np.float64)
    total = float(n @ whole[known])
    if not total > 0:
        return None
    share = 1 - float(n @ score[known]) / total
    chance = np.sqrt(float(n**2 @ error[known] ** 2) + (doubt * n.sum()) ** 2)
    half = _Z * float(chance) / total
    return Explained(share, share - half, min(share + half, 1.0))
