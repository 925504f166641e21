"""Intervals of the share of discordant pairs.

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
Korn and Graubard, Confidence intervals for proportions with small expected number of positive
counts estimated from survey data, Surv Methodol 1998;24:193-201 (the effective count).
Abadie and Imbens, Large sample properties of matching estimators for average treatment effects,
Econometrica 2006;74:235-267 (reuse of matches adds variance).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import norm, t

from intravar.arrays import FloatArray
from intravar.inference.intervals import LEVEL, Interval, checked_level, share_interval


def pair_interval(
    physician: npt.ArrayLike,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    discordant: npt.ArrayLike,
    n_physicians: int,
    level: float = LEVEL,
) -> Interval:
    """Return an interval of the share of discordant pairs for every physician.

    Parameters
    ----------
    physician, first, second, discordant
        One entry per pair: position of the physician, row numbers of both patients, and whether
        they were decided differently.
    n_physicians
        How many physicians there are; NaN for one without a pair.
    level
        Nominal coverage.

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
    cluster counts once. Where every cluster is a single pair, each pair counts once.

    Parameters
    ----------
    physician, first, second, discordant, n_physicians
        As in :func:`pair_interval`.

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
