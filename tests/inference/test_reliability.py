"""Reliability, rankability and split halves."""

import numpy as np
import polars as pl
import pytest

from intravar.inference import (
    assess,
    between_variance,
    discordance_interval,
    even_errors,
    rankability,
    reliability,
    share_interval,
    spearman_brown,
    split_half,
)


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


def halves_of(most_common, seed):
    """Draw physicians around a discordance, and two halves of the patients of each."""
    random = np.random.default_rng(seed)
    share = np.clip(random.normal(most_common, 0.35, 1500), 0.02, np.pi / 2 - 0.02)
    p, n = np.sin(share / 2) ** 2, random.integers(60, 240, share.size)  # 2 p (1 - p) = D
    drawn = [random.binomial(n // 2, p) for _ in range(2)]
    return 2 * p * (1 - p), n // 2 * 2, drawn


@pytest.mark.parametrize("most_common", [0.45, 0.8, 1.15])
def test_halves_agree_as_well_as_reliability_says_at_any_discordance(most_common):
    truth, n, (first, second) = halves_of(most_common, seed=3)
    k = first + second
    whole = discordance_interval(k, n)
    even = even_errors(whole.standard_error, n)
    between = between_variance(2 * k / n * (1 - k / n), even)
    said = reliability(between, even)
    # The error that a reliability stands for, and what it says of two halves of a panel.
    error = np.sqrt(between * (1 - said) / said)
    m = n / 2
    half = [2 * j / m * (1 - j / m) for j in (first, second)]
    apart = np.abs(np.subtract(*half))
    # On average over physicians: near 0, and near one half, scores have smaller errors.
    assert np.mean(apart**2) == pytest.approx(np.mean((2 * error) ** 2), rel=0.1)
    squared = np.corrcoef(2 * k / n * (1 - k / n), truth)[0, 1] ** 2
    assert squared == pytest.approx(said.mean(), abs=0.04)
    assert spearman_brown(np.corrcoef(half[0], half[1])[0, 1]) == pytest.approx(
        said.mean(), abs=0.04
    )


def test_reliability_depends_on_the_panel_and_not_on_the_score():
    k = np.array([2, 10, 30, 50, 70, 90, 98] * 4)
    n = np.full(28, 100)
    score = 2 * k / n * (1 - k / n)
    table = pl.DataFrame(
        {
            "physician": [f"P{j}" for j in range(28)],
            "n_patients": n,
            "score": score,
            **discordance_interval(k, n)._asdict(),
        }
    )
    even, own = (assess(table, most=most).table["reliability"].to_numpy() for most in (0.5, 1.0))
    assert np.ptp(even) == 0
    assert 0.5 < even[0] < 1
    # Without it, whoever tosses a coin would be measured best.
    assert own[3] == own.max() > own[0]
    twice = assess(table.with_columns(n_patients=n * np.where(k == 2, 2, 1)), most=0.5).table
    assert twice["reliability"][0] > twice["reliability"][1]


def test_even_errors_at_the_ends():
    n = np.full(6, 80)
    for k in (np.zeros(6), np.full(6, 40)):
        score = 2 * k / n * (1 - k / n)
        noise = discordance_interval(k, n).standard_error
        error = even_errors(noise, n)
        assert between_variance(score, error) == 0
        assert np.ptp(error) == 0
        assert (error > 0).all()
