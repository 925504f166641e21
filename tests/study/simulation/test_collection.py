"""Rows that are no independent patients, or are not what was known at the decision."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.errors import InputError
from intravar.study import Cohort
from intravar.study.simulation import Fall, find_condition
from intravar.study.simulation.collection import CaseControl, FilledIn, Visits

MANY_ROWS = 150_000


def visits_of(cohort):
    return cohort.extras["patient"].value_counts()["count"].to_numpy()


def test_patients_come_three_to_ten_times_to_one_physician():
    cohort = intravar.simulate("stress-repeat-visits")
    table = cohort.to_polars()
    assert table.group_by("patient").agg(pl.col("physician").n_unique())["physician"].max() == 1
    counts = visits_of(cohort)
    assert counts.max() == 10
    # The last patient of a panel has as many visits as are left.
    assert (counts < 3).sum() <= cohort.n_physicians
    assert cohort.panel_sizes["n_patients"].to_list() == [200] * 30


def test_records_of_a_patient_change_by_the_jitter():
    table = intravar.simulate("stress-repeat-visits", n_patients=20_000).to_polars()
    within = table.select(
        (pl.col(name) - pl.col(name).mean().over("patient")).pow(2).sum()
        / (pl.len() - pl.col("patient").n_unique())
        for name in ("age", "hba1c")
    )
    # 0.15 of the standard deviation of the clipped covariates, 11.5 years and 1.43 %.
    assert np.sqrt(within["age"].item()) == pytest.approx(0.15 * 11.5, rel=0.05)
    assert np.sqrt(within["hba1c"].item()) == pytest.approx(0.15 * 1.43, rel=0.05)
    smoker = table.group_by("patient").agg(pl.col("smoker").n_unique())
    assert smoker["smoker"].max() == 1


def test_near_copies_carry_the_decision_over_and_change_in_two_columns():
    table = intravar.simulate("stress-near-copies").to_polars()
    different = table.group_by("patient").agg(pl.all().n_unique()).max()
    assert different["decision"].item() == 1
    changing = [name for name in different.columns if different[name].item() > 1]
    assert sorted(set(changing) - {"patient"}) == ["age", "sbp"]


def test_decisions_of_successive_visits_agree_more_than_records_explain():
    cohort = intravar.simulate("stress-repeat-visits", n_patients=30_000)
    table = cohort.to_polars().with_columns(p=pl.Series(cohort.truth.probability))
    residual = (pl.col("decision") - pl.col("p")).alias("residual")
    previous = residual.shift(1).over("patient")
    together = table.select(residual, previous.alias("previous")).drop_nulls()
    correlation = np.corrcoef(together["residual"], together["previous"])[0, 1]
    assert correlation == pytest.approx(0.8, abs=0.08)


@pytest.mark.parametrize("condition", ["stress-repeat-visits", "stress-near-copies"])
def test_yes_has_the_stated_probability_given_the_record(condition):
    cohort = intravar.simulate(condition, n_patients=MANY_ROWS, n_physicians=30)
    p = cohort.truth.probability
    patient = cohort.extras["patient"].to_numpy()
    for low in np.arange(0.05, 0.95, 0.1):
        rows = (p >= low) & (p < low + 0.1)
        error = np.bincount(patient[rows], (cohort.decision - p)[rows])
        # Visits of one patient are not independent; patients are.
        standard_error = np.sqrt(np.sum(error**2)) / rows.sum()
        assert np.sum(error) / rows.sum() == pytest.approx(0, abs=4 * standard_error)


def test_kept_decisions_leave_the_truth_as_it_is_if_records_do_not_change():
    rows = np.arange(6)
    plan = Visits(fewest=3, most=3).plan(np.zeros(6, dtype=np.int64), np.random.default_rng(0))
    chance = np.linspace(0, 1, 6)
    share = Visits(fewest=3, most=3, kept=0.8).share_given_record(
        lambda _: chance, pl.DataFrame({"x": rows}), plan, np.random.default_rng(0)
    )
    assert share.tolist() == chance.tolist()


def test_a_leak_is_filled_in_for_its_share_of_yes_and_never_for_no():
    for condition, share in (("stress-missing-leak", 0.6), ("stress-missing-leak-30", 0.3)):
        table = intravar.simulate(condition).to_polars()
        is_filled = table["drug_level"].is_not_null()
        assert not is_filled.filter(table["decision"] == 0).any()
        assert is_filled.filter(table["decision"] == 1).mean() == pytest.approx(share, abs=0.04)


def test_codes_are_text_in_the_table_and_no_covariate():
    cohort = intravar.simulate("stress-many-levels")
    assert "diagnosis" not in cohort.covariate_names
    table = cohort.to_polars()
    assert table["diagnosis"].n_unique() == 300
    assert table["diagnosis"].min() == "C000"
    eligible = table.with_columns(eligible=pl.Series(cohort.truth.eligible))
    assert eligible.group_by("diagnosis").agg(pl.col("eligible").n_unique())["eligible"].max() == 1


def test_weights_of_a_case_control_sample_sum_to_the_population():
    cohort = intravar.simulate("stress-sampled")
    table = cohort.to_polars()
    assert table["sampling_weight"].sum() == pytest.approx(20_000)
    assert table["decision"].mean() == pytest.approx(0.5)


def test_the_truth_of_a_sample_is_that_of_the_population():
    cohort = intravar.simulate("stress-sampled")
    population = intravar.oracle(cohort)["comparable"]
    unweighted = intravar.oracle(
        Cohort(cohort.covariates, cohort.decision, cohort.physician, cohort.truth)
    )["comparable"]
    # Rare decisions are taken where the chance of "yes" is high, and high in discordance.
    assert (unweighted - population).min() > 0.02


def test_coarse_and_typical_patients_are_equal_by_chance():
    for condition, most_distinct in (("stress-coarse", 0.05), ("stress-typical", 0.6)):
        covariates = intravar.simulate(condition).covariates
        assert covariates.n_unique() / covariates.height < most_distinct


def test_physicians_judge_age_differently_as_time_passes():
    cohort = intravar.simulate("stress-drift", n_patients=30_000)
    late = cohort.covariates["day"].to_numpy() > 365
    table = pl.DataFrame({"who": cohort.physician, "late": late, "yes": cohort.truth.eligible})
    shares = table.group_by("who").agg(
        change=pl.col("yes").filter("late").mean() - pl.col("yes").filter(~pl.col("late")).mean()
    )
    assert shares["change"].std() > 0.1


def test_extras_survive_writing_and_reading(tmp_path):
    for condition in ("stress-repeat-visits", "stress-many-levels", "stress-sampled"):
        cohort = intravar.simulate(condition)
        cohort.write(tmp_path / "cohort.parquet", truth=True)
        again = Cohort.read(tmp_path / "cohort.parquet")
        assert again.extras.equals(cohort.extras)
        assert again.covariate_names == cohort.covariate_names
        assert cohort.take([0, 5]).extras.equals(cohort.extras[[0, 5]])


def test_impossible_collections_are_refused():
    with pytest.raises(InputError, match="visits from 3 to 2"):
        Visits(fewest=3, most=2)
    with pytest.raises(InputError, match="kept is 1.5"):
        Visits(fewest=1, most=2, kept=1.5)
    scenario = find_condition("stress-repeat-visits")
    with pytest.raises(InputError, match="cannot be combined"):
        replace(scenario, steadiness=Fall("male"))
    with pytest.raises(InputError, match="no decisions of other physicians"):
        next(scenario.probabilities(1))
    with pytest.raises(InputError, match="extras have a column 'ward'"):
        Cohort(pl.DataFrame({"x": [1]}), [1], ["A"], extras=pl.DataFrame({"ward": [1]}))


def test_collections_describe_themselves():
    words = [
        Visits(fewest=1, most=4).describe(),
        FilledIn(column="level", share=0.6).describe(),
        CaseControl().describe(),
    ]
    assert words == [
        "1 to 4 visits per patient, the previous decision carried over",
        "level filled in for 60 % of yes, never for no",
        "a sample with as many yes as no of every physician",
    ]
