"""The oracle: the discordance of each physician, computed with the truth in hand."""

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.errors import InputError
from intravar.inference.intervals import LEVEL, discordance_interval
from intravar.inference.outcomes import differ, given_earlier, marginal
from intravar.observed import PHYSICIAN
from intravar.study.cohort import SAMPLING_WEIGHT, Cohort


def pair_discordance(n_patients: npt.ArrayLike, n_for: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the share of discordant pairs among all pairs, in closed form.

    Of n patients of whom k got the drug, k (n - k) of the n (n - 1) / 2 pairs differ. NaN with
    fewer than two patients: there is no pair.

    Examples
    --------
    >>> pair_discordance([4, 2, 1], [2, 2, 1])
    array([0.66666667, 0.        ,        nan])
    """
    n, k = (np.asarray(each, np.float64) for each in (n_patients, n_for))
    pairs, share = n * (n - 1) / 2, np.full(n.shape, np.nan)
    np.divide(k * (n - k), pairs, out=share, where=pairs > 0)
    return share


def oracle(cohort: Cohort) -> pl.DataFrame:
    """Return the oracle's table: one row per physician, with the truth beside the estimate.

    The estimate takes all pairs of eligible patients of a physician; with fewer than two eligible
    patients it is undefined, and `reason` says so. `d_star` is what it estimates, by the
    physician's own rule; `comparable` is the other estimand, the comparable discordance of the
    panel: the mean over the physician's patients of 2 p (1 - p), p being P(yes) of the patient.
    In a sample with sampling weights it is the weighted mean, that of the population; where
    patients come several times, every visit counts.

    Examples
    --------
    >>> from intravar.study.simulation import simulate
    >>> oracle(simulate("score2")).columns[4:]
    ['n_pairs', 'oracle', 'd_star', 'comparable', 'reason']
    """
    counts, n = _counts(cohort), pl.col("n_eligible")
    estimate = pair_discordance(counts["n_eligible"], counts["decided_for"])
    return counts.select(
        *(PHYSICIAN, "group", "n_patients", "n_eligible"),
        (n * (n - 1) // 2).alias("n_pairs"),
        pl.Series("oracle", estimate).fill_nan(None),
        "d_star",
        "comparable",
        pl.when(n < 2).then(pl.lit("fewer than two eligible patients")).alias("reason"),
    )


def oracle_interval(cohort: Cohort, level: float = LEVEL) -> pl.DataFrame:
    """Return the oracle's interval of D* for every physician, as estimators return theirs."""
    counts = _counts(cohort)
    decided_for, n = counts.select("decided_for", "n_eligible").to_numpy().T
    ends = pl.DataFrame(discordance_interval(decided_for, n, level)._asdict()).fill_nan(None)
    return counts.select(PHYSICIAN).hstack(ends)


def oracle_several(cohort: Cohort) -> pl.DataFrame:
    """Return the truth of several decisions together: one row per physician.

    `differ` is the probability that two patients who are alike differ in at least one decision,
    `n_differences` the expected number of decisions in which they differ. Then follows every
    decision's comparable discordance, by the decision's name, and, as `given_`, that among patients
    who are also alike in the decisions before it.

    Examples
    --------
    >>> from intravar.study.simulation import simulate
    >>> cohort = simulate("multi-interacting", n_patients=400, n_physicians=4)
    >>> oracle_several(cohort).columns[2:6]
    ['differ', 'n_differences', 'decision', 'given_decision']
    """
    if cohort.truth is None or cohort.truth.outcomes is None:
        raise InputError(
            "the oracle needs the truth of several decisions, and this cohort has none"
        )
    table = cohort.truth.outcomes
    p = marginal(table)
    alone = 2 * p * (1 - p)
    given = given_earlier(table)
    columns = {"differ": differ(table), "n_differences": alone.sum(axis=1)}
    for k, name in enumerate(cohort.decisions.columns):
        columns |= {name: alone[:, k], f"given_{name}": given[:, k]}
    patients = pl.DataFrame({PHYSICIAN: cohort.physician.cast(pl.String), **columns})
    n_patients = pl.len().cast(pl.Int64).alias("n_patients")
    return patients.group_by(PHYSICIAN).agg(n_patients, pl.all().mean()).sort(PHYSICIAN)


def _counts(cohort: Cohort) -> pl.DataFrame:
    """Return per physician the patients, the eligible ones, and those of them who got the drug."""
    if cohort.truth is None:
        raise InputError("the oracle needs the truth, and this cohort has none")
    weight = pl.Series(np.ones(cohort.n_patients))
    if SAMPLING_WEIGHT in cohort.extras.columns:
        weight = cohort.extras[SAMPLING_WEIGHT]
    table = pl.DataFrame(
        {
            PHYSICIAN: cohort.physician.cast(pl.String),
            "weight": weight,
            "group": cohort.truth.group,
            "eligible": cohort.truth.eligible,
            "decided_for": cohort.truth.eligible & (cohort.decision == 1),
            "d_star": cohort.truth.d_star,
            "comparable": cohort.truth.comparable,
        }
    )
    return (
        table.group_by(PHYSICIAN)
        .agg(
            pl.col("group").first().replace(0, None),
            pl.len().cast(pl.Int64).alias("n_patients"),
            pl.col("eligible").sum().cast(pl.Int64).alias("n_eligible"),
            pl.col("decided_for").sum().cast(pl.Int64),
            # Where steadiness changes, a physician has no one D*: the mean over the patients.
            pl.when(pl.col("d_star").n_unique() == 1)
            .then(pl.col("d_star").first())
            .otherwise(pl.col("d_star").mean())
            .alias("d_star"),
            _mean_of_comparable(weighted=SAMPLING_WEIGHT in cohort.extras.columns),
        )
        .sort(PHYSICIAN)
    )


def _mean_of_comparable(*, weighted: bool) -> pl.Expr:
    comparable = pl.col("comparable")
    if not weighted:
        return comparable.mean()
    weight = pl.col("weight")
    return ((comparable * weight).sum() / weight.sum()).alias("comparable")


def oracle_by_group(truth: pl.DataFrame) -> pl.DataFrame:
    """Return the oracle's table by physician group: counts, mean D* and mean estimate.

    The mean is taken over physicians, as the paper does; undefined ones are left out of it.
    """
    return (
        truth.group_by("group")
        .agg(
            pl.len().alias("physicians"),
            pl.col("n_patients", "n_eligible").sum(),
            pl.col("d_star", "oracle").mean(),
        )
        .sort("group")
    )
