"""What physicians beyond the sample are read with, against literal twins."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import beta

from intravar.latent import families
from intravar.latent.calibration import SHIFT_POINTS, count, log_score
from intravar.latent.families import Camp, CommonLimits, CommonWeights, read_panel, weigh_panel
from intravar.latent.own_rules import mean_rates, mixed_mass, read_own_rules
from intravar.latent.rates import find_anchors
from intravar.latent.rule_learners import MISSING_BIN, BoostedTrees, SplineLogit
from intravar.latent.shared_rule import SharedRule, learn_shared, read_panels
from intravar.learning.boosted_trees import LARGEST_SCORE, binned
from intravar.learning.personal_rules import Hyper
from latent.made import observed_of, panels_of
from reference import personal
from reference import readings as literal


def learned(learner, random, n=300):
    """A rule learned from half of some patients, and all of their covariates."""
    x = np.column_stack([random.normal(size=(n, 3)), random.integers(0, 3, n), np.ones(n)])
    x[random.random(x.shape) < 0.05] = np.nan
    y = (random.random(n) < np.where(np.nan_to_num(x[:, 0]) > 0, 0.9, 0.1)).astype(np.int64)
    return x, learner.prepare(x)(observed_of(x, y, np.arange(n) % 3), np.arange(0, n, 2))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), depth=st.integers(1, 4), trees=st.integers(1, 30))
def test_kept_trees_give_the_scores_of_their_leaves(seed, depth, trees):
    x, kept = learned(BoostedTrees(trees=trees, depth=depth), np.random.default_rng(seed))
    bins = binned(x, kept.edges, MISSING_BIN)
    scores = kept.logit(x)
    for i in (0, 1, len(x) - 1):
        expected = literal.score_by_trees(bins[i], kept.trees, LARGEST_SCORE)
        assert kept.logit(x[i : i + 1])[0] == expected == scores[i]


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_kept_splines_give_the_scores_of_their_terms(seed):
    x, kept = learned(SplineLogit(iterations=10), np.random.default_rng(seed))
    far = np.vstack([x[:3], np.full((1, x.shape[1]), 1e20), np.full((1, x.shape[1]), np.nan)])
    expected = [
        kept.coefficients[0] + literal.spline_row(row, kept) @ kept.coefficients[1:] for row in far
    ]
    np.testing.assert_allclose(kept.logit(far), expected, rtol=1e-9, atol=1e-9)
    alone = [kept.logit(row[None])[0] for row in far]
    np.testing.assert_array_equal(kept.logit(far), alone)


def common(n_shifts, score):
    points = SHIFT_POINTS if n_shifts > 1 else np.zeros(1)
    return SharedRule(
        edges=np.empty(0),
        bins=np.zeros(1, dtype=np.int64),
        score=score,
        intercept=0.2,
        slope=1.1,
        shifts=0.8 * points,
        log_prior=-0.5 * points**2,
        rate_laws=np.array([6.0, 2.0, 1.5, 9.0]),
        weak_laws=np.array([3.0, 1.0, 0.75, 4.5]),
        map_covariance=np.array([[0.02, 0.0], [0.0, 0.01]]),
    )


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(0, 60),
    n_shifts=st.sampled_from([1, 11]),
    rate=st.sampled_from([0.0, 0.3, 0.9, 1.0]),
)
def test_rates_of_a_panel(seed, n, n_shifts, rate):
    random = np.random.default_rng(seed)
    score = np.array([-4.0, -1.5, 0.0, 1.0, 3.5])
    place = random.integers(0, 5, n)
    y = (random.random(n) < rate).astype(np.int64)
    given_ = common(n_shifts, score)
    first = np.array([0, n])
    means, posterior, weak = read_panels(place, y, first, given_)
    p = (posterior.edge[0, 1:] + posterior.edge[0, :-1]) / 2
    assert posterior.mass.sum() == pytest.approx(1)
    assert weak.doubt is not None
    assert 0 <= weak.doubt[0] < 1
    for laws, own in ((given_.rate_laws, posterior.mass), (given_.weak_laws, weak.mass)):
        high, low, discordance, shift = literal.rates_over_shifts(y, score[place], given_, laws)
        assert own[0] @ p == pytest.approx(high, abs=0.012)
        assert own[0] @ (2 * p * (1 - p)) == pytest.approx(discordance, abs=0.012)
        if own is posterior.mass:
            assert means[0] == pytest.approx([high, low, shift], abs=0.015)


@pytest.mark.parametrize("thresholds", [False, True])
def test_what_is_common_is_learned_and_read(thresholds):
    random = np.random.default_rng(8)
    n, who = 6_000, np.repeat(np.arange(20), 300)
    logit = 3 * random.normal(size=n)
    line = random.normal(0, 1.5, 20) * thresholds
    g, p = expit(logit + line[who]), random.beta(8, 2, 20)
    y = (random.random(n) < np.where(random.random(n) < g, p[who], 0.05)) * 1
    panels = panels_of(logit[:, None], y, who)
    rule = learn_shared(logit, panels, thresholds)
    assert rule.thresholds == thresholds
    found = rule.read(logit, panels, "eligible")
    assert np.abs(found.p_high - p).mean() < 0.06
    assert np.abs(found.p_low - 0.05).mean() < 0.03
    if thresholds:
        assert np.corrcoef(found.shift, line)[0, 1] > 0.95
    assert np.abs(found.q - (0.05 + (p[who] - 0.05) * g)).mean() < 0.04


def test_a_switched_rule_is_turned():
    random = np.random.default_rng(9)
    n, who = 3_000, np.repeat(np.arange(10), 300)
    logit = 4 * random.normal(size=n)
    y = (random.random(n) < np.where(logit < 0, 0.85, 0.1)) * 1
    panels = panels_of(logit[:, None], y, who)
    rule = learn_shared(logit, panels, False)
    found = rule.read(logit, panels, "panel")
    assert rule.sign == -1
    assert np.abs(found.p_high - 0.85).max() < 0.06
    high, low = found.p_high, found.p_low
    np.testing.assert_allclose(found.score, high * (1 - high) + low * (1 - low), atol=0.02)


def test_every_score_has_a_bin():
    score = np.array([-5.0, -5.0, -4.9, 0.0, 0.1, 7.0])
    counts = count(score, observed_of(score, np.array([0, 1, 0, 1, 0, 1]), np.zeros(6)))
    bins = counts.bin_of_interval
    place = bins[np.searchsorted(counts.edges, score)]
    np.testing.assert_array_equal(np.bincount(place), (counts.yes + counts.no)[counts.bin])
    means = np.bincount(place, score) / np.bincount(place)
    np.testing.assert_allclose(counts.score, means)
    # With a physician each, patients are counted one by one.
    alone = count(score, observed_of(score, np.array([0, 1, 0, 1, 0, 1]), np.arange(6)))
    np.testing.assert_array_equal(alone.physician, np.arange(6))
    np.testing.assert_array_equal(alone.bin, place)
    assert bins[0] == 0
    assert bins[-1] == len(counts.score) - 1
    assert (np.diff(bins) >= 0).all()


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(0, 7), levels=st.integers(1, 4))
def test_limits_of_a_panel(seed, n, levels):
    random = np.random.default_rng(seed)
    bins, y = random.integers(0, levels, (n, 3)), random.integers(0, 2, n)
    pairs = np.array([(1, 0), (2, 1)])
    high, low = (3.5, 1.2), (0.8, 7.0)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("LEVELS", levels), ("DRAWS", 20_000), ("HIGH", high), ("LOW", low)):
            patch.setattr(families, name, value)
        found = weigh_panel(bins.T, y, np.ones(n) > 0, pairs, 0.5, 0)
    p_high, g, q = literal.limits_by_all(bins, y, pairs, levels, high, low)
    assert mean_rates(found.laws)[0] == pytest.approx(p_high, abs=2e-3)
    np.testing.assert_allclose(found.g, g, atol=3e-3)
    np.testing.assert_allclose(found.q, q, atol=3e-3)


def test_limits_of_a_large_panel():
    random = np.random.default_rng(4)
    n = 2_500
    bins = random.integers(0, 6, (n, 2))
    y = (random.random(n) < np.where((bins > 1).all(axis=1), 0.8, 0.1)).astype(np.int64)
    found = weigh_panel(bins.T, y, np.ones(n) > 0, np.array([(1, 0)]), 0.5, 0)
    np.testing.assert_array_equal(found.g > 0.5, (bins > 1).all(axis=1))
    assert mean_rates(found.laws) == pytest.approx((0.8, 0.1), abs=0.04)


def camp_of(mean, spread, share=1.0):
    hyper = Hyper(np.array(mean), np.diag(np.array(spread) ** 2))
    return Camp(share, (hyper,), hyper)


def test_weights_of_a_panel(monkeypatch):
    monkeypatch.setattr(families, "KEPT", 600)
    random = np.random.default_rng(3)
    n, mean, spread = 40, [0.0, 0.0, -2.0, 1.0], [2.0, 2.0, 0.7, 0.8]
    x = random.normal(size=n)
    y = (random.random(n) < np.where(x > 0, 0.8, 0.1)).astype(np.int64)
    design, everybody = np.column_stack([np.ones(n), x]), np.ones(n, dtype=np.bool_)
    found = read_panel(design, y, everybody, (camp_of(mean, spread),), 0, random)
    high, low, worth = personal.posterior_of_rates(design, y, mean, spread, random)
    assert worth > 1_000
    assert mean_rates(found.laws) == pytest.approx([high, low], abs=0.015)
    for i in (0, int(np.argmax(np.abs(found.q - y)))):
        g, q = literal.weights_without(design, y, i, mean, spread, random)
        assert (found.g[i], found.q[i]) == pytest.approx((g, q), abs=0.02)


def test_a_camp_is_found():
    random = np.random.default_rng(5)
    spread = [0.3, 0.3, 0.3, 0.5, 0.5]
    camps = tuple(camp_of([0.0, *slopes, -3.0, 2.0], spread, 0.5) for slopes in ((6, 0), (0, 6)))
    design, everybody = np.column_stack([np.ones(60), random.normal(size=(60, 2))]), np.ones(60) > 0
    for camp in (0, 1):
        y = (design[:, 1 + camp] > 0).astype(np.int64)
        found = read_panel(design, y, everybody, camps, 10, random)
        assert found.camp == camp
        assert found.drawn.shape == (10, 60)
        assert ((found.drawn > 0) & (found.drawn < 1)).all()


def test_mixtures_of_laws():
    laws = np.random.default_rng(7).gamma(5.0, 2.0, (100, 5))
    edge = np.linspace(0, 1, 501)
    expected = np.mean([np.diff(beta.cdf(edge, a, b)) for a, b in laws[:, :2]], axis=0)
    np.testing.assert_allclose(mixed_mass(laws), expected, atol=1e-4)
    means = [np.mean(laws[:, k] / laws[:, k : k + 2].sum(axis=1)) for k in (0, 2)]
    assert mean_rates(laws) == pytest.approx(means)


def test_ranges_are_those_over_the_scales_of_the_fitted():
    random = np.random.default_rng(2)
    high, low = random.uniform(0.6, 0.8, 5), random.uniform(0.0, 0.2, 5)
    fitted = find_anchors(random.random(500), high, low)
    again = fitted.for_rates(high, low)
    p = np.clip(low + (high - low) * np.append(np.linspace(*fitted.scales, 21), 1)[:, None], 0, 1)
    value = 2 * p * (1 - p)
    np.testing.assert_allclose(again.identified_low, value.min(axis=0), atol=1e-12)
    np.testing.assert_allclose(again.identified_high, value.max(axis=0), atol=1e-12)
    # Nobody's rates pass one, whoever was fitted.
    sure = fitted.for_rates(np.array([0.99]), np.array([0.5]))
    assert (sure.identified_high <= 0.5).all()


def test_a_panel_without_patients_has_the_law():
    given_ = common(1, np.array([-1.0, 1.0]))
    nobody = np.zeros(0, dtype=np.int64)
    means, _, weak = read_panels(nobody, nobody, np.array([0, 0]), given_)
    assert means[0, 0] == pytest.approx(0.75, abs=0.02)
    assert weak.doubt is not None
    assert weak.doubt[0] == 0


def test_decisions_that_do_not_count_are_predicted():
    random = np.random.default_rng(11)
    x = random.normal(size=(200, 2))
    y = (random.random(200) < np.where((x > -0.3).all(axis=1), 0.9, 0.05)).astype(np.int64)
    panels = panels_of(x, y, np.zeros(200, dtype=np.int64))
    known = np.arange(200) % 2 == 0
    turned = replace(panels, decision=np.where(known, panels.y, 1 - panels.y))
    everybody = np.ones(200, dtype=np.bool_)
    for family in (CommonWeights, CommonLimits):
        own = family.learn(x, np.arange(2), panels, everybody, random, np.zeros(200))
        one, other = (
            read_own_rules(own, x, np.zeros(200), each, 0, known=known)[0]
            for each in (panels, replace(turned, key=panels.key))
        )
        np.testing.assert_array_equal(one.q, other.q)
        assert log_score(one.q[~known], panels.y[~known]) > -0.5 * 100
