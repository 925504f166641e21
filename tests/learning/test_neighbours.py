"""Clusters of neighbours, against the literal definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar.inference.clusters import design_effect, standard_error_of_mean
from intravar.learning.boosted_trees import bin_edges, binned
from intravar.learning.neighbours import (
    BLOCK_SIZE,
    MISSING_RANK,
    cluster_neighbours,
    divide_panel,
    learn_mid_ranks,
    rank_points,
)
from reference import neighbours as literal


def clusters_of(numbers):
    return {frozenset(np.flatnonzero(numbers == number)) for number in np.unique(numbers)}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=2, max_size=12),
    st.integers(1, 6),
    st.data(),
)
def test_clusters_equal_the_literal_definition(places, largest, data):
    n = len(places)
    copies = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))
    points = np.array([[place / 7 + row * 1e-3] for row, place in enumerate(places)])

    found = cluster_neighbours(
        points,
        first=np.array([0, n]),
        tie_breaker=np.arange(n, dtype=np.uint64),
        copy_of=copies,
        largest=largest,
    )

    # Every pair is among the nearest neighbours that are considered.
    if 2 * largest >= n - 1:
        pairs = literal.closest_pairs(points.tolist())
        assert clusters_of(found) == set(literal.merge_pairs(pairs, copies.tolist(), largest))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 8))
def test_clusters_stay_within_panels_and_sizes(seed, largest):
    random = np.random.default_rng(seed)
    points = random.random((60, 2))
    first = np.array([0, 25, 26, 60])

    found = cluster_neighbours(
        points,
        first=first,
        tie_breaker=random.permutation(60).astype(np.uint64),
        copy_of=np.arange(60),
        largest=largest,
    )

    panel = np.searchsorted(first, np.arange(60), side="right")
    for cluster in clusters_of(found):
        assert len(cluster) <= largest
        assert len(set(panel[list(cluster)])) == 1


def test_large_panels_are_divided_into_blocks_that_hold_every_row_once():
    points = np.random.default_rng(0).random((5 * BLOCK_SIZE, 3))

    blocks = list(divide_panel(points, np.arange(len(points))))

    assert max(map(len, blocks)) <= BLOCK_SIZE
    np.testing.assert_array_equal(np.sort(np.concatenate(blocks)), np.arange(len(points)))


def test_mid_ranks_are_shares_below_a_value_and_missing_values_lie_apart():
    values = np.array([[1.0], [1.0], [3.0], [np.nan]])
    bins = binned(values, bin_edges(values))

    points = rank_points(bins, learn_mid_ranks(bins))

    np.testing.assert_allclose(points[:, 0], [1 / 3, 1 / 3, 5 / 6, MISSING_RANK])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000))
def test_standard_errors_over_units_equal_the_literal_definition(seed):
    random = np.random.default_rng(seed)
    values = random.normal(size=20)
    unit = random.integers(0, 6, 20)

    expected = literal.standard_error_of_mean(values.tolist(), unit.tolist())

    assert standard_error_of_mean(values, unit) == pytest.approx(expected)


def test_standard_error_of_one_unit_is_infinite():
    assert standard_error_of_mean(np.array([1.0, 2.0]), np.zeros(2, dtype=np.int64)) == np.inf


def test_copies_of_a_row_double_the_variance_of_a_mean():
    random = np.random.default_rng(1)
    distance = np.repeat(random.normal(size=500), 2)
    one_cell = np.zeros(1000, dtype=np.int64)

    assert design_effect(distance, one_cell, np.arange(1000) // 2) == pytest.approx(2.0)
    assert design_effect(distance, one_cell, None) == 1.0
