"""Panels to test on: ordinary ones, and the awkward ones that hold ties."""

import numpy as np
from hypothesis import strategies as st
from scipy.spatial.distance import cdist


def clinical_panel(n, seed=0):
    """Nine covariates with the reference marginals, standardised over 1,000 or more."""
    rng = np.random.default_rng(seed)
    size = max(n, 1_000)

    def normal(mean, sd, low, high):
        return rng.normal(mean, sd, size).clip(low, high)

    columns = [
        np.round(normal(60, 12, 40, 90)),
        normal(6.5, 1.5, 4, 12),
        normal(3.6, 0.95, 1, 8),
        normal(1.35, 0.38, 0.4, 2.8),
        normal(1.3, 0.35, 0.4, 2.2),
        np.round(normal(130, 20, 90, 200)),
        normal(90, 25, 15, 140),
        rng.random(size) < 0.2,
        rng.random(size) < 0.6,
    ]
    x = np.column_stack(columns)
    return ((x - x.mean(axis=0)) / x.std(axis=0))[:n]


def grid_points(n, values, p, seed=0):
    """Whole-number covariates: many duplicates and many equal distances."""
    return np.random.default_rng(seed).integers(0, values, (n, p)).astype(float)


def forest_leaves(n, trees=300, leaves=4, seed=0):
    """Leaf numbers that agree often, so that proximities tie."""
    return np.random.default_rng(seed).integers(0, leaves, (n, trees))


@st.composite
def tied_points(draw, least=2, most=30):
    """Small panels of whole-number points."""
    n = draw(st.integers(least, most))
    p = draw(st.integers(1, 3))
    row = st.lists(st.integers(0, 3), min_size=p, max_size=p)
    return np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=float)


@st.composite
def tied_matrices(draw, least=2, most=30):
    """Small symmetric matrices of few whole-number distances, in general not a metric."""
    n = draw(st.integers(least, most))
    seed = draw(st.integers(0, 2**32 - 1))
    levels = draw(st.integers(1, 6))
    entries = np.triu(np.random.default_rng(seed).integers(0, levels, (n, n)), k=1)
    return (entries + entries.T).astype(float)


def matrix(points):
    """The matrix of Euclidean distances."""
    return cdist(points, points)
