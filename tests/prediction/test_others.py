"""Parts by which physicians beyond the sample are read, each against its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar.prediction.bound import Left, bound_of_losses, learned_bound, losses_of
from intravar.prediction.canonical import alike_are_copies, canonical
from intravar.prediction.column_bins import column_scales, scaled_columns, standard_columns
from intravar.prediction.dealing_kernel import deal_panels, panel_patterns
from intravar.prediction.fold_common import AverageColleague
from intravar.prediction.forests import LEAST_LEAF, SEED, own_forests
from intravar.prediction.personal import fit_rules, start_hyper
from intravar.prediction.stacking import summed
from intravar.prediction.trees import TreeRates, Trees, bin_edges, binned, boosted, grown
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
    rates = TreeRates(np.full(200, 0.1), np.full(200, 0.9)) if seed % 2 else None
    trees = grown(bins[:200], y[:200], rates)
    found = trees.scores(bins)
    arrays = (trees.columns, trees.cuts, trees.missing, trees.values)
    twin = [literal_score(row, trees.start, *(a.tolist() for a in arrays)) for row in bins.tolist()]
    assert found.tolist() == twin
    # A row has one score, whoever stands beside it.
    some = random.permutation(300)[:17]
    assert np.array_equal(trees.scores(bins[some]), found[some])
    assert np.array_equal(boosted(bins[:200], y[:200], bins[some], rates), found[some])


def test_no_rows_and_no_columns_grow_no_trees():
    nothing = grown(np.zeros((0, 2), np.uint8), np.zeros(0))
    assert nothing.scores(np.zeros((3, 2), np.uint8)).tolist() == [0.0, 0.0, 0.0]
    plain = grown(np.zeros((9, 0), np.uint8), np.ones(9))
    assert isinstance(plain, Trees)
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
    found = own_forests(X, y, code, rows, asked, 1, 0.5)
    twin = shares(X[:n].tolist(), y[:n].tolist(), X[n:].tolist(), 50, int(SEED))
    assert found.tolist() == twin


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_scales_that_were_learned_give_the_same_columns(seed):
    random = np.random.default_rng(seed)
    X = np.column_stack([gappy(random, 80, 3), np.ones(80), np.r_[np.zeros(79), 5.0]])
    columns, owner = standard_columns(X)
    scales = column_scales(X)
    again, same = scaled_columns(X[10:20], scales)
    assert np.array_equal(again, columns[10:20])
    assert np.array_equal(owner, same)
    wild, _ = scaled_columns(np.full((1, 5), 1e29), scales)
    assert (np.abs(wild) <= np.abs(columns).max(axis=0) + 1e-9).all()


def dealt(X, y, sizes, n_folds=5, key=3, copies=True):
    code = np.repeat(np.arange(len(sizes)), sizes)
    begin = np.r_[0, np.cumsum(sizes)]
    bins = np.zeros(X.shape, np.uint8)
    pattern = panel_patterns(X, bins, np.arange(len(y)), begin)
    row = np.lexsort((y, pattern, code))
    fold = deal_panels(pattern[row], y[row], begin, n_folds, np.uint64(key), copies, 0.25)
    found = np.empty(len(y), dtype=np.int64)
    found[row] = fold
    return found


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 2))
def test_folds_follow_from_the_panel_alone(seed, digits):
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 30, 4)
    n = int(sizes.sum())
    X, y = random.standard_normal((n, 2)).round(digits), random.integers(0, 2, n)
    fold = dealt(X, y, sizes)
    start = np.r_[0, np.cumsum(sizes)]
    for j in range(4):
        rows = np.arange(start[j], start[j + 1])
        mixed = random.permutation(rows)
        # Neither other panels, nor the order of rows, nor the unit matters.
        alone = dealt(3 * X[mixed] + 2, y[mixed], sizes[j : j + 1])
        key = [tuple(each) for each in np.column_stack([X, y])]
        found = sorted((key[i], int(fold[i])) for i in rows)
        assert found == sorted((key[i], int(f)) for i, f in zip(mixed, alone, strict=True))


def test_folds_are_even_differ_by_seed_and_keep_copies_together():
    random = np.random.default_rng(1)
    X, y = random.standard_normal((50, 2)), random.integers(0, 2, 50)
    assert np.bincount(dealt(X, y, [50])).tolist() == [10] * 5
    assert (dealt(X, y, [50], key=4) != dealt(X, y, [50])).any()
    twice = dealt(np.vstack([X, X]), np.r_[y, 1 - y], [100])
    assert np.array_equal(twice[:50], twice[50:])
    apart = dealt(np.vstack([X, X]), np.r_[y, 1 - y], [100], copies=False)
    assert (apart[:50] != apart[50:]).mean() > 0.5
    tied = dealt(np.ones((40, 1)), np.tile([0, 1], 20), [40])
    assert np.bincount(tied).tolist() == [8] * 5


def test_copies_are_told_from_ties_by_the_sample():
    random = np.random.default_rng(2)
    X = random.standard_normal((40, 2))
    code = np.repeat([0, 1, 0, 1], 20)
    assert alike_are_copies(canonical(X, np.tile([0, 1], 20), code[:40]))
    assert alike_are_copies(canonical(np.vstack([X, X]), np.tile([0, 1], 40), code))
    coarse = random.integers(0, 4, (60, 2)).astype(float)
    assert not alike_are_copies(canonical(coarse, np.tile([0, 1], 30), np.repeat([0, 1, 2], 20)))


def test_the_average_colleague_is_the_mean_of_colleagues():
    random = np.random.default_rng(3)
    Z = np.column_stack([np.ones(90), random.standard_normal((90, 3))])
    y, code = random.integers(0, 2, 90), np.repeat(np.arange(6), 15)
    rules = fit_rules(Z, y, code, np.arange(90), 6, start_hyper(4))
    among, rows = np.array([0, 2, 5]), np.arange(4, 50)
    found = AverageColleague.of(rules, among).predict(Z, rows)
    assert found == pytest.approx(rules.average(Z, rows, among), rel=1e-12)


def test_sums_of_columns_are_products_with_a_matrix():
    random = np.random.default_rng(4)
    table, weights = random.standard_normal((30, 4)), random.standard_normal(5)
    assert summed(weights, list(table.T)) == pytest.approx(weights[0] + table @ weights[1:])


@pytest.mark.parametrize("asked", [False, True])
def test_what_all_taught_reads_them_again(asked):
    random = np.random.default_rng(5)
    code = np.repeat(np.arange(12), 30)
    q = random.uniform(0.05, 0.95, 360)
    y = (random.random(360) < 0.7 * q + 0.3 * random.random(12)[code]).astype(np.int64)
    left = Left(random.uniform(0.1, 0.4, 12), np.zeros(12)) if asked else None
    losses = losses_of(q, y)
    found, reading = learned_bound(losses, code, 12, left)
    again = reading.of(losses, code, 12, None if left is None else left.value)
    for name in ("score", "raw", "effective"):
        assert getattr(again, name) == pytest.approx(getattr(found, name), rel=1e-12)
        whole = bound_of_losses(losses, code, 12, left)
        assert np.array_equal(getattr(whole, name), getattr(found, name))
    empty = reading.of(
        losses_of(np.full(1, 0.5), np.ones(1, dtype=np.int64)), np.ones(1, int), 3, None
    )
    assert np.isfinite(empty.score).all()
