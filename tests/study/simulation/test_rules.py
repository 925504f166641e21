import math

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from intravar import InputError, simulate
from intravar.seeds import stream
from intravar.study import Scenario
from intravar.study.simulation import (
    PAPER_COVARIATES,
    Rule,
    RuleRecipe,
    Score2Rule,
    ThresholdRule,
    WindowRecipe,
    conditions_of,
)
from reference.simulation import BINARY_COVARIATES, NORMAL_COVARIATES, score2_eligible

N = 40_000
WINDOWS = [one for one in conditions_of("paper").values() if one.family == "window"]
WHOLE = {name for name, (*_, whole) in NORMAL_COVARIATES.items() if whole}
CONTINUOUS = set(NORMAL_COVARIATES) - WHOLE


def ids(condition: Scenario) -> str:
    return condition.name


def thresholds(condition: Scenario) -> dict[str, float]:
    rule = condition.realised_rule()
    assert isinstance(rule, ThresholdRule)
    return dict(rule.thresholds)


def target(condition: Scenario) -> float:
    rule = condition.realised_rule()
    assert isinstance(rule, ThresholdRule)
    assert rule.target_share is not None
    return rule.target_share


def probability_at_most(name: str, value: float) -> float:
    """P(X <= value), from Table 2 alone."""
    if name in BINARY_COVARIATES:
        return 1.0 if value >= 1 else 1 - BINARY_COVARIATES[name]
    mean, sd, _, highest, whole = NORMAL_COVARIATES[name]
    if value >= highest:
        return 1.0
    return float(stats.norm.cdf(math.floor(value) + 0.5 if whole else value, mean, sd))


def realised_share(condition: Scenario) -> float:
    truth = simulate(condition.name, n_patients=N).truth
    assert truth is not None
    return truth.share_eligible


def error_of(share: float, n: int = N) -> float:
    return math.sqrt(share * (1 - share) / n)


# --- SCORE2 ---


def test_score2_makes_49_05_percent_eligible() -> None:
    truth = simulate("score2", n_patients=500_000, random_state=3).truth
    assert truth is not None
    assert abs(truth.share_eligible - 0.4905) < 4 * error_of(0.4905, 500_000)


person = st.fixed_dictionaries(
    {
        "age": st.integers(40, 90).map(float),
        "non_hdl": st.floats(1, 8),
        "hdl": st.floats(0.4, 2.8),
        "sbp": st.integers(90, 200).map(float),
        "smoker": st.sampled_from([0.0, 1.0]),
        "male": st.sampled_from([0.0, 1.0]),
    }
)


@given(st.lists(person, min_size=1, max_size=20))
def test_score2_rule_equals_the_loop(people: list[dict[str, float]]) -> None:
    table = pl.DataFrame(people)
    assert Score2Rule().eligible(table).tolist() == [score2_eligible(one) for one in people]


@pytest.mark.parametrize(
    ("age", "threshold"), [(49, 0.025), (50, 0.05), (69, 0.05), (70, 0.075), (90, 0.075)]
)
def test_age_bands_begin_and_end_where_the_paper_says(age: int, threshold: float) -> None:
    """With one band's threshold at 0 and the others out of reach, exactly that band is eligible."""
    person = {"age": age, "non_hdl": 4, "hdl": 1, "sbp": 140, "smoker": 1, "male": 1}
    bands = tuple(0.0 if band == threshold else 1.0 for band in (0.025, 0.05, 0.075))
    assert len(bands) == 3
    rule = Score2Rule(thresholds=bands)
    assert rule.eligible(pl.DataFrame([person])).tolist() == [True]


def test_score2_in_words() -> None:
    assert Score2Rule(region="very_high").describe() == (
        "SCORE2/SCORE2-OP risk (very high region) >= 2.5 % below 50 years, >= 5 % at 50-69, "
        ">= 7.5 % above 69"
    )


# --- thresholds and windows ---


@given(
    st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), max_size=20),
    st.floats(0, 9),
    st.floats(0, 9),
)
def test_threshold_rule_equals_the_loop(
    rows: list[tuple[float, float]], a: float, b: float
) -> None:
    schema = {"hdl": pl.Float64, "ldl": pl.Float64}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    found = ThresholdRule({"hdl": a, "ldl": b}).eligible(table)
    assert found.tolist() == [hdl <= a and ldl <= b for hdl, ldl in rows]


@pytest.mark.parametrize("condition", WINDOWS, ids=ids)
def test_every_window_realises_the_share_of_its_thresholds(condition: Scenario) -> None:
    """Whatever the covariates: the cohort's share is the product of P(X <= threshold)."""
    expected = math.prod(
        probability_at_most(name, value) for name, value in thresholds(condition).items()
    )
    assert abs(realised_share(condition) - expected) <= 4.5 * error_of(expected)


@pytest.mark.parametrize(
    "condition", [one for one in WINDOWS if set(thresholds(one)) <= CONTINUOUS], ids=ids
)
def test_continuous_windows_realise_p_star(condition: Scenario) -> None:
    share = target(condition)
    assert 0.2 <= share <= 0.8
    assert abs(realised_share(condition) - share) <= 4.5 * error_of(share)


@pytest.mark.parametrize(
    "condition",
    [
        one
        for one in WINDOWS
        if set(thresholds(one)) & WHOLE and set(thresholds(one)) <= set(NORMAL_COVARIATES)
    ],
    ids=ids,
)
def test_windows_with_whole_numbers_are_at_most_one_value_above_p_star(
    condition: Scenario,
) -> None:
    share, highest = target(condition), 1.0
    for name, value in thresholds(condition).items():
        quantile = share ** (1 / len(thresholds(condition)))
        mass = 0.0
        if name in WHOLE:
            assert value == round(value)
            mass = probability_at_most(name, value) - probability_at_most(name, value - 1)
        highest *= quantile + mass
    error = 4.5 * error_of(share)
    assert share - error <= realised_share(condition) <= highest + error


@pytest.mark.parametrize("condition", WINDOWS, ids=ids)
def test_binary_covariates_take_the_threshold_of_their_quantile(condition: Scenario) -> None:
    found = thresholds(condition)
    quantile = target(condition) ** (1 / len(found))
    if "smoker" in found:
        assert found["smoker"] == (0 if quantile <= 0.8 else 1)
    if "male" in found:
        assert found["male"] == (0 if quantile <= 0.4 else 1)


def share_of_window(start: int, p_star: float) -> tuple[float, float]:
    scenario = Scenario("w", rule=WindowRecipe(start, 1, shares=(p_star, p_star)), n_patients=N)
    cohort = simulate(scenario)
    assert cohort.truth is not None
    assert isinstance(cohort.truth.rule, ThresholdRule)
    (threshold,) = cohort.truth.rule.thresholds.values()
    return threshold, cohort.truth.share_eligible


@pytest.mark.parametrize("p_star", [0.41, 0.6, 0.8])
def test_a_window_on_male_above_0_4_makes_everyone_eligible(p_star: float) -> None:
    assert share_of_window(9, p_star) == (1.0, 1.0)


@pytest.mark.parametrize("p_star", [0.2, 0.39])
def test_a_window_on_male_below_0_4_is_women(p_star: float) -> None:
    threshold, share = share_of_window(9, p_star)
    assert threshold == 0
    assert share == pytest.approx(0.4, abs=4 * error_of(0.4))


@pytest.mark.parametrize("p_star", [0.2, 0.5, 0.79])
def test_a_window_on_smoker_is_non_smokers(p_star: float) -> None:
    threshold, share = share_of_window(8, p_star)
    assert threshold == 0
    assert share == pytest.approx(0.8, abs=4 * error_of(0.8))


def test_both_shares_are_kept() -> None:
    cohort = simulate("pass1-w3-p2")
    assert cohort.truth is not None
    assert isinstance(cohort.truth.rule, ThresholdRule)
    assert cohort.truth.rule.target_share is not None
    assert 0 < cohort.truth.share_eligible < 1


@given(st.integers(1, 9), st.data())
def test_window_covers_its_covariates(start: int, data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 10 - start))
    rule = WindowRecipe(start, width).realise(PAPER_COVARIATES, stream(0, "t"))
    assert rule.covariates == PAPER_COVARIATES.names[start - 1 : start - 1 + width]


def test_window_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="does not fit into 9 covariates"):
        simulate(Scenario("w", rule=WindowRecipe(8, 3)))


@pytest.mark.parametrize(("start", "width"), [(0, 1), (1, 0), (-1, 2)])
def test_windows_count_from_one(start: int, width: int) -> None:
    with pytest.raises(InputError, match="count from 1"):
        WindowRecipe(start, width)


@pytest.mark.parametrize("shares", [(0.5, 1.2), (-0.1, 0.5), (0.8, 0.2), (math.nan, 0.5)])
def test_impossible_shares_are_refused(shares: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="impossible"):
        WindowRecipe(1, 1, shares=shares)


# --- rules of others ---


class TreatTheOld:
    """A rule as a user would write it: three members, no base class."""

    covariates = ("age",)

    def eligible(self, covariates: pl.DataFrame) -> npt.NDArray[np.bool_]:
        return (covariates["age"] >= 65).to_numpy()

    def describe(self) -> str:
        return "age >= 65"


class ReadsWeight(TreatTheOld):
    covariates = ("weight",)


class RandomAge:
    """A recipe as a user would write it."""

    def realise(self, model: object, random: np.random.Generator) -> Rule:
        return ThresholdRule({"age": float(random.integers(50, 70))})


def test_a_rule_of_ones_own() -> None:
    rule: Rule = TreatTheOld()
    assert isinstance(rule, Rule)
    cohort = simulate(Scenario("old", rule=rule))
    assert cohort.truth is not None
    assert cohort.truth.eligible.tolist() == (cohort.covariates["age"] >= 65).to_list()
    assert "age >= 65" in repr(cohort)


def test_a_recipe_of_ones_own() -> None:
    scenario = Scenario("random age", rule=RandomAge())
    assert isinstance(RandomAge(), RuleRecipe)
    found = {scenario.realised_rule(seed).describe() for seed in range(30)}
    assert len(found) > 5
    assert scenario.realised_rule(1).describe() == scenario.realised_rule(1).describe()


def test_a_rule_naming_an_absent_covariate_is_refused() -> None:
    rule: Rule = ReadsWeight()
    with pytest.raises(InputError, match=r"unknown covariate 'weight'.*there are age"):
        simulate(Scenario("w", rule=rule))
    with pytest.raises(InputError, match="did you mean 'egfr'"):
        simulate(Scenario("w", rule=ThresholdRule({"egf": 60})))


@pytest.mark.slow
def test_score2_share_over_eight_million_patients() -> None:
    """49.05 % to the second decimal."""
    shares = []
    for seed in range(8):
        truth = simulate("score2", n_patients=1_000_000, random_state=seed).truth
        assert truth is not None
        shares.append(truth.share_eligible)
    assert abs(float(np.mean(shares)) - 0.4905) < 4 * error_of(0.4905, 8_000_000) + 0.00005
