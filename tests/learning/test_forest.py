"""The forest is scikit-learn's, to the last bit."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import intravar
import intravar.learning.rank_forest as kernel
import intravar.learning.split_search as search
from intravar.errors import InputError
from intravar.learning.forest import ForestSettings, grow_forest
from intravar.observed import Observed


def literal(x, y, asked):
    """Return importances and leaves, numbered from the left, by scikit-learn."""
    forest = RandomForestClassifier(
        n_estimators=asked.n_trees,
        max_depth=asked.max_depth,
        min_samples_leaf=max(asked.min_leaf, int(asked.min_leaf_share * len(x))),
        random_state=asked.random_state,
    ).fit(x, y)
    nodes = forest.apply(x)
    for position, tree in enumerate(forest.estimators_):
        number = np.cumsum(tree.tree_.children_left == -1) - 1
        nodes[:, position] = number[nodes[:, position]]
    return forest.feature_importances_, nodes


def assert_same(x, y, asked, n_jobs=None):
    importances, leaves = literal(x, y, asked)
    found = grow_forest(x, y, asked, n_jobs)
    assert np.array_equal(found.leaves, leaves)
    assert np.array_equal(found.importances, importances)


KINDS = {
    "numbers": lambda random, n: random.normal(0, 50, n),
    "whole": lambda random, n: random.integers(0, 9, n).astype(float),
    "binary": lambda random, n: random.integers(0, 2, n).astype(float),
    "constant": lambda random, n: np.full(n, 3.25),
    "rarely another": lambda random, n: np.where(random.random(n) < 0.02, 7.0, 2.0),
    "hardly apart": lambda random, n: 2.0 + random.integers(0, 40, n) * 2.0**-24,
    "large": lambda random, n: random.normal(0, 1e29, n),
}


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 400),
    kinds=st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=10),
    depth=st.integers(1, 40),
    leaf=st.integers(1, 20),
    follows=st.booleans(),
)
@example(seed=0, n=300, kinds=["constant"], depth=8, leaf=5, follows=False)
@example(seed=1, n=200, kinds=["binary", "binary"], depth=3, leaf=1, follows=True)
def test_leaves_and_importances_are_those_of_scikit_learn(seed, n, kinds, depth, leaf, follows):
    random = np.random.default_rng(seed)
    x = np.column_stack([KINDS[kind](random, n) for kind in kinds])
    # A span of one at least: scikit-learn is given the same numbers.
    x = np.vstack([x, x[:1] + 1.0 + np.abs(x[:1])]) if n > 1 else x
    n = len(x)
    chance = np.where(x[:, 0] > np.median(x[:, 0]), 0.9, 0.1) if follows else np.full(n, 0.5)
    y = (random.random(n) < chance).astype(np.int8)
    assert_same(x, y, ForestSettings(20, depth, leaf, 0.0, seed % 1000))


@pytest.mark.parametrize("exclusive_or", [False, True])
def test_as_many_splits_gain_nothing(exclusive_or):
    """Splits of no gain, and exact ties between columns, are settled as scikit-learn does."""
    x = np.array([[a, b, a] for a in (0.0, 1.0) for b in (0.0, 1.0) for _ in range(50)])
    y = (x[:, 0] != x[:, 1] if exclusive_or else x[:, 0] > 0).astype(np.int8)
    assert_same(x, y, ForestSettings(40, 4, 5, 0.0, 3))


@pytest.mark.parametrize("decided", [0, 1])
def test_one_decision_alone_grows_no_tree(decided):
    x = np.random.default_rng(0).normal(size=(80, 3))
    assert_same(x, np.full(80, decided, dtype=np.int8), ForestSettings(5))


@pytest.mark.parametrize("ranks_a_patient", [0, 1000])
def test_counting_and_sorting_find_the_same(monkeypatch, ranks_a_patient):
    random = np.random.default_rng(4)
    x = np.column_stack([random.normal(size=900), random.integers(0, 30, 900), random.random(900)])
    x[0] += 2.0
    y = (random.random(900) < 1 / (1 + np.exp(-2 * x[:, 0]))).astype(np.int8)
    monkeypatch.setattr(search, "RANKS_A_PATIENT", ranks_a_patient)
    monkeypatch.setattr(kernel, "best_split", search.best_split.py_func)
    monkeypatch.setattr("intravar.learning.forest.grow_tree", kernel.grow_tree.py_func)
    assert_same(x, y, ForestSettings(3))


@pytest.mark.parametrize("condition", ["score2", "copula", "pass1-w3-p3"])
def test_ties_are_settled_alike_on_whole_forests(condition):
    """Small nodes have splits that gain the same number, up to its last bit."""
    cohort = intravar.simulate(condition, n_patients=900, n_physicians=5, seed=11)
    observed = Observed.of(*cohort.observed())
    for seed in range(3):
        assert_same(observed.covariates, observed.decision, ForestSettings(random_state=seed))


def test_threads_change_nothing():
    random = np.random.default_rng(9)
    x = random.normal(size=(500, 4)) * 10
    y = (x[:, 0] + random.normal(size=500) > 0).astype(np.int8)
    for n_jobs in (1, 2, 5):
        assert_same(x, y, ForestSettings(11), n_jobs)


@pytest.mark.parametrize("asked", [{"n_trees": 0}, {"max_depth": 0}, {"min_leaf": 0}])
def test_impossible_forests_are_refused(asked):
    with pytest.raises(InputError, match="must be at least 1"):
        grow_forest(np.eye(4), np.array([0, 1, 0, 1], dtype=np.int8), ForestSettings(**asked))
