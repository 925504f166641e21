"""Subgroups and periods: what changed is found, what did not is not called a change."""

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError
from intravar.measurement.wider.strata import Strata, strata_of
from intravar.study.cohort import Cohort
from intravar.study.simulation.covariates import MIDDLE_DAY

pytestmark = pytest.mark.usefixtures("learned_once")

ASKED: dict[str, Any] = {"physician": "physician", "decision": "decision"}


def _known(cohort: Cohort, stratum: IntArray) -> tuple[Strata, FloatArray]:
    """Return strata from the true probabilities, and the true change of every physician."""
    truth = cohort.truth
    assert truth is not None
    named = cohort.physician.cast(pl.String)
    names = named.unique().sort()
    code = named.replace_strict(names, np.arange(len(names)), return_dtype=pl.Int64).to_numpy()
    eligible = truth.eligible.astype(np.int64)
    patients = pl.DataFrame(
        {
            "decision": cohort.decision.astype(np.float64),
            "own": truth.probability,
            "pooled": np.where(truth.eligible, 0.7, 0.05),
            "code": code,
            "stratum": stratum,
        }
    )
    change = np.zeros(len(names))
    for kind in (0, 1):
        share = np.mean(eligible == kind)
        for physician in range(len(names)):
            own = (code == physician) & (eligible == kind)
            before, after = (truth.comparable[own & (stratum == when)].mean() for when in (0, 1))
            change[physician] += share * (after - before)
    return strata_of(patients, names, ("before", "after")), change


def _late(cohort: Cohort) -> IntArray:
    return (cohort.covariates["day"].to_numpy() >= MIDDLE_DAY).astype(np.int64)


@pytest.mark.parametrize("name", ["drift-step", "drift-guideline", "drift-none", "drift-slow"])
def test_intervals_of_changes_hold(name: str) -> None:
    """Given what can be predicted at best, over five draws."""
    held, found = [], []
    for seed in range(5):
        cohort = intravar.simulate(name, random_state=seed)
        strata, change = _known(cohort, _late(cohort))
        low, high = (strata.changes[end].to_numpy() for end in ("low", "high"))
        held += ((low <= change) & (change <= high)).tolist()
        _, (value, low_of_all, _) = strata.compared(strata.names)
        found.append(low_of_all > 0)
        assert value == pytest.approx(change.mean(), abs=0.02)
        if name in ("drift-guideline", "drift-none"):
            assert (strata.changes["probability"] < 0.95).all()
    assert 0.90 <= np.mean(held) <= 0.985
    if name == "drift-step":
        assert all(found)


def test_a_harder_subgroup_is_found() -> None:
    harder, same = (
        intravar.simulate(name, random_state=4) for name in ("subgroup-harder", "drift-none")
    )
    for cohort, differ in ((harder, True), (same, False)):
        male = cohort.covariates["male"].to_numpy().astype(np.int64)
        strata, _ = _known(cohort, male)
        assert (strata.compared(strata.names)[0] < 0.001) == differ
        # More men are indicated, which alone makes the figure as it is higher.
        first, second = strata.levels["discordance"]
        assert second > first + 0.03


def test_a_measurement_with_subgroups_and_periods() -> None:
    table = intravar.simulate(
        "drift-step", n_patients=1_500, n_physicians=5, random_state=2
    ).to_polars()
    dated = table.with_columns(seen=pl.date(2023, 1, 1) + pl.duration(days="day")).drop("day")
    holes = pl.when(pl.int_range(pl.len()) < 20).then(None).otherwise(pl.col("seen"))
    found = intravar.measure(
        dated.with_columns(seen=holes),
        by="smoker",
        date="seen",
        period="before/after 2024-01-01",
        **ASKED,
    )
    assert found.by is not None
    assert found.course is not None
    assert found.by.levels["n_patients"].sum() == 1_500
    assert found.course.strata.levels["n_patients"].sum() == 1_480
    assert found.course.strata.cells.height == 10
    assert all(noise is not None for noise in found.course.noise)


def test_methods_that_do_not_predict_refuse_subgroups_and_periods() -> None:
    table = intravar.simulate("score2", n_patients=100, n_physicians=5, random_state=2).to_polars()
    for asked in ({"by": "smoker"}, {"date": "age"}):
        for method in ("latent-rule", "euclidean"):
            with pytest.raises(InputError, match=f"'{method}' makes none; choose predictability"):
                intravar.check(table, method=method, **asked, **ASKED)


def test_a_stratum_seen_by_one_physician_only() -> None:
    random = np.random.default_rng(0)
    n = 200
    code = np.repeat([0, 1], n // 2)
    half = np.full(n, 0.5)
    decision = random.integers(0, 2, n).astype(np.float64)
    patients = pl.DataFrame(
        {"decision": decision, "own": half, "pooled": half, "code": code, "stratum": code}
    )
    found = strata_of(patients, pl.Series(["a", "b"]), ("x", "y"))
    assert np.isnan(found.compared(found.names)[0])
    assert found.changes["change"].null_count() == 2
    assert found.levels["alike"].null_count() == 2


def test_one_class_of_patients_is_compared_without_the_other() -> None:
    """Nobody is in the second class: it has no weight, and nothing is divided by its patients."""
    n = 400
    code, stratum = np.repeat([0, 1], n // 2), np.tile([0, 1], n // 2)
    half = np.full(n, 0.5)
    decision = np.random.default_rng(1).integers(0, 2, n).astype(np.float64)
    columns = {"decision": decision, "own": half, "pooled": half, "code": code, "stratum": stratum}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = strata_of(pl.DataFrame(columns), pl.Series(["a", "b"]), ("x", "y"))
    assert found.changes["change"].to_list() == pytest.approx([0.0, 0.0])
