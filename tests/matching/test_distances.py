"""Distances against their definitions."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from intravar.matching.distances import (
    covariance,
    hybrid_distances,
    leaf_distances,
    mahalanobis_points,
    point_distances,
)
from panels import clinical_panel, forest_leaves
from reference import distances as reference


def whole(distances):
    return distances.between(np.arange(distances.n))


@pytest.mark.parametrize("deficient", [False, True])
def test_mahalanobis(deficient):
    z = clinical_panel(60)
    if deficient:
        z = np.column_stack([z, z[:, 0] + z[:, 1], np.zeros(60)])
    covariance = np.cov(z, rowvar=False)
    np.testing.assert_allclose(
        whole(point_distances(mahalanobis_points(z, covariance))),
        reference.mahalanobis(z, covariance),
        atol=1e-7 if deficient else 1e-12,
    )


@pytest.mark.parametrize(
    ("trees", "leaves"), [(1, 2), (255, 4), (256, 4), (300, 50), (600, 2), (3, 400), (2, 70_000)]
)
def test_proximity_is_exact(trees, leaves):
    numbers = forest_leaves(60, trees, leaves) * 7 - 3
    found = whole(leaf_distances(numbers))
    assert np.array_equal(found, reference.proximity(numbers))
    np.testing.assert_allclose(found, cdist(numbers, numbers, "hamming"), atol=1e-15)
    first, second = np.triu_indices(60, k=1)
    pairs = leaf_distances(numbers).pairs(first, second)
    assert np.array_equal(pairs, found[first, second])


def test_hybrid():
    rng = np.random.default_rng(0)
    memberships, z = rng.dirichlet([1, 1, 1], 30), clinical_panel(30)
    for latent in (memberships, np.ones((30, 2))):
        np.testing.assert_allclose(
            whole(hybrid_distances(latent, z, 0.3)), reference.hybrid(latent, z, 0.3), atol=1e-14
        )


def test_the_covariance_of_two_patients():
    assert covariance(np.array([[0.0], [2.0]])).tolist() == [[2.0]]
