"""The forest is scikit-learn's, with the paper's settings."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from intravar.errors import InputError
from intravar.estimators.supervised import RFProximity


def assert_same(x, y, n_trees, n_jobs=None):
    asked = RFProximity(n_trees=n_trees)
    forest = RandomForestClassifier(
        n_estimators=asked.n_trees,
        max_depth=asked.max_depth,
        min_samples_leaf=max(asked.min_leaf, int(asked.min_leaf_share * len(x))),
        random_state=asked.random_state,
    ).fit(x, y)
    importances, leaves = RFProximity(n_trees=n_trees, n_jobs=n_jobs).grow(x, y)
    assert np.array_equal(leaves, forest.apply(x))
    assert np.array_equal(importances, forest.feature_importances_)


def test_a_narrow_unit_changes_nothing():
    """Trees take values less than 1e-7 apart for equal; a narrow column is widened first."""
    random = np.random.default_rng(3)
    x = random.normal(size=(300, 3))
    y = (x[:, 0] > 0).astype(np.int8)
    wide = RFProximity(n_trees=20).grow(x * 2.0**10, y)
    narrow = RFProximity(n_trees=20).grow(x * 2.0**-40, y)
    for one, other in zip(wide, narrow, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("decided", [0, 1])
def test_one_decision_alone_grows_no_tree(decided):
    x = np.random.default_rng(0).normal(size=(80, 3))
    assert_same(x, np.full(80, decided, dtype=np.int8), 5)


def test_threads_change_nothing():
    random = np.random.default_rng(9)
    x = random.normal(size=(500, 4)) * 10
    y = (x[:, 0] + random.normal(size=500) > 0).astype(np.int8)
    for n_jobs in (1, 2, 5):
        assert_same(x, y, 11, n_jobs)


@pytest.mark.parametrize("asked", [{"n_trees": 0}, {"max_depth": 0}, {"min_leaf": 0}])
def test_impossible_forests_are_refused(asked):
    with pytest.raises(InputError, match="must be at least 1"):
        RFProximity(**asked).grow(np.eye(4), np.array([0, 1, 0, 1], dtype=np.int8))
