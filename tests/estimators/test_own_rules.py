"""LatentRule where physicians follow rules of their own, where it is lost, and on edge cases."""

import warnings

import numpy as np
import pytest
from scipy.stats import spearmanr

import intravar
from intravar.errors import InputError
from intravar.estimators.latent_rule import LatentRule, OwnRulesWarning
from intravar.latent.rule_learners import BoostedTrees


def quick(**parameters):
    trees = [BoostedTrees(trees=60)]
    return LatentRule(**{"learners": trees, **parameters})


def cohort_of(eligible, random, p_high, p_low=0.03):
    """Return covariates, decisions and physicians; `eligible(x, who)` is the rule."""
    who = np.repeat(np.arange(len(p_high)), 200)
    x = random.normal(size=(len(who), 5))
    chance = np.where(eligible(x, who), np.asarray(p_high)[who], p_low)
    return x, (random.random(len(who)) < chance).astype(int), who


@pytest.fixture(scope="module")
def camps():
    return cohort_of(
        lambda x, who: np.where(who % 2, x[:, 0] > 0, x[:, 1] + x[:, 2] > 0),
        np.random.default_rng(20),
        np.linspace(0.55, 1, 10),
    )


@pytest.fixture(scope="module")
def model(camps):
    return quick().fit(*camps)


def test_two_camps_are_told_from_inconsistency(model):
    p = np.linspace(0.55, 1, 10)
    truth = 2 * p * (1 - p)
    assert model.rule_ == "personal weights"
    assert model.own_rules_
    assert model.follows_
    assert model.two_classes_
    assert spearmanr(model.score_, truth).statistic > 0.9
    assert abs(np.mean(model.score_ - truth)) < 0.03
    assert np.mean((model.low_ <= truth) & (truth <= model.high_)) >= 0.8
    assert {*model.camp_[::2]}.isdisjoint(model.camp_[1::2])
    assert model.held_out_["personal weights"] > model.held_out_["shared"] + 10
    assert model.details()["rule"] == "personal weights"


def test_without_personal_rules_the_camps_mislead(camps, model):
    p = np.linspace(0.55, 1, 10)
    plain = quick(personal_rules="never").fit(*camps)
    assert plain.rule_ == "shared"
    errors = [np.abs(found.score_ - 2 * p * (1 - p)).mean() for found in (model, plain)]
    assert errors[0] < errors[1] - 0.02


def test_a_set_of_patients_has_one_result(camps, model):
    """Shuffled rows and columns, renamed physicians and two threads: the same bits."""
    x, y, who = camps
    random = np.random.default_rng(21)
    rows, columns, names = random.permutation(len(y)), random.permutation(5), random.permutation(10)
    other = quick(n_jobs=2).fit(x[rows][:, columns], y[rows], names[who[rows]])
    for name in ("score_", "low_", "high_", "p_high_", "p_low_", "camp_"):
        np.testing.assert_array_equal(getattr(other, name)[names], getattr(model, name))
    np.testing.assert_array_equal(other.eligible_probability_, model.eligible_probability_[rows])


def test_limits_of_ones_own_are_found():
    random = np.random.default_rng(22)
    pick = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]])
    p = np.repeat([0.6, 0.8, 0.95], 5)
    x, y, who = cohort_of(
        lambda x, who: (np.take_along_axis(x, pick[who % 5], axis=1) > -0.4).all(axis=1), random, p
    )
    found = quick().fit(x, y, who)
    assert found.rule_ == "personal limits"
    assert np.abs(found.score_ - 2 * p * (1 - p)).mean() < 0.06


def test_rules_that_cannot_be_followed_are_said_aloud():
    """Each physician treats exactly one of two signs: neither weights nor limits can say that."""
    random = np.random.default_rng(23)
    pick = random.permuted(np.tile(np.arange(5), (10, 1)), axis=1)[:, :2]
    p = np.linspace(0.6, 1, 10)
    x, y, who = cohort_of(
        lambda x, who: (np.take_along_axis(x, pick[who], axis=1) > 0).sum(axis=1) == 1, random, p
    )
    with pytest.warns(OwnRulesWarning, match="rules of their own"):
        found = quick().fit(x, y, who)
    assert not found.follows_
    truth = 2 * p * (1 - p)
    assert np.mean((found.low_ <= truth) & (truth <= found.high_)) >= 0.9
    assert (found.low_ == 0).all()


@pytest.mark.parametrize("world", ["noise", "coins"])
def test_where_there_is_no_rule_none_is_found(world):
    random = np.random.default_rng(24)
    x, who = random.normal(size=(2_000, 4)), np.repeat(np.arange(10), 200)
    p = np.full(10, 0.4) if world == "noise" else random.uniform(0.3, 0.7, 10)
    found = quick().fit(x, (random.random(2_000) < p[who]).astype(int), who)
    assert not found.two_classes_
    assert not found.own_rules_
    truth = 2 * p * (1 - p)
    assert np.mean((found.low_ <= truth) & (truth <= found.high_)) >= 0.8


@pytest.mark.parametrize("n_physicians", [1, 2, 8])
def test_few_physicians_have_honest_intervals(n_physicians):
    """Who taught nobody else's law is left with the own counts, and 200 patients teach a rule."""
    held, widths = [], []
    for seed in range(6):
        random = np.random.default_rng(25 + seed)
        p = random.uniform(0.6, 0.95, n_physicians)
        found = quick().fit(*cohort_of(lambda x, who: x[:, 0] > 0, random, p))
        truth = 2 * p * (1 - p)
        held.append(np.mean((found.low_ <= truth) & (truth <= found.high_)))
        widths.append(np.mean(found.high_ - found.low_))
    assert np.mean(held) >= 0.8
    assert np.mean(widths) > 0.08


def test_personal_rules_score_the_panel_too(camps, model):
    assert model.within == "eligible"
    for found in (model, quick(within="panel").fit(*camps)):
        assert (found.low_ <= found.score_).all()
        assert (found.score_ <= found.high_).all()
        assert found.profile_["score"].null_count() == 0


@pytest.mark.parametrize(
    "case", ["one patient", "all tied", "one class", "constant", "missing", "huge", "copies"]
)
def test_edge_cases(case):
    random = np.random.default_rng(26)
    n = 1 if case == "one patient" else 120
    x, y = random.normal(size=(n, 3)), random.integers(0, 2, n)
    who = np.arange(n) % 4
    if case == "all tied":
        x[:] = 1.0
    elif case == "one class":
        y[:] = 1
    elif case == "constant":
        x[:, 0] = 0.1
    elif case == "missing":
        x[random.random(x.shape) < 0.4] = np.nan
        x[:, 2] = np.nan
    elif case == "huge":
        x *= 1e29
    elif case == "copies":
        x, y, who = (np.concatenate([part] * 2) for part in (x, y, who))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = quick().fit(x, y, who)
    assert np.isfinite(found.score_).all()
    assert (found.low_ <= found.score_).all()
    assert (found.score_ <= found.high_).all()
    assert ((found.low_ >= 0) & (found.high_ <= 0.5 + 1e-9)).all()


def test_bad_input():
    with pytest.raises(InputError, match="no rows"):
        quick().fit(np.empty((0, 2)), [], [])
    with pytest.raises(InputError, match="personal_rules is 'x'"):
        quick(personal_rules="x").fit(np.ones((3, 1)), [0, 1, 0], ["a", "a", "b"])


@pytest.mark.slow
@pytest.mark.parametrize(("n_physicians", "panel", "draws"), [(1, 1_000, 60), (2, 500, 30)])
def test_intervals_hold_with_few_physicians(n_physicians, panel, draws):
    from dataclasses import replace

    from intravar.study.simulation import find_condition
    from intravar.study.simulation.physicians import Continuum

    scenario = replace(
        find_condition("score2"),
        physicians=Continuum(),
        n_patients=n_physicians * panel,
        n_physicians=n_physicians,
    )
    held = []
    for seed in range(84_000, 84_000 + draws):
        cohort = scenario.simulate(seed)
        d_star = intravar.oracle(cohort)["d_star"].to_numpy()
        found = LatentRule().fit(*cohort.observed())
        held.append(np.mean((found.low_ <= d_star) & (d_star <= found.high_)))
    assert np.mean(held) >= 0.88
