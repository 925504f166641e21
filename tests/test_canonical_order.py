"""The order by content: the same for every way to write down the same patients."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar.canonical_order import canonical_order


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    p=st.integers(1, 5),
    physicians=st.integers(1, 5),
    values=st.sampled_from([2, 3, 1_000]),
)
def test_shuffled_and_renamed_tables_come_out_alike(seed, n, p, physicians, values):
    random = np.random.default_rng(seed)
    x = random.integers(0, values, (n, p)).astype(float)
    x[random.random(x.shape) < 0.1] = np.nan
    y = random.integers(0, 2, n)
    who = np.unique(random.integers(0, physicians, n), return_inverse=True)[1]
    rows, columns = random.permutation(n), random.permutation(p)
    names = random.permutation(who.max() + 1)

    def written(x, y, who):
        order = canonical_order(x, who, y)
        table = x[order.rows][:, order.columns]
        return np.column_stack([table, y[order.rows], order.place[who][order.rows]])

    one = written(x, y, who)
    other = written(x[rows][:, columns], y[rows], names[who[rows]])
    np.testing.assert_array_equal(one, other)


def test_decisions_only_break_ties():
    random = np.random.default_rng(0)
    x, who = random.normal(size=(200, 3)), np.repeat(np.arange(4), 50)
    one = canonical_order(x, who, random.integers(0, 2, 200))
    other = canonical_order(x, who, random.integers(0, 2, 200))
    for part in ("rows", "columns", "place"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


def test_units_do_not_matter():
    random = np.random.default_rng(1)
    x, who, y = random.normal(size=(100, 4)), np.repeat(np.arange(5), 20), np.zeros(100, dtype=int)
    one, other = canonical_order(x, who, y), canonical_order(3 + 1e9 * x, who, y)
    for part in ("rows", "columns", "place"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


def test_zero_has_one_sign():
    who, y = np.zeros(2, dtype=np.int64), np.array([0, 1])
    one = canonical_order(np.array([[0.0], [1.0]]), who, y)
    other = canonical_order(np.array([[-0.0], [1.0]]), who, y)
    np.testing.assert_array_equal(one.rows, other.rows)
