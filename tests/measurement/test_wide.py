"""Tables with very many columns: all of them are accounted for, and what it takes is foretold."""

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.estimators import METHODS
from intravar.estimators.base import Size
from intravar.learning.boosted_trees import MOST_SEEN
from intravar.measurement.rule import suggest_rule
from intravar.preparation.check import Check, checked, estimate_cost, memory_of_learning
from intravar.request import Request


@pytest.fixture(scope="module")
def wide() -> Check:
    cohort = intravar.simulate("continuous", n_patients=2_000, n_physicians=8, random_state=1)
    random = np.random.default_rng(0)
    levels = [f"level {number}" for number in range(12)]
    table = cohort.to_polars().with_columns(
        *(pl.Series(f"w{at}", random.normal(size=2_000)) for at in range(60)),
        *(pl.Series(f"category {at}", random.choice(levels, 2_000)) for at in range(4)),
    )
    return checked(table, Request(physician="physician", decision="decision"))


def test_the_rule_accounts_for_every_covariate(wide: Check):
    prepared = wide.prepared
    assert len(prepared.observed.names) > MOST_SEEN
    found = suggest_rule(prepared)
    assert sorted(found.importance["covariate"]) == sorted(prepared.covariates)
    assert found.importance["covariate"][0] == "age"
    assert found.importance["importance"].is_finite().all()
    assert (found.importance["importance"] == 0).any()
    assert set(found.dependence["covariate"]) == set(prepared.observed.names)
    assert found.auc > 0.75


@pytest.mark.parametrize("name", ["predictability", "latent-rule"])
def test_time_grows_less_than_columns_where_they_are_very_many(name: str):
    method = METHODS[name]

    def seconds(p: int) -> float:
        size = Size(40_000, p, np.full(80, 500.0))
        return estimate_cost(size, method, n_patients=150_000).seconds

    assert seconds(64) > 2 * seconds(16)
    assert seconds(64) < seconds(580) < 4 * seconds(64)


def test_memory_is_foretold_by_patient_and_by_value():
    method = METHODS["predictability"]
    fixed, each = memory_of_learning(Size(40_000, 580, np.full(80, 500.0)), [method])
    # Measured: 2.3 GB of 40,000 patients with 580 columns, 0.7 GB of 100,000 with 20.
    assert 2.2e9 < fixed + 40_000 * each < 3e9
    fixed, each = memory_of_learning(Size(100_000, 20, np.full(200, 500.0)), [method])
    assert 0.65e9 < fixed + 100_000 * each < 1e9
    huge = memory_of_learning(Size(40_000, 20, np.array([20_000.0])), [method])
    assert huge[0] == fixed
    paired = estimate_cost(Size(10_000, 20, np.array([5_000.0] * 2)), METHODS["mahalanobis"])
    assert paired.memory_mb > 1_000
