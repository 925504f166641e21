"""Expected ranks beside brute force, and the edges of ranking."""

import numpy as np
import pytest

from intravar.inference import expected_ranks, rank_normal
from intravar.inference import ranking as module
from reference.inference import simulated_ranks


def test_expected_ranks_equal_simulation():
    random = np.random.default_rng(0)
    mean, sd = random.normal(size=8), random.uniform(0.1, 1.5, 8)
    simulated = simulated_ranks(mean.tolist(), sd.tolist(), 10_000, seed=1)
    np.testing.assert_allclose(expected_ranks(mean, sd), simulated, atol=0.08)


def test_blocks_change_nothing(monkeypatch):
    random = np.random.default_rng(1)
    mean, sd = random.normal(size=50), random.uniform(0, 1, 50)
    whole = expected_ranks(mean, sd)
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 170)
    np.testing.assert_allclose(expected_ranks(mean, sd), whole)
    assert whole.sum() == pytest.approx(50 * 51 / 2)


def test_without_error_ranks_are_ranks():
    found = rank_normal([0.3, 0.1, 0.2], [0.0, 0.0, 0.0])
    for column in (found.expected, found.low, found.high):
        assert column.tolist() == [3, 1, 2]
    assert found.p_worst_tenth.tolist() == [1, 0, 0]


def test_with_nothing_known_everyone_may_be_anywhere():
    for sd in (0.0, 1.0):
        found = rank_normal(np.full(20, 0.4), np.full(20, sd))
        np.testing.assert_allclose(found.expected, 10.5)
        assert (found.low <= 2).all()
        assert (found.high >= 19).all()
        np.testing.assert_allclose(found.p_worst_tenth, 0.1, atol=0.015)


def test_tail_probability_sums_to_the_tail():
    random = np.random.default_rng(3)
    found = rank_normal(random.normal(size=45), random.uniform(0.2, 1, 45))
    assert found.p_worst_tenth.sum() == pytest.approx(5)
    assert (found.low <= found.expected).all()
    assert (found.expected <= found.high).all()


def test_ranks_cover_true_ranks():
    random = np.random.default_rng(4)
    inside = []
    for seed in range(60):
        theta = random.normal(size=25)
        sd = random.uniform(0.3, 1.0, 25)
        y = theta + sd * random.standard_normal(25)
        kept = 1 / (1 + sd**2)
        found = rank_normal(kept * y, np.sqrt(kept) * sd, n_draws=1000, random_state=seed)
        truth = theta.argsort().argsort() + 1
        inside.append(np.mean((found.low <= truth) & (truth <= found.high)))
    assert 0.93 < np.mean(inside) < 0.985


def test_few_and_many():
    one = rank_normal([0.2], [0.1])
    assert one.expected.tolist() == [1]
    assert np.isnan(one.p_worst_tenth[0])
    assert rank_normal([], []).expected.size == 0
    two = rank_normal([0.0, 1.0], [1.0, 1.0])
    assert two.p_worst_tenth[1] == pytest.approx(two.expected[1] - 1, abs=0.02)
    random = np.random.default_rng(5)
    many = rank_normal(random.normal(size=5_000), np.full(5_000, 0.5), n_draws=200)
    assert many.expected.sum() == pytest.approx(5_000 * 5_001 / 2)


def test_rank_correlations_are_over_those_who_have_both():
    one, other = np.array([1.0, 2, 3, np.nan]), np.array([2.0, 4, 5, 6])
    assert module.rank_correlation(one, other) == 1
