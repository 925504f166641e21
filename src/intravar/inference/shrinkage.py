"""How much of the differences between physicians is real, and scores shrunk accordingly.

The score of physician i is y_i = theta_i + error, the error normal with known variance s_i^2, and
theta_i is normal around mu with variance tau^2. Given mu and tau^2, theta_i has the posterior mean
mu + (1 - B_i)(y_i - mu) with B_i = s_i^2 / (s_i^2 + tau^2), and the posterior variance
(1 - B_i) s_i^2. Both mu and tau^2 are estimated from all physicians. Were tau^2 taken for known,
intervals would collapse on the mean whenever it is estimated as zero, so that intervals weigh all
values of tau by their restricted likelihood. Reliability is 1 - B_i.

References
----------
Morris, Parametric empirical Bayes inference, J Am Stat Assoc 1983;78:47-55.
Gelman et al., Bayesian data analysis, 3rd ed., 2013, section 5.4 (a flat prior of tau).
Paule and Mandel, Consensus values and weighting factors, J Res Natl Bur Stand 1982;87:377-385.
Anscombe, The transformation of Poisson, binomial and negative-binomial data, Biometrika
1948;35:246-254.
Adams, The reliability of provider profiling: a tutorial, RAND TR-653, 2009.
van Houwelingen, Brand and Louis, Empirical Bayes methods for monitoring health care quality,
Leiden 1999; Lingsma et al., Comparing and ranking hospitals based on outcome: results from the
Netherlands Stroke Survey, QJM 2010;103:99-108 (rankability).
Spearman, Correlation calculated from faulty data, Br J Psychol 1910;3:271-295; Brown, Some
experimental results in the correlation of mental abilities, ibid. 296-322.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import norm

from intravar.arrays import FloatArray
from intravar.errors import InputError, renamed, unknown_name
from intravar.inference.intervals import LEVEL, checked_level
from intravar.seeds import stream

#: A standard error below this share of the largest number is taken as this: weights stay finite.
_SMALLEST_ERROR = 1e-9
#: Values of tau that intervals average over, and how far they reach in standard deviations.
_GRID = 200
_REACH = 5.0
#: A discordance is a share, an overdispersion a mean square; "plain" leaves numbers as they are.
Scale = Literal["discordance", "overdispersion", "plain"]
SCALES: tuple[Scale, ...] = ("discordance", "overdispersion", "plain")

#: Bisection of the logarithm of a count between 1e-6 and 1e18, to the last bit.
_LOG_COUNTS = (-6.0, 18.0)
_HALVINGS = 64


def to_scale(
    score: npt.ArrayLike, standard_error: npt.ArrayLike, scale: Scale
) -> tuple[FloatArray, FloatArray]:
    """Return score and standard error on the scale that suits them.

    "discordance" takes the arcsine of the root, at the count to which the standard error belongs;
    "overdispersion" the logarithm; "plain" nothing. Errors are not negative.

    Examples
    --------
    >>> to_scale([0.5], [0.05], "plain")
    (array([0.5]), array([0.05]))
    >>> value, error = to_scale([0.0, 0.5], [0.0137, 0.0694], "discordance")
    >>> error.round(3).tolist()
    [0.07, 0.07]
    """
    s = np.asarray(score, dtype=np.float64)
    error = np.asarray(standard_error, dtype=np.float64)
    if scale == "plain":
        return s, error
    if scale == "overdispersion":
        return np.log(s), error / s
    if scale == "discordance":
        n = effective_count(s, error)
        with np.errstate(invalid="ignore"):
            centre = np.where(np.isinf(n), s, (s * n + 0.375) / (n + 0.75))
        return np.arcsin(np.sqrt(centre)), 1 / np.sqrt(4 * n + 2)
    raise unknown_name("scale", scale, SCALES, remedy=f"one of {', '.join(SCALES)}")


def from_scale(value: npt.ArrayLike, scale: Scale) -> FloatArray:
    """Return a number of the scale as a score again.

    Examples
    --------
    >>> from_scale([-0.1, np.pi / 4], "discordance").round(3).tolist()
    [0.0, 0.5]
    """
    on_scale = np.asarray(value, dtype=np.float64)
    if scale == "overdispersion":
        return np.asarray(np.exp(on_scale))
    if scale == "discordance":
        return np.asarray(np.sin(np.clip(on_scale, 0.0, np.pi / 2)) ** 2)
    return on_scale


def effective_count(share: npt.ArrayLike, standard_error: npt.ArrayLike) -> FloatArray:
    """Return the count n at which Jeffreys' posterior of this share has this standard deviation.

    Examples
    --------
    >>> from intravar.inference.intervals import share_interval
    >>> error = share_interval([0, 12], [50, 40]).standard_error
    >>> effective_count([0, 0.3], error).round(6).tolist()
    [50.0, 40.0]
    """
    s, error = np.broadcast_arrays(
        np.asarray(share, dtype=np.float64), np.asarray(standard_error, dtype=np.float64)
    )
    low, high = (np.full(s.shape, end) for end in _LOG_COUNTS)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        n = 10.0**middle
        mean = (s * n + 0.5) / (n + 1)
        too_few = mean * (1 - mean) / (n + 2) > error**2
        low, high = np.where(too_few, middle, low), np.where(too_few, high, middle)
    count = np.where(error > 0, 10.0**low, np.inf)
    return np.asarray(np.where(np.isnan(s) | np.isnan(error), np.nan, count))


@dataclass(frozen=True)
class Shrunken:
    """Scores drawn towards their mean.

    Attributes
    ----------
    value, low, high
        Per physician.
    standard_error
        Per physician; what `low` and `high` come from.
    spread
        Per physician: posterior standard deviation for known mean and between variance. It is
        what ranks need, because an error of the mean moves all physicians together.
    mean, between_variance
        mu and tau^2; the variance is NaN with fewer than two physicians.
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    standard_error: FloatArray
    spread: FloatArray
    mean: float
    between_variance: float


def shrink(
    estimate: npt.ArrayLike, standard_error: npt.ArrayLike, *, level: float = LEVEL
) -> Shrunken:
    """Shrink scores with known standard errors towards their mean.

    The value is that of the estimated tau^2. Its mean squared error is, for a given tau,
    (1 - B) s^2 + B^2 Var(mu) plus the squared distance to the value of that tau; it is averaged
    over tau with a flat prior and the restricted likelihood. There is one finite estimate and error
    per physician; `level` is the nominal coverage of the intervals.

    Examples
    --------
    >>> shrunken = shrink([0.1, 0.2, 0.6, 0.7], [0.1, 0.1, 0.1, 0.3])
    >>> shrunken.value.round(3).tolist()
    [0.137, 0.223, 0.564, 0.489]
    """
    y, s, floored = _checked(estimate, standard_error)
    z = float(norm.ppf((1 + checked_level(level)) / 2))
    if len(y) < 2:
        # Nobody to borrow from: the score stays what it is.
        mean = float(y[0]) if len(y) else float("nan")
        return Shrunken(y, y - z * s, y + z * s, s, s, mean, float("nan"))
    tau2 = between_at(len(y) - 1, y, floored**2)
    mean, _ = _weighted_mean(y, floored**2 + tau2)
    # Without noise there is nothing to shrink.
    kept = np.divide(tau2, tau2 + s**2, out=np.ones_like(s), where=s > 0)
    spread = np.sqrt(kept) * s
    value = mean + kept * (y - mean)
    error = _standard_error(y, s, floored, value)
    return Shrunken(value, value - z * error, value + z * error, error, spread, mean, tau2)


def shrink_again(
    shrunk: npt.ArrayLike,
    raw: npt.ArrayLike,
    standard_error: npt.ArrayLike,
    *,
    level: float = LEVEL,
) -> Shrunken:
    """Return posteriors of physicians whose scores are shrunk already.

    A method may shrink its scores towards an expectation of its own, one for each physician. To
    shrink them once more by their standard errors would count chance twice: these are the errors of
    the scores before shrinkage. Here the unshrunk scores determine the variance between physicians
    and the posterior variances, and the shrunk ones determine the order. They are moved towards
    their mean only as far as they vary more than the posterior means of the unshrunk scores do.

    The posterior variances are conservative if the shrunk scores are at least as close to the truth
    as the posterior means of the unshrunk ones.

    Parameters
    ----------
    shrunk
        Score of every physician as the method gives it.
    raw
        The same before the method shrinks it.
    standard_error
        Standard errors of `raw`.
    level
        Nominal coverage of the intervals.

    Examples
    --------
    >>> found = shrink_again([0.3, 0.4, 0.5], [0.2, 0.4, 0.6], [0.1, 0.1, 0.1])
    >>> found.value.round(2).tolist()
    [0.3, 0.4, 0.5]
    """
    found = shrink(raw, standard_error, level=level)
    score = np.asarray(shrunk, dtype=np.float64)
    if len(score) < 2:
        half = found.high - found.value
        return replace(found, value=score, low=score - half, high=score + half)
    errors = np.asarray(standard_error, dtype=np.float64)
    variance = errors**2 + found.between_variance
    mean = float(np.average(score, weights=1 / np.maximum(variance, _SMALLEST_ERROR)))
    kept = 0.0
    if found.between_variance > 0 and np.ptp(score) > 0:
        kept = min(float(np.std(found.value) / np.std(score)), 1.0)
    value = mean + kept * (score - mean)
    half = found.high - found.value
    return replace(found, value=value, low=value - half, high=value + half, mean=mean)


def between_variance(estimate: npt.ArrayLike, standard_error: npt.ArrayLike) -> float:
    """Return the variance tau^2 of the physicians' true scores, at least 0.

    It solves sum w_i (y_i - mu)^2 = J - 1 with w_i = 1 / (s_i^2 + tau^2), as Paule and Mandel do:
    no normality is assumed, the root is unique and errors of zero are no obstacle. Estimates and
    errors have one finite entry per physician; NaN with fewer than two of them.

    Examples
    --------
    >>> round(between_variance([0.1, 0.2, 0.6, 0.7], [0.1, 0.1, 0.1, 0.3]), 4)
    0.0579
    """
    y, _, floored = _checked(estimate, standard_error)
    return between_at(len(y) - 1, y, floored**2) if len(y) > 1 else float("nan")


def _standard_error(
    y: FloatArray, s: FloatArray, floored: FloatArray, value: FloatArray
) -> FloatArray:
    """Return the root mean squared error of the values, over all tau."""
    largest = _REACH * float(np.hypot(np.std(y), np.median(floored)))
    squares, total, best = np.zeros_like(y), 0.0, -np.inf
    for tau2 in np.linspace(0.0, largest, _GRID) ** 2:
        variance = floored**2 + tau2
        mean, mean_variance = _weighted_mean(y, variance)
        fit = -0.5 * float(
            np.sum(np.log(variance) + (y - mean) ** 2 / variance) - np.log(mean_variance)
        )
        # Weights relative to the best tau so far, lest all of them vanish.
        if fit > best:
            shift = np.exp(best - fit)
            squares, total, best = squares * shift, total * shift, fit
        weight = float(np.exp(fit - best))
        kept = np.where(s > 0, tau2 / variance, 1.0)
        there = mean + kept * (y - mean)
        own = kept * s**2 + (1 - kept) ** 2 * mean_variance
        squares, total = squares + weight * (own + (there - value) ** 2), total + weight
    return np.asarray(np.sqrt(squares / total))


def _weighted_mean(y: FloatArray, variance: FloatArray) -> tuple[float, float]:
    """Return the inverse-variance mean and its variance."""
    w = 1 / variance
    return float(np.sum(w * y) / np.sum(w)), float(1 / np.sum(w))


def q_statistic(tau2: float, y: FloatArray, variance: FloatArray) -> float:
    """Return the sum of squared distances from the mean, each over its variance."""
    mean, _ = _weighted_mean(y, variance + tau2)
    return float(np.sum((y - mean) ** 2 / (variance + tau2)))


def between_at(wanted: float, y: FloatArray, variance: FloatArray) -> float:
    """Return the variance between physicians at which Q has the wanted value; 0 if none has."""

    def excess(tau2: float) -> float:
        return q_statistic(tau2, y, variance) - wanted

    if excess(0.0) <= 0:
        return 0.0
    high = float(np.var(y)) or 1.0
    while excess(high) > 0:
        high *= 4
    return float(brentq(excess, 0.0, high, xtol=1e-14 * high, rtol=1e-12, maxiter=500))


def _checked(
    estimate: npt.ArrayLike, standard_error: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return estimates, errors, and errors of which none is zero."""
    y = np.asarray(estimate, dtype=np.float64)
    s = np.asarray(standard_error, dtype=np.float64)
    if y.ndim != 1 or y.shape != s.shape:
        raise InputError(
            f"estimate has shape {y.shape} and standard_error {s.shape}; give one entry of each "
            "per physician"
        )
    bad = ~(np.isfinite(y) & np.isfinite(s) & (s >= 0))
    if bad.any():
        position = int(bad.argmax())
        raise InputError(
            f"physician {position} has estimate {y[position]} and standard error {s[position]}; "
            "leave undefined physicians out, as `assess` does"
        )
    largest = float(np.max(np.abs(np.concatenate([y, s])), initial=0.0)) or 1.0
    return y, s, np.maximum(s, _SMALLEST_ERROR * largest)


def reliability(between_variance: float, standard_error: npt.ArrayLike) -> FloatArray:
    """Return signal over signal and noise for every physician, tau^2 / (tau^2 + s_i^2).

    It is the squared correlation of score and true score in physicians measured as well as this
    one. NaN where there is neither signal nor noise. The variance tau^2 of true scores and the
    errors s_i are on the same scale; see :func:`between_variance`.

    Examples
    --------
    >>> reliability(0.04, [0.1, 0.2, 0.4]).round(3).tolist()
    [0.8, 0.5, 0.2]
    """
    total = between_variance + np.asarray(standard_error, dtype=np.float64) ** 2
    return np.asarray(between_variance / np.where(total > 0, total, np.nan))


def panel_sizes(
    score: npt.ArrayLike,
    standard_error: npt.ArrayLike,
    n_patients: npt.ArrayLike | None,
    most: float,
) -> FloatArray:
    """Return the number of observations on which the error of every physician's score depends.

    A share of counted pairs or cases can tend to 1 (`most`). Its number of trials follows from the
    score and its standard error. A discordance 2 p (1 - p) can tend to one half at the most. It has
    nearly no error at one half, so that its error says little about the number of trials: the
    number of patients is used.

    Examples
    --------
    >>> panel_sizes([0.3, 0.5], [0.03, 0.001], [200, 100], most=0.5).tolist()
    [200.0, 100.0]
    """
    if most < 1 and n_patients is not None:
        return np.asarray(n_patients, dtype=np.float64)
    return effective_count(score, standard_error)


def even_errors(standard_error: npt.ArrayLike, size: npt.ArrayLike) -> FloatArray:
    """Return standard errors that depend on the size of a panel and not on the score.

    Every panel of n observations gets the error sqrt(v / n), with one variance v of a single
    observation: the mean of n_i s_i^2 over the physicians. A physician whose score is low by chance
    has a low standard error. With the physicians' own errors, such scores would weigh the most.

    Parameters
    ----------
    standard_error
        Standard error of every physician's score, before shrinkage.
    size
        Number of observations of every physician; see :func:`panel_sizes`.

    Examples
    --------
    >>> even_errors([0.04, 0.05, 0.03], [100, 100, 400]).round(3).tolist()
    [0.051, 0.051, 0.025]
    """
    s = np.asarray(standard_error, dtype=np.float64)
    n = np.asarray(size, dtype=np.float64)
    if s.size == 0:
        return s
    return np.asarray(np.sqrt(np.mean(n * s**2) / n))


def rankability(between_variance: float, standard_error: npt.ArrayLike) -> float:
    """Return tau^2 / (tau^2 + median s_i^2): the share of differences that is not chance.

    Lingsma et al. (2010) call less than 0.5 poor and more than 0.75 good: below, a list of ranks
    says more about luck than about physicians. As :func:`reliability`; NaN errors are left out.

    Examples
    --------
    >>> round(rankability(0.04, [0.1, 0.2, 0.4]), 3)
    0.5
    """
    noise = np.asarray(standard_error, dtype=np.float64)
    noise = noise[~np.isnan(noise)]
    if noise.size == 0 or np.isnan(between_variance):
        return float("nan")
    return float(reliability(between_variance, np.sqrt(np.median(noise**2))))


class SplitHalf(NamedTuple):
    """Agreement of two halves of every panel.

    `half` is the correlation between the halves over physicians, mean over splits; `full` the same
    stepped up to whole panels by Spearman and Brown; `by_split` the correlation of every split.
    """

    half: float
    full: float
    by_split: FloatArray


def spearman_brown(correlation: npt.ArrayLike, times: float = 2.0) -> FloatArray:
    """Return the reliability of a measurement `times` as long, k r / (1 + (k - 1) r).

    Examples
    --------
    >>> round(float(spearman_brown(0.6)), 3)
    0.75
    """
    r = np.asarray(correlation, dtype=np.float64)
    return np.asarray(times * r / (1 + (times - 1) * r))


@renamed(seed="random_state")
def split_half(
    score: Callable[[npt.NDArray[np.int64]], npt.ArrayLike],
    physician: npt.ArrayLike,
    *,
    n_splits: int = 10,
    random_state: int = 0,
) -> SplitHalf:
    """Return how well scores from one half of the patients agree with those from the other.

    Every panel is cut in two at random. For matching methods this is a lower bound: in half a panel
    the nearest patient is farther away, and the step up by Spearman and Brown knows only of noise.

    Parameters
    ----------
    score
        From row numbers of patients to one score per physician, always in the same order; NaN
        where undefined. A physician who is undefined in a half is left out of that split.
    physician
        Physician of every patient.
    n_splits
        How often to cut.
    random_state
        Of the cuts.

    Examples
    --------
    >>> random = np.random.default_rng(1)
    >>> physician = np.repeat(np.arange(200), 20)
    >>> y = random.random(4000) < np.linspace(0.2, 0.8, 200)[physician]
    >>> share = lambda rows: np.bincount(physician[rows], y[rows]) / np.bincount(physician[rows])
    >>> round(split_half(share, physician).full, 2)
    0.72
    """
    names = np.asarray(physician)
    correlations = []
    for number in range(n_splits):
        random = stream(random_state, "split-half", str(number))
        # Shuffled, then sorted by physician: every other patient of a panel goes to one half.
        order = random.permutation(len(names))
        order = order[np.argsort(names[order], kind="stable")]
        _, start, size = np.unique(names[order], return_index=True, return_counts=True)
        odd = (np.arange(len(names)) - np.repeat(start, size)) % 2 == 1
        one, other = (
            np.asarray(score(np.sort(order[chosen])), dtype=np.float64) for chosen in (odd, ~odd)
        )
        both = ~(np.isnan(one) | np.isnan(other))
        one, other = one[both], other[both]
        vary = len(one) > 1 and np.ptp(one) > 0 and np.ptp(other) > 0
        correlations.append(float(np.corrcoef(one, other)[0, 1]) if vary else np.nan)
    by_split = np.array(correlations)
    defined = by_split[~np.isnan(by_split)]
    half = float(defined.mean()) if defined.size else float("nan")
    return SplitHalf(half, float(spearman_brown(half)), by_split)
