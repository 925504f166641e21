"""What can be said of all physicians together, whatever can be said of each.

The mean is that of these physicians' patients. How much true values differ between physicians, and
whether they differ at all, comes from the normal model of random effects: its Q statistic, whose
distribution gives an interval of the spread and a test without approximating the spread itself.

References
----------
Viechtbauer, Confidence intervals for the amount of heterogeneity in meta-analysis, Statistics in
Medicine 2007;26:37-52.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, norm

from intravar.arrays import FloatArray, IntArray
from intravar.estimators.noise import Noise
from intravar.inference.intervals import LEVEL

#: Before the data: as likely as not they do not differ; if they do, by spreads of about this size.
USUAL_SPREAD = 0.1
_GRID = np.linspace(0.0, 0.5, 501)


@dataclass(frozen=True)
class Group:
    """All physicians together.

    Attributes
    ----------
    discordance, low, high
        Mean over the patients of these physicians, with its 95 % interval.
    spread, spread_low, spread_high
        Standard deviation of the physicians' true values, with its 95 % interval.
    differ
        Probability that physicians differ, where before it was as likely as not.
    p_value
        Of the test that they do not differ at all.
    n_physicians
        Physicians with a score.
    noise
        Why two of them decide differently for one patient; None with fewer than two.
    """

    discordance: float
    low: float
    high: float
    spread: float
    spread_low: float
    spread_high: float
    differ: float
    p_value: float
    n_physicians: int
    noise: Noise | None = None


def group_of(
    score: FloatArray,
    error: FloatArray,
    n_patients: IntArray,
    identified: tuple[FloatArray, FloatArray] | None = None,
    *,
    fall: FloatArray | None = None,
    doubt: float = 0.0,
) -> Group | None:
    """Say what the scores tell together; None where nobody has one.

    Parameters
    ----------
    score, error
        Scores and their standard errors; NaN where there is none.
    n_patients
        Patients of every physician.
    identified
        Lowest and highest values that fit equally well, where the level is not determined; the
        interval of the mean holds the means of both.
    fall
        How far each score may fall until patients are many; the interval reaches down to that.
    doubt
        Standard deviation of what all scores have in common; no number of physicians averages it
        out.

    Examples
    --------
    >>> found = group_of(np.array([0.2, 0.2, 0.21]), np.full(3, 0.05), np.array([80, 90, 100]))
    >>> round(found.discordance, 2), found.spread, found.p_value > 0.5
    (0.2, 0.0, True)
    """
    known = np.isfinite(score) & np.isfinite(error)
    if not known.any():
        return None
    score, error = score[known], np.maximum(error[known], 1e-9)
    weight = n_patients[known] / n_patients[known].sum()
    mean = float(weight @ score)
    half = float(norm.ppf(0.5 + LEVEL / 2) * np.sqrt((weight**2) @ error**2 + doubt**2))
    falls = 0.0 if fall is None else float(weight @ fall[known])
    low, high = max(0.0, mean - half - falls), min(mean + half, max(mean, 0.5))
    if identified is not None:
        low = min(low, float(weight @ identified[0][known]))
        high = max(high, float(weight @ identified[1][known]))
    if len(score) < 2:
        nan = float("nan")
        return Group(mean, low, high, nan, nan, nan, nan, nan, len(score))
    spread, ends = _spread(score, error)
    p_value = float(chi2.sf(_q(0.0, score, error), len(score) - 1))
    return Group(mean, low, high, spread, *ends, _differ(score, error), p_value, int(known.sum()))


def _q(between: float, score: FloatArray, error: FloatArray) -> float:
    weight = 1 / (error**2 + between)
    mean = (weight @ score) / weight.sum()
    return float(weight @ (score - mean) ** 2)


def _spread(score: FloatArray, error: FloatArray) -> tuple[float, tuple[float, float]]:
    """Return the spread by Paule and Mandel, and its interval by the profile of Q."""
    degrees = len(score) - 1
    tail = (1 - LEVEL) / 2
    wanted = (degrees, chi2.ppf(1 - tail, degrees), chi2.ppf(tail, degrees))
    middle, low, high = (float(np.sqrt(_between(value, score, error))) for value in wanted)
    return middle, (low, high)


def _between(wanted: float, score: FloatArray, error: FloatArray) -> float:
    """Return the variance between physicians at which Q has the wanted value; 0 if none has."""
    if _q(0.0, score, error) <= wanted:
        return 0.0
    upper = float(np.var(score)) + 1e-6
    while _q(upper, score, error) > wanted:
        upper *= 4
    return float(brentq(lambda between: _q(between, score, error) - wanted, 0.0, upper))


def _differ(score: FloatArray, error: FloatArray) -> float:
    """Return the probability that the spread is not zero."""
    variance = error**2 + _GRID[:, None] ** 2
    weight = 1 / variance
    mean = (weight @ score)[:, None] / weight.sum(axis=1, keepdims=True)
    log = -0.5 * (
        np.log(variance).sum(axis=1)
        + np.log(weight.sum(axis=1))
        + (weight * (score - mean) ** 2).sum(axis=1)
    )
    likelihood = np.exp(log - log.max())
    prior = np.exp(-0.5 * (_GRID / USUAL_SPREAD) ** 2)
    some = float(likelihood @ prior / prior.sum())
    return some / (some + float(likelihood[0]))
