"""Distances against their definitions."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from intravar.matching.distances import (
    hybrid_distances,
    mahalanobis_points,
    point_distances,
    proximity_distances,
    shared_leaves,
)
from panels import clinical_panel, forest_leaves
from reference import distances as reference


@pytest.mark.parametrize("deficient", [False, True])
def test_mahalanobis(deficient):
    z = clinical_panel(60)
    if deficient:
        z = np.column_stack([z, z[:, 0] + z[:, 1], np.zeros(60)])
    covariance = np.cov(z, rowvar=False)
    np.testing.assert_allclose(
        point_distances(mahalanobis_points(z, covariance)),
        reference.mahalanobis(z, covariance),
        atol=1e-7 if deficient else 1e-12,
    )


@pytest.mark.parametrize(
    ("trees", "leaves"), [(1, 2), (255, 4), (256, 4), (300, 50), (600, 2), (3, 400), (2, 70_000)]
)
def test_proximity_is_exact(trees, leaves):
    numbers = forest_leaves(60, trees, leaves) * 7 - 3
    assert np.array_equal(proximity_distances(numbers), reference.proximity(numbers))
    assert np.array_equal(
        shared_leaves(numbers) / trees, 1 - cdist(numbers, numbers, "hamming")
    ) or (np.allclose(shared_leaves(numbers) / trees, 1 - cdist(numbers, numbers, "hamming")))


def test_proximity_does_not_depend_on_the_tiles(monkeypatch):
    numbers = forest_leaves(90)
    expected = proximity_distances(numbers)
    monkeypatch.setattr("intravar.matching.distances.TILE_ENTRIES", 100)
    assert np.array_equal(proximity_distances(numbers), expected)
    with pytest.raises(ValueError, match="one column per tree"):
        proximity_distances(np.empty((3, 0)))


def test_hybrid():
    rng = np.random.default_rng(0)
    memberships, z = rng.dirichlet([1, 1, 1], 30), clinical_panel(30)
    for latent in (memberships, np.ones((30, 2))):
        np.testing.assert_allclose(
            hybrid_distances(latent, z, 0.3), reference.hybrid(latent, z, 0.3), atol=1e-14
        )
    with pytest.raises(ValueError, match="alpha"):
        hybrid_distances(memberships, z, 1.5)
