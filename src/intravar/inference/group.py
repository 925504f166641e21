"""What can be said of all physicians together, whatever can be said of each.

The mean is that of these physicians' patients. How much true values differ between physicians, and
whether they differ at all, comes from the normal model of random effects: its Q statistic, whose
distribution gives an interval of the spread and a test without approximating the spread itself.
The interval and the test are two sides of one statistic, so that they never contradict each other.

References
----------
Viechtbauer, Confidence intervals for the amount of heterogeneity in meta-analysis, Statistics in
Medicine 2007;26:37-52.
Spiegelhalter, Handling over-dispersion of performance indicators, Quality and Safety in Health
Care 2005;14:347-351 (funnels).
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.stats import chi2, norm

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.inference.intervals import LEVEL
from intravar.inference.shrinkage import between_at, even_errors, q_statistic, rankability
from intravar.request import MATTERS

_Z, _NAN = float(norm.ppf(0.5 + LEVEL / 2)), float("nan")
#: Whether physicians differ: they do, and by enough to matter; it is not known, for want of
#: patients; by less than matters.
Differences = Literal["differ", "not known", "less than matters"]
#: Reliability from which on the order of physicians says more than chance does.
RANKABLE = 0.5


@dataclass(frozen=True)
class Explained:
    """The explained share of all physicians together.

    The share is below 0 where predictions are worse than the rate. `usual` is the share where
    nobody counts with more patients than the physician in the middle: a statement about physicians
    must not be one about the largest of them.
    """

    share: float
    low: float
    high: float
    usual: float


def any_two(n_patients: IntArray | FloatArray, n_for: IntArray | FloatArray) -> FloatArray:
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
    score: FloatArray, error: FloatArray, whole: FloatArray
) -> dict[str, FloatArray]:
    """Return the explained share of every physician with its ends, as result columns.

    Discordance and its error are NaN where there is none; `whole` is the discordance of any two
    patients, see :func:`any_two`.

    Examples
    --------
    >>> whole, error = np.array([0.5, 0.5]), np.array([0.02, 0.02])
    >>> table = explained_of_each(np.array([0.25, 0.5]), error, whole)
    >>> table["explained"].round(2).tolist()
    [0.5, 0.0]
    """
    known = np.isfinite(score) & (whole > 0)
    whole = np.where(known, whole, np.nan)
    # The rate's own error is left out: it moves score and whole together.
    share, half = 1 - score / whole, _Z * error / whole
    return {
        "explained": np.clip(share, 0.0, 1.0),
        "explained_low": np.clip(share - half, 0.0, 1.0),
        "explained_high": np.clip(share + half, 0.0, 1.0),
    }


def explained_of_all(
    score: FloatArray,
    error: FloatArray,
    n_patients: IntArray | FloatArray,
    whole: FloatArray,
    doubt: float = 0.0,
) -> Explained | None:
    """Return the explained share over the patients of all physicians; None where there is none.

    As :func:`explained_of_each`; `doubt` is the standard deviation of what all scores have in
    common.

    Examples
    --------
    >>> n, whole, error = np.array([200, 200]), np.array([0.5, 0.5]), np.array([0.02, 0.02])
    >>> explained = explained_of_all(np.array([0.25, 0.5]), error, n, whole)
    >>> round(explained.share, 2), round(explained.low, 2), round(explained.high, 2)
    (0.25, 0.19, 0.31)
    """
    known = np.isfinite(score) & np.isfinite(error) & np.isfinite(whole)
    n = n_patients[known].astype(np.float64)
    total = float(n @ whole[known])
    if not total > 0:
        return None
    share = 1 - float(n @ score[known]) / total
    capped = np.minimum(n, np.median(n))
    usual = 1 - float(capped @ score[known]) / max(float(capped @ whole[known]), 1e-9)
    chance = np.sqrt(float(n**2 @ error[known] ** 2) + (doubt * n.sum()) ** 2)
    half = _Z * float(chance) / total
    return Explained(share, share - half, min(share + half, 1.0), usual)


@dataclass(frozen=True)
class Group:
    """All physicians together.

    Attributes
    ----------
    discordance, low, high
        Mean over the patients of these physicians, with its 95 % interval.
    spread, spread_low, spread_high
        Standard deviation of the physicians' true values, with its 95 % interval; of those whose
        panels are large enough for a figure.
    p_value
        Of the test that they do not differ, below 0.05 exactly where `spread_low` is above 0.
    n_physicians
        Physicians with a score.
    reliability
        Share of the variance of scores that is real: spread against the errors of scores.
    differences
        Whether they differ; None with fewer than two physicians.
    needed
        Patients of each physician that it would take to tell, where it is not known.
    explained
        How much of the decisions the record explains; None for scores of another kind.
    """

    discordance: float
    low: float
    high: float
    spread: float
    spread_low: float
    spread_high: float
    p_value: float
    n_physicians: int
    reliability: float = float("nan")
    differences: Differences | None = None
    needed: int | None = None
    explained: Explained | None = None

    @property
    def differ(self) -> bool:
        """Whether physicians differ by more than chance, and by enough to be ranked."""
        return self.differences == "differ"


def group_of(
    score: FloatArray,
    error: FloatArray,
    n_patients: IntArray | FloatArray,
    identified: tuple[FloatArray, FloatArray] | None = None,
    *,
    fall: FloatArray | None = None,
    doubt: float = 0.0,
    raw: FloatArray | None = None,
    narrowed: float = 1.0,
    matters: float = MATTERS,
    sizes: FloatArray | IntArray | None = None,
    counted: BoolArray | None = None,
    n_effective: FloatArray | IntArray | None = None,
) -> Group | None:
    """Say what the scores tell together; None where nobody has one.

    Scores and their standard errors are NaN where there is none. Where the level is not determined,
    `identified` are the lowest and highest values that fit equally well; the interval of the mean
    holds the means of both. `fall` is how far each score may fall until patients are many; the
    interval reaches down to that. `doubt` is the standard deviation of what all scores have in
    common; no number of physicians averages it out. `raw` are scores in which chance is not held
    back, where they are others: how much physicians differ is read off them. `narrowed` is by which
    factor scores may lie closer together than true values do; the upper end of the spread is
    divided by it. Differences do not matter where the spread is below `matters`. `sizes` are the
    numbers on which errors depend, see :func:`intravar.inference.panel_sizes`; by default those of
    the patients. Physicians who are not `counted`, because their panels are too small for a figure,
    are part of the mean and not of the spread, unless fewer than two are counted. `n_effective` is
    the effective number of patients of each, where it differs from what each counts in the mean.

    Examples
    --------
    >>> group = group_of(np.array([0.2, 0.2, 0.21]), np.full(3, 0.05), np.array([80, 90, 100]))
    >>> round(group.discordance, 2), group.spread, group.p_value > 0.5, group.differences
    (0.2, 0.0, True, 'not known')
    """
    known = np.isfinite(score) & np.isfinite(error)
    if not known.any():
        return None
    raw = score if raw is None else raw
    score, error = score[known], np.maximum(error[known], 1e-9)
    weight = n_patients[known] / n_patients[known].sum()
    mean = float(weight @ score)
    half = float(_Z * np.sqrt((weight**2) @ error**2 + doubt**2))
    falls = 0.0 if fall is None else float(weight @ fall[known])
    low, high = max(0.0, mean - half - falls), min(mean + half, max(mean, 0.5))
    if identified is not None:
        ends = [float(weight @ end[known]) for end in identified]
        low, high = min(low, ends[0]), max(high, ends[1])
    group = Group(mean, low, high, _NAN, _NAN, _NAN, _NAN, len(score))
    if len(score) < 2:
        return group
    effective = (n_patients if n_effective is None else n_effective)[known]
    known_sizes = (effective if sizes is None else sizes[known]).astype(np.float64)
    score = raw[known]
    if counted is not None and counted[known].sum() > 1:
        large = counted[known]
        score, error = score[large], error[large]
        effective, known_sizes = effective[large], known_sizes[large]
    even = even_errors(error, known_sizes)
    return _with_spread(group, score, even, effective, narrowed, matters)


def _with_spread(
    group: Group,
    score: FloatArray,
    error: FloatArray,
    n_patients: IntArray | FloatArray,
    narrowed: float,
    matters: float,
) -> Group:
    """Return the group with how much its physicians differ: Paule and Mandel, the profile of Q.

    Errors depend on the size of a panel alone, see :func:`intravar.inference.even_errors`: scores
    that chance made low have low errors of their own, and weighted by such errors many physicians
    who do not differ would seem to.
    """
    variance, degrees, tail = error**2, len(score) - 1, (1 - LEVEL) / 2
    wanted = (degrees, chi2.ppf(1 - tail, degrees), chi2.ppf(tail, degrees))
    spread, least, most = (float(np.sqrt(between_at(q, score, variance))) for q in wanted)
    q = q_statistic(0.0, score, variance)
    if q < degrees:
        # Scores that happen to lie closer together than chance puts them are no proof that nobody
        # differs: the upper end is that of scores which lie as far apart as chance puts them.
        usual = len(score) / float(np.sum(1 / variance))
        most = max(most, float(np.sqrt(usual * (degrees / wanted[2] - 1))))
    # Values from 0 to one half cannot differ by more; shares of pairs may lie above it.
    widest = max(0.5, group.discordance) / 2
    spread, least, most = (min(each, widest) for each in (spread, least, most / narrowed))
    differences = _differences(spread, least, most, matters)
    needed = patients_needed(float(np.median(n_patients * variance)), max(spread, matters))
    # A number that they have already would tell nothing.
    wanting = differences == "not known" and needed > float(np.median(n_patients))
    return replace(
        group,
        spread=spread,
        spread_low=least,
        spread_high=most,
        # Twice one tail, as the interval's lower end has it.
        p_value=min(1.0, 2 * float(chi2.sf(q, degrees))),
        reliability=rankability(spread**2, error),
        differences=differences,
        needed=needed if wanting else None,
    )


def _differences(spread: float, low: float, high: float, matters: float) -> Differences:
    """Return whether physicians differ by enough to be ranked.

    They differ by less than matters if the interval of the spread ends below the smallest relevant
    difference. They also do if they differ for sure, but the estimate of the spread is below it.
    Physicians whose estimated spread is below it are never said to differ.
    """
    if high < matters:
        return "less than matters"
    if low <= 0:
        return "not known"
    return "differ" if spread >= matters else "less than matters"


def patients_needed(variance: float, spread: float) -> int:
    """Return the patients of each physician at which differences of this size could be told.

    `variance` is that of a score from one patient. It falls with their number: at variance /
    spread^2 of them chance moves scores as much as physicians differ, and reliability is one half.

    Examples
    --------
    >>> patients_needed(100 * 0.04**2, 0.02)
    400
    """
    wanted = variance / spread**2 * RANKABLE / (1 - RANKABLE)
    digits = 10 ** max(0, math.floor(math.log10(max(wanted, 1))) - 1)
    return int(math.ceil(round(wanted / digits, 6)) * digits)


#: Share of the scores that is drawn in on either side.
DRAWN_IN = 0.1
#: Two-sided 95 % and 99.8 %, the customary limits of a funnel plot.
INNER, OUTER = float(norm.ppf(0.975)), float(norm.ppf(0.999))


@dataclass(frozen=True)
class FunnelLimits:
    """What scores are held against.

    The funnel's tip points to `middle`, the mean weighted by what is known of each; `unit` is the
    standard error of a score of size one, `between` the standard deviation of true values.
    """

    middle: float
    unit: float
    between: float

    def width(self, size: FloatArray) -> FloatArray:
        """Return one standard deviation at every size, chance and spread together."""
        return np.asarray(np.sqrt(self.unit**2 / size + self.between**2))

    def distance(self, score: FloatArray, size: FloatArray) -> FloatArray:
        """Return how many of these standard deviations each score lies above the middle.

        Where there is neither chance nor spread, nobody lies away from it.
        """
        width = self.width(size)
        return np.divide(score - self.middle, width, out=np.zeros(len(score)), where=width > 0)


def funnel_limits(score: FloatArray, size: FloatArray, error: FloatArray | None) -> FunnelLimits:
    """Work out the limits: who lies farther from the middle than chance and the usual spread.

    The error of a score falls with the root of its size. Physicians differ anyway, for reasons that
    no covariate holds; limits that know chance alone would leave out most large panels. So the
    variance between physicians is added to that of chance: it is worked out from the scores'
    distances in units of chance, the outermost tenth on either side drawn in (winsorised), so that
    those who stand out do not widen the limits that should find them. Drawing in takes away spread
    that is there, also where nobody stands out; the mean square is therefore divided by what would
    be left of it in normal scores.

    Sizes are pairs or patients. `error` is None where a score is a share of `size` trials, and
    chance is that of a coin which shows the mean.

    Examples
    --------
    >>> score, size = np.array([0.1, 0.2, 0.2, 0.3]), np.full(4, 400.0)
    >>> limits = funnel_limits(score, size, None)
    >>> round(limits.middle, 3), round(limits.unit, 3), round(limits.between, 3)
    (0.2, 0.4, 0.066)
    """
    middle = float(score @ size / size.sum())
    coin = np.sqrt(middle * (1 - middle))
    unit = float(coin if error is None else np.median(error * np.sqrt(size)))
    if unit <= 0 or len(score) < 2:
        return FunnelLimits(middle, unit, 0.0)
    precision = size / unit**2
    distance = (score - middle) * np.sqrt(precision)
    drawn_in = np.clip(distance, *np.quantile(distance, [DRAWN_IN, 1 - DRAWN_IN]))
    mean_square = float(np.mean(drawn_in**2))
    # The mean square of standard normal values whose tails were drawn in.
    end = float(norm.ppf(1 - DRAWN_IN))
    left = 1 - 2 * DRAWN_IN - 2 * end * float(norm.pdf(end)) + 2 * DRAWN_IN * end**2
    excess = len(score) * mean_square / left - (len(score) - 1)
    weight = float(precision.sum() - (precision**2).sum() / precision.sum())
    return FunnelLimits(middle, unit, float(np.sqrt(max(0.0, excess) / weight)))
