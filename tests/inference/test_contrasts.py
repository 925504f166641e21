"""Differences between strata: within physicians, and of each of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar.inference.contrasts import changes_together, stratum_effects, weighted_sum
from intravar.inference.intervals import Interval
from reference.contrasts import effects_of_one_class


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 5), st.integers(2, 4), st.integers(0, 2**31))
def test_effects_as_by_the_literal_twin(n_physicians: int, n_strata: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    n = random.integers(0, 40, (n_physicians, n_strata)).astype(float)
    n[0] += 1  # one physician has seen patients in every stratum
    mean = random.random((n_physicians, n_strata))
    variance = random.uniform(0.01, 0.2, n_strata)
    found = stratum_effects(n[None], mean[None], variance[None], np.ones(1))
    differences, covariance = effects_of_one_class(n, mean, variance)
    contrast = np.eye(n_strata)[1:] - np.eye(n_strata)[0]
    assert np.allclose(contrast @ found.value, differences)
    assert np.allclose(contrast @ found.covariance @ contrast.T, covariance)


def test_classes_are_weighed_alike() -> None:
    """More patients of the harder class in one stratum are no difference."""
    n = np.array([[[90.0, 10.0], [50.0, 10.0]], [[10.0, 90.0], [10.0, 70.0]]])
    mean = np.array([[[0.1, 0.1], [0.1, 0.1]], [[0.4, 0.4], [0.4, 0.4]]])
    found = stratum_effects(n, mean, np.full((2, 2), 0.05), np.array([0.5, 0.5]))
    assert np.allclose(np.diff(found.value), 0)
    assert found.p_value == pytest.approx(1)


def test_strata_that_nobody_shares_are_not_compared() -> None:
    n = np.array([[[50.0, 0.0], [0.0, 50.0]]])
    found = stratum_effects(n, np.full((1, 2, 2), 0.2), np.full((1, 2), 0.05), np.ones(1))
    assert np.isnan(found.p_value)


def test_a_stratum_of_one_patient_keeps_nobody_from_comparing_the_others() -> None:
    """It has nobody in one of the classes; the others are compared as if it were not there."""
    random = np.random.default_rng(3)
    n = random.integers(5, 40, (2, 6, 3)).astype(float)
    n[:, :, 2] = 0
    n[0, 4, 2] = 1
    mean, variance, share = random.random(n.shape), np.full((2, 3), 0.1), np.array([0.6, 0.4])
    found = stratum_effects(n, mean, variance, share)
    assert np.isfinite(found.value).tolist() == [True, True, False]
    assert np.isnan(found.p_value)
    others = found.take(np.array([0, 1]))
    without = stratum_effects(n[:, :, :2], mean[:, :, :2], variance[:, :2], share)
    assert np.diff(others.value) == pytest.approx(np.diff(without.value))
    assert others.p_value == pytest.approx(without.p_value)


def test_strata_are_linked_by_those_in_between() -> None:
    """Nobody has patients in the first and the last, but some share the second with either."""
    n = np.array([[[30.0, 20.0, 0.0, 0.0], [0.0, 25.0, 40.0, 0.0], [0.0, 0.0, 0.0, 90.0]]])
    found = stratum_effects(n, np.full(n.shape, 0.2), np.full((1, 4), 0.05), np.ones(1))
    assert np.isfinite(found.value).tolist() == [True, True, True, False]


def test_level_of_the_test_and_coverage() -> None:
    """Where strata do not differ, 5 % of the tests say that they do; intervals hold 95 %."""
    random = np.random.default_rng(5)
    n = random.integers(5, 60, (1, 12, 3)).astype(float)
    small, held = 0, 0
    draws = 600
    for _ in range(draws):
        own = random.uniform(0.1, 0.4, (1, 12, 1)) + np.array([0.0, 0.0, 0.0])
        mean = own + random.standard_normal(n.shape) * np.sqrt(0.1 / n)
        found = stratum_effects(n, mean, np.full((1, 3), 0.1), np.ones(1))
        small += found.p_value < 0.05
        differ = found.value[2] - found.value[0]
        contrast = np.array([-1.0, 0.0, 1.0])
        error = np.sqrt(contrast @ found.covariance @ contrast)
        held += abs(differ) < 1.96 * error
    assert 0.03 < small / draws < 0.07
    assert 0.93 < held / draws < 0.97


def test_interval_of_a_sum_holds() -> None:
    random = np.random.default_rng(1)
    n, p = 80, np.array([0.05, 0.3])
    counts = random.binomial(n, p, (4_000, 2))
    value = counts / n
    error = np.sqrt(np.maximum(value * (1 - value), 0.01) / n)
    low, high = value - 1.96 * error, value + 1.96 * error
    found = weighted_sum(np.tile([-1.0, 1.0], (4_000, 1)), Interval(low, high, error), value)
    assert 0.93 < np.mean((found[1] <= 0.25) & (found[2] >= 0.25)) < 0.98


def test_of_many_changes_of_chance_hardly_any_is_called() -> None:
    random = np.random.default_rng(2)
    error = np.full(400, 0.03)
    found = changes_together(error * random.standard_normal(400), error, 0.02)
    assert np.mean(found["probability"] > 0.95) < 0.01


def test_nobody_and_gaps() -> None:
    assert len(changes_together(np.array([]), np.array([]), 0.02)["shrunken"]) == 0
    found = changes_together(np.array([np.nan, 0.3]), np.array([0.1, 0.01]), 0.02)
    assert np.isnan(found["probability"][0])
    assert found["probability"][1] > 0.99
