"""How often the intervals of fitted methods cover what they aim at, over fresh cohorts.

The aim is the method's own limit, taken as the mean score of a group of physicians over all
cohorts; the distance of that limit to D* is bias, and no interval knows of it.
"""

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.study.oracle import oracle_interval

pytestmark = pytest.mark.slow

N_COHORTS = 60
#: Least coverage of a nominal 95 % interval. Squared residuals have a heavy right tail, which few
#: hundred patients do not show; the GLMM's intervals are too short for it.
LEAST = {"euclidean": 0.94, "genetic-mahalanobis": 0.94, "glmm": 0.88, "oracle": 0.94}


@pytest.fixture(scope="module")
def coverage():
    rows = []
    for number in range(N_COHORTS):
        cohort = intravar.simulate(
            "score2", n_patients=4000, n_physicians=20, random_state=10_000 + number
        )
        truth = intravar.oracle(cohort).select("physician", "group", "d_star", "oracle")
        fitted = intravar.estimators.fit_methods([*list(LEAST)[:3]], *cohort.observed())
        ends = {"score_low": "low", "score_high": "high"}
        tables = {name: model.profile_.rename(ends) for name, model in fitted.items()}
        tables["oracle"] = oracle_interval(cohort).join(
            truth.select("physician", score="oracle"), on="physician"
        )
        rows += [
            table.select("physician", "score", "low", "high")
            .join(truth, on="physician")
            .with_columns(method=pl.lit(name))
            for name, table in tables.items()
        ]
    aim = pl.col("score").mean().over("method", "group")
    found = (
        pl.concat(rows)
        .with_columns(
            aim=pl.when(pl.col("method") == "oracle").then("d_star").otherwise(aim),
        )
        .group_by("method")
        .agg(
            own_limit=pl.col("aim").is_between("low", "high").mean(),
            d_star=pl.col("d_star").is_between("low", "high").mean(),
        )
    )
    print(found)
    return found


@pytest.mark.parametrize("method", list(LEAST))
def test_own_limit_is_covered(coverage, method):
    covered = coverage.filter(method=method)["own_limit"].item()
    assert LEAST[method] < covered < 0.985


def test_matching_does_not_cover_d_star(coverage):
    # Said in docs/inference.md; should it ever hold, the warning there can go.
    assert coverage.filter(method="euclidean")["d_star"].item() < 0.8
    assert np.isfinite(coverage["d_star"].to_numpy()).all()
