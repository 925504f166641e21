"""The stress family does what its names say."""

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.study.simulation import CaseMix, Recording, conditions_of, find_condition
from intravar.study.simulation.score2 import score2_risk


def cohort_of(name, **sizes):
    return intravar.simulate(f"stress-{name}", random_state=3, **sizes)


def test_every_condition_describes_itself():
    for name, condition in conditions_of("stress").items():
        assert condition.realised_rule().describe()
        assert set(condition.realised_rule().covariates) <= set(condition.covariates.names), name
        cohort = condition.resized(1_000, 10).simulate(1)
        if condition.sampling is None:
            assert cohort.n_patients == 1_000
        else:
            assert cohort.extras["sampling_weight"].sum() == pytest.approx(1_000)
        assert repr(cohort)


def test_hidden_covariates_are_gone_but_still_decide():
    cohort = cohort_of("hidden-strong")
    assert "age" not in cohort.covariate_names
    assert "age" in find_condition("stress-hidden-strong").realised_rule().covariates
    assert cohort.truth.share_eligible == pytest.approx(0.49, abs=0.02)
    assert find_condition("stress-hidden-weak").describe() == "hdl not recorded"


def test_noise_leaves_binary_covariates_alone():
    cohort = cohort_of("noise")
    assert set(cohort.covariates["smoker"].unique()) == {0.0, 1.0}
    assert cohort.covariates["age"].n_unique() > 1_000
    # SD 11.3 of the clipped age, plus 0.3 of it.
    assert cohort.covariates["age"].std() == pytest.approx(11.3 * np.sqrt(1.09), rel=0.03)


def test_missing_values_are_a_tenth():
    cohort = cohort_of("missing")
    share = cohort.covariates.null_count().sum_horizontal().item() / (20_000 * 9)
    assert share == pytest.approx(0.1, abs=0.003)


def test_irrelevant_covariates_are_unrelated():
    cohort = cohort_of("irrelevant")
    assert len(cohort.covariate_names) == 39
    eligible = cohort.truth.eligible.astype(float)
    for name in cohort.covariate_names[9:]:
        assert abs(np.corrcoef(cohort.covariates[name], eligible)[0, 1]) < 0.035


def test_graded_eligibility_grows_with_risk():
    cohort = cohort_of("graded")
    x = {name: cohort.covariates[name].to_numpy() for name in cohort.covariate_names}
    risk = score2_risk(
        age=x["age"], male=x["male"], smoker=x["smoker"], sbp=x["sbp"],
        total_cholesterol=x["non_hdl"] + x["hdl"], hdl=x["hdl"],
    )  # fmt: skip
    threshold = np.where(x["age"] < 50, 0.025, np.where(x["age"] <= 69, 0.05, 0.075))
    near = np.abs(np.log(risk / threshold)) < 0.05
    assert cohort.truth.eligible[near].mean() == pytest.approx(0.5, abs=0.06)
    assert cohort.truth.eligible[risk > 3 * threshold].mean() > 0.97
    assert cohort.truth.eligible[risk < threshold / 3].mean() < 0.03


def test_personal_thresholds_differ_between_physicians():
    cohort = cohort_of("personal-thresholds")
    shares = (
        pl.DataFrame({"who": cohort.physician, "eligible": cohort.truth.eligible})
        .group_by("who")
        .agg(pl.col("eligible").mean())
    )
    # A shared rule gives shares that differ by chance alone, SD 0.025.
    assert shares["eligible"].std() > 0.08


def test_case_mix_differs_between_physicians():
    plain, mixed = intravar.simulate("continuous", random_state=3), cohort_of("case-mix")
    spread = [
        each.covariates.with_columns(who=each.physician)
        .group_by("who")
        .agg(pl.col("age").mean())["age"]
        .std()
        for each in (plain, mixed)
    ]
    assert spread[1] > 4 * spread[0]
    assert mixed.panel_sizes["n_patients"].min() >= 90
    table = pl.DataFrame({"age": [40.0, 50.0, 60.0, 70.0]})
    assigned = CaseMix().allocate(table, 2, 2, np.random.default_rng(0))
    assert sorted(assigned) == [0, 0, 1, 1]


def test_rare_sparse_and_heterogeneous():
    assert cohort_of("rare").truth.share_eligible == pytest.approx(0.05, abs=0.006)
    assert cohort_of("sparse-25").n_physicians == 400
    p_low = cohort_of("heterogeneous-p-low").truth.p_low
    assert p_low.min() < 0.05
    assert 0.25 < p_low.max() <= 0.3


def test_exclusive_or():
    cohort = cohort_of("exclusive-or")
    age, sbp = cohort.covariates["age"].to_numpy(), cohort.covariates["sbp"].to_numpy()
    assert np.array_equal(cohort.truth.eligible, (age > 60) ^ (sbp > 130))


def test_what_is_hidden_is_said():
    assert Recording(hidden=("age", "sbp")).describe() == "age, sbp not recorded"
