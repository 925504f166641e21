"""The assignment is optimal over all pairs, and the same by every route."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings

from intravar.matching import assignment as module
from intravar.matching.assignment import TIE_BITS, GridCosts, solve, tie_breaker
from intravar.matching.distances import matrix_distances, point_distances
from panels import clinical_panel, forest_leaves, grid_points, matrix, tied_matrices, tied_points
from reference import pairing as reference
from reference.distances import proximity

LISTS_ONLY = 1


def solve_dense(distances):
    return solve(matrix_distances(distances))


def solve_points(points, **options):
    return solve(point_distances(points), **options)


def total(distances, sigma):
    return distances[np.arange(len(distances)), sigma].sum()


def one_number_per_pair(distances):
    """Costs whose single optimum is the lexicographic one: grid cost first, hash second.

    Python integers do not overflow, so both fit in one exact number.
    """
    n = len(distances)
    row, column = np.divmod(np.arange(n * n), n)
    cost = GridCosts(matrix_distances(distances)).cost(row, column)
    return [
        [int(cost[i * n + k]) * 2 ** (TIE_BITS + 12) + int(h) for k, h in enumerate(numbers)]
        for i, numbers in enumerate(tie_breaker(row, column).reshape(n, n))
    ]


@pytest.mark.parametrize("n", [2, 3, 40, 200, 600])
def test_equals_plain_scipy_on_continuous_input(n):
    points = clinical_panel(n, seed=n)
    plain = reference.candidate_edges(reference.assignment(matrix(points)))
    assert reference.candidate_edges(solve_dense(matrix(points))) == plain
    assert reference.candidate_edges(solve_points(points)) == plain


def test_equals_lapx_on_continuous_input():
    lap = pytest.importorskip("lap")
    distances = matrix(clinical_panel(700))
    barred = distances + np.diag(np.full(700, 4 * distances.max()))
    other = reference.candidate_edges(lap.lapjv(barred)[1])
    assert reference.candidate_edges(solve_dense(distances)) == other


@pytest.mark.parametrize(
    ("n", "values", "p"), [(200, 2, 1), (200, 2, 3), (201, 4, 2), (400, 10, 1), (301, 1, 2)]
)
def test_routes_agree_on_heavily_tied_points(n, values, p, monkeypatch):
    points = grid_points(n, values, p)
    distances = matrix(points)
    listed = reference.candidate_edges(solve_points(points))
    assert reference.candidate_edges(solve_points(points, neighbours=2)) == listed
    assert reference.candidate_edges(solve_points(points, neighbours=40)) == listed
    assert reference.candidate_edges(solve_dense(distances)) == listed
    monkeypatch.setattr(module, "SMALL_PANEL", n)
    assert reference.candidate_edges(solve_dense(distances)) == listed
    assert total(distances, solve_dense(distances)) == pytest.approx(
        total(distances, reference.assignment(distances)), abs=1e-9
    )


@pytest.mark.parametrize("n", [60, 250])
def test_routes_agree_on_forest_proximity(n, monkeypatch):
    distances = proximity(forest_leaves(n))
    first = solve_dense(distances)
    monkeypatch.setattr(module, "SMALL_PANEL", LISTS_ONLY if n <= 128 else n)
    second = solve_dense(distances)
    assert reference.candidate_edges(first) == reference.candidate_edges(second)
    steps = np.rint(distances * 300)
    assert total(steps, first) == total(steps, reference.assignment(steps))


@settings(deadline=None, max_examples=60)
@given(tied_matrices(most=7))
def test_ties_go_to_the_least_total_of_hashes(distances):
    """Every solver that is given (cost, hash) as one exact number finds the same edges."""
    lexicographic = one_number_per_pair(distances)
    n = len(distances)
    best, edges = None, set()

    def extend(i, free, cost, chosen):
        nonlocal best, edges
        if best is not None and cost >= best:
            return
        if i == n:
            best, edges = cost, {(min(a, b), max(a, b)) for a, b in enumerate(chosen)}
            return
        for k in sorted(free - {i}, key=lambda k: lexicographic[i][k]):
            extend(i + 1, free - {k}, cost + lexicographic[i][k], [*chosen, k])

    extend(0, frozenset(range(n)), 0, [])
    assert reference.candidate_edges(solve_dense(distances)) == edges


@settings(deadline=None, max_examples=60)
@given(tied_points())
def test_lists_and_matrix_agree(points):
    whole = solve_dense(matrix(points))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SMALL_PANEL", LISTS_ONLY)
        lists = solve_points(points, neighbours=1)
        matrix_lists = solve_dense(matrix(points))
    assert reference.candidate_edges(lists) == reference.candidate_edges(whole)
    assert reference.candidate_edges(matrix_lists) == reference.candidate_edges(whole)


@settings(deadline=None, max_examples=60)
@given(tied_matrices())
def test_total_is_the_least_without_a_metric(distances):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SMALL_PANEL", LISTS_ONLY)
        sigma = solve_dense(distances)
    assert sorted(sigma.tolist()) == list(range(len(distances)))
    assert (sigma != np.arange(len(distances))).all()
    assert total(distances, sigma) == total(distances, reference.assignment(distances))


def test_cycles_of_four_and_more_have_odd_length():
    """An even cycle ties with its two perfect matchings, and the hashes prefer one of these."""
    sigma = solve_points(grid_points(300, 6, 2))
    seen, lengths = set(), set()
    for start in range(300):
        length, i = 0, start
        while i not in seen:
            seen.add(i)
            length, i = length + 1, int(sigma[i])
        lengths.add(length)
    assert all(length in (0, 2) or length % 2 for length in lengths)


def test_diagonal_is_ignored():
    distances = matrix(clinical_panel(30))
    marked = distances + np.diag(np.arange(30.0))
    assert np.array_equal(solve_dense(distances), solve_dense(marked))


def test_grid_costs_agree_between_points_and_matrix():
    points = clinical_panel(300)
    row, column = np.triu_indices(300, k=1)
    distances = matrix(points)
    panel = point_distances(points)
    assert np.array_equal(panel.pairs(row, column), distances[row, column])
    assert np.array_equal(
        GridCosts(panel).cost(row, column),
        GridCosts(matrix_distances(distances)).cost(row, column),
    )


def test_neighbours_in_blocks_never_hold_the_matrix():
    """Nor the order of all others of every patient, which is as large."""
    costs = GridCosts(point_distances(np.random.default_rng(0).normal(size=(4_000, 3))))
    tracemalloc.start()
    costs.neighbours(10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4_000**2 * 8 / 2
