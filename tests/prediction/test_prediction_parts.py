"""Parts of the predictions, each against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar.estimators.noise import Unidentified, decompose, level_variance
from intravar.learning.boosted_trees import Rates, bin_edges, binned
from intravar.learning.personal_rules import Hyper, Table, fit_rules, learn_hyper
from intravar.learning.personal_rules_kernel import _objective
from intravar.prediction.bound import bound, losses_of
from intravar.prediction.candidates import fit_blend, grown
from intravar.prediction.own_forests import own_forests
from intravar.prediction.tasks import column_scales, scaled_columns, telling_columns
from reference.personal_prediction import log_posterior, posterior_mode, probability


def made(seed, n=60, d=3):
    random = np.random.default_rng(seed)
    Z = np.column_stack([np.ones(n), random.standard_normal((n, d - 1))])
    y = (random.random(n) < 0.1 + 0.8 / (1 + np.exp(-2 * Z[:, 1]))).astype(np.int64)
    return random, Z, y


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_log_posterior_equals_the_literal_twin(seed):
    random, Z, y = made(seed, n=20)
    theta, mean = random.normal(0, 2, 5), random.normal(0, 1, 5)
    root = random.standard_normal((5, 5))
    precision = root @ root.T
    found = _objective(Z, y, np.arange(20), theta, mean, precision, np.empty(20))
    twin = log_posterior(Z.tolist(), y.tolist(), theta, mean, precision.tolist())
    assert found == pytest.approx(twin, rel=1e-9)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_personal_rules_reach_the_mode_of_the_literal_twin(seed):
    _, Z, y = made(seed)
    hyper = Hyper(np.array([0.0, 1.0, 0.0, -3.0, 2.0]), np.diag([0.3, 0.5, 0.2, 0.4, 0.4]) ** 2)
    code = np.zeros(len(y), dtype=np.int64)
    rules = fit_rules(Table(Z, y, code, np.arange(len(y)), 1), hyper)
    precision = np.linalg.inv(hyper.covariance).tolist()
    twin = posterior_mode(Z.tolist(), y.tolist(), hyper.mean, hyper.mean, precision)
    value = log_posterior(Z.tolist(), y.tolist(), rules.theta[0], hyper.mean, precision)
    best = log_posterior(Z.tolist(), y.tolist(), twin, hyper.mean, precision)
    assert value == pytest.approx(best, abs=2e-3)
    assert rules.reached[0] == pytest.approx(value)
    sure = rules._replace(covariance=np.zeros_like(rules.covariance))
    one = sure.predict(Z, code, np.array([3]))[0]
    assert one == pytest.approx(probability(Z[3], rules.theta[0]), rel=1e-12)


def test_a_physician_without_patients_has_the_common_rule():
    _, Z, y = made(1)
    code = np.repeat([0, 1], 30)
    table = Table(Z, y, code, np.arange(60), 3)
    hyper = learn_hyper(table)
    rules = fit_rules(table, hyper)
    assert np.array_equal(rules.theta[2], hyper.mean)


def test_the_common_part_finds_rules_that_differ_and_rules_that_do_not():
    random = np.random.default_rng(3)
    code = np.repeat(np.arange(30), 200)
    z = random.standard_normal((6000, 2))
    Z = np.column_stack([np.ones(6000), z])
    own = random.choice([-2.0, 2.0], 30)
    eta = own[code] * z[:, 0] + 2 * z[:, 1]
    y = (random.random(6000) < 0.02 + 0.9 / (1 + np.exp(-eta))).astype(np.int64)
    table = Table(Z, y, code, np.arange(6000), 30)
    hyper = learn_hyper(table)
    spread = np.sqrt(np.diag(hyper.covariance))
    assert spread[1] > 1.2
    assert spread[2] < 0.5
    rules = fit_rules(table, hyper)
    assert (np.sign(rules.theta[:, 1]) == np.sign(own)).all()


def test_columns_know_gaps_constants_and_outliers():
    X = np.array([[1.0, 7.0, np.nan], [2.0, 7.0, 1.0], [3.0, 7.0, 2.0], [1e29, 7.0, np.nan]])
    columns, owner = scaled_columns(X, column_scales(X))
    assert owner.tolist() == [0, 2, 2]
    assert np.isfinite(columns).all()
    assert columns.std(axis=0) == pytest.approx(1)
    y, code = np.array([0, 1, 0, 1]), np.zeros(4, dtype=np.int64)
    assert telling_columns(Table(columns, y, code, np.arange(4), 1)).tolist() == [0, 1, 2]


def test_trees_learn_and_weigh_by_rates():
    random = np.random.default_rng(7)
    X = random.standard_normal((4000, 2))
    rule = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    bins = binned(X, bin_edges(X))
    y = rule.astype(np.int64)
    score = grown(bins[:3000], y[:3000]).scores(bins[3000:])
    assert ((score > 0) == rule[3000:]).mean() > 0.97
    # Half of the decisions are coin tosses, and known to be.
    coin = random.random(4000) < 0.5
    y = np.where(coin, random.random(4000) < 0.5, rule).astype(np.int64)
    rates = Rates(np.array([0.999, 0.5]), np.array([0.001, 0.5]))
    known = grown(bins[:3000], y[:3000], coin[:3000].astype(np.int64), rates).scores(bins[3000:])
    assert ((known > 0) == rule[3000:]).mean() > 0.95


def test_an_own_forest_finds_a_conjunction():
    random = np.random.default_rng(8)
    X = random.standard_normal((600, 5))
    y = ((X[:, 1] > -0.3) & (X[:, 3] < 0.3)).astype(np.int64)
    code = np.zeros(600, dtype=np.int64)
    found = own_forests(Table(X, y, code, np.arange(500), 2), np.arange(500, 600), 0.5)
    assert np.mean((found - y[500:]) ** 2) < 0.05
    nobody = own_forests(Table(X, y, code + 1, np.arange(0), 2), np.arange(3), 0.5)
    assert nobody == pytest.approx(0.5)


def test_the_blend_prefers_what_predicts():
    random = np.random.default_rng(9)
    good = random.normal(0, 2, 4000)
    y = (random.random(4000) < 1 / (1 + np.exp(-good))).astype(np.int64)
    weights = fit_blend(np.column_stack([good, random.normal(0, 2, 4000)]), y)
    assert weights[1] == pytest.approx(1, abs=0.1)
    assert weights[2] < 0.1


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_the_bound_is_twice_the_squared_error_before_chance_is_held_back(seed):
    random = np.random.default_rng(seed)
    q, code = random.uniform(0.05, 0.95, 40), np.repeat(np.arange(4), 10)
    y = random.integers(0, 2, 40)
    found = bound(losses_of(q, y, code, 4))
    for j in range(4):
        own = code == j
        assert found.raw[j] == pytest.approx(2 * np.mean((y[own] - q[own]) ** 2))
    low, high, error = found.interval(0.95)
    assert (low <= found.score).all()
    assert (found.score <= high).all()
    assert (error > 0).all()


def test_level_is_without_bias_where_nobody_differs():
    random = np.random.default_rng(10)
    code = np.repeat(np.arange(200), 5)
    residual = random.normal(0, 0.5, 1000)
    value, standard_error = level_variance(residual, code, 200)
    assert value < 3 * standard_error
    assert np.var(np.bincount(code, residual) / 5) > 0.03


def test_components_of_perfect_predictions_are_exact():
    random = np.random.default_rng(11)
    code = np.repeat(np.arange(50), 400)
    p = np.where(code < 25, 0.2, 0.6)
    y = (random.random(len(p)) < p).astype(np.int64)
    pooled = np.full(len(p), 0.4)
    found = decompose([p, p, p], [pooled] * 3, y, code, 50, n_columns=1)
    assert found.occasion == pytest.approx(0.2, abs=0.005)
    assert found.level == pytest.approx(0.04, abs=0.005)
    assert found.pattern == pytest.approx(0.0, abs=0.005)
    assert found.system == found.level + found.pattern + found.occasion


def cohort_with_own_rates(n_physicians, n_patients, seed=0):
    random = np.random.default_rng(seed)
    code = np.repeat(np.arange(n_physicians), n_patients)
    p = random.uniform(0.1, 0.9, n_physicians)[code]
    y = (random.random(len(p)) < p).astype(np.int64)
    return p, np.full(len(p), y.mean()), y, code


def test_small_panels_do_not_identify_pattern_and_occasion():
    p, pooled, y, code = cohort_with_own_rates(200, 40)
    found = decompose([p, p, p], [pooled] * 3, y, code, 200, n_columns=9)
    assert found.reason == Unidentified.SMALL_PANELS
    assert found.patients_needed == 132
    assert found.pattern is None
    assert found.occasion is None
    assert found.system == found.level + found.pattern_and_occasion
    ends = {name: (low, high) for name, _, low, high in found.table.iter_rows()}
    assert ends["occasion"][0] == 0.0
    assert ends["occasion"][1] < 0.2
    assert ends["pattern"][1] > 0.15


def test_predictions_that_still_improve_do_not_identify_pattern_and_occasion():
    p, pooled, y, code = cohort_with_own_rates(20, 400)
    half = 0.4 * pooled + 0.6 * p  # half of the patients teach a part of what all of them teach
    whole = 0.2 * pooled + 0.8 * p
    flipped = np.where(code % 2 == 0, 1 - pooled, pooled)
    assert decompose([p, p, p], [pooled] * 3, y, code, 20, n_columns=9).identified
    rough = decompose([0.8 * p + 0.1, flipped, half], [pooled] * 3, y, code, 20, n_columns=9)
    assert rough.reason == Unidentified.STILL_LEARNING
    assert decompose([whole, whole, whole], [pooled] * 3, y, code, 20, n_columns=9).identified


@given(st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_components_are_possible_whatever_is_predicted(seed):
    random = np.random.default_rng(seed)
    n, n_physicians = 60, int(random.integers(1, 6))
    code = random.integers(0, n_physicians, n)
    y = random.integers(0, 2, n)
    guesses = [random.random(n) for _ in range(6)]
    found = decompose(guesses[:3], guesses[3:], y, code, n_physicians, n_columns=1)
    assert found.level + found.pattern_and_occasion == pytest.approx(found.system, abs=1e-12)
    for _, value, low, high in found.table.iter_rows():
        assert 0 <= low <= high <= 0.25
        assert value is None or low <= value <= high
