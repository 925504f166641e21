"""Algorithm 1 and its alternatives against their literal twins."""

import numpy as np
import pytest
from hypothesis import given, settings

from intravar.matching import alternatives as alternatives_module
from intravar.matching import blocks as blocks_module
from intravar.matching import caliper as caliper_module
from intravar.matching import costs as costs_module
from intravar.matching.alternatives import (
    exact_matching,
    greedy_matching,
    nearest_in_blocks,
    nearest_with_replacement,
)
from intravar.matching.assignment import solve_dense
from intravar.matching.blocks import HybridDistances, LeafDistances, PointDistances
from intravar.matching.caliper import caliper_from_blocks, caliper_from_matrix
from intravar.matching.distances import hybrid_distances, proximity_distances
from intravar.matching.pairing import (
    Status,
    pair_blocks_by_assignment,
    pair_by_assignment,
    pair_points_by_assignment,
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
    assert as_list(pair_by_assignment(matrix(points))) == literal
    assert as_list(pair_points_by_assignment(points)) == literal


@pytest.mark.parametrize(
    "distances", [proximity(forest_leaves(150)), matrix(grid_points(150, 3, 2))]
)
def test_equals_algorithm_1_on_ties_given_the_assignment(distances):
    assert as_list(pair_by_assignment(distances)) == reference.pair(
        distances, solve_dense(distances)
    )


@settings(deadline=None, max_examples=80)
@given(tied_matrices())
def test_statuses_partition_the_panel(distances):
    pairing = pair_by_assignment(distances)
    assert sorted(pairing.pairs.ravel().tolist()) == np.flatnonzero(pairing.status == 0).tolist()
    assert sum(pairing.count(status) for status in Status) == len(distances)
    edges = reference.candidate_edges(solve_dense(distances))
    for i in np.flatnonzero(pairing.status != Status.PAIRED):
        within = any(distances[a, b] <= pairing.caliper for a, b in edges if i in (a, b))
        assert within == (pairing.status[i] == Status.LOST_IN_CYCLE)


@settings(deadline=None, max_examples=60)
@given(tied_points())
def test_points_and_matrix_agree(points):
    from_points, from_matrix = pair_points_by_assignment(points), pair_by_assignment(matrix(points))
    assert as_list(from_points) == as_list(from_matrix)
    assert from_points.caliper == from_matrix.caliper
    assert np.array_equal(from_points.distances, from_matrix.distances)
    assert np.array_equal(from_points.status, from_matrix.status)


@pytest.mark.parametrize("n", [0, 1])
def test_panels_without_pairs(n):
    for pairing in (
        pair_by_assignment(np.zeros((n, n))),
        pair_points_by_assignment(np.zeros((n, 3))),
        greedy_matching(np.zeros((n, n))),
    ):
        assert len(pairing.pairs) == 0
        assert np.isnan(pairing.caliper)
        assert pairing.count(Status.PANEL_TOO_SMALL) == n
    assert len(nearest_with_replacement(np.zeros((n, n))).pairs) == 0
    assert len(nearest_in_blocks(PointDistances(np.zeros((n, 2)))).pairs) == 0
    assert len(pair_blocks_by_assignment(PointDistances(np.zeros((n, 2)))).pairs) == 0


def test_identical_patients_all_pair_up():
    assert pair_by_assignment(np.zeros((8, 8))).count(Status.PAIRED) == 8
    odd = pair_points_by_assignment(np.zeros((9, 2)))
    assert (odd.count(Status.PAIRED), odd.count(Status.LOST_IN_CYCLE)) == (8, 1)


def test_missing_distances_are_refused():
    with pytest.raises(ValueError, match="finite"):
        pair_by_assignment([[0.0, np.nan], [np.nan, 0.0]])
    with pytest.raises(ValueError, match="finite"):
        pair_points_by_assignment([[0.0], [np.nan]])


@settings(deadline=None, max_examples=60)
@given(tied_matrices())
def test_greedy_and_nearest_equal_their_twins(distances):
    assert as_list(greedy_matching(distances)) == reference.greedy(distances)
    found = nearest_with_replacement(distances)
    limit = reference.caliper(distances)
    nearest = reference.nearest(distances)
    expected = [(i, k) for i, k in enumerate(nearest) if distances[i, k] <= limit]
    assert as_list(found) == expected


@settings(deadline=None, max_examples=30)
@given(tied_matrices(most=14))
def test_exact_matching_has_the_size_and_total_of_networkx(distances):
    pytest.importorskip("rustworkx")
    pairing = exact_matching(distances)
    assert (len(pairing.pairs), pairing.distances.sum()) == reference.exact(distances)
    assert len(np.unique(pairing.pairs)) == 2 * len(pairing.pairs)


@settings(deadline=None, max_examples=40)
@given(tied_points())
def test_caliper_is_numpys_percentile(points):
    expected = reference.caliper(matrix(points))
    assert caliper_from_matrix(matrix(points)) == expected
    assert caliper_from_blocks(PointDistances(points)) == expected


@pytest.mark.parametrize("percentile", [0.0, 10.0, 25.0, 33.3, 90.0, 100.0])
@pytest.mark.parametrize("points", [clinical_panel(601), grid_points(600, 3, 2)])
def test_blockwise_caliper_is_numpys_percentile(points, percentile, monkeypatch):
    monkeypatch.setattr(caliper_module, "SAMPLE_PATIENTS", 50)
    upper = matrix(points)[np.triu_indices(len(points), k=1)]
    assert caliper_from_blocks(PointDistances(points), percentile) == np.percentile(
        upper, percentile
    )


@pytest.mark.parametrize("n", [3, 60, 300])
def test_blocks_equal_the_matrix(n, monkeypatch):
    """Leaves, mixtures and points: a block at a time gives what the whole matrix gives."""
    monkeypatch.setattr(blocks_module, "BLOCK_ENTRIES", 500)
    monkeypatch.setattr(costs_module, "BLOCK_ENTRIES", 500)
    monkeypatch.setattr(alternatives_module, "BLOCK_ENTRIES", 500)
    leaves, points = forest_leaves(n, trees=40), clinical_panel(n)
    memberships = np.random.default_rng(1).dirichlet([0.3] * 3, n)
    for distances, whole in (
        (PointDistances(points), matrix(points)),
        (LeafDistances(leaves), proximity_distances(leaves)),
        (HybridDistances(memberships, points, 0.5), hybrid_distances(memberships, points)),
        (
            HybridDistances(memberships[:, :1] * 0, points, 0.5),
            hybrid_distances(memberships[:, :1] * 0, points),
        ),
    ):
        assert np.array_equal(distances.block(np.arange(n), 0), whole)
        expected, found = pair_by_assignment(whole), pair_blocks_by_assignment(distances)
        assert as_list(found) == as_list(expected)
        assert found.caliper == expected.caliper
        assert np.array_equal(found.distances, expected.distances)
        assert np.array_equal(found.status, expected.status)
        assert as_list(nearest_in_blocks(distances)) == as_list(nearest_with_replacement(whole))


def test_caliper_of_a_panel_that_is_all_ties():
    points = np.repeat([[0.0], [1.0]], 50, axis=0)
    expected = reference.caliper(matrix(points))
    assert caliper_from_blocks(PointDistances(points)) == expected == 0.0
