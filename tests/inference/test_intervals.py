"""Intervals of shares, pairs, residuals and of the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom
from statsmodels.stats.proportion import proportion_confint

import intravar
from intravar.errors import InputError
from intravar.estimators import METHODS, make_estimator
from intravar.estimators.glmm import overdispersion_error
from intravar.inference import (
    discordance_interval,
    effective_pairs,
    pair_interval,
    share_interval,
)
from intravar.study.oracle import oracle_interval
from reference.inference import cluster_variance

QUICK = {
    "learned-weights": {"n_trees": 20},
    "rf-proximity": {"n_trees": 20},
    "lpa-guided": {"max_profiles": 3, "n_init": 2},
}


def covered(interval, value):
    return (interval.low <= value + 1e-12) & (value - 1e-12 <= interval.high)


@pytest.mark.parametrize("n", [5, 40, 300])
def test_shares_equal_statsmodels_inside(n):
    k = np.arange(1, n)
    low, high = proportion_confint(k, n, method="jeffreys")
    found = share_interval(k, n)
    np.testing.assert_allclose(found.low, low, rtol=1e-9)
    np.testing.assert_allclose(found.high, high, rtol=1e-9)
    np.testing.assert_allclose(found.standard_error, beta.std(k + 0.5, n - k + 0.5))


def test_shares_at_the_edges():
    found = share_interval([0, 7, 0], [7, 7, 0])
    assert found.low[0] == 0
    assert found.high[1] == 1
    assert 0 < found.high[0] < 0.5 < found.low[1] < 1
    assert found.standard_error[0] > 0
    assert all(np.isnan(column[2]) for column in found)


@pytest.mark.parametrize("n", [10, 30, 100, 400])
def test_shares_cover_at_their_level_exactly_computed(n):
    k, shares = np.arange(n + 1), np.linspace(0.02, 0.98, 97)
    found = share_interval(k, n)
    coverage = np.array([binom.pmf(k, n, p)[covered(found, p)].sum() for p in shares])
    assert abs(coverage.mean() - 0.95) < 0.01
    assert coverage.min() > 0.85


@pytest.mark.parametrize("n", [20, 100, 400])
def test_discordance_covers_exactly_computed(n):
    k, shares = np.arange(n + 1), np.linspace(0, 1, 101)
    found = discordance_interval(k, n)
    coverage = np.array([binom.pmf(k, n, p)[covered(found, 2 * p * (1 - p))].sum() for p in shares])
    assert 0.95 < coverage.mean() < 0.97
    assert coverage[[0, 100]].min() == pytest.approx(1)
    # A physician who tosses a coin is at the maximum of 2p(1-p), and covered all the same.
    assert coverage[50] > 0.93


def test_discordance_error_is_that_of_the_posterior():
    draws = np.random.default_rng(0).beta(15.5, 5.5, 400_000)
    expected = np.std(2 * draws * (1 - draws))
    assert discordance_interval(15, 20).standard_error == pytest.approx(expected, rel=0.01)
    assert np.isnan(discordance_interval(1, 1).low)


def test_disjoint_pairs_are_a_binomial_count():
    discordant = [True] * 3 + [False] * 9
    found = pair_interval(np.zeros(12), np.arange(12), np.arange(12, 24), discordant, 2)
    expected = share_interval(3, 12)
    assert [column[0] for column in found] == pytest.approx([float(each) for each in expected])
    assert np.isnan(found.low[1])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(8, 60))
def test_worth_follows_from_the_variance_between_clusters(seed, n):
    random = np.random.default_rng(seed)
    x, y = random.normal(size=n), random.integers(0, 2, n)
    gap = np.abs(x[:, None] - x) + np.diag(np.full(n, np.inf))
    neighbour = gap.argmin(axis=1)
    discordant = y != y[neighbour]
    worth, clusters = effective_pairs(np.zeros(n), np.arange(n), neighbour, discordant, 1)
    pairs = [(i, int(neighbour[i])) for i in range(n)]
    if clusters[0] > 1:
        variance = cluster_variance(pairs, discordant.tolist())
        share = discordant.mean()
        different = len({tuple(sorted(pair)) for pair in pairs})
        if variance > 1e-9:
            assert worth[0] == pytest.approx(min(share * (1 - share) / variance, different))
        else:
            assert worth[0] == clusters[0]


def test_a_pair_in_both_directions_counts_once():
    first, second = np.arange(40), np.arange(40) ^ 1
    discordant = np.repeat(np.arange(20) < 5, 2)
    worth, clusters = effective_pairs(np.zeros(40), first, second, discordant, 1)
    assert clusters[0] == 20
    assert worth[0] == pytest.approx(19)
    nobody, _ = effective_pairs(np.zeros(40), first, second, np.zeros(40), 1)
    assert nobody[0] == 20


def test_overdispersion_error_meets_simulation():
    # Two physicians, an intercept each, nothing else: the score's error over fresh panels.
    random, n = np.random.default_rng(2), 300
    scores, errors = [], []
    for _ in range(400):
        y = (random.random(n) < 0.3).astype(np.int64)
        p = np.full(n, y.mean())
        square = (y - p) ** 2 / (p * (1 - p))
        # The posterior variance of an intercept with a flat prior.
        sd = np.array([1 / np.sqrt(n * p[0] * (1 - p[0]))])
        code, ones = np.zeros(n, dtype=int), np.ones((n, 1))
        errors.append(overdispersion_error(y, p, square, code, ones, np.zeros(1), sd)[0])
        scores.append(square.mean())
    # With its own intercept the mean square of a panel is 1 always, and the error says so; without
    # the correlation of both errors it would be 0.05.
    assert np.std(scores) < 1e-12
    assert np.mean(errors) < 1e-12


@pytest.mark.parametrize("name", list(METHODS))
@pytest.mark.filterwarnings("ignore")
def test_every_method_has_intervals(name):
    cohort = intravar.simulate("score2", n_patients=400, n_physicians=5, random_state=5)
    model = make_estimator(name, **QUICK.get(name, {})).fit(*cohort.observed())
    found, wide = model.interval(0.9), model.interval(0.99)
    assert found.columns == ["physician", "score_low", "score_high", "standard_error"]
    assert (found["score_low"].to_numpy() <= model.score_).all()
    assert (model.score_ <= found["score_high"].to_numpy()).all()
    assert (wide["score_low"] <= found["score_low"]).all()
    assert (wide["score_high"] >= found["score_high"]).all()
    assert (found["standard_error"] > 0).all()
    profile = model.profile_
    assert profile.columns[3:6] == ["score_low", "score_high", "standard_error"]
    assert profile["score_low"].equals(model.interval()["score_low"])


@pytest.mark.parametrize("name", ["euclidean", "genetic-mahalanobis", "glmm"])
def test_undefined_stays_undefined(name):
    random = np.random.default_rng(0)
    who = np.array(["one"] + ["many"] * 39)
    model = make_estimator(name).fit(random.normal(size=(40, 2)), np.arange(40) % 2, who)
    found = {row["physician"]: row for row in model.interval().to_dicts()}
    assert found["one"]["score_low"] is None
    assert found["one"]["standard_error"] is None
    assert found["many"]["score_low"] is not None


def test_oracle_interval_and_levels():
    cohort = intravar.simulate("score2", n_patients=2000, n_physicians=10, random_state=3)
    found = oracle_interval(cohort).join(intravar.oracle(cohort), on="physician")
    inside = found["d_star"].is_between(found["low"], found["high"])
    assert inside.sum() >= 8
    with pytest.raises(InputError, match="level 95"):
        oracle_interval(cohort, level=95)
