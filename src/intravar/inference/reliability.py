"""Reliability: how much of the difference between physicians is real.

References
----------
Adams, The reliability of provider profiling: a tutorial, RAND TR-653, 2009.
van Houwelingen, Brand and Louis, Empirical Bayes methods for monitoring health care quality,
Leiden 1999; Lingsma et al., Comparing and ranking hospitals based on outcome: results from the
Netherlands Stroke Survey, QJM 2010;103:99-108 (rankability).
Spearman, Correlation calculated from faulty data, Br J Psychol 1910;3:271-295; Brown, Some
experimental results in the correlation of mental abilities, ibid. 296-322.
Anscombe, The transformation of Poisson, binomial and negative-binomial data, Biometrika
1948;35:246-254.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from intravar.arrays import FloatArray
from intravar.errors import renamed, unknown_name
from intravar.inference.shrinkage import between_variance
from intravar.seeds import stream

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

    Parameters
    ----------
    score, standard_error
        One entry per physician, the errors not negative.
    scale
        "discordance" takes the arcsine of the root, at the count to which the standard error
        belongs; "overdispersion" the logarithm; "plain" nothing.

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


def reliability(between_variance: float, standard_error: npt.ArrayLike) -> FloatArray:
    """Return signal over signal and noise for every physician, tau^2 / (tau^2 + s_i^2).

    It is the squared correlation of score and true score in physicians measured as well as this
    one. NaN where there is neither signal nor noise.

    Parameters
    ----------
    between_variance
        tau^2, the variance of true scores; see :func:`intravar.inference.between_variance`.
    standard_error
        s_i of every physician, on the same scale.

    Examples
    --------
    >>> reliability(0.04, [0.1, 0.2, 0.4]).round(3).tolist()
    [0.8, 0.5, 0.2]
    """
    noise = np.asarray(standard_error, dtype=np.float64) ** 2
    undefined = np.full(noise.shape, np.nan)
    total = between_variance + noise
    return np.asarray(np.divide(between_variance, total, out=undefined, where=total > 0))


class EvenErrors(NamedTuple):
    """Errors that depend on the size of a panel and not on its score.

    Attributes
    ----------
    value
        Scores on the scale on which chance moves all alike, the arcsine of the root.
    standard_error
        Of every physician on that scale: that of a panel of this size, whatever its score.
    between_variance
        tau^2 on that scale.
    """

    value: FloatArray
    standard_error: FloatArray
    between_variance: float


def even_errors(
    score: npt.ArrayLike, standard_error: npt.ArrayLike, size: npt.ArrayLike, most: float
) -> EvenErrors:
    """Return scores and errors on a scale on which no score is surer than another.

    A discordance 2 p (1 - p) has the variance 2 D (1 - 2 D) / n: nearly none at one half, where it
    cannot rise. On the scale arcsin(sqrt(2 D)) it is 1 / n everywhere. How many patients a
    patient is worth there (some are no close calls, some not eligible) is one number for all:
    the sum of the variances over the sum of what they are for one patient.

    Parameters
    ----------
    score, standard_error
        One finite entry per physician.
    size
        Patients of every physician.
    most
        What a score can tend to at the most, one half for 2 p (1 - p).

    Examples
    --------
    >>> even = even_errors([0.1, 0.3, 0.49], [0.04, 0.05, 0.014], [100, 100, 100], most=0.5)
    >>> even.standard_error.round(2).tolist()
    [0.1, 0.1, 0.1]
    """
    s, error, n = (np.asarray(each, dtype=np.float64) for each in (score, standard_error, size))
    share = np.clip(s / most, 0.0, 1.0)
    # A score at an end of the scale stands for one that is about its error away from it.
    margin = np.minimum(error / most, 0.5)
    inner = np.clip(share, margin, 1 - margin)
    of_one = float(np.sum(most**2 * 4 * inner * (1 - inner)))
    worth = float(np.sum(n * error**2)) / of_one if of_one > 0 else 0.0
    # As p of n trials, with Anscombe's correction: few events scatter like many.
    trials = n / worth if worth > 0 else np.full(len(n), np.inf)
    p = (1 - np.sqrt(1 - share)) / 2
    with np.errstate(invalid="ignore"):
        centre = np.where(np.isinf(trials), p, (p * trials + 0.375) / (trials + 0.75))
    value, even = 2 * np.arcsin(np.sqrt(centre)), 1 / np.sqrt(trials + 0.5)
    return EvenErrors(value, even, between_variance(value, even))


def rankability(between_variance: float, standard_error: npt.ArrayLike) -> float:
    """Return tau^2 / (tau^2 + median s_i^2): the share of differences that is not chance.

    Lingsma et al. (2010) call less than 0.5 poor and more than 0.75 good: below, a list of ranks
    says more about luck than about physicians.

    Parameters
    ----------
    between_variance, standard_error
        As in :func:`reliability`; NaN errors are left out.

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

    Attributes
    ----------
    half
        Correlation between the halves over physicians, mean over splits.
    full
        The same stepped up to whole panels by Spearman and Brown.
    by_split
        Correlation of every split.
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
