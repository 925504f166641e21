"""Algorithm 1 and its alternatives against their literal twins."""

import numpy as np
import pytest
from hypothesis import given, settings

from intravar.matching import distances as distances_module
from intravar.matching import pairing as module
from intravar.matching.assignment import solve
from intravar.matching.distances import (
    hybrid_distances,
    leaf_distances,
    matrix_distances,
    point_distances,
)
from intravar.matching.pairing import Status, caliper_of, pair_panel
from panels import clinical_panel, forest_leaves, grid_points, matrix, tied_matrices, tied_points
from reference import pairing as reference
from reference.distances import proximity


def as_list(pairing):
    return [tuple(pair) for pair in pairing.pairs.tolist()]


@pytest.mark.parametrize("n", [2, 3, 5, 40, 500])
def test_equals_algorithm_1_to_the_last_pair(n):
    points = clinical_panel(n, seed=n)
    literal = reference.pair(matrix(points))
    assert as_list(pair_panel(matrix_distances(matrix(points)))) == literal
    assert as_list(pair_panel(point_distances(points))) == literal


@pytest.mark.parametrize(
    "distances", [proximity(forest_leaves(150)), matrix(grid_points(150, 3, 2))]
)
def test_equals_algorithm_1_on_ties_given_the_assignment(distances):
    panel = matrix_distances(distances)
    assert as_list(pair_panel(panel)) == reference.pair(distances, solve(panel))


@settings(deadline=None, max_examples=80)
@given(tied_matrices())
def test_statuses_partition_the_panel(distances):
    pairing = pair_panel(matrix_distances(distances))
    assert sorted(pairing.pairs.ravel().tolist()) == np.flatnonzero(pairing.status == 0).tolist()
    assert sum(pairing.count(status) for status in Status) == len(distances)
    edges = reference.candidate_edges(solve(matrix_distances(distances)))
    for i in np.flatnonzero(pairing.status != Status.PAIRED):
        within = any(distances[a, b] <= pairing.caliper for a, b in edges if i in (a, b))
        assert within == (pairing.status[i] == Status.LOST_IN_CYCLE)


@settings(deadline=None, max_examples=60)
@given(tied_points())
def test_points_and_matrix_agree(points):
    from_points, from_matrix = (
        pair_panel(point_distances(points)),
        pair_panel(matrix_distances(matrix(points))),
    )
    assert as_list(from_points) == as_list(from_matrix)
    assert from_points.caliper == from_matrix.caliper
    assert np.array_equal(from_points.distances, from_matrix.distances)
    assert np.array_equal(from_points.status, from_matrix.status)


@pytest.mark.parametrize("n", [0, 1])
def test_panels_without_pairs(n):
    panel = point_distances(np.zeros((n, 2)))
    for strategy in ("algorithm-1", "exact", "greedy", "nearest"):
        pairing = pair_panel(panel, caliper=0.25, strategy=strategy)
        assert len(pairing.pairs) == 0
        assert np.isnan(pairing.caliper)
        assert pairing.count(Status.PANEL_TOO_SMALL) == n


def test_identical_patients_all_pair_up():
    assert pair_panel(matrix_distances(np.zeros((8, 8)))).count(Status.PAIRED) == 8
    odd = pair_panel(point_distances(np.zeros((9, 2))))
    assert (odd.count(Status.PAIRED), odd.count(Status.LOST_IN_CYCLE)) == (8, 1)


@settings(deadline=None, max_examples=60)
@given(tied_matrices())
def test_greedy_and_nearest_equal_their_twins(distances):
    assert as_list(pair_panel(matrix_distances(distances), strategy="greedy")) == reference.greedy(
        distances
    )
    found = pair_panel(matrix_distances(distances), strategy="nearest")
    limit = reference.caliper(distances)
    nearest = reference.nearest(distances)
    expected = [(i, k) for i, k in enumerate(nearest) if distances[i, k] <= limit]
    assert as_list(found) == expected


@settings(deadline=None, max_examples=30)
@given(tied_matrices(most=14))
def test_exact_matching_has_the_size_and_total_of_networkx(distances):
    pytest.importorskip("rustworkx")
    pairing = pair_panel(matrix_distances(distances), strategy="exact")
    assert (len(pairing.pairs), pairing.distances.sum()) == reference.exact(distances)
    assert len(np.unique(pairing.pairs)) == 2 * len(pairing.pairs)


@settings(deadline=None, max_examples=40)
@given(tied_points())
def test_caliper_is_numpys_percentile(points):
    expected = reference.caliper(matrix(points))
    assert caliper_of(matrix_distances(matrix(points)), 0.25) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SAMPLE_PATIENTS", 2)
        assert caliper_of(point_distances(points), 0.25) == expected


@pytest.mark.parametrize("percentile", [0.0, 10.0, 25.0, 33.3, 90.0, 100.0])
@pytest.mark.parametrize("points", [clinical_panel(601), grid_points(600, 3, 2)])
def test_blockwise_caliper_is_numpys_percentile(points, percentile, monkeypatch):
    monkeypatch.setattr(module, "SAMPLE_PATIENTS", 50)
    upper = matrix(points)[np.triu_indices(len(points), k=1)]
    assert caliper_of(point_distances(points), percentile / 100) == np.percentile(upper, percentile)


@pytest.mark.parametrize("n", [3, 60, 300])
def test_blocks_equal_the_matrix(n, monkeypatch):
    """Leaves, mixtures and points: a block at a time gives what the whole matrix gives."""
    monkeypatch.setattr(distances_module, "BLOCK_ENTRIES", 500)
    monkeypatch.setattr(module, "LARGE_PANEL", 2)
    monkeypatch.setattr(module, "SAMPLE_PATIENTS", 50)
    leaves, points = forest_leaves(n, trees=40), clinical_panel(n)
    memberships = np.random.default_rng(1).dirichlet([0.3] * 3, n)
    for distances in (
        point_distances(points),
        leaf_distances(leaves),
        hybrid_distances(memberships, points, 0.5),
        hybrid_distances(memberships[:, :1] * 0, points, 0.5),
    ):
        whole = matrix_distances(distances.between(np.arange(distances.n)))
        first, second = np.triu_indices(n, k=1)
        assert np.array_equal(distances.pairs(first, second), whole.pairs(first, second))
        for strategy in ("algorithm-1", "nearest"):
            expected = pair_panel(whole, strategy=strategy)
            found = pair_panel(distances, strategy=strategy)
            assert as_list(found) == as_list(expected)
            assert found.caliper == expected.caliper
            assert np.array_equal(found.distances, expected.distances)
            assert np.array_equal(found.status, expected.status)


def test_caliper_of_a_panel_that_is_all_ties():
    points = np.repeat([[0.0], [1.0]], 50, axis=0)
    expected = reference.caliper(matrix(points))
    assert caliper_of(point_distances(points), 0.25) == expected == 0.0
