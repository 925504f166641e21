"""Intervals of a share, of the discordance that follows from it, and of the share of pairs.

Everything here is a Beta posterior under Jeffreys' prior. As an interval of a binomial share it
keeps close to its nominal level for few pairs and many, shares near 0 and 1 included, where the
textbook interval collapses to a point; it also takes the fractional counts to which pairs that
share patients are worth. Nothing is resampled: a bootstrap over patients breaks nearest-neighbour
matching, because copies of a patient match each other.

Pairs that share no patient are independent given the covariates, and their discordant number is
counted out of as many trials as there are pairs. Pairs that share a patient, as nearest neighbours
with replacement do, are not: two patients who are nearest to each other even make the same pair
twice. Such pairs hang together in clusters, the connected components of the graph of pairs; no
patient is in two clusters. The variance between clusters says how many independent pairs all of
them are worth, and that number takes the place of the count.

What these intervals cover is the method's own limit: what the share of discordant pairs would be
with many panels like this one. How far that lies from the discordance of truly comparable patients,
because pairs straddle the rule's boundary or patients are not eligible, is not in the interval.

References
----------
Brown, Cai and DasGupta, Interval estimation for a binomial proportion, Stat Sci 2001;16:101-133.
Abadie and Imbens, On the failure of the bootstrap for matching estimators, Econometrica
2008;76:1537-1557.
Korn and Graubard, Confidence intervals for proportions with small expected number of positive
counts estimated from survey data, Surv Methodol 1998;24:193-201 (the effective count).
Abadie and Imbens, Large sample properties of matching estimators for average treatment effects,
Econometrica 2006;74:235-267 (reuse of matches adds variance).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import betaincinv
from scipy.stats import norm, t

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError

#: Share of intervals that should cover what they aim at, unless told otherwise.
LEVEL = 0.95


class Interval(NamedTuple):
    """One interval per physician; NaN where there is none.

    Attributes
    ----------
    low, high
        The ends.
    standard_error
        Standard error of the score; never zero because a physician happened to have no
        discordant pair.
    """

    low: FloatArray
    high: FloatArray
    standard_error: FloatArray


class TwoHalves(NamedTuple):
    """Every panel dealt into two halves: what each says, and the score of the whole beside it.

    Scores and intervals are half x physician, NaN of some. `is_bound` tells whether a score falls
    to its limit as patients are added.
    """

    score: FloatArray
    interval: Interval
    whole: FloatArray
    is_bound: bool

    def take(self, physicians: IntArray) -> TwoHalves:
        """Return what is said of some physicians."""
        ends = Interval(*(end[:, physicians] for end in self.interval))
        whole = self.whole[physicians]
        return TwoHalves(self.score[:, physicians], ends, whole, self.is_bound)


def checked_level(level: float) -> float:
    """Return the level, or say why it is none."""
    if not 0 < level < 1:
        raise InputError(f"level {level} is impossible; it lies between 0 and 1, 0.95 for instance")
    return level


def share_interval(
    successes: npt.ArrayLike, trials: npt.ArrayLike, level: float = LEVEL
) -> Interval:
    """Return Jeffreys' interval of a binomial share.

    The ends are the quantiles of Beta(k + 1/2, n - k + 1/2), with 0 and 1 as the ends where no
    or every trial succeeded (Brown et al. 2001). The standard error is that posterior's standard
    deviation. Of k successes in n trials, not necessarily whole numbers, at a nominal coverage;
    NaN where n is not positive.

    Examples
    --------
    >>> interval = share_interval([0, 5, 50], [50, 50, 50])
    >>> interval.low.round(3).tolist(), interval.high.round(3).tolist()
    ([0.0, 0.039, 0.951], [0.049, 0.205, 1.0])
    """
    tail = (1 - checked_level(level)) / 2
    k, n = _counts(successes, trials, fewest=0)
    a, b = k + 0.5, n - k + 0.5
    low = np.where(k <= 0, 0.0 * n, betaincinv(a, b, tail))
    high = np.where(k >= n, 1.0 + 0.0 * n, betaincinv(a, b, 1 - tail))
    mean = a / (a + b)
    return Interval(low, high, np.sqrt(mean * (1 - mean) / (a + b + 1)))


def _counts(
    successes: npt.ArrayLike, trials: npt.ArrayLike, fewest: int
) -> tuple[FloatArray, FloatArray]:
    """Return both as arrays of one shape; trials are NaN where they are not more than `fewest`."""
    k, n = (np.asarray(each, dtype=np.float64) for each in (successes, trials))
    k, n = np.broadcast_arrays(k, np.where(n > fewest, n, np.nan))
    return k, n


def discordance_interval(
    decided_for: npt.ArrayLike, patients: npt.ArrayLike, level: float = LEVEL
) -> Interval:
    """Return the interval of 2 p (1 - p) when k of n comparable patients got the drug.

    It is the image of Jeffreys' interval of p at a nominal coverage, NaN with fewer than two
    patients: there is no pair. Equal-tailed quantiles of the posterior of 2 p (1 - p) would not do:
    the function has its maximum at p = 1/2, the upper quantile lies below that maximum always, and
    a physician who tosses a coin would never be covered. The image covers at least as often as the
    interval of p does. The unbiased estimate k (n - k) / (n (n - 1) / 2) may exceed 1/2 by up to
    1 / (2 (n - 1)) and then lies above the interval; the discordance it estimates cannot.

    Examples
    --------
    >>> interval = discordance_interval([20, 10], [20, 20])
    >>> interval.low.round(3).tolist(), interval.high.round(3).tolist()
    ([0.0, 0.415], [0.206, 0.5])
    """
    k, n = _counts(decided_for, patients, fewest=1)
    p = np.stack(share_interval(k, n, level)[:2])
    ends = 2 * p * (1 - p)
    high = np.where((p[0] <= 0.5) & (p[1] >= 0.5), 0.5, ends.max(axis=0))
    # The standard deviation under p ~ Beta(a, b), from its moments.
    a, b = k + 0.5, n - k + 0.5
    s = a + b
    mean = 2 * a * b / (s * (s + 1))
    square = 4 * a * (a + 1) * b * (b + 1) / (s * (s + 1) * (s + 2) * (s + 3))
    return Interval(ends.min(axis=0), high, np.sqrt(np.maximum(square - mean**2, 0.0)))


def pair_interval(
    physician: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    discordant: npt.ArrayLike,
    n_physicians: int,
    level: float = LEVEL,
) -> Interval:
    """Return an interval of the share of discordant pairs for every physician.

    There is one entry per pair: the position of the physician, the row numbers of both patients,
    and whether they were decided differently. NaN for a physician without a pair.

    Examples
    --------
    The second physician's three pairs are worth less than the first one's: they share a patient.

    >>> interval = pair_interval([0, 0, 0, 1, 1, 1], [0, 2, 4, 6, 7, 8], [1, 3, 5, 7, 6, 7],
    ...                       [True, True, False] * 2, n_physicians=2)
    >>> (interval.high - interval.low).round(2).tolist()
    [0.78, 0.94]
    """
    z = float(norm.ppf((1 + checked_level(level)) / 2))
    code = np.asarray(physician, dtype=np.int64)
    differs = np.asarray(discordant, dtype=np.float64)
    count = np.bincount(code, minlength=n_physicians).astype(np.float64)
    share = np.full(n_physicians, np.nan)
    np.divide(np.bincount(code, differs, n_physicians), count, out=share, where=count > 0)
    worth, n_clusters = effective_pairs(code, first, second, differs, n_physicians)
    # A variance that was itself estimated from few clusters is worth less: Student's t for z.
    estimated = (n_clusters < count) & (n_clusters > 1)
    quantile = t.ppf((1 + level) / 2, np.where(estimated, n_clusters - 1, np.inf))
    used = worth * (z / quantile) ** 2
    ends = share_interval(share * used, used, level)
    return Interval(ends.low, ends.high, share_interval(share * worth, worth).standard_error)


def effective_pairs(
    physician: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    discordant: npt.ArrayLike,
    n_physicians: int,
) -> tuple[FloatArray, FloatArray]:
    """Return for every physician how many independent pairs the pairs are worth, and the clusters.

    With clusters c of m_c pairs, d_c of them discordant, and s = sum d_c / sum m_c, the variance of
    s is V = C / (C - 1) sum (d_c - s m_c)^2 / (sum m_c)^2, and the worth is s (1 - s) / V, at
    most the number of different pairs. Where V is zero, as with no discordant pair at all, each
    cluster counts once. Where every cluster is a single pair, each pair counts once. Pairs are
    given as to :func:`pair_interval`.

    Examples
    --------
    >>> effective_pairs([0, 0], [0, 1], [1, 0], [True, True], n_physicians=1)
    (array([1.]), array([1.]))
    """
    code = np.asarray(physician, dtype=np.int64)
    differs = np.asarray(discordant, dtype=np.float64)
    ends = np.stack([np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)])
    if code.size == 0:
        return np.zeros(n_physicians), np.zeros(n_physicians)
    patients, (a, b) = np.unique(ends, return_inverse=True)
    links = coo_array((np.ones(len(a), dtype=np.int8), (a, b)), shape=(len(patients),) * 2)
    cluster = connected_components(links, directed=False)[1][a].astype(np.int64)
    of_cluster = np.zeros(cluster.max() + 1, dtype=np.int64)
    of_cluster[cluster] = code
    pairs, discordances = np.bincount(cluster), np.bincount(cluster, differs)

    def total(values: npt.NDArray[np.generic]) -> FloatArray:
        return np.bincount(of_cluster, values, n_physicians).astype(np.float64)

    n_clusters, n_pairs = total(np.ones_like(pairs)), total(pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = total(discordances) / n_pairs
        squares = total((discordances - share[of_cluster] * pairs) ** 2)
        variance = n_clusters / (n_clusters - 1) * squares / n_pairs**2
        worth = share * (1 - share) / variance
    # A pair in both directions counts once.
    _, different = np.unique(np.sort(ends, axis=0), axis=1, return_index=True)
    worth = np.minimum(worth, np.bincount(code[different], minlength=n_physicians))
    # Rounding leaves a hair of variance where every cluster has the same share.
    known = (n_clusters > 1) & (squares > 1e-12 * np.maximum(n_pairs, 1))
    worth = np.where(known, worth, n_clusters)
    return np.where(n_clusters == n_pairs, n_pairs, worth), n_clusters
