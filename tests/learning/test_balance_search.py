"""The fast search takes the same path as the literal one."""

import numpy as np
import pytest

from intravar.learning.balance import balance_loss, normalised, search_balance
from panels import clinical_panel
from reference import balance_search as reference


def treated_by_age(z, seed=0):
    chance = 1 / (1 + np.exp(-z[:, 0]))
    return (np.random.default_rng(seed).random(len(z)) < chance).astype(int)


def test_takes_the_same_path_as_the_literal_search():
    z = clinical_panel(400)
    y = treated_by_age(z)
    literal = reference.search(z, y, seed=3, generations=4)
    for workers in (1, 2):
        found = search_balance(z, y, seed=3, generations=4, workers=workers)
        assert found.loss == literal.fun
        assert np.array_equal(found.weights, literal.x / literal.x.sum())
        assert found.n_evaluations == literal.nfev == 15 * 9 * 5
        assert len(found.trace) == 5
        assert found.trace[-1] == found.loss
        assert (np.diff(found.trace) <= 0).all()


def test_losses_are_the_literal_ones_on_a_cohort():
    z = clinical_panel(3_000)
    y = treated_by_age(z)
    groups = z[y == 1], z[y == 0]
    rng = np.random.default_rng(1)
    for _ in range(10):
        weights = rng.random(9) ** 4
        assert balance_loss(weights, *groups) == reference.loss(weights, *groups)


@pytest.mark.parametrize(("y", "what"), [(0, "treated patients"), (1, "controls")])
def test_one_sided_cohorts_have_nothing_to_search(y, what):
    found = search_balance(clinical_panel(10), np.full(10, y), seed=0)
    assert found.message == f"there are no {what}"
    assert np.isnan(found.loss)
    assert found.n_evaluations == 0
    assert found.weights == pytest.approx(np.full(9, 1 / 9))


def test_degenerate_cohorts():
    rng = np.random.default_rng(0)
    one_covariate = search_balance(rng.normal(size=(30, 1)), np.arange(30) % 2, seed=0)
    assert one_covariate.weights.tolist() == [1.0]
    z = np.column_stack([rng.normal(size=(12, 2)), np.zeros(12)])
    one_control = search_balance(z, np.arange(12) > 0, seed=0, generations=2)
    assert one_control.loss == np.abs(z[1:].mean(axis=0) - z[0]).max()
    same = search_balance(np.ones((10, 2)), np.arange(10) % 2, seed=0, generations=1)
    assert same.loss == 0.0


def test_weights_sum_to_one_and_none_at_all_are_equal():
    assert normalised(np.array([1.0, 3.0])).tolist() == [0.25, 0.75]
    assert normalised(np.zeros(2)).tolist() == [0.5, 0.5]
