"""Sampling weights: results are those of the population from which a sample was drawn."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import intravar
from intravar.arrays import BoolArray, FloatArray
from intravar.errors import InputError
from intravar.estimators.noise import level_variance, noise_of
from intravar.observed import Observed
from intravar.prediction.candidates import SampledOdds, fit_blend
from intravar.prediction.held_out import predict_shares

ASKED = {"physician": "physician", "decision": "decision"}


def _population(seed: int = 0, panel: int = 800) -> tuple[Observed, FloatArray]:
    """Return a population in which few decisions are "yes", and its true discordance."""
    random = np.random.default_rng(seed)
    code = np.repeat(np.arange(12), panel)
    x = random.normal(size=(len(code), 3))
    steep = random.uniform(0.8, 3.0, 12)
    p = expit(steep[code] * (x[:, 0] + 0.6 * x[:, 1] - 1.6))
    decision = (random.random(len(p)) < p).astype(np.int64)
    truth = np.bincount(code, 2 * p * (1 - p)) / np.bincount(code)
    return Observed.of(x, decision, code), truth


def _case_control(population: Observed, seed: int = 0) -> tuple[BoolArray, FloatArray]:
    """Return who is sampled: every "yes", and one "no" of ten; and the weights."""
    random = np.random.default_rng(seed + 100)
    chance = np.where(population.decision == 1, 1.0, 0.1)
    chosen = random.random(len(chance)) < chance
    return chosen, 1 / chance[chosen]


@pytest.fixture(scope="module")
def sampled() -> tuple[Observed, Observed, FloatArray, intravar.Predictability]:
    population, truth = _population()
    chosen, weight = _case_control(population)
    sample = replace(population.take(np.flatnonzero(chosen)), weight=weight)
    return population, sample, truth, intravar.Predictability().fit_observed(sample)


def test_the_limit_is_that_of_the_population(sampled):
    _, sample, truth, weighted = sampled
    unweighted = intravar.Predictability().fit_observed(replace(sample, weight=None, _learned={}))
    assert unweighted.score_.mean() > truth.mean() + 0.04
    assert weighted.score_.mean() == pytest.approx(truth.mean(), abs=0.02)
    assert np.mean(weighted.high_ >= truth) > 0.9


def test_predictions_and_rates_are_those_of_the_population(sampled):
    population, sample, _, weighted = sampled
    rate = float(population.decision.mean())
    assert np.average(weighted.predicted_, weights=sample.weight) == pytest.approx(rate, abs=0.01)
    evidence = weighted.evidence(sample)
    assert evidence.rate is not None
    rates = np.bincount(population.code, population.decision) / population.counts[0]
    assert evidence.rate == pytest.approx(rates, abs=0.04)
    assert evidence.represented(sample.counts[0]).sum() == pytest.approx(sample.n_patients)


def test_noise_is_that_of_the_population(sampled):
    population, sample, _, _ = sampled
    whole, found = noise_of(population), noise_of(sample)
    assert found.occasion == pytest.approx(whole.occasion, abs=0.012)
    assert found.system == pytest.approx(whole.system, abs=0.015)


def test_equal_weights_are_none():
    population, _ = _population(panel=60)
    covariates, physician = population.covariates, population.code
    given = covariates, population.decision, physician
    plain = intravar.Predictability().fit(*given)
    equal = intravar.Predictability().fit(*given, sample_weight=np.full(len(physician), 3.0))
    assert (plain.score_ == equal.score_).all()
    assert (plain.high_ == equal.high_).all()


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ([1.0, 0.0, 1.0, 2.0], "sample_weight is 0.0 in row 1"),
        ([1.0, 2.0, None, 1.0], "sample_weight is None in row 2"),
        ([1.0, float("inf"), 1.0, 2.0], "in row 1"),
        ([1.0], "1 entries for 4 rows"),
    ],
)
def test_impossible_weights_are_refused(weight, words):
    with pytest.raises(InputError, match=words):
        intravar.Predictability().fit(
            [[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1], list("aabb"), sample_weight=weight
        )


def test_methods_that_cannot_use_weights_refuse():
    observed = Observed.of([[1.0], [2.0]], [0, 1], ["a", "a"], weight=np.array([1.0, 2.0]))
    with pytest.raises(InputError, match="'euclidean' cannot use sampling weights"):
        intravar.estimators.Euclidean().fit_observed(observed)


def test_a_weighted_blend_has_the_odds_of_the_population():
    """A constant logit, blended with weights, is that of the weighted share."""
    y = np.repeat([1, 0], [900, 100])
    weight = np.where(y == 1, 1.0, 9.0)
    blend = fit_blend(np.zeros((1000, 1)), y, weight)
    assert expit(blend[0]) == pytest.approx(0.5, abs=0.01)


def test_odds_of_being_sampled_follow_from_the_weights():
    bins = np.zeros((4000, 1), dtype=np.uint8)
    y, weight = np.tile([0, 1], 2000), np.tile([10.0, 1.0], 2000)
    assert SampledOdds.of(bins, y, weight).log_ratio(bins[:2]) == pytest.approx(-np.log(10.0))
    bins[2000:] = 1
    weight[2000:] = 2.0
    found = SampledOdds.of(bins, y, weight).log_ratio(bins[[0, -1]])
    assert found == pytest.approx([-np.log(10.0), 0.0], abs=0.15)


def test_weighted_shares_and_level_equal_those_of_repeated_rows():
    """A weight of two is one patient seen twice, as far as means are concerned."""
    y, code, weight = np.array([1, 0, 0]), np.zeros(3, dtype=np.int64), np.array([2.0, 1.0, 1.0])
    shares = predict_shares(y, code, 1, n_others=9, n_yes=4, weight=weight).pooled
    assert shares == pytest.approx(predict_shares(y, code, 1, n_others=9, n_yes=4).pooled)
    residual, code = np.array([0.5, 0.5, -0.5, -0.5]), np.array([0, 0, 1, 1])
    same = level_variance(residual, code, 2, weight=np.ones(4))
    assert same == pytest.approx(level_variance(residual, code, 2))


def _table(n: int = 400) -> pl.DataFrame:
    random = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "physician": [f"P{number % 4}" for number in range(n)],
            "decision": random.integers(0, 2, n),
            "age": random.normal(60, 10, n),
            "w": np.where(random.random(n) < 0.5, 1.0, 4.0),
        }
    )


def test_the_column_of_weights_is_no_covariate():
    prepared = intravar.check(_table(), weight="w", **ASKED).prepared
    assert prepared.covariates == ("age",)
    assert {each.column: each.use for each in prepared.columns}["w"] == "weight"
    assert sorted(set(prepared.observed.weight)) == [1.0, 4.0]


@pytest.mark.parametrize(
    ("value", "words"), [(None, "is missing"), (0.0, "has 0 "), (-2.0, "has -2 ")]
)
def test_a_weight_that_is_not_positive_names_its_row(value, words):
    table = _table().with_columns(
        w=pl.when(pl.int_range(pl.len()) == 6).then(pl.lit(value)).otherwise("w")
    )
    with pytest.raises(InputError, match=rf"column 'w' \(the weight\) {words}.*row 7"):
        intravar.check(table, weight="w", **ASKED)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"decision": "decision,age"}, "several decisions"),
        ({"case": "age"}, "cannot be used with case"),
        ({"method": "euclidean"}, "'euclidean' cannot use sampling weights"),
        ({"methods": ["glmm"]}, "'glmm' cannot use sampling weights"),
        ({"weight": "decision"}, "which is the decision"),
    ],
)
def test_what_weights_cannot_be_used_for_is_refused(asked, words):
    with pytest.raises(InputError, match=words):
        intravar.check(_table(), **{**ASKED, "weight": "w", **asked})


def test_a_measurement_with_weights_shows_the_rates_of_the_population():
    table = _table().with_columns(half=pl.int_range(pl.len()) % 3)
    found = intravar.measure(table, weight="w", by="half", **ASKED)
    rates = table.group_by("physician").agg(
        rate=(pl.col("w") * pl.col("decision")).sum() / pl.col("w").sum()
    )
    expected = rates.sort("physician")["rate"].to_list()
    assert found.physicians.sort("physician")["rate"].to_list() == pytest.approx(expected)
    assert found.by is not None
    weighted = table.filter(pl.col("half") == 0)
    share = (weighted["w"] * weighted["decision"]).sum() / weighted["w"].sum()
    assert found.by.levels["rate"][0] == pytest.approx(share)
