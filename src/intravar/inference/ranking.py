"""Ranks that know how uncertain they are, rank 1 the lowest score; and all of a profile.

The expected rank of physician i is ER_i = 1 + sum over k != i of P(theta_k < theta_i): with nothing
known it is the middle rank, (J + 1) / 2, and not whatever chance made of the scores.

References
----------
Laird and Louis, Empirical Bayes ranking methods, J Educ Stat 1989;14:29-46.
Lin, Louis, Paddock and Ridgeway, Loss function based ranking in two-stage, hierarchical models,
Bayesian Anal 2006;1:915-946.
Lingsma, Eijkemans and Steyerberg, Incorporating natural variation into IVF clinic league tables:
the expected rank, BMC Med Res Methodol 2009;9:53.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtr
from scipy.stats import rankdata, spearmanr

from intravar.arrays import FloatArray
from intravar.errors import InputError, renamed
from intravar.inference.intervals import LEVEL, checked_level
from intravar.inference.shrinkage import (
    Scale,
    between_variance,
    even_errors,
    from_scale,
    panel_sizes,
    rankability,
    reliability,
    shrink,
    shrink_again,
    to_scale,
)
from intravar.seeds import stream

#: The tail that "worst tenth" means.
WORST = 0.1
#: Draws for intervals of ranks; a probability is then known to 0.008 or better (standard error).
N_DRAWS = 4_000

# Entries of a block of pairwise probabilities or of draws: 16 MB.
_BLOCK_ENTRIES = 2**21


def rank_correlation(one: FloatArray, other: FloatArray, fewest: int = 3) -> float | None:
    """Return Spearman's rank correlation over those who have both; None of few, or if all tie."""
    known = np.isfinite(one) & np.isfinite(other)
    one, other = one[known], other[known]
    if len(one) < fewest or min(np.ptp(one), np.ptp(other)) == 0:
        return None
    return float(spearmanr(one, other)[0])


class Ranks(NamedTuple):
    """Ranks of all physicians: expected ones, and intervals in whole numbers.

    `p_worst_tenth` is the probability of being among the tenth of physicians (rounded up) with the
    highest scores; NaN with a single physician.
    """

    expected: FloatArray
    low: FloatArray
    high: FloatArray
    p_worst_tenth: FloatArray


def expected_ranks(mean: npt.ArrayLike, sd: npt.ArrayLike) -> FloatArray:
    """Return the expected ranks of independent normal posteriors, exactly.

    P(theta_k < theta_i) = Phi((m_i - m_k) / sqrt(s_i^2 + s_k^2)), and one half for two equal
    numbers without error. Physicians are taken a block at a time, so that memory does not grow
    with their square, and every two are compared once: 20,000 take some seconds and 100 MB.

    Examples
    --------
    >>> expected_ranks([0.0, 1.0, 1.0], [1.0, 0.0, 0.0]).round(3).tolist()
    [1.317, 2.341, 2.341]
    """
    m, s = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    ranks = np.zeros(len(m))
    height = max(1, _BLOCK_ENTRIES // max(len(m), 1))
    for start in range(0, len(m), height):
        rows, rest = slice(start, start + height), slice(start, None)
        gap = m[rows, None] - m[rest]
        width = np.hypot(s[rows, None], s[rest])
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = gap / width
        # 0 / 0: the same number twice, each below the other half of the time.
        below = ndtr(np.where(np.isnan(ratio), 0.0, ratio))
        ranks[rows] += below.sum(axis=1)
        # Who comes later is below with what is left.
        later = below[:, height:]
        ranks[start + height :] += len(later) - later.sum(axis=0)
    # Everyone is compared with themselves too, which adds one half.
    return ranks + 0.5


@renamed(seed="random_state")
def rank_normal(
    mean: npt.ArrayLike,
    sd: npt.ArrayLike,
    *,
    level: float = LEVEL,
    n_draws: int = N_DRAWS,
    random_state: int = 0,
) -> Ranks:
    """Rank physicians with independent normal posteriors.

    Expected ranks are exact; intervals and probabilities come from draws with a fixed seed.

    Parameters
    ----------
    mean, sd
        Of every physician's posterior; after shrinkage, `value` and `spread`.
    level
        Nominal coverage of the intervals of ranks.
    n_draws, random_state
        Number and seed of the draws; two bytes per draw and physician are kept (40 MB for 5,000).

    Examples
    --------
    >>> ranks = rank_normal(np.arange(20), np.full(20, 0.01))
    >>> ranks.low[:3].tolist(), ranks.p_worst_tenth[-3:].tolist()
    ([1.0, 2.0, 3.0], [0.0, 1.0, 1.0])
    """
    m, s = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    random = stream(random_state, "ranks")
    # Only numbers without error can be equal.
    ties = random if np.count_nonzero(s == 0) > 1 else None
    n, height = len(m), max(1, _BLOCK_ENTRIES // max(len(m), 1))
    blocks = [
        _ranks(m + s * random.standard_normal((min(height, n_draws - start), n)), ties)
        for start in range(0, n_draws, height)
    ]
    ranks = np.concatenate(blocks)
    among_worst = np.count_nonzero(ranks > n - int(np.ceil(WORST * n)), axis=0) / n_draws
    ranks.sort(axis=0)
    cut = int((1 - checked_level(level)) / 2 * n_draws)
    low, high = ranks[[cut, n_draws - 1 - cut]].astype(np.float64)
    worst = among_worst if n > 1 else np.full(n, np.nan)
    return Ranks(expected_ranks(m, s), low, high, worst)


def _ranks(values: FloatArray, ties: np.random.Generator | None) -> npt.NDArray[np.unsignedinteger]:
    """Return the rank within every row; a generator ranks equal numbers at random."""
    small = np.uint16 if values.shape[1] < 2**16 else np.uint32
    if ties is None:
        return np.asarray(rankdata(values, "ordinal", axis=1), dtype=small)
    # Columns in random order, ranked as they come, settle ties without favour.
    columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    shuffled = ties.permuted(columns, axis=1)
    ranks = np.empty(values.shape, dtype=small)
    shuffled_ranks = rankdata(np.take_along_axis(values, shuffled, axis=1), "ordinal", axis=1)
    np.put_along_axis(ranks, shuffled, shuffled_ranks.astype(small), axis=1)
    return ranks


NO_ERROR = "the score has no standard error"
_NEEDED = ("physician", "score", "low", "high", "standard_error")


@dataclass(frozen=True)
class Assessment:
    """What a profile says about its physicians, and how far to trust it.

    Attributes
    ----------
    table
        One row per physician: physician, n_patients, score, low, high, shrunken, shrunken_low,
        shrunken_high, reliability, rank (the expected one; 1 is the lowest score), rank_low,
        rank_high, p_worst_tenth, reason. Null where undefined, with the reason.
    rankability
        Share of the differences between physicians that is not chance; NaN with fewer than two.
    mean
        What scores are shrunk towards.
    between_variance
        Variance of true scores, on the scale that was used.
    scale
        On which scores were shrunk; see :mod:`intravar.inference.shrinkage`.
    level
        Nominal coverage of the intervals.
    """

    table: pl.DataFrame
    rankability: float
    mean: float
    between_variance: float
    scale: Scale
    level: float

    def __str__(self) -> str:
        defined = self.table["shrunken"].is_not_null().sum()
        text = "unknown" if np.isnan(self.rankability) else f"{self.rankability:.2f}"
        return (
            f"{defined} of {self.table.height} physicians assessed, mean {self.mean:.3f}, "
            f"rankability {text}\n{self.table}"
        )


@renamed(seed="random_state")
def assess(
    profile: Any,
    *,
    level: float = LEVEL,
    scale: Scale | None = None,
    most: float | None = None,
    random_state: int = 0,
) -> Assessment:
    """Shrink, rank and rate the physicians of a profile.

    Parameters
    ----------
    profile
        A fitted estimator, its `profile_`, or a table with physician, score, low, high,
        standard_error and, where known, n_patients and reason. If the method has shrunk the score,
        the column `raw` holds the score before that; `standard_error` is that of `raw`.
    level
        Nominal coverage of all intervals; those of a table stay as they are.
    scale
        What the score is. By default the estimator's own word for it, and a discordance in a
        table.
    most
        What the score can tend to at the most; by default the estimator's own word for it, and 1
        in a table. Below 1, and with `n_patients` known, the reliability of a discordance depends
        on them and not on the score; see :func:`intravar.inference.panel_sizes`.
    random_state
        Of the draws behind intervals of ranks.

    Examples
    --------
    >>> import intravar
    >>> cohort = intravar.simulate("score2", n_patients=2000, n_physicians=10)
    >>> assessment = assess(intravar.estimators.Euclidean().fit(*cohort.observed()))
    >>> assessment.table.filter(pl.col("rank") == pl.col("rank").max())["physician"].item()
    'P09'
    >>> assessment.rankability > 0.5
    True
    """
    table = _table(profile, level)
    used: Scale = getattr(profile, "scale", "discordance") if scale is None else scale
    ceiling = getattr(profile, "most", 1.0) if most is None else most
    score = table["score"].to_numpy()
    error = table["standard_error"].to_numpy()
    known = np.isfinite(score) & np.isfinite(error)
    score, error = score[known], error[known]
    raw = table["raw"].to_numpy()[known]
    raw = np.where(np.isfinite(raw), raw, score)
    n_patients = table["n_patients"]
    counts = None if n_patients.has_nulls() else n_patients.to_numpy()[known]
    if used == "discordance":
        even = even_errors(error, panel_sizes(score, error, counts, ceiling))
        between = between_variance(raw, even)
    else:
        value, even = to_scale(score, error, used)
        between = between_variance(value, even)
    on_scale = used
    if used == "discordance" and not np.array_equal(raw, score):
        on_scale = "plain"
        shrunken = shrink_again(score, raw, even, level=level)
    else:
        shrunken = shrink(*to_scale(score, error, used), level=level)
    ranks = rank_normal(shrunken.value, shrunken.spread, level=level, random_state=random_state)
    derived = {
        "shrunken": from_scale(shrunken.value, on_scale),
        "shrunken_low": from_scale(shrunken.low, on_scale),
        "shrunken_high": from_scale(shrunken.high, on_scale),
        "reliability": reliability(between, even),
        "rank": ranks.expected,
        "rank_low": ranks.low,
        "rank_high": ranks.high,
        "p_worst_tenth": ranks.p_worst_tenth,
    }
    columns = np.full((len(derived), len(known)), np.nan)
    columns[:, known] = list(derived.values())
    without_error = pl.Series(~known) & table["score"].is_finite()
    table = table.with_columns(
        *(pl.Series(name, each) for name, each in zip(derived, columns, strict=True)),
        reason=pl.when(without_error).then(pl.lit(NO_ERROR)).otherwise("reason"),
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    return Assessment(
        table.select(pl.exclude("standard_error", "raw", "reason"), "reason"),
        rankability(between, even),
        float(from_scale(shrunken.mean, on_scale)),
        shrunken.between_variance,
        on_scale,
        level,
    )


def _table(profile: Any, level: float) -> pl.DataFrame:
    """Return the columns that are needed, NaN where undefined."""
    parts = [profile]
    if hasattr(profile, "interval"):
        if not hasattr(profile, "score_"):
            raise InputError("the estimator is not fitted; call fit first")
        parts = [profile.profile_, profile.interval(level)]
    table: pl.DataFrame
    table, *ends = (nw.from_native(each, eager_only=True).to_polars() for each in parts)
    for each in ends:
        table = table.with_columns(each.drop("physician").get_columns())
    if hasattr(profile, "raw_"):
        table = table.with_columns(raw=profile.raw_)
    table = table.rename({"score_low": "low", "score_high": "high"}, strict=False)
    missing = [name for name in _NEEDED if name not in table.columns]
    if missing:
        raise InputError(f"the profile has no column {', '.join(missing)}")
    further = {"n_patients": pl.Int64, "raw": pl.Float64, "reason": pl.String}
    absent = [pl.lit(None, further[name]).alias(name) for name in further.keys() - table.columns]
    numbers = pl.col(*_NEEDED[1:], "raw").cast(pl.Float64).fill_null(float("nan"))
    return table.with_columns(absent).select("physician", "n_patients", numbers, "reason")
