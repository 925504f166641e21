import math
from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from intravar import Cohort, InputError, oracle, simulate
from intravar.study import Scenario, Truth
from intravar.study.oracle import oracle_by_group, pair_discordance
from intravar.study.simulation import Continuum
from intravar.study.tables import GROUP_TABLES, printed_cell
from reference.oracle import discordance_by_pairs, oracle_by_pairs

patients = st.lists(
    st.tuples(st.sampled_from("ABC"), st.booleans(), st.integers(0, 1)), min_size=1, max_size=40
)


def cohort_of(rows: list[tuple[str, bool, int]]) -> Cohort:
    physician, eligible, decision = (list(column) for column in zip(*rows, strict=True))
    n = len(rows)
    truth = Truth(np.array(eligible), np.full(n, 0.9), np.full(n, 0.1), np.full(n, 2, np.int16))
    return Cohort(pl.DataFrame({"age": np.zeros(n)}), decision, physician, truth)


@settings(max_examples=60, deadline=None)
@given(patients)
def test_equals_the_loop_over_all_pairs(rows: list[tuple[str, bool, int]]) -> None:
    found = oracle(cohort_of(rows))
    expected = oracle_by_pairs(*(list(column) for column in zip(*rows, strict=True)))
    assert found["physician"].to_list() == list(expected)
    for estimate, twin, reason, pairs in zip(
        found["oracle"], expected.values(), found["reason"], found["n_pairs"], strict=True
    ):
        if twin is None:
            assert estimate is None
            assert reason == "fewer than two eligible patients"
            assert pairs == 0
        else:
            assert estimate == pytest.approx(twin, abs=1e-14)
            assert reason is None


@given(st.integers(0, 60), st.data())
def test_closed_form_equals_the_pairs(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    twin = discordance_by_pairs([True] * n, [1] * k + [0] * (n - k))
    share = float(pair_discordance(n, k))
    assert math.isnan(share) if twin is None else share == pytest.approx(twin, abs=1e-14)


@settings(max_examples=30, deadline=None)
@given(patients, st.randoms(use_true_random=False))
def test_order_of_patients_does_not_matter(
    rows: list[tuple[str, bool, int]], random: Random
) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert oracle(cohort_of(rows)).equals(oracle(cohort_of(shuffled)))


def test_undefined_is_said_and_is_not_zero() -> None:
    found = oracle(cohort_of([("A", True, 1), ("A", False, 1), ("B", True, 1), ("B", True, 1)]))
    assert found["oracle"].to_list() == [None, 0.0]
    assert found["reason"].to_list() == ["fewer than two eligible patients", None]


def test_needs_the_truth() -> None:
    with pytest.raises(InputError, match="needs the truth"):
        oracle(Cohort(pl.DataFrame({"age": [1.0]}), [1], ["A"]))


def test_large_panels_do_not_overflow() -> None:
    assert pair_discordance([4_000_000], [2_000_000])[0] == pytest.approx(0.5, abs=1e-6)


def test_group_oracles_of_a_large_cohort_meet_d_star() -> None:
    """0, 0.18, 0.32, 0.42 and 0.50 within four standard errors."""
    found = oracle_by_group(oracle(simulate("score2", n_patients=400_000, random_state=11)))
    assert found["group"].to_list() == [1, 2, 3, 4, 5]
    for p_high, d_star, row in zip(
        (1.0, 0.9, 0.8, 0.7, 0.5),
        (0.0, 0.18, 0.32, 0.42, 0.50),
        found.iter_rows(named=True),
        strict=True,
    ):
        assert row["d_star"] == pytest.approx(d_star, abs=1e-12)
        assert row["oracle"] == pytest.approx(d_star, abs=4 * standard_error(p_high, row))


def standard_error(p_high: float, row: dict[str, float]) -> float:
    """Of 2p(1 - p) with p estimated from n: delta method, and the second order at p = 1/2."""
    n, variance = row["n_eligible"], p_high * (1 - p_high)
    return 2 * abs(1 - 2 * p_high) * math.sqrt(variance / n) + 2 * variance / n * row["physicians"]


def test_group_oracles_are_unbiased_at_the_papers_size() -> None:
    """The mean over fresh cohorts meets D*: the estimate has no bias of order 1/n."""
    estimates = np.array(
        [
            oracle_by_group(oracle(simulate("score2", random_state=seed)))["oracle"]
            for seed in range(60)
        ]
    )
    error = estimates.std(axis=0, ddof=1) / math.sqrt(len(estimates))
    distance = np.abs(estimates.mean(axis=0) - [0.0, 0.18, 0.32, 0.42, 0.50])
    assert (distance <= 4 * error + 1e-12).all()


def test_without_groups_there_is_one_row_for_all() -> None:
    scenario = Scenario("c", physicians=Continuum(), n_patients=2_000, n_physicians=10)
    found = oracle_by_group(oracle(simulate(scenario)))
    assert found["group"].to_list() == [None]
    assert found["physicians"].to_list() == [10]


@pytest.mark.parametrize("condition", GROUP_TABLES)
def test_the_papers_figures_are_one_draw_of_ours(condition: str) -> None:
    """The printed oracle lies within four standard deviations of a cohort of the same size."""
    draws = np.array(
        [
            oracle_by_group(oracle(simulate(condition, random_state=seed)))["oracle"]
            for seed in range(40)
        ]
    )
    for group in range(1, 6):
        printed = printed_cell(GROUP_TABLES[condition], "oracle", f"group{group}")
        assert printed is not None
        mean, spread = draws[:, group - 1].mean(), draws[:, group - 1].std(ddof=1)
        assert abs(printed.value - mean) <= 4 * spread + 0.0005
