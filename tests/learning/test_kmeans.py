"""Labels of k-means are scikit-learn's, whoever iterates."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from intravar.learning.mixtures import profile_selection as selection
from intravar.learning.mixtures.kmeans_kernel import lloyd


def literal(z, n_profiles, n_init, seed):
    stream = np.random.RandomState(seed)
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        return [
            KMeans(n_profiles, n_init=1, random_state=stream).fit(z).labels_ for _ in range(n_init)
        ]


def assert_same(z, n_profiles, seed, n_init=4):
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        found = selection.kmeans_labels(z, n_profiles, n_init, seed)
    np.testing.assert_array_equal(found, literal(z, n_profiles, n_init, seed))


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(10, 700),
    width=st.integers(1, 10),
    n_profiles=st.integers(1, 10),
    whole=st.booleans(),
)
def test_labels_are_those_of_scikit_learn(seed, n, width, n_profiles, whole):
    random = np.random.default_rng(seed)
    z = random.normal(size=(n, width)) + 3 * random.integers(0, 3, (n, 1))
    assert_same(np.round(z) if whole else z, n_profiles, seed % 1000)


def test_ties_and_lost_centres_are_left_to_scikit_learn(monkeypatch):
    held = []
    monkeypatch.setattr(selection, "lloyd", lambda *given: held.append(lloyd(*given)) or held[-1])
    grid = np.array([[a, b] for a in range(6) for b in range(6)], dtype=float)
    assert_same(grid, 4, 0)
    assert not all(found for _, found in held)


@pytest.mark.parametrize("size", [255, 256, 257, 1000])
def test_blocks_of_patients_make_no_difference(size):
    assert_same(np.random.default_rng(size).normal(size=(size, 4)), 5, 1)


def test_a_centre_without_patients_is_seen():
    columns = np.array([[-1.0, -1.1, 1.0, 1.2]])
    _, held = lloyd(columns, np.array([[-1.0], [1.0], [50.0]]), 1e-9, 10)
    assert not held
