"""The sparse solver against SciPy's dense one, near-ties included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from intravar.matching.assignment import solve_sparse


def by_rows(cost, present):
    """The graph of the present edges, by rows."""
    row, column = np.nonzero(present)
    start = np.searchsorted(row, np.arange(len(cost) + 1))
    return start, column.astype(np.int64), cost[row, column]


def assert_optimal(cost, present):
    start, column, weights = by_rows(cost, present)
    sigma, gains, prices = solve_sparse(start, column, weights)
    n = len(cost)
    assert sorted(sigma) == list(range(n))
    assert present[np.arange(n), sigma].all()
    barred = np.where(present, cost, 4 * n * (int(cost.max()) + 1))
    best = linear_sum_assignment(barred.astype(float))[1]
    assert cost[np.arange(n), sigma].sum() == cost[np.arange(n), best].sum()
    assert np.array_equal(gains + prices[sigma], cost[np.arange(n), sigma])
    assert (gains[:, None] + prices[None, :] <= cost)[present].all()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), most=st.sampled_from([1, 3, 10**9]))
def test_equals_the_dense_solver(seed, n, most):
    random = np.random.default_rng(seed)
    cost = random.integers(0, most, (n, n), endpoint=True)
    present = random.random((n, n)) < random.uniform(0.05, 1)
    present[np.arange(n), random.permutation(n)] = True
    assert_optimal(cost, present)


def test_costs_that_nearly_tie_are_no_trouble():
    """Multiples of a third on a fine grid differ by one step where they should be equal."""
    random = np.random.default_rng(0)
    n = 150
    coarse = random.integers(0, 30, (n, n))
    cost = np.rint((coarse + coarse.T) / 3 * 2.0**40).astype(np.int64)
    assert_optimal(cost, np.ones((n, n), dtype=bool))


def test_no_assignment():
    with pytest.raises(RuntimeError, match="no assignment"):
        solve_sparse(np.array([0, 1, 2]), np.array([0, 0]), np.array([1, 1]))
    with pytest.raises(RuntimeError, match="no assignment"):
        solve_sparse(np.array([0, 0, 1]), np.array([0]), np.array([1]))
