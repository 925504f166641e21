"""Reliability, rankability and split halves."""

import numpy as np
import pytest

from intravar.inference import rankability, reliability, share_interval, spearman_brown, split_half


def test_formulas():
    np.testing.assert_allclose(reliability(0.04, [0.0, 0.2]), [1, 0.5])
    assert np.isnan(reliability(0.0, [0.0])[0])
    assert reliability(0.0, [0.3])[0] == 0
    assert np.isnan(reliability(float("nan"), [0.3])[0])
    assert rankability(1.0, [1, 3, np.nan, 2]) == pytest.approx(1 / 5)
    assert np.isnan(rankability(1.0, []))
    assert float(spearman_brown(0.4, times=3)) == pytest.approx(1.2 / 1.8)


def test_reliability_is_the_squared_correlation_with_the_truth():
    random = np.random.default_rng(0)
    theta = random.normal(0, 0.3, 200_000)
    score = theta + random.normal(0, 0.2, theta.size)
    expected = np.corrcoef(score, theta)[0, 1] ** 2
    assert reliability(0.09, 0.2) == pytest.approx(expected, abs=0.005)


def test_split_halves_meet_signal_to_noise():
    random = np.random.default_rng(1)
    physician = np.repeat(np.arange(300), 40)
    share = random.beta(6, 9, 300)
    y = random.random(physician.size) < share[physician]

    def score(rows):
        return np.bincount(physician[rows], y[rows]) / np.bincount(physician[rows])

    noise = share_interval(share * 40, 40).standard_error
    expected = reliability(float(share.var()), np.sqrt(np.mean(noise**2)))
    assert split_half(score, physician).full == pytest.approx(float(expected), abs=0.05)


def test_halves_are_halves():
    physician = np.array(["a"] * 5 + ["b"] * 4 + ["c"])
    seen = []

    def score(rows):
        seen.append(rows)
        return [1.0, 2.0, np.nan] if len(seen) % 2 else [1.0, 3.0, 1.0]

    found = split_half(score, physician, n_splits=2)
    assert found.by_split.tolist() == pytest.approx([1, 1])
    assert sorted(np.concatenate(seen[:2])) == list(range(10))
    assert all(abs(np.sum(physician[rows] == "b") - 2) == 0 for rows in seen)
    assert not np.array_equal(seen[0], seen[2])
    assert np.isnan(split_half(lambda rows: [1.0, 1.0], physician).full)
