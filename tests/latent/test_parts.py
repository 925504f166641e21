"""The parts of the latent rule: trees, splines, calibration, rates, anchors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.special import betaln, expit, logsumexp
from scipy.stats import beta

from intravar.estimators import LatentRule
from intravar.latent.calibration import SHIFT_POINTS, STRENGTH, TIGHT, calibrate, count
from intravar.latent.rates import Posterior, cells_of, find_anchors, shortest_interval
from intravar.latent.rule_learners import SplineLogit, _spline_loss
from intravar.latent.shared_rule import everybody_eligible, learn_shared
from intravar.learning.boosted_trees import _best_split, _histograms, bin_edges, binned
from latent.made import observed_of, panels_of
from reference.latent import best_gain, posterior_of_rates


def test_bins_keep_the_order_and_mark_missing():
    x = np.random.default_rng(0).standard_normal((3_000, 1))
    x[5] = np.nan
    bins = binned(x, bin_edges(x, 254), 255)[:, 0]
    assert bins[5] == 255
    known = np.arange(3_000) != 5
    order = np.argsort(x[known, 0])
    assert (np.diff(bins[known][order].astype(int)) >= 0).all()
    assert bins[known].max() <= 253


@pytest.mark.parametrize("seed", range(12))
def test_the_best_split_is_the_best_of_all(seed):
    random = np.random.default_rng(seed)
    x = random.integers(0, 6, (60, 3)).astype(float)
    x[random.random(x.shape) < 0.1 * (seed % 2)] = np.nan
    bins = binned(x, bin_edges(x, 254), 255)
    gradient, curvature = random.normal(size=60), random.uniform(0.1, 1, 60)
    sums = np.zeros((1, 3, 256, 2))
    node = np.zeros(60, np.int64)
    _histograms(bins, node, gradient, curvature, 1, sums, sums, np.zeros(1, np.int64))
    _, column, cut, missing_left = _best_split(sums, 0, 2.0, 3.0)
    left = (bins[:, column] <= cut) & (bins[:, column] != 255)
    if missing_left:
        left |= bins[:, column] == 255
    gain = sum(
        gradient[side].sum() ** 2 / (curvature[side].sum() + 2.0) for side in (left, ~left)
    ) - gradient.sum() ** 2 / (curvature.sum() + 2.0)
    assert gain == pytest.approx(best_gain(bins, gradient, curvature, 2.0, 3.0))


def test_the_spline_logit_climbs_its_likelihood():
    random = np.random.default_rng(1)
    x = random.standard_normal((4_000, 2))
    who = random.integers(0, 4, 4_000)
    eligible = random.random(4_000) < expit(3 * x[:, 0])
    y = (random.random(4_000) < np.where(eligible, 0.9, 0.1)).astype(np.int64)
    learn = SplineLogit().prepare(x)
    score = learn(observed_of(x, y, who), np.arange(4_000)).logit(x)
    assert np.corrcoef(score, x[:, 0])[0, 1] > 0.95
    given = x[:200], y[:200], who[:200], (0.8, 0.2), 2.0
    theta = random.normal(size=11)
    slope = approx_fprime(theta, lambda at: _spline_loss(at, *given)[0])
    np.testing.assert_allclose(_spline_loss(theta, *given)[1], slope, rtol=1e-4, atol=1e-3)


def test_calibration_undoes_a_timid_score():
    random = np.random.default_rng(2)
    true = 3 * random.standard_normal(40_000)
    who = random.integers(0, 20, 40_000)
    eligible = random.random(40_000) < expit(true)
    y = (random.random(40_000) < np.where(eligible, 0.85, 0.05)).astype(np.int64)
    fit = calibrate(count((true + 1) / 3, observed_of(true, y, who)))
    assert fit.slope == pytest.approx(3, rel=0.1)
    assert fit.intercept == pytest.approx(-1, abs=0.25)
    assert np.mean(fit.mean_high) == pytest.approx(0.85, abs=0.01)
    assert (np.diff(fit.path) > -1e-6).all()


def read(score, y, who, thresholds=False):
    """Return the rule learned from scores, and everybody read by it."""
    panels = panels_of(score[:, None], y, who)
    rule = learn_shared(score, panels, thresholds)
    return rule, rule.read(score, panels, "eligible")


def test_posterior_equals_a_dense_grid():
    random = np.random.default_rng(6)
    levels = np.array([-3.0, -1.0, 0.5, 2.0, 4.0])
    place = random.integers(0, 5, 600)
    who = np.repeat([0, 1], 300)
    eligible = random.random(600) < expit(levels[place])
    y = (random.random(600) < np.where(eligible, 0.75, 0.15)).astype(np.int64)
    rule, found = read(levels[place], y, who)
    g = expit(rule.intercept + rule.slope * levels[place])
    for j in (0, 1):
        mine = who == j
        expected = posterior_of_rates(y[mine], g[mine], *rule.laws)
        said = found.p_high[j], found.p_low[j], found.score[j]
        assert said == pytest.approx(expected, abs=4e-3)


def test_posterior_with_a_known_rule_is_the_beta_posterior():
    random = np.random.default_rng(3)
    eligible = random.integers(0, 2, 4_000)
    who = np.sort(random.integers(0, 10, 4_000))
    y = (random.random(4_000) < np.where(eligible == 1, 0.7, 0.1)).astype(np.int64)
    rule, found = read(np.where(eligible == 1, 30.0, -30.0), y, who)
    k = np.bincount(who[eligible == 1], y[eligible == 1])
    n = np.bincount(who[eligible == 1])
    a, b = k + rule.laws[0][0], n - k + rule.laws[0][1]
    np.testing.assert_allclose(found.p_high, a / (a + b), atol=2e-3)
    np.testing.assert_allclose(found.score, 2 * a * b / ((a + b) * (a + b + 1)), atol=2e-3)


def test_intervals_cover_under_a_known_rule():
    random = np.random.default_rng(4)
    hit = []
    for _ in range(10):
        p = random.uniform(0.5, 1, 40)
        who = np.repeat(np.arange(40), 200)
        eligible = random.integers(0, 2, who.size)
        y = (random.random(who.size) < np.where(eligible == 1, p[who], 0.05)).astype(np.int64)
        _, found = read(np.where(eligible == 1, 30.0, -30.0), y, who)
        low, high, _ = found.interval(0.95)
        truth = 2 * p * (1 - p)
        hit.append(np.mean((low <= truth) & (truth <= high)))
    assert 0.92 < np.mean(hit) < 0.98


def test_an_interval_that_begins_with_the_smallest_values_begins_at_0():
    value = np.random.default_rng(0).exponential(0.01, 5000)
    edge = cells_of(value, np.ones(5000), 100)[None]
    low, high = Posterior(np.full((1, 100), 0.01), edge, whole=True).interval(0.95)
    assert low[0] == 0
    assert high[0] == pytest.approx(0.03, abs=0.003)


def test_shortest_interval_keeps_a_boundary():
    edge = np.linspace(0, 1, 1_001)
    low, high = shortest_interval(np.diff(beta.cdf(edge, 100, 0.7)), edge, 0.95)
    assert high == 1.0
    assert low == pytest.approx(beta.ppf(0.05, 100, 0.7), abs=2e-3)


def test_beta_binomial_prior_is_found():
    random = np.random.default_rng(5)
    who = np.repeat(np.arange(400), 100)
    y = (random.random(40_000) < random.beta(6, 2, 400)[who]).astype(np.int64)
    a, b = everybody_eligible(panels_of(np.zeros((40_000, 1)), y, who)).laws[0]
    assert a / (a + b) == pytest.approx(0.75, abs=0.02)
    assert a + b == pytest.approx(8, rel=0.3)


def test_anchors_and_the_scales_that_fit_equally_well():
    rates = np.array([0.9, 1.0]), np.array([0.1, 0.0])
    sure = find_anchors(np.repeat([0.0, 1.0], 50), *rates).for_rates(*rates)
    assert (sure.low, sure.high) == (0.5, 0.5)
    assert sure.complaints(0.2) == []
    # Somebody prescribes to all the eligible, so that nobody's p_high can be called higher.
    np.testing.assert_allclose(sure.identified_low, sure.identified_high)
    rates = np.array([0.8]), np.array([0.1])
    vague = find_anchors(np.linspace(0.3, 0.7, 100), *rates).for_rates(*rates)
    assert len(vague.complaints(0.2)) == 2
    assert vague.identified_high[0] - vague.identified_low[0] > 0.3


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    panel=st.integers(1, 40),
    physicians=st.integers(1, 60),
    personal=st.booleans(),
    tight=st.booleans(),
)
def test_calibration_never_lowers_its_objective(seed, panel, physicians, personal, tight):
    """Panels of five, physicians who say yes to all, rules without any content: never downhill."""
    random = np.random.default_rng(seed)
    n = panel * physicians
    score = random.normal(size=n) * random.choice([0.1, 1, 5])
    who = np.repeat(np.arange(physicians), panel)
    high, low = random.uniform(0.3, 1, physicians), random.uniform(0, 0.4, physicians)
    g = expit(2 * score)
    y = (random.random(n) < low[who] + (high - low)[who] * g).astype(np.int64)
    fit = calibrate(count(score, observed_of(score, y, who)), personal=personal, tight=tight)
    assert (np.diff(fit.path) >= -1e-9 * np.abs(fit.path[0])).all()
    assert np.isfinite(fit.log_likelihood)
    assert fit.log_likelihood == fit.path[-1]


@pytest.mark.parametrize("seed", range(8))
def test_panels_of_two_are_read(seed):
    """Rates that are all alike draw the prior towards a point; that is not an error."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(300, 2))
    y = random.random(300) < np.where(x[:, 0] > 0, 0.9, 0.02)
    model = LatentRule(learners=[SplineLogit(iterations=20)])
    assert np.isfinite(model.fit(x, y, np.repeat(np.arange(150), 2)).score_).all()


def test_a_class_without_patients_keeps_its_prior():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 500)
    score = np.full(500, 800.0)
    fit = calibrate(count(score, observed_of(score, y, np.repeat(np.arange(5), 100))))
    assert np.isfinite(fit.path).all()


@pytest.mark.parametrize("personal", [False, True])
def test_the_objective_is_the_likelihood_of_every_decision(personal):
    random = np.random.default_rng(7)
    score, who = random.integers(-3, 4, 200).astype(float), np.repeat(np.arange(4), 50)
    y = (random.random(200) < expit(score)).astype(np.int64)
    fit = calibrate(count(score, observed_of(score, y, who)), personal=personal, tight=True)
    points = SHIFT_POINTS if personal else np.zeros(1)
    prior = np.exp(-0.5 * points**2)
    theta = np.array([fit.intercept, fit.slope, fit.spread])[: 3 if personal else 2]
    centre, width = (np.array(each)[: len(theta)] for each in TIGHT)
    total = -0.5 * np.sum(((theta - centre) / width) ** 2)
    for j in range(4):
        joint = np.log(prior / prior.sum())
        for at, shift in enumerate(fit.shifts):
            high, low = fit.p_high[j, at], fit.p_low[j, at]
            q = low + (high - low) * expit(fit.intercept + fit.slope * score[who == j] + shift)
            joint[at] += np.log(np.where(y[who == j] == 1, q, 1 - q)).sum()
            for p, mean in ((high, fit.means[0]), (low, fit.means[1])):
                a, b = STRENGTH * mean, STRENGTH * (1 - mean)
                joint[at] += a * np.log(p) + b * np.log1p(-p) - betaln(a + 1, b + 1)
        total += logsumexp(joint)
    assert fit.log_likelihood == pytest.approx(total, rel=1e-9)
