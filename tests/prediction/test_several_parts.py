"""Several decisions: effects with one prior, shrinkage across decisions, the chain, the bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from intravar.arrays import IntArray
from intravar.inference.outcomes import chained, differ, positions
from intravar.prediction.bound import bound, losses_of
from intravar.prediction.several import (
    Logits,
    across_decisions,
    apart,
    conditionals,
    differ_bound,
    difference_bound,
    fit_effects,
    if_apart,
)
from reference import several as literal


def small_logits(seed: int, n_decisions: int = 2) -> Logits:
    random = np.random.default_rng(seed)
    code = np.repeat(np.arange(3), 12)
    design = np.column_stack([np.ones(36), random.normal(size=36)])
    trait = random.normal(size=3)[code]
    decided = np.column_stack(
        [random.random(36) < expit(trait + design[:, 1]) for _ in range(n_decisions)]
    )
    known = random.random((36, n_decisions)) < 0.9
    return Logits(
        (design,) * n_decisions,
        np.zeros((36, n_decisions)),
        decided.astype(np.float64),
        known,
        code,
        3,
    )


def test_effects_equal_the_literal_ones() -> None:
    logits = small_logits(1)
    fast = fit_effects(logits, rounds=4)
    mean, covariance, value = literal.fit_effects(logits, rounds=4)
    np.testing.assert_allclose(fast.mean, mean, atol=0.01)
    np.testing.assert_allclose(fast.covariance, covariance, atol=0.03)
    np.testing.assert_allclose(fast.value, value, atol=0.02)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n_decisions=st.integers(1, 3))
def test_bound_is_the_mean_quadratic_score(seed: int, n_decisions: int) -> None:
    random = np.random.default_rng(seed)
    table = random.dirichlet(np.ones(2**n_decisions), size=30)
    at = random.integers(0, 2**n_decisions, 30)
    code = np.repeat(np.arange(3), 10)
    found = differ_bound(table, at, code, 3)
    score = literal.quadratic_score(table, at)
    np.testing.assert_allclose(found.raw, [score[code == j].mean() for j in range(3)])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_one_decision_is_the_bound_there_was(seed: int) -> None:
    random = np.random.default_rng(seed)
    q, code = random.uniform(0.05, 0.95, 40), np.repeat(np.arange(4), 10)
    y = (random.random(40) < q).astype(np.int64)
    table = np.column_stack([1 - q, q])
    alone = bound(losses_of(q, y, code, 4))
    for joint in (
        differ_bound(table, y, code, 4),
        difference_bound(q[:, None], table, y, code, 4),
    ):
        np.testing.assert_allclose(joint.score, alone.score)
        np.testing.assert_allclose(joint.effective, alone.effective)


@settings(max_examples=20, deadline=None)
@given(st.tuples(*[st.floats(0.01, 0.99)] * 7))
def test_differ_equals_all_pairs_of_combinations(p: tuple[float, ...]) -> None:
    """Three decisions; p holds P(yes) of the first, of the second after 0 and 1, and so on."""

    def conditional(earlier: tuple[int, ...] | None) -> float:
        if earlier is None:
            return 3
        place = sum(yes << k for k, yes in enumerate(earlier))
        return p[2 ** len(earlier) - 1 + place]

    table = chained([np.array([p[:1]]), np.array([p[1:3]]), np.array([p[3:7]])])
    assert differ(table)[0] == pytest.approx(literal.differ(conditional))


def test_mean_score_exceeds_the_truth_by_the_squared_error() -> None:
    """E = 1 - sum P^2 + sum (P - Q)^2, whatever is predicted."""
    random = np.random.default_rng(3)
    truth, guess = random.dirichlet(np.ones(4), size=2)
    at = random.choice(4, size=200_000, p=truth)
    found = differ_bound(np.tile(guess, (len(at), 1)), at, np.zeros(len(at), dtype=np.int64), 1)
    expected = 1 - (truth**2).sum() + ((truth - guess) ** 2).sum()
    assert found.raw[0] == pytest.approx(expected, abs=0.006)


def panels(
    seed: int, n_physicians: int, size: int
) -> tuple[np.random.Generator, IntArray, IntArray]:
    random = np.random.default_rng(seed)
    code = np.repeat(np.arange(n_physicians), size)
    fold = random.integers(0, 5, len(code))
    return random, code, fold


def test_other_decisions_help_where_physicians_are_steady_in_all() -> None:
    """A trait behind four decisions: predictions that know all come closer to the truth."""
    random, code, fold = panels(5, 60, 25)
    pooled = np.where(random.random((len(code), 4)) < 0.5, 0.15, 0.7)
    trait = random.normal(size=60)[code, None]
    p = expit(np.where(pooled > 0.5, 1.4 + 1.0 * trait, -2.5))
    decided = (random.random(p.shape) < p).astype(np.float64)
    known = np.ones(p.shape, dtype=np.bool_)
    together, *alone = (
        across_decisions(pooled[:, k], pooled[:, k], decided[:, k], known[:, k], code, fold)
        for k in ([0, 1, 2, 3], [0], [1], [2], [3])
    )
    by_itself = np.hstack([each.predicted for each in alone])
    assert ((together.predicted - p) ** 2).mean() < 0.75 * ((by_itself - p) ** 2).mean()
    assert together.correlation[np.triu_indices(4, 1)].mean() > 0.4
    assert (together.excess < np.hstack([each.excess for each in alone])).mean() > 0.9


def test_unknown_decisions_change_nothing_else() -> None:
    random, code, fold = panels(6, 10, 30)
    pooled = random.uniform(0.2, 0.8, (len(code), 2))
    decided = (random.random(pooled.shape) < pooled).astype(np.float64)
    known = random.random(pooled.shape) < 0.8
    other = np.where(known, decided, 2.0)
    one, two = (
        across_decisions(pooled, pooled, each, known, code, fold) for each in (decided, other)
    )
    np.testing.assert_array_equal(one.predicted, two.predicted)


def test_chain_finds_an_interaction_and_leaves_out_what_is_none() -> None:
    random, code, fold = panels(7, 10, 300)
    q = random.uniform(0.2, 0.8, (len(code), 2))
    first = random.random(len(code)) < q[:, 0]
    after = np.column_stack([q[:, 1], 0.2 * q[:, 1]])
    second = random.random(len(code)) < after[np.arange(len(code)), first.astype(int)]
    marginal = np.column_stack([q[:, 0], (1 - q[:, 0]) * after[:, 0] + q[:, 0] * after[:, 1]])
    decided = np.column_stack([first, second]).astype(np.int64)
    found = conditionals(marginal, decided, code, fold)
    truth = chained([q[:, :1], after])
    with_it, without = (
        ((chained(each) - truth) ** 2).sum(axis=1).mean() for each in (found, apart(marginal))
    )
    assert with_it < 0.1 * without
    bounds = [
        differ_bound(chained(each), positions(decided), code, 10).score.mean()
        for each in (found, apart(marginal))
    ]
    assert abs(bounds[0] - differ(truth).mean()) < 0.02 < bounds[1] - differ(truth).mean()
    independent = (random.random(q.shape) < q).astype(np.int64)
    np.testing.assert_array_equal(conditionals(q, independent, code, fold)[1], apart(q)[1])


@pytest.mark.parametrize("rate", [0.09, 0.3])
def test_decisions_that_go_together_closely_are_told_however_rare(rate: float) -> None:
    """The second is a yes of 80 of 100 after a yes, of 2 after a no, and all are predicted well."""
    random, code, fold = panels(8, 20, 600)
    p = rate * np.linspace(0.7, 1.3, 20)[code]
    after = np.tile([0.02, 0.8], (len(code), 1))
    first = (random.random(len(code)) < p).astype(np.int64)
    second = random.random(len(code)) < after[np.arange(len(code)), first]
    decided = np.column_stack([first, second]).astype(np.int64)
    marginal = np.column_stack([p, (1 - p) * after[:, 0] + p * after[:, 1]])
    chain = conditionals(marginal, decided, code, fold)
    truth = chained([p[:, None], after])
    assert np.abs(chain[1] - after).mean() < 0.05
    together = differ_bound(chained(chain), positions(decided), code, 20).score.mean()
    independent = if_apart(marginal, decided, code, 20).score.mean()
    assert together == pytest.approx(differ(truth).mean(), abs=0.02)
    assert independent == pytest.approx(differ(chained(apart(marginal))).mean(), abs=0.02)
    assert independent - together > 0.07
    chance = chain[1][np.arange(len(code)), first]
    given_first = bound(losses_of(chance, decided[:, 1], code, 20)).score.mean()
    real = 2 * (p * 0.8 * 0.2 + (1 - p) * 0.02 * 0.98).mean()
    assert given_first == pytest.approx(real, abs=0.015)
