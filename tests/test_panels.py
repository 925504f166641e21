"""Panels by content: the same for every way to write down the same patients."""

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from intravar.errors import InputError
from intravar.observed import Observed, checked_decision, checked_labels, is_pandas
from intravar.panels import Layout


def observed(x, y, who):
    names = tuple(f"c{number}" for number in range(x.shape[1]))
    return Observed(x, names, np.asarray(y), who, pl.Series(np.arange(who.max(initial=0) + 1)))


def laid_out(x, y, who):
    given = observed(x, y, who)
    layout = Layout.of(given)
    return layout.panels(given), [given.names.index(name) for name in layout.names]


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    p=st.integers(1, 5),
    physicians=st.integers(1, 5),
    values=st.sampled_from([2, 3, 1_000]),
)
@example(seed=4, n=3, p=5, physicians=1, values=2)  # two pairs of columns, mirrored
def test_shuffled_and_renamed_tables_come_out_alike(seed, n, p, physicians, values):
    random = np.random.default_rng(seed)
    x = random.integers(0, values, (n, p)).astype(float)
    x[random.random(x.shape) < 0.1] = np.nan
    y = random.integers(0, 2, n)
    who = np.unique(random.integers(0, physicians, n), return_inverse=True)[1]
    rows, columns = random.permutation(n), random.permutation(p)
    names = random.permutation(who.max() + 1)

    def written(x, y, who):
        panels, _ = laid_out(x, y, who)
        return np.column_stack([panels.covariates, panels.y, panels.code, panels.deal(3, 0)])

    one = written(x, y, who)
    other = written(x[rows][:, columns], y[rows], names[who[rows]])
    np.testing.assert_array_equal(one, other)


def test_decisions_only_break_ties():
    random = np.random.default_rng(0)
    x, who = random.normal(size=(200, 3)), np.repeat(np.arange(4), 50)
    one, columns = laid_out(x, random.integers(0, 2, 200), who)
    other, others = laid_out(x, random.integers(0, 2, 200), who)
    assert columns == others
    for part in ("rows", "places"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
    np.testing.assert_array_equal(one.deal(5, 1), other.deal(5, 1))


def test_units_do_not_matter():
    random = np.random.default_rng(1)
    x, who, y = random.normal(size=(100, 4)), np.repeat(np.arange(5), 20), np.zeros(100, dtype=int)
    one, columns = laid_out(x, y, who)
    other, others = laid_out(3 + 1e9 * x, y, who)
    assert columns == others
    for part in ("rows", "places"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))
    np.testing.assert_array_equal(one.deal(5, 1), other.deal(5, 1))


def test_zero_has_one_sign():
    who, y = np.zeros(2, dtype=np.int64), np.array([0, 1])
    one, _ = laid_out(np.array([[0.0], [1.0]]), y, who)
    other, _ = laid_out(np.array([[-0.0], [1.0]]), y, who)
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.key, other.key)


def dealt(layout, x, y, who, n_folds=5, seed=3):
    panels = layout.panels(observed(x, y, who))
    return panels.as_given(panels.deal(n_folds, seed))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 2))
def test_folds_follow_from_the_panel_alone(seed, digits):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 30, 4)
    who = np.repeat(np.arange(4), sizes)
    n = len(who)
    x, y = random.standard_normal((n, 2)).round(digits), random.integers(0, 2, n)
    layout = Layout(("c0", "c1"), [np.unique(column) for column in x.T], True, np.zeros((2, 64)))
    fold = dealt(layout, x, y, who)
    key = [tuple(each) for each in np.column_stack([x, y])]
    for j in range(4):
        mixed = random.permutation(np.flatnonzero(who == j))
        alone = dealt(layout, x[mixed], y[mixed], np.zeros(len(mixed), dtype=np.int64))
        found = sorted((key[i], int(fold[i])) for i in mixed)
        assert found == sorted((key[i], int(f)) for i, f in zip(mixed, alone, strict=True))


def test_folds_are_even_differ_by_seed_and_keep_copies_together():
    random = np.random.default_rng(1)
    x, y, one = random.standard_normal((50, 2)), random.integers(0, 2, 50), np.zeros(50, int)
    copies, apart = (
        Layout(("c0", "c1"), [np.empty(0)] * 2, each, np.zeros((2, 64))) for each in (True, False)
    )
    assert np.bincount(dealt(copies, x, y, one)).tolist() == [10] * 5
    assert (dealt(copies, x, y, one, seed=4) != dealt(copies, x, y, one)).any()
    both = np.vstack([x, x]), np.r_[y, 1 - y], np.zeros(100, int)
    twice = dealt(copies, *both)
    assert np.array_equal(twice[:50], twice[50:])
    twice = dealt(apart, *both)
    assert (twice[:50] != twice[50:]).mean() > 0.5
    tied = dealt(copies, np.ones((40, 2)), np.tile([0, 1], 20), np.zeros(40, int))
    assert np.bincount(tied).tolist() == [8] * 5


def test_copies_are_told_from_ties_by_those_learned_from():
    random = np.random.default_rng(2)
    x, who = random.standard_normal((40, 2)), np.repeat([0, 1, 0, 1], 20)
    assert Layout.of(observed(x, np.tile([0, 1], 20), who[:40])).copies
    assert Layout.of(observed(np.vstack([x, x]), np.tile([0, 1], 40), who)).copies
    coarse = random.integers(0, 4, (60, 2)).astype(float)
    assert not Layout.of(observed(coarse, np.tile([0, 1], 30), np.repeat([0, 1, 2], 20))).copies


def test_panels_of_other_columns_are_refused():
    one = Observed.of(np.eye(3), [0, 1, 0], ["A", "A", "B"])
    other = Observed.of(np.ones((3, 2)), [0, 1, 0], ["A", "A", "B"])
    with pytest.raises(InputError, match="other covariates than those learned from"):
        Layout.of(one).panels(other)


def test_decisions_and_labels_are_taken_as_they_are_meant():
    decided = checked_decision([True, False])
    assert decided.tolist() == [1, 0]
    assert decided.dtype == np.int8
    assert checked_labels([7, 10]).dtype == pl.Int64
    assert not is_pandas(pl.Series([1]), [1, 2])
