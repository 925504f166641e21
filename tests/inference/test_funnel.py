"""The funnel's limits: equal to a literal twin, and wide enough for physicians who differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar.inference.group import INNER, FunnelLimits, funnel_limits
from reference.funnel import limits, normal_left

LEFT = normal_left(0.1)
ROWS = st.lists(
    st.tuples(
        st.floats(0.01, 0.6),
        st.integers(5, 2000),
        st.floats(0.005, 0.2),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=80, deadline=None)
@given(ROWS, st.booleans())
def test_equal_to_the_literal_twin(
    rows: list[tuple[float, int, float]], share_of_pairs: bool
) -> None:
    score, size, error = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    found = funnel_limits(score, size, None if share_of_pairs else error)
    expected = limits(
        score.tolist(), size.tolist(), None if share_of_pairs else error.tolist(), LEFT
    )
    assert (found.middle, found.unit, found.between) == pytest.approx(expected, rel=1e-6, abs=1e-7)


def _outside(spread: float, seed: int) -> tuple[float, FunnelLimits]:
    rng = np.random.default_rng(seed)
    size = rng.integers(60, 600, 4000).astype(np.float64)
    truth = np.clip(0.25 + spread * rng.standard_normal(len(size)), 0.01, 0.6)
    score = rng.binomial(size.astype(int), truth) / size
    found = funnel_limits(score, size, None)
    return float(np.mean(np.abs(found.distance(score, size)) > INNER)), found


@pytest.mark.parametrize("spread", [0.0, 0.03, 0.08])
def test_about_five_of_a_hundred_lie_outside_whatever_the_spread(spread: float) -> None:
    share, found = _outside(spread, seed=4)
    assert share == pytest.approx(0.05, abs=0.02)
    assert found.between == pytest.approx(spread, abs=0.012)


def test_who_stands_out_does_not_widen_the_limits() -> None:
    rng = np.random.default_rng(2)
    size = np.full(100, 300.0)
    score = rng.binomial(300, 0.2, 100) / 300
    before = funnel_limits(score, size, None)
    score[:5] = 0.5
    after = funnel_limits(score, size, None)
    assert after.between < before.between + 0.02
    assert np.all(after.distance(score, size)[:5] > 3.09)


def test_where_nobody_ever_differs_nobody_stands_out() -> None:
    score, size = np.zeros(5), np.arange(10.0, 60.0, 10.0)
    assert funnel_limits(score, size, None).distance(score, size).tolist() == [0.0] * 5
