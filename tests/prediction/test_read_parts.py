"""Parts by which physicians beyond the sample are read, each against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar.learning.boosted_trees import MISSING_BIN, Rates, bin_edges, binned
from intravar.learning.personal_rules import Table, fit_rules, start_hyper
from intravar.prediction.bound import (
    Left,
    Shrinkage,
    bound,
    cell_bound,
    learn_reader,
    losses_of,
    share_of,
)
from intravar.prediction.candidates import grown, summed
from intravar.prediction.own_forests import LEAST_LEAF, SEED, own_forests
from intravar.prediction.tasks import column_scales, scaled_columns
from reference.boosted_trees import score as literal_score
from reference.own_forest import LEAST, shares


def gappy(random, n, p):
    X = random.standard_normal((n, p)).round(random.integers(0, 3))
    X[random.random((n, p)) < 0.1] = np.nan
    return X


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_trees_score_rows_as_the_literal_twin_does(seed):
    random = np.random.default_rng(seed)
    X = gappy(random, 300, 3)
    bins = binned(X, bin_edges(X))
    y = (random.random(300) < 1 / (1 + np.exp(-3 * np.nan_to_num(X[:, 0])))).astype(np.int64)
    rates = Rates(np.array([0.9]), np.array([0.1])) if seed % 2 else None
    trees = grown(bins[:200], y[:200], np.zeros(200, dtype=np.int64), rates)
    assert trees.missing_bin == MISSING_BIN
    found = trees.scores(bins)
    arrays = (trees.columns, trees.cuts, trees.missing, trees.values)
    twin = [literal_score(row, trees.start, *(a.tolist() for a in arrays)) for row in bins.tolist()]
    assert found.tolist() == twin
    # A row has one score, whoever stands beside it.
    some = random.permutation(300)[:17]
    assert np.array_equal(trees.scores(bins[some]), found[some])


def test_no_rows_and_no_columns_grow_no_trees():
    nothing = grown(np.zeros((0, 2), np.uint8), np.zeros(0))
    assert nothing.scores(np.zeros((3, 2), np.uint8)).tolist() == [0.0, 0.0, 0.0]
    plain = grown(np.zeros((9, 0), np.uint8), np.ones(9))
    assert plain.scores(np.zeros((2, 0), np.uint8)) == pytest.approx(np.log(9.5 / 0.5))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 4))
def test_own_forests_equal_the_literal_twin(seed, n, p):
    assert LEAST == LEAST_LEAF
    random = np.random.default_rng(seed)
    X = random.standard_normal((n + 7, p)).round(random.integers(0, 3))
    y = (random.random(n + 7) < 1 / (1 + np.exp(-3 * X[:, 0]))).astype(np.int64)
    code = np.zeros(n + 7, dtype=np.int64)
    rows, asked = np.arange(n), np.arange(n, n + 7)
    found = own_forests(Table(X, y, code, rows, 1), asked, 0.5)
    twin = shares(X[:n].tolist(), y[:n].tolist(), X[n:].tolist(), 50, int(SEED))
    assert found.tolist() == twin


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_scales_that_were_learned_give_the_same_columns(seed):
    random = np.random.default_rng(seed)
    X = np.column_stack([gappy(random, 80, 3), np.ones(80), np.r_[np.zeros(79), 5.0]])
    scales = column_scales(X)
    columns, owner = scaled_columns(X, scales)
    again, same = scaled_columns(X[10:20], scales)
    assert np.array_equal(again, columns[10:20])
    assert np.array_equal(owner, same)
    wild, _ = scaled_columns(np.full((1, 5), 1e29), scales)
    assert (np.abs(wild) <= np.abs(columns).max(axis=0) + 1e-9).all()


def test_the_average_colleague_is_the_mean_of_colleagues():
    random = np.random.default_rng(3)
    Z = np.column_stack([np.ones(90), random.standard_normal((90, 3))])
    y, code = random.integers(0, 2, 90), np.repeat(np.arange(6), 15)
    rules = fit_rules(Table(Z, y, code, np.arange(90), 6), start_hyper(4))
    among, rows = np.array([0, 2, 5]), np.arange(4, 50)
    found = rules.take(among).average(Z, rows)
    each = [rules.predict(Z, np.full(90, physician), rows) for physician in among]
    assert found == pytest.approx(np.mean(each, axis=0), rel=1e-12)


def test_sums_of_columns_are_products_with_a_matrix():
    random = np.random.default_rng(4)
    table, weights = random.standard_normal((30, 4)), random.standard_normal(5)
    assert summed(weights, list(table.T)) == pytest.approx(weights[0] + table @ weights[1:])


@pytest.mark.parametrize("asked", [False, True])
def test_losses_are_read_of_any_panel(asked):
    random = np.random.default_rng(5)
    code = np.repeat(np.arange(12), 30)
    q = random.uniform(0.05, 0.95, 360)
    y = (random.random(360) < 0.7 * q + 0.3 * random.random(12)[code]).astype(np.int64)
    left = Left(random.uniform(0.1, 0.4, 12), np.zeros(12)) if asked else None
    reader = learn_reader(losses_of(q, y, code, 12), left)
    whole = bound(losses_of(q, y, code, 12), left)
    one = np.flatnonzero(code == 4)
    alone = reader.of(
        losses_of(q[one], y[one], code[one] - 4, 1), None if left is None else left.value[4:5]
    )
    for name in ("score", "raw", "effective"):
        assert getattr(alone, name)[0] == pytest.approx(getattr(whole, name)[4], rel=1e-12)
    empty = reader.of(
        losses_of(np.full(1, 0.5), np.ones(1, dtype=np.int64), np.ones(1, int), 3), None
    )
    assert np.isfinite(empty.score).all()


def example_losses():
    random = np.random.default_rng(6)
    code = np.repeat(np.arange(12), 30)
    q = random.uniform(0.05, 0.95, 360)
    y = (random.random(360) < 0.7 * q + 0.3 * random.random(12)[code]).astype(np.int64)
    return losses_of(q, y, code, 12)


def test_bound_without_shrinkage_is_the_raw_error():
    losses = example_losses()
    raw = bound(losses, shrinkage=Shrinkage(least_kept=1.0))
    assert raw.score == pytest.approx(raw.raw, rel=1e-12)
    assert np.ptp(bound(losses).score) < np.ptp(raw.score)


def test_own_rules_have_no_share_when_its_prior_deviation_is_zero():
    wrong = np.linspace(-0.3, 0.3, 40)
    error = np.full(40, 0.01)
    shared = np.zeros(40)
    assert share_of(wrong, wrong, error, shared, Shrinkage(share_sd=0.0)) == 0.0
    assert share_of(wrong, wrong, error, shared, Shrinkage(share_sd=1.0)) > 0.9


def test_variance_of_losses_is_the_physicians_alone_without_pooled_patients():
    losses = example_losses()
    found = bound(losses, shrinkage=Shrinkage(least_kept=1.0, spread_patients=0.0))
    loss = losses.loss[:30]
    share = loss.mean()
    trials = 30 * share * (1 - share) / loss.var(ddof=1)
    assert found.effective[0] == pytest.approx(trials, rel=1e-12)


def test_a_cell_without_patients_has_no_bound():
    bounds = cell_bound(np.full(4, 0.5), np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1]), 3)
    assert np.isnan(bounds.low).tolist() == [False, False, True]
