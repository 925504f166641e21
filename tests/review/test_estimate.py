"""The two-phase estimate: unbiased, its intervals hold, errors lean as the formula says."""

from dataclasses import astuple

import numpy as np
import pytest
from benchmarks.review import leaning, one_draw
from hypothesis import given
from hypothesis import strategies as st

from intravar.review.drawing import draw_pairs
from intravar.review.estimate import (
    GUESS,
    SHARE_DIFFERENT,
    Kind,
    discordance_of,
    estimate,
    pooled_estimates,
)
from intravar.review.store import Stored


def test_the_figure_is_the_weighted_share() -> None:
    """D = sum(w different comparable) / sum(w comparable), by hand."""
    random = np.random.default_rng(2)
    different = np.repeat([True, False], [60, 40])
    comparable = random.random(100) < np.where(different, 0.4, 0.8)
    weight = np.where(different, 300 / 60, 700 / 40)  # 300 of 1,000 pairs were decided differently
    by_hand = (weight * different * comparable).sum() / (weight * comparable).sum()
    kinds = [Kind.of(comparable[own].astype(float), weight[own]) for own in (different, ~different)]
    found = estimate(0.3, kinds[0], kinds[1], 1_000)
    value, low, high = astuple(found)
    assert value == pytest.approx(by_hand)
    assert 0 < low < value < high < 1


@given(st.integers(0, 40), st.integers(0, 40), st.floats(0.02, 0.98), st.integers(20, 5_000))
def test_intervals_are_in_order_whatever_is_counted(
    first: int, second: int, record: float, n_frame: int
) -> None:
    middle, low, high = (
        float(x) for x in discordance_of(record, (first, 40), (second, 40), n_frame)
    )
    if first + second == 0:
        assert np.isnan(middle)
    else:
        assert 0 <= low <= middle <= high <= 1


@pytest.mark.parametrize("n", [15, 30, 60])
@pytest.mark.parametrize(("first", "second"), [(0.5, 0.7), (0.2, 0.9), (0.9, 0.95), (0.1, 0.4)])
def test_intervals_hold_also_with_few_pairs(n: int, first: float, second: float) -> None:
    random = np.random.default_rng(n)
    record, n_frame = 0.3, 1_500
    truth = record * first / (record * first + (1 - record) * second)
    share = random.binomial(n_frame, record, 4_000) / n_frame
    counts = random.binomial(n, first, 4_000), random.binomial(n, second, 4_000)
    _, low, high = discordance_of(share, (counts[0], n), (counts[1], n), n_frame)
    assert np.mean((low <= truth) & (truth <= high)) > 0.935


def test_physicians_intervals_hold_with_few_pairs_each() -> None:
    random = np.random.default_rng(5)
    held = []
    for _ in range(60):
        first, second = random.beta(5, 5, 20), random.beta(14, 6, 20)
        record = random.beta(30, 70, 20)
        frame = random.binomial(80, record)
        found = pooled_estimates(
            (frame.astype(float), 80.0 - frame),
            (random.binomial(4, first).astype(float), np.full(20, 4.0)),
            (random.binomial(3, second).astype(float), np.full(20, 3.0)),
            draws=800,
        )
        truth = record * first / (record * first + (1 - record) * second)
        held.append((found[1] <= truth) & (truth <= found[2]))
    assert 0.94 < np.mean(held) < 0.995


def test_physicians_are_pulled_together_more_with_fewer_pairs() -> None:
    comparable = np.array([0.0, 4.0, 2.0, 2.0])
    few = pooled_estimates(
        (np.full(4, 30.0), np.full(4, 70.0)),
        (comparable, np.full(4, 4.0)),
        (comparable, np.full(4, 4.0)),
    )[0]
    many = pooled_estimates(
        (np.full(4, 30.0), np.full(4, 70.0)),
        (10 * comparable, np.full(4, 40.0)),
        (np.full(4, 20.0), np.full(4, 40.0)),
    )[0]
    assert np.ptp(few) < np.ptp(many)


def test_errors_of_reviewers_lean_towards_the_record() -> None:
    assert leaning(0.4, 0.75, 0.3, (0, 0)) == 0
    assert 0 < leaning(0.4, 0.75, 0.3, (0.1, 0.1)) < leaning(0.4, 0.75, 0.3, (0.2, 0.2))
    # With coins for reviewers, the record is all that is left.
    alone = 0.3 - 0.3 * 0.4 / (0.3 * 0.4 + 0.7 * 0.75)
    assert leaning(0.4, 0.75, 0.3, (0.5, 0.5)) == pytest.approx(alone)


def test_most_pairs_are_drawn_where_it_is_least_sure() -> None:
    """Shares of 0.5 and 0.7 comparable: the variance of log c1 - log c0 is smallest at 0.6."""
    first, second = ((1 - share) / share for share in GUESS)
    share = np.linspace(0.01, 0.99, 99)
    variance = first / share + second / (1 - share)
    assert pytest.approx(share[variance.argmin()], abs=0.011) == SHARE_DIFFERENT


def test_a_simulated_review_recovers_the_truth() -> None:
    found = [one_draw("review-common", number, 120) for number in range(6)]
    error = np.mean([each.perfect.value - each.truth for each in found])
    assert abs(error) < 0.04
    assert np.mean([each.record for each in found]) > np.mean([each.truth for each in found]) + 0.08
    ends = [astuple(each.perfect) for each in found]
    held = [low <= each.truth <= high for each, (_, low, high) in zip(found, ends, strict=True)]
    assert sum(held) >= 5


def test_a_kind_of_which_there_are_few_is_drawn_whole() -> None:
    import polars as pl

    frame = pl.DataFrame(
        {
            "physician": ["a"] * 100,
            "first": range(100),
            "second": range(100, 200),
            "different": [True] * 5 + [False] * 95,
            "weight": [1.0] * 100,
        }
    )
    design = draw_pairs(frame, 40, np.random.default_rng(0), Stored())
    assert sum(pair.different for pair in design.pairs) == 5
    assert len(design.pairs) == 40
    assert {pair.probability for pair in design.pairs if pair.different} == {1.0}
