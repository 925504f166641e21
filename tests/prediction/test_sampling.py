"""Draws of personal rules, and what they are for: who decides by chance more often than whom."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from intravar.learning.personal_rules import (
    Table,
    fit_rules,
    learn_hyper,
    sampled_hyper,
    stretched,
)
from intravar.learning.personal_rules_kernel import draw_panels
from intravar.observed import Observed
from intravar.prediction.bound import SHARE_SD, TAKEN_OFF, Left, bound, losses_of, share_of
from intravar.prediction.own_rules import learn_own_rules
from intravar.prediction.tasks import View
from reference.personal_prediction import log_posterior, turned_once


def sharp(seed=5, n_physicians=60, n=60):
    """Make physicians with sharp rules of their own, who follow them more or less."""
    random = np.random.default_rng(seed)
    code = np.repeat(np.arange(n_physicians), n)
    z = random.standard_normal((len(code), 4))
    own = np.array([1.0, 0.7, 0.0, 0.0]) + random.normal(0, 0.4, (n_physicians, 4))
    chance = random.uniform(0.5, 1.0, n_physicians)
    eligible = np.einsum("ik,ik->i", z, own[code]) > 0
    p = np.where(eligible, chance[code], 0.02)
    y = (random.random(len(code)) < p).astype(np.int64)
    return z, y, code, p


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_a_move_equals_the_literal_twin(seed):
    random = np.random.default_rng(seed)
    Z = np.column_stack([np.ones(15), random.standard_normal((15, 2))])
    y = random.integers(0, 2, 15)
    mean, theta = random.normal(0, 1, 5), random.normal(0, 1, (1, 5))
    moves, chances = random.normal(0, 1, (1, 2, 5)), random.random((1, 2, 20))
    twin = theta[0].tolist()
    for move, chance in zip(moves[0], chances[0], strict=True):
        twin = turned_once(Z.tolist(), y.tolist(), twin, mean, move, chance)
    flat = np.zeros((1, 5)), np.zeros((1, 5, 5))
    draw_panels(Z, y, np.arange(15), np.array([0, 15]), theta, mean[None], *flat, moves, chances)
    np.testing.assert_allclose(theta[0], twin, rtol=0, atol=1e-9)
    factors = np.array([0.5, 2.0])
    found = stretched((Z, y, np.arange(15), np.array([0, 15])), theta, factors)
    for factor, value in zip(factors, found, strict=True):
        there = np.r_[theta[0, :3] * factor, theta[0, 3:]]
        assert value == pytest.approx(log_posterior(Z, y, there, there, np.zeros((5, 5))))


@pytest.mark.parametrize("near", [False, True])
def test_draws_have_the_distribution_of_the_posterior(near):
    random = np.random.default_rng(2)
    Z, y = np.ones((6, 1)), np.array([1, 1, 1, 1, 1, 0])
    mean, sd = np.array([0.0, -9.0, 9.0]), np.array([1.5, 0.01, 0.01])
    theta = np.tile(mean, (2000, 1))
    order, start = np.tile(np.arange(6), 2000), 6 * np.arange(2001)
    middle = np.tile(mean, (2000, 1))
    if near:
        # A Gaussian with another centre and spread, and by how much the prior differs from it.
        middle, other = middle + np.array([1.0, 0.0, 0.0]), sd * [0.8, 1.0, 1.0]
        pull, bend = (middle - mean) / sd**2, np.diag(1 / other**2 - 1 / sd**2)
    else:
        other, pull, bend = sd, np.zeros((2000, 3)), np.zeros((3, 3))
    for _ in range(2):
        moves, chances = random.normal(0, other, (2000, 5, 3)), random.random((2000, 5, 30))
        tilt = pull, np.tile(bend, (2000, 1, 1))
        draw_panels(Z, y, order, start, theta, middle, *tilt, moves, chances)
    drawn = theta[:, 0]
    grid = np.linspace(-8, 8, 4001)
    g = 1 / (1 + np.exp(-grid))
    density = np.exp(-0.5 * (grid / 1.5) ** 2) * g**5 * (1 - g)
    density /= density.sum()
    centre = float(density @ grid)
    assert np.mean(drawn) == pytest.approx(centre, abs=0.08)
    assert np.std(drawn) == pytest.approx(np.sqrt(density @ (grid - centre) ** 2), abs=0.06)


def test_draws_find_how_sharp_rules_are():
    z, y, code, p = sharp()
    Z = np.column_stack([np.ones(len(y)), z])
    rows = np.arange(len(y))
    table = Table(Z, y, code, rows, 60)
    modes = learn_hyper(table)
    draws = sampled_hyper(table, modes, 0)
    assert draws.mean[1] > 1.3 * modes.mean[1]
    observed = Observed.of(z, y, code)
    task = View.of(observed).task(observed, 5, 0)
    same = np.full(len(y), y.mean())
    _, left = learn_own_rules(task, same, same, 0)
    truth = np.bincount(code, 2 * p * (1 - p)) / np.bincount(code)
    assert spearmanr(left.value, truth[task.places])[0] > 0.7


def test_what_is_shared_with_held_out_errors():
    """Decisions drawn again and again: the rule and the errors move together as much as is said."""
    z, _, code, p = sharp(n_physicians=12)
    random = np.random.default_rng(9)
    Z = np.column_stack([np.ones(len(p)), z])
    rows, q = np.arange(len(p)), np.clip(p, 0.1, 0.8)
    first = (random.random(len(p)) < p).astype(np.int64)
    hyper = learn_hyper(Table(Z, first, code, rows, 12))
    left, error, said = [], [], []
    for _ in range(150):
        y = (random.random(len(p)) < p).astype(np.int64)
        rules = fit_rules(Table(Z, y, code, rows, 12), hyper)
        fitted, slopes = rules.slopes(Z, code)
        left.append(np.bincount(code, 2 * fitted * (1 - fitted)) / 60)
        error.append(np.bincount(code, 2 * (y - q) ** 2) / 60)
        moved, held = (
            np.array([np.bincount(code, 2 * (1 - 2 * at) * each) / 60 for each in slopes.T]).T
            for at in (fitted, q)
        )
        said.append(np.einsum("jk,jkl,jl->j", moved, rules.covariance, held))
    found = np.mean(
        [np.cov(a, b)[0, 1] for a, b in zip(np.transpose(left), np.transpose(error), strict=True)]
    )
    assert np.mean(said) == pytest.approx(found, rel=0.4)


def test_rules_without_an_error_stay_finite():
    random = np.random.default_rng(4)
    Z = np.column_stack([np.ones(300), random.standard_normal(300)])
    y, code = (Z[:, 1] > 0).astype(np.int64), np.repeat(np.arange(10), 30)
    table = Table(Z, y, code, np.arange(300), 10)
    found = sampled_hyper(table, learn_hyper(table), 0)
    assert np.isfinite(found.mean).all()
    assert np.linalg.eigvalsh(found.covariance).min() > 0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_the_share_is_the_likeliest_of_all(seed):
    random = np.random.default_rng(seed)
    other, wrong = random.normal(0, 0.1, 12), random.normal(0, 0.03, 12)
    error, shared = np.full(12, 0.05), random.uniform(0, 0.001, 12)
    spread = max(float(np.var(wrong, ddof=1)) - 0.05**2, 0.0) + 0.05**2

    def misfit(share):
        rest = wrong - share * other
        away = share / SHARE_SD
        gained = 2 * share * TAKEN_OFF * shared
        return float(np.sum((rest - rest.mean()) ** 2 + gained) / spread + away**2)

    grid = np.linspace(0, 1, 2001)
    best = grid[np.argmin([misfit(share) for share in grid])]
    assert share_of(other, wrong, error, shared) == pytest.approx(best, abs=1e-3)


def test_another_expectation_moves_ranks_and_not_the_level():
    random = np.random.default_rng(6)
    code = np.repeat(np.arange(80), 50)
    p = np.where(random.random(len(code)) < 0.5, random.uniform(0.5, 1, 80)[code], 0.02)
    y = (random.random(len(code)) < p).astype(np.int64)
    q = np.full(len(p), 0.4)
    truth = np.bincount(code, 2 * p * (1 - p)) / 50
    plain, helped = (
        bound(losses_of(q, y, code, 80), left) for left in (None, Left(truth, np.zeros(80)))
    )
    assert helped.score.mean() == pytest.approx(plain.score.mean(), abs=0.01)
    assert np.array_equal(helped.raw, plain.raw)
