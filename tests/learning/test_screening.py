"""Very many columns: which are looked at, and that nothing else changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from intravar.latent.own_rules import most_personal_columns, strongest_evidence
from intravar.latent.rule_learners import BoostedTrees, SplineLogit
from intravar.learning.boosted_trees import (
    COARSE_MISSING,
    MOST_SEEN,
    bin_edges,
    binned,
    coarse_bins,
    column_gains,
    telling,
)
from intravar.observed import Observed
from intravar.prediction.candidates import common_trees, grown
from reference.boosted_trees import score as literal_score
from reference.screening import best_gain

WIDE = MOST_SEEN + 60


def table(random, n, p):
    X = random.standard_normal((n, p)).round(2)
    X[:, ::3] = random.random((n, len(range(0, p, 3)))) < 0.3
    X[random.random((n, p)) < 0.02] = np.nan
    return X


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_gains_equal_the_literal_twin(seed):
    random = np.random.default_rng(seed)
    bins = coarse_bins(table(random, 80, 6))
    rows = np.sort(random.permutation(80)[: random.integers(1, 80)])
    gradient, curvature = random.normal(size=80), random.random(80) * (random.random(80) < 0.9)
    gradient *= curvature > 0
    slopes = gradient[rows], curvature[rows]
    found = column_gains(bins[rows], *slopes, COARSE_MISSING, 5.0, 2.0)
    twin = [
        best_gain(bins[rows, c], gradient[rows], curvature[rows], 16, 5.0, 2.0) for c in range(6)
    ]
    assert found == pytest.approx(twin, abs=1e-9)


def test_bins_keep_rare_values_apart():
    values = np.zeros((1000, 2))
    values[:3, 0] = 1
    values[:, 1] = 1 - values[:, 0]
    bins = coarse_bins(values)
    assert [len(np.unique(column)) for column in bins.T] == [2, 2]
    assert coarse_bins(np.full((4, 1), np.nan)).ravel().tolist() == [COARSE_MISSING] * 4


def test_no_choice_where_columns_are_few_and_the_first_of_equal_ones():
    bins = np.zeros((5, MOST_SEEN), np.uint8)
    assert telling(bins, np.ones(5), np.arange(5)).tolist() == list(range(MOST_SEEN))
    same = np.tile(np.arange(100, dtype=np.uint8)[:, None] % 2, (1, 5))
    assert telling(same, same[:, 0], np.arange(100), 3).tolist() == [0, 1, 2]


def test_a_decision_counts_by_how_it_departs_from_the_physicians_share():
    random = np.random.default_rng(1)
    who = np.repeat(np.arange(20), 100)
    X = random.normal(size=(2000, WIDE))
    X[:, 5] += who
    y = (random.random(2000) < expit(who / 2 - 5 + 2 * X[:, 9])).astype(np.int64)
    bins, rows = coarse_bins(X), np.arange(2000)
    assert telling(bins, y, rows, 1).tolist() == [5]
    assert telling(bins, y, rows, 1, who).tolist() == [9]


def decided_by_two(seed, n=1500):
    random = np.random.default_rng(seed)
    X = table(random, n, WIDE)
    filled = np.nan_to_num(X)
    truth = expit(3 * (filled[:, 1] > 0.3) - 3 * filled[:, WIDE - 1] - 1)
    return X, (random.random(n) < truth).astype(np.int64), random


def test_trees_on_very_many_columns_are_scored_by_the_columns_as_given():
    X, y, _ = decided_by_two(0)
    bins = binned(X, bin_edges(X))
    trees = grown(bins[:1000], y[:1000])
    arrays = (trees.columns, trees.cuts, trees.missing, trees.values)
    twin = [
        literal_score(row, trees.start, *(a.tolist() for a in arrays)) for row in bins[:40].tolist()
    ]
    assert trees.scores(bins[:40]).tolist() == twin
    assert {1, WIDE - 1} <= set(trees.columns.ravel().tolist())


def test_trees_on_very_many_columns_are_no_worse_than_on_as_many_as_are_looked_at():
    X, y, _ = decided_by_two(1, 4000)
    bins = binned(X, bin_edges(X))
    few = np.ascontiguousarray(bins[:, [*range(MOST_SEEN - 1), WIDE - 1]])

    def loss(columns):
        p = expit(grown(columns[:3000], y[:3000]).scores(columns[3000:]))
        return float(np.mean((y[3000:] - p) ** 2))

    assert loss(bins) < loss(few) + 0.01
    assert loss(bins) < 0.16


def test_forests_look_at_what_goes_with_decisions_and_at_what_trees_look_at():
    X, y, random = decided_by_two(2)
    bins = binned(X, bin_edges(X))
    trees = common_trees(
        bins, y, np.zeros(1500, dtype=np.int64), np.arange(1500), random.random(1500) < 0.5
    )
    found = trees.worth_a_look(np.array([0, 50]), WIDE)
    assert {0, 1, 50, WIDE - 1} <= set(found.tolist())
    assert len(found) <= MOST_SEEN
    assert trees.worth_a_look(np.array([0]), 7).tolist() == list(range(7))


@pytest.mark.parametrize("learner", [BoostedTrees(trees=40), SplineLogit()])
def test_rules_of_very_many_covariates_are_learned(learner):
    X, y, _ = decided_by_two(3)
    decided = Observed.of(X, y, np.arange(1500) % 3, keep_missing=True)
    score = learner.prepare(X)(decided, np.arange(0, 1500, 2)).logit(X)
    out = np.arange(1, 1500, 2)
    assert roc_auc_score(y[out], score[out]) > 0.67


def test_evidence_of_own_rules_is_found_among_very_many_covariates():
    random = np.random.default_rng(4)
    who = np.repeat(np.arange(40), 100)
    z = random.normal(size=(4000, WIDE))
    q = expit(2 * z[:, WIDE - 2] * np.where(who % 2, 1, -1))
    decided = Observed.of(z, random.random(4000) < q, who)
    assert strongest_evidence(z, decided, np.full(4000, 0.5)) > 8
    assert strongest_evidence(z, decided, q) < 4
    assert most_personal_columns(z, decided, np.full(4000, 0.5), 1).tolist() == [WIDE - 2]
