"""LatentRule: recovery of the truth, blindness, intervals, degenerate rules."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import spearmanr

import intravar
from intravar.errors import InputError
from intravar.estimators.assumptions import Violation
from intravar.estimators.latent_rule import (
    AnchorWarning,
    AssumptionWarning,
    LatentRule,
    OwnRulesWarning,
)
from intravar.latent.rule_learners import BoostedTrees, SplineLogit
from intravar.study.simulation import Scenario, ThresholdRule, find_condition
from intravar.study.simulation.physicians import FiveGroups

TREES = [BoostedTrees(trees=80)]


def quick(**parameters):
    return LatentRule(**{"learners": TREES, **parameters})


def truth_of(cohort):
    return intravar.oracle(cohort)


@pytest.fixture(scope="module")
def cohort():
    return intravar.simulate("score2", n_patients=5_000, n_physicians=20, random_state=11_000)


@pytest.fixture(scope="module")
def model(cohort):
    with warnings.catch_warnings():
        warnings.simplefilter("error", AnchorWarning)
        return quick().fit(*cohort.observed())


def test_recovers_the_oracle(cohort, model):
    oracle = truth_of(cohort)
    delta = model.score_ - oracle["oracle"].to_numpy()
    assert abs(delta.mean()) < 0.015
    assert np.abs(delta).mean() < 0.025
    assert spearmanr(model.score_, oracle["d_star"]).statistic > 0.93
    assert np.mean(np.abs(model.p_high_ - np.repeat([1, 0.9, 0.8, 0.7, 0.5], 4))) < 0.04


def test_results_are_complete(cohort, model):
    profile = model.profile_
    for name in (
        "score",
        "score_low",
        "score_high",
        "standard_error",
        "p_high",
        "p_low",
        "discrimination",
    ):
        assert profile[name].null_count() == 0
    assert (profile["score_low"] <= profile["score"] + 1e-9).all()
    assert (profile["score"] <= profile["score_high"] + 1e-9).all()
    assert (profile["identified_low"] <= profile["identified_high"]).all()
    assert profile["n_core"].sum() == model.core_.sum()
    assert model.two_classes_
    assert model.converged_
    assert (np.diff(model.log_likelihood_) > -0.05).all()
    assert min(model.anchors_.low, model.anchors_.high) > 0.3
    wide, narrow = model.interval(0.99), model.interval(0.8)
    assert (
        wide["score_high"] - wide["score_low"] > narrow["score_high"] - narrow["score_low"]
    ).all()


def test_intervals_reach_the_ends(model):
    assert np.sum(model.low_[:4] == 0) >= 3
    assert np.sum(model.high_[16:] == 0.5) >= 3


def test_probability_finds_the_rule(cohort, model):
    assert np.mean((model.eligible_probability_ > 0.5) == cohort.truth.eligible) > 0.9


def test_own_decision_never_informs_the_probability(cohort, model):
    X, y, physician = cohort.observed()
    own = np.flatnonzero(model.fold_ == 2)[:40]
    flipped = y.copy()
    flipped[own] = 1 - flipped[own]
    other = quick().fit(X, flipped, physician)
    np.testing.assert_array_equal(other.fold_, model.fold_)
    np.testing.assert_array_equal(
        other.eligible_probability_[own], model.eligible_probability_[own]
    )
    assert not np.array_equal(other.eligible_probability_, model.eligible_probability_)


def test_threads_do_not_matter(cohort, model):
    other = quick(n_jobs=2).fit(*cohort.observed())
    np.testing.assert_array_equal(other.score_, model.score_)


def test_everybody_eligible_is_one_class():
    scenario = Scenario("all", rule=ThresholdRule({"male": 1.0}), n_patients=4_000, n_physicians=20)
    cohort = scenario.simulate(11_001)
    found = quick().fit(*cohort.observed())
    assert not found.two_classes_
    assert abs(np.mean(found.score_ - truth_of(cohort)["oracle"].to_numpy())) < 0.005
    assert np.isfinite(found.score_).all()
    assert found.core_.all()
    assert (found.low_[:4] == 0).all()


def test_no_rule_in_these_covariates_is_one_class():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2_000, 3)), random.random(2_000) < 0.3
    found = quick().fit(x, y, np.repeat(np.arange(20), 100))
    assert not found.two_classes_
    assert found.score_.mean() == pytest.approx(0.42, abs=0.02)


def test_missing_values_are_taken():
    scenario = replace(
        find_condition("stress-missing"),
        rule=ThresholdRule({"age": 62, "hba1c": 7}),
        physicians=FiveGroups(),
        n_patients=3_000,
        n_physicians=10,
    )
    cohort = scenario.simulate(11_002)
    assert cohort.covariates.null_count().sum_horizontal().item() > 2_000
    small = SplineLogit(iterations=15)
    found = quick(learners=[BoostedTrees(trees=60), small]).fit(*cohort.observed())
    assert abs(np.mean(found.score_ - truth_of(cohort)["oracle"].to_numpy())) < 0.04


def test_personal_thresholds_are_found_and_shared_ones_not(model):
    assert not model.personal_
    scenario = replace(
        find_condition("stress-personal-thresholds"), n_patients=8_000, n_physicians=20
    )
    cohort = scenario.simulate(11_003)
    shifted = quick().fit(*cohort.observed())
    assert shifted.personal_
    plain = quick(personal_thresholds="never").fit(*cohort.observed())
    d_star = truth_of(cohort)["d_star"].to_numpy()
    assert np.abs(shifted.score_ - d_star).mean() < np.abs(plain.score_ - d_star).mean()


def test_thin_anchors_are_said_aloud():
    random = np.random.default_rng(11_004)
    x = random.standard_normal((3_000, 2))
    eligible = random.random(3_000) < expit(0.8 * x[:, 0])
    y = random.random(3_000) < np.where(eligible, 0.8, 0.1)
    smooth = LatentRule(learners=[SplineLogit(iterations=20)])
    with pytest.warns(AnchorWarning, match="do not determine the level of the scores"):
        found = smooth.fit(x, y, np.repeat(np.arange(10), 300))
    assert np.mean(found.anchors_.identified_high - found.anchors_.identified_low) > 0.03


def test_panel_counts_all_pairs(cohort):
    found = quick(within="panel").fit(*cohort.observed())
    high = np.repeat([1, 0.9, 0.8, 0.7, 0.5], 4)
    low = np.repeat([0, 0.05, 0.1, 0.2, 0.5], 4)
    share = cohort.truth.share_eligible
    expected = 2 * (share * high * (1 - high) + (1 - share) * low * (1 - low))
    assert np.mean(np.abs(found.score_ - expected)) < 0.04
    assert (found.low_ <= found.score_ + 1e-9).all()


def test_bad_parameters(cohort):
    with pytest.raises(InputError, match="n_folds is 2"):
        LatentRule(n_folds=2).fit(*cohort.observed())
    with pytest.raises(InputError, match="within is 'x'"):
        LatentRule(within="x").fit(*cohort.observed())
    with pytest.raises(InputError, match="learners is empty"):
        LatentRule(learners=[]).fit(*cohort.observed())


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["score2", "continuous"])
def test_intervals_cover_at_their_rate(condition):
    """40 draws on seeds apart: 93 to 97 % of the 95 % intervals hold D*."""
    hits = []
    for seed in range(30_000, 30_040):
        drawn = intravar.simulate(condition, random_state=seed)
        found = LatentRule(learners=[BoostedTrees()], n_jobs=2).fit(*drawn.observed())
        d_star = truth_of(drawn)["d_star"].to_numpy()
        hits.append(np.mean((found.low_ <= d_star) & (d_star <= found.high_)))
    assert 0.93 <= np.mean(hits) <= 0.97


def coin_tossers(n_physicians=8, panel=150, seed=0):
    """Physicians who decide by rates of their own, whatever the covariates are."""
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_physicians * panel, 3))
    rate = np.repeat(random.uniform(0.3, 0.7, n_physicians), panel)
    y = (random.random(len(rate)) < rate).astype(int)
    return X, y, np.repeat([f"P{number}" for number in range(n_physicians)], panel)


def test_it_warns_where_no_rule_is_found():
    with pytest.warns(AssumptionWarning, match="no rule was found"):
        model = LatentRule().fit(*coin_tossers())
    assert model.assumptions_.violations == (Violation.NO_RULE,)
    assert "no rule" in repr(model.assumptions_)


def test_it_does_not_warn_in_the_world_that_it_assumes():
    cohort = intravar.simulate("score2", n_patients=3000, n_physicians=10, random_state=300)
    with warnings.catch_warnings():
        warnings.simplefilter("error", AssumptionWarning)
        model = LatentRule().fit(*cohort.observed())
    assert model.assumptions_.met


def test_warnings_of_single_assumptions_are_caught_as_one_class():
    assert issubclass(AnchorWarning, AssumptionWarning)
    assert issubclass(OwnRulesWarning, AssumptionWarning)
