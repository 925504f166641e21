"""Personal rules: kernels against their literal twins, posteriors, and what is said when lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar.latent.calibration import log_score
from intravar.latent.families import CommonLimits, CommonWeights
from intravar.latent.own_rules import (
    CELL_MIDDLES,
    RIDGE,
    mixed_mass,
    most_personal_columns,
    own_rule_evidence,
    read_own_rules,
    with_products,
)
from intravar.latent.rates import cells_of, safe_interval
from intravar.latent.rule_learners import Standard
from latent.made import observed_of, panels_of
from reference import personal as literal


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), panels=st.integers(1, 6), width=st.integers(1, 4))
def test_evidence_of_own_slopes(seed, panels, width):
    random = np.random.default_rng(seed)
    n = 12 * panels
    z, y = random.normal(size=(n, width)), random.integers(0, 2, n)
    who, q = random.integers(0, panels, n), random.uniform(0.05, 0.95, n)
    who = np.unique(who, return_inverse=True)[1]
    decided = observed_of(z, y, who)
    assert own_rule_evidence(z, decided, q) == pytest.approx(
        literal.own_rule_evidence(z, y, who, q, RIDGE), rel=1e-6, abs=1e-6
    )


def two_camps(random, n_physicians=8, panel=250):
    n = n_physicians * panel
    x, who = random.normal(size=(n, 4)), np.repeat(np.arange(n_physicians), panel)
    eligible = np.where(who % 2, x[:, 0] + 0.5 * x[:, 1] > 0, x[:, 2] > 0.2)
    p = np.linspace(0.55, 1, n_physicians)
    y = (random.random(n) < np.where(eligible, p[who], 0.03)).astype(np.int64)
    return x, y, who, p


def learned_weights(x, panels, random):
    everybody = np.ones(len(x), dtype=np.bool_)
    nothing = np.zeros(len(x))
    own = CommonWeights.learn(x, np.arange(x.shape[1]), panels, everybody, random, nothing)
    return read_own_rules(own, x, nothing, panels, 0)[0]


def learned_limits(x, panels, random):
    everybody = np.ones(len(x), dtype=np.bool_)
    nothing = np.zeros(len(x))
    own = CommonLimits.learn(x, np.arange(x.shape[1]), panels, everybody, random, nothing)
    return read_own_rules(own, x, nothing, panels, 0)[0]


def test_camps_are_found():
    random = np.random.default_rng(5)
    x, y, who, p = two_camps(random)
    found = learned_weights(x, panels_of(x, y, who), random)
    assert len({*found.camp[::2]} & {*found.camp[1::2]}) == 0
    assert np.abs(found.p_high - p).mean() < 0.03
    assert np.abs(found.p_low - 0.03).mean() < 0.02
    low, high, _ = found.interval(0.95)
    truth = 2 * p * (1 - p)
    assert np.mean((low <= truth) & (truth <= high)) >= 0.75


def test_limits_are_found():
    random = np.random.default_rng(6)
    n, p = 2_400, np.array([0.95, 0.85, 0.7, 0.6])
    x, who = random.normal(size=(n, 4)), np.repeat(np.arange(4), n // 4)
    limit = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])[who]
    eligible = (np.take_along_axis(x, limit, axis=1) > -0.3).all(axis=1)
    y = (random.random(n) < np.where(eligible, p[who], 0.03)).astype(np.int64)
    found = learned_limits(x, panels_of(x, y, who), random)
    assert np.abs(found.p_high - p).max() < 0.06
    assert np.mean((found.g > 0.5) == eligible) > 0.97
    assert log_score(found.q, y) > log_score(np.full(n, y.mean()), y) + 300


@pytest.mark.parametrize("settle", ["constant", "missing", "huge", "copied"])
def test_designs_of_all_sorts(settle):
    random = np.random.default_rng(7)
    x = random.normal(size=(60, 3))
    if settle == "constant":
        x[:, 1] = 0.1
    elif settle == "missing":
        x[random.random(x.shape) < 0.3] = np.nan
    elif settle == "huge":
        x *= 1e29
    else:
        x[:] = x[0]
    z = Standard.of(x)(x)
    assert np.isfinite(z).all()
    panels = panels_of(x, random.integers(0, 2, 60), np.repeat(np.arange(3), 20))
    assert np.isfinite(learned_weights(z, panels, random).q).all()


@pytest.mark.parametrize("y", [np.zeros(9), np.ones(9), np.array([0, 1, 0, 1, 0, 1, 0, 1, 0])])
def test_panels_of_one_patient(y):
    random = np.random.default_rng(8)
    z = random.normal(size=(9, 2))
    panels = panels_of(z, y.astype(np.int64), np.arange(9))
    for found in (learned_weights(z, panels, random), learned_limits(z, panels, random)):
        low, high, _ = found.interval(0.95)
        assert (low <= high).all()
        assert (high - low > 0.2).all()


def test_columns_that_physicians_use_differently_come_first():
    random = np.random.default_rng(9)
    z, who = random.normal(size=(2_000, 6)), np.repeat(np.arange(10), 200)
    own = np.where(who % 2, 1, -1) * z[:, 4] + z[:, 1]
    y = (random.random(2_000) < 1 / (1 + np.exp(-2 * own))).astype(np.int64)
    kept = most_personal_columns(z, observed_of(z, y, who), np.full(2_000, 0.5), 1)
    assert kept.tolist() == [4]


def test_the_safe_interval_holds_whatever_the_rule():
    random = np.random.default_rng(10)
    held = []
    for _ in range(40):
        p = random.uniform(0.5, 1, 20)
        who = np.repeat(np.arange(20), 100)
        eligible = random.random(2_000) < 0.5
        y = (random.random(2_000) < np.where(eligible, p[who], 0.02)).astype(np.int64)
        # a prediction that knows half of the rule
        q = np.where(random.random(2_000) < 0.5, eligible, 0.5) * 0.8
        low, high = safe_interval(q, observed_of(q, y, who), 0.95)
        truth = 2 * p * (1 - p)
        held.append(np.mean((low <= truth) & (truth <= high)))
    assert np.mean(held) > 0.97


def test_columns_their_squares_and_their_products():
    z = np.array([[1.0, 1.0], [-1.0, 2.0], [1.0, -1.0], [-3.0, -1.0]])
    assert with_products(z).shape == (4, 5)


def test_the_law_of_a_mixture_keeps_its_mean():
    mass = mixed_mass(np.array([[50.0, 50.0], [50.0, 50.0]]))
    assert mass @ CELL_MIDDLES == pytest.approx(0.5, abs=1e-9)


def test_cells_reach_from_the_least_to_the_largest_value():
    assert cells_of(np.array([0.3, 0.1, 0.2]), np.ones(3), 2)[[0, -1]].tolist() == [0.1, 0.3]
