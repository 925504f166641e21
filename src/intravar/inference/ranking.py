"""Ranks that know how uncertain they are, rank 1 the lowest score; and the limits of a funnel.

The expected rank of physician i is ER_i = 1 + sum over k != i of P(theta_k < theta_i): with nothing
known it is the middle rank, (J + 1) / 2, and not whatever chance made of the scores.

References
----------
Laird and Louis, Empirical Bayes ranking methods, J Educ Stat 1989;14:29-46.
Lin, Louis, Paddock and Ridgeway, Loss function based ranking in two-stage, hierarchical models,
Bayesian Anal 2006;1:915-946.
Lingsma, Eijkemans and Steyerberg, Incorporating natural variation into IVF clinic league tables:
the expected rank, BMC Med Res Methodol 2009;9:53 (percentiles of expected ranks).
Spiegelhalter, Handling over-dispersion of performance indicators, Quality and Safety in Health
Care 2005;14:347-351 (funnels).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr
from scipy.stats import norm

from intravar.arrays import FloatArray
from intravar.errors import InputError
from intravar.inference.intervals import LEVEL, checked_level
from intravar.seeds import stream

#: The tail that "worst tenth" means.
WORST = 0.1
#: Draws for intervals of ranks; a probability is then known to 0.008 or better (standard error).
N_DRAWS = 4_000

# Entries of a block of pairwise probabilities or of draws: 16 MB.
_BLOCK_ENTRIES = 2**21


class Ranks(NamedTuple):
    """Ranks of all physicians.

    Attributes
    ----------
    expected
        Expected rank.
    percentile
        100 (ER - 1/2) / J: the share of physicians with a lower score, in percent.
    low, high
        Interval of the rank, whole numbers.
    p_worst_tenth
        Probability of being among the tenth of physicians (rounded up) with the highest scores;
        NaN with a single physician.
    """

    expected: FloatArray
    percentile: FloatArray
    low: FloatArray
    high: FloatArray
    p_worst_tenth: FloatArray


def expected_ranks(mean: npt.ArrayLike, sd: npt.ArrayLike) -> FloatArray:
    """Return the expected ranks of independent normal posteriors, exactly.

    P(theta_k < theta_i) = Phi((m_i - m_k) / sqrt(s_i^2 + s_k^2)), and one half for two equal
    numbers without error. Physicians are taken a block at a time, so that memory does not grow
    with their square, and every two are compared once: 20,000 take some seconds and 100 MB.

    Parameters
    ----------
    mean, sd
        Of every physician's posterior.

    Examples
    --------
    >>> expected_ranks([0.0, 1.0, 1.0], [1.0, 0.0, 0.0]).round(3).tolist()
    [1.317, 2.341, 2.341]
    """
    m, s = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    found = np.zeros(len(m))
    height = max(1, _BLOCK_ENTRIES // max(len(m), 1))
    for start in range(0, len(m), height):
        rows, rest = slice(start, start + height), slice(start, None)
        gap = m[rows, None] - m[rest]
        width = np.hypot(s[rows, None], s[rest])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = gap / width
        # 0 / 0: the same number twice, each below the other half of the time.
        below = ndtr(np.where(np.isnan(ratio), 0.0, ratio))
        found[rows] += below.sum(axis=1)
        # Who comes later is below with what is left.
        later = below[:, height:]
        found[start + height :] += len(later) - later.sum(axis=0)
    # Everyone is compared with themselves too, which adds one half.
    return found + 0.5


def rank_normal(
    mean: npt.ArrayLike,
    sd: npt.ArrayLike,
    *,
    level: float = LEVEL,
    n_draws: int = N_DRAWS,
    seed: int = 0,
) -> Ranks:
    """Rank physicians with independent normal posteriors.

    Expected ranks are exact; intervals and probabilities come from draws with a fixed seed.

    Parameters
    ----------
    mean, sd
        Of every physician's posterior; after shrinkage, `value` and `spread`.
    level
        Nominal coverage of the intervals of ranks.
    n_draws, seed
        Of the draws; two bytes per draw and physician are kept (40 MB for 5,000).

    Examples
    --------
    >>> found = rank_normal(np.arange(20), np.full(20, 0.01))
    >>> found.low[:3].tolist(), found.p_worst_tenth[-3:].tolist()
    ([1.0, 2.0, 3.0], [0.0, 1.0, 1.0])
    """
    m, s = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    random = stream(seed, "ranks")
    # Only numbers without error can be equal.
    ties = random if np.count_nonzero(s == 0) > 1 else None
    height = max(1, _BLOCK_ENTRIES // max(len(m), 1))
    ranks = [
        _ranks(m + s * random.standard_normal((min(height, n_draws - start), len(m))), ties)
        for start in range(0, n_draws, height)
    ]
    return _summary(np.concatenate(ranks), checked_level(level), expected_ranks(m, s))


def rank_draws(draws: npt.ArrayLike, *, level: float = LEVEL, seed: int = 0) -> Ranks:
    """Rank physicians from joint posterior draws.

    Parameters
    ----------
    draws
        One row per draw, one column per physician; finite. Equal numbers are ranked at random.
    level
        Nominal coverage of the intervals of ranks.
    seed
        For ties.

    Examples
    --------
    >>> rank_draws([[1, 2, 3], [1, 3, 2]]).expected.tolist()
    [1.0, 2.5, 2.5]
    """
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim != 2 or len(values) == 0:
        raise InputError(f"draws have shape {values.shape}; give one row per draw")
    if not np.isfinite(values).all():
        raise InputError("draws must be finite; leave undefined physicians out")
    ranks = _ranks(values, stream(seed, "ranks"))
    return _summary(ranks, checked_level(level), ranks.mean(axis=0))


def _ranks(values: FloatArray, ties: np.random.Generator | None) -> npt.NDArray[np.unsignedinteger]:
    """Return the rank within every row; a generator ranks equal numbers at random."""
    n_physicians = values.shape[1]
    if ties is None:
        order = np.argsort(values, axis=1)
    else:
        # Columns in random order and a stable sort settle ties without favour.
        shuffled = ties.permuted(np.broadcast_to(np.arange(n_physicians), values.shape), axis=1)
        within = np.argsort(np.take_along_axis(values, shuffled, axis=1), axis=1, kind="stable")
        order = np.take_along_axis(shuffled, within, axis=1)
    ranks = np.empty(values.shape, dtype=np.uint16 if n_physicians < 2**16 else np.uint32)
    numbers = np.arange(1, n_physicians + 1, dtype=ranks.dtype)
    np.put_along_axis(ranks, order, np.broadcast_to(numbers, values.shape), axis=1)
    return ranks


def _summary(ranks: npt.NDArray[np.unsignedinteger], level: float, expected: FloatArray) -> Ranks:
    n_draws, n_physicians = ranks.shape
    n_worst = int(np.ceil(WORST * n_physicians))
    if n_physicians > 1:
        p_worst = np.count_nonzero(ranks > n_physicians - n_worst, axis=0) / n_draws
    else:
        p_worst = np.full(n_physicians, np.nan)
    ranks.sort(axis=0)
    cut = int(np.floor((1 - level) / 2 * n_draws))
    return Ranks(
        expected,
        100 * (expected - 0.5) / max(n_physicians, 1),
        ranks[cut].astype(np.float64),
        ranks[n_draws - 1 - cut].astype(np.float64),
        np.asarray(p_worst, dtype=np.float64),
    )


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
        spread: FloatArray = np.sqrt(self.unit**2 / size + self.between**2)
        return spread

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
    >>> found = funnel_limits(score, size, None)
    >>> round(found.middle, 3), round(found.unit, 3), round(found.between, 3)
    (0.2, 0.4, 0.066)
    """
    middle = float(score @ size / size.sum())
    unit = (
        float(np.sqrt(middle * (1 - middle)))
        if error is None
        else float(np.median(error * np.sqrt(size)))
    )
    if unit <= 0 or len(score) < 2:
        return FunnelLimits(middle, unit, 0.0)
    precision = size / unit**2
    mean_square = float(np.mean(_drawn_in((score - middle) * np.sqrt(precision)) ** 2))
    excess = len(score) * mean_square / _left_of_normal() - (len(score) - 1)
    weight = float(precision.sum() - (precision**2).sum() / precision.sum())
    return FunnelLimits(middle, unit, float(np.sqrt(max(0.0, excess) / weight)))


def _drawn_in(distance: FloatArray) -> FloatArray:
    ends = np.quantile(distance, [DRAWN_IN, 1 - DRAWN_IN])
    return np.clip(distance, *ends)


def _left_of_normal() -> float:
    """Return the mean square of standard normal values whose tails were drawn in."""
    end = float(norm.ppf(1 - DRAWN_IN))
    return 1 - 2 * DRAWN_IN - 2 * end * float(norm.pdf(end)) + 2 * DRAWN_IN * end**2
