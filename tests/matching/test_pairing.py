"""Algorithm 1 and its alternatives against their literal twins."""

import numpy as np
import pytest
from hypothesis import given, settings

from intravar.matching import costs as costs_module
from intravar.matching import distances as distances_module
from intravar.matching import pairing as caliper_module
from intravar.matching.assignment import solve
from intravar.matching.distances import (
    HybridDistances,
    LeafDistances,
    MatrixDistances,
    PointDistances,
)
from intravar.matching.pairing import (
    Status,
    caliper_of,
    exact_matching,
    greedy_matching,
    nearest_with_replacement,
    pair_by_assignment,
    pair_panel,
)
from panels import clinical_panel, forest_leaves, grid_points, matrix, tied_matrices, tied_points
from reference import pairing as reference
from reference.distances import proximity


def as_list(pairing):
    return [tuple(pair) for pair in pairing.pairs.tolist()]


@pytest.mark.parametrize("n", [2, 3, 5, 40, 500])
def test_equals_algorithm_1_to_the_last_pair(n):
    points = clinical_panel(n, seed=n)
    literal = reference.pair(matrix(points))
    assert as_list(pair_by_assignment(MatrixDistances(matrix(points)))) == literal
    assert as_list(pair_by_assignment(PointDistances(points))) == literal


@pytest.mark.parametrize(
    "distances", [proximity(forest_leaves(150)), matrix(grid_points(150, 3, 2))]
)
def test_equals_algorithm_1_on_ties_given_the_assignment(distances):
    panel = MatrixDistances(distances)
    assert as_list(pair_by_assignment(panel)) == reference.pair(distances, solve(panel))


@settings(deadline=None, max_examples=80)
@given(tied_matrices())
def test_statuses_partition_the_panel(distances):
    pairing = pair_by_assignment(MatrixDistances(distances))
    assert sorted(pairing.pairs.ravel().tolist()) == np.flatnonzero(pairing.status == 0).tolist()
    assert sum(pairing.count(status) for status in Status) == len(distances)
    edges = reference.candidate_edges(solve(MatrixDistances(distances)))
    for i in np.flatnonzero(pairing.status != Status.PAIRED):
        within = any(distances[a, b] <= pairing.caliper for a, b in edges if i in (a, b))
        assert within == (pairing.status[i] == Status.LOST_IN_CYCLE)


@settings(deadline=None, max_examples=60)
@given(tied_points())
def test_points_and_matrix_agree(points):
    from_points, from_matrix = (
        pair_by_assignment(PointDistances(points)),
        pair_by_assignment(MatrixDistances(matrix(points))),
    )
    assert as_list(from_points) == as_list(from_matrix)
    assert from_points.caliper == from_matrix.caliper
    assert np.array_equal(from_points.distances, from_matrix.distances)
    assert np.array_equal(from_points.status, from_matrix.status)


@pytest.mark.parametrize("n", [0, 1])
def test_panels_without_pairs(n):
    panel = PointDistances(np.zeros((n, 2)))
    for strategy in ("algorithm-1", "exact", "greedy", "nearest"):
        pairing = pair_panel(panel, caliper=0.25, strategy=strategy)
        assert len(pairing.pairs) == 0
        assert np.isnan(pairing.caliper)
        assert pairing.count(Status.PANEL_TOO_SMALL) == n


def test_identical_patients_all_pair_up():
    assert pair_by_assignment(MatrixDistances(np.zeros((8, 8)))).count(Status.PAIRED) == 8
    odd = pair_by_assignment(PointDistances(np.zeros((9, 2))))
    assert (odd.count(Status.PAIRED), odd.count(Status.LOST_IN_CYCLE)) == (8, 1)


@settings(deadline=None, max_examples=60)
@given(tied_matrices())
def test_greedy_and_nearest_equal_their_twins(distances):
    assert as_list(greedy_matching(MatrixDistances(distances))) == reference.greedy(distances)
    found = nearest_with_replacement(MatrixDistances(distances))
    limit = reference.caliper(distances)
    nearest = reference.nearest(distances)
    expected = [(i, k) for i, k in enumerate(nearest) if distances[i, k] <= limit]
    assert as_list(found) == expected


@settings(deadline=None, max_examples=30)
@given(tied_matrices(most=14))
def test_exact_matching_has_the_size_and_total_of_networkx(distances):
    pytest.importorskip("rustworkx")
    pairing = exact_matching(MatrixDistances(distances))
    assert (len(pairing.pairs), pairing.distances.sum()) == reference.exact(distances)
    assert len(np.unique(pairing.pairs)) == 2 * len(pairing.pairs)


@settings(deadline=None, max_examples=40)
@given(tied_points())
def test_caliper_is_numpys_percentile(points):
    expected = reference.caliper(matrix(points))
    assert caliper_of(MatrixDistances(matrix(points))) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(caliper_module, "SAMPLE_PATIENTS", 2)
        assert caliper_of(PointDistances(points)) == expected


@pytest.mark.parametrize("percentile", [0.0, 10.0, 25.0, 33.3, 90.0, 100.0])
@pytest.mark.parametrize("points", [clinical_panel(601), grid_points(600, 3, 2)])
def test_blockwise_caliper_is_numpys_percentile(points, percentile, monkeypatch):
    monkeypatch.setattr(caliper_module, "SAMPLE_PATIENTS", 50)
    upper = matrix(points)[np.triu_indices(len(points), k=1)]
    assert caliper_of(PointDistances(points), percentile) == np.percentile(upper, percentile)


@pytest.mark.parametrize("n", [3, 60, 300])
def test_blocks_equal_the_matrix(n, monkeypatch):
    """Leaves, mixtures and points: a block at a time gives what the whole matrix gives."""
    for module in (costs_module, distances_module):
        monkeypatch.setattr(module, "BLOCK_ENTRIES", 500)
    monkeypatch.setattr(caliper_module, "SAMPLE_PATIENTS", 50)
    leaves, points = forest_leaves(n, trees=40), clinical_panel(n)
    memberships = np.random.default_rng(1).dirichlet([0.3] * 3, n)
    for distances in (
        PointDistances(points),
        LeafDistances(leaves),
        HybridDistances(memberships, points, 0.5),
        HybridDistances(memberships[:, :1] * 0, points, 0.5),
    ):
        whole = MatrixDistances(distances.block(np.arange(n), 0))
        first, second = np.triu_indices(n, k=1)
        assert np.array_equal(distances.pairs(first, second), whole.pairs(first, second))
        for pair in (pair_by_assignment, nearest_with_replacement):
            expected, found = pair(whole), pair(distances)
            assert as_list(found) == as_list(expected)
            assert found.caliper == expected.caliper
            assert np.array_equal(found.distances, expected.distances)
            assert np.array_equal(found.status, expected.status)


def test_caliper_of_a_panel_that_is_all_ties():
    points = np.repeat([[0.0], [1.0]], 50, axis=0)
    expected = reference.caliper(matrix(points))
    assert caliper_of(PointDistances(points)) == expected == 0.0
