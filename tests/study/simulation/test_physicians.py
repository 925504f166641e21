from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from intravar import InputError, oracle, simulate
from intravar.seeds import stream
from intravar.study import Scenario
from intravar.study.simulation import Continuum, FiveGroups, Physicians
from intravar.study.simulation.physicians import allocate, feasible_minimum, physician_names


@pytest.mark.parametrize("n", [5, 10, 20, 50, 100])
def test_five_groups_are_equal_in_number(n: int) -> None:
    drawn = FiveGroups().draw(n, stream(0, "p"))
    assert np.bincount(drawn.group).tolist() == [0] + [n // 5] * 5
    assert len(drawn.names) == n


@given(st.integers(5, 300))
def test_five_groups_of_any_number(n: int) -> None:
    drawn = FiveGroups().draw(n, stream(0, "p"))
    sizes = np.bincount(drawn.group)[1:]
    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1
    assert (np.diff(drawn.group) >= 0).all()


def test_five_groups_are_the_papers() -> None:
    drawn = FiveGroups().draw(20, stream(0, "p"))
    expected = {1: (1.0, 0.0), 2: (0.9, 0.05), 3: (0.8, 0.1), 4: (0.7, 0.2), 5: (0.5, 0.5)}
    for group, high, low in zip(drawn.group, drawn.p_high, drawn.p_low, strict=True):
        assert (high, low) == expected[int(group)]
    assert drawn.names[:4] == ("P01", "P02", "P03", "P04")
    assert drawn.group[:5].tolist() == [1, 1, 1, 1, 2]


@pytest.mark.parametrize("n", [1, 4])
def test_fewer_than_five_cannot_form_five_groups(n: int) -> None:
    with pytest.raises(InputError, match="ask for at least 5"):
        simulate("score2", n_physicians=n)


def test_continuum_is_uniform() -> None:
    drawn = Continuum().draw(5_000, stream(0, "p"))
    assert stats.kstest(drawn.p_high, "uniform", args=(0.5, 0.5)).pvalue > 1e-3
    assert set(drawn.p_low) == {0.05}
    assert set(drawn.group) == {0}


def test_models_say_what_they_are() -> None:
    assert FiveGroups().describe().startswith("five groups, (p_high, p_low) = (1.00, 0.00), ")
    assert Continuum().describe() == "continuum, p_high ~ U(0.5, 1), p_low = 0.05"


@given(st.integers(1, 2_000))
def test_names_sort_as_they_count(n: int) -> None:
    names = physician_names(n)
    assert len(set(names)) == n
    assert list(names) == sorted(names)


@given(st.integers(1, 60), st.integers(0, 3_000), st.integers(0, 120), st.integers(0, 9))
def test_allocation_assures_the_minimum_and_leaves_out_nobody(
    n_physicians: int, more: int, wanted: int, seed: int
) -> None:
    n_patients = 2 * n_physicians + more
    minimum = feasible_minimum(n_patients, n_physicians, wanted)
    assert minimum == min(wanted, n_patients // n_physicians)
    sizes = np.bincount(
        allocate(n_patients, n_physicians, minimum, stream(seed, "a")), minlength=n_physicians
    )
    assert sizes.sum() == n_patients
    assert len(sizes) == n_physicians
    assert sizes.min() >= minimum


def test_the_rest_is_spread_uniformly() -> None:
    sizes = np.bincount(allocate(200_000, 20, 90, stream(1, "a")))
    assert stats.chisquare(sizes - 90).pvalue > 1e-3


def test_who_is_seen_by_whom_does_not_depend_on_the_row() -> None:
    """The first 90 x 20 patients are not the assured ones."""
    assigned = allocate(10_000, 20, 90, stream(1, "a"))
    assert stats.spearmanr(np.arange(10_000), assigned).pvalue > 1e-3
    assert len(set(assigned[:90])) > 10


@pytest.mark.parametrize(("patients", "physicians"), [(39, 20), (0, 20), (-5, 20), (1, 1)])
def test_fewer_patients_than_physicians_need(patients: int, physicians: int) -> None:
    with pytest.raises(InputError, match=f"ask for {2 * physicians} or more"):
        feasible_minimum(patients, physicians, 90)


@pytest.mark.parametrize("physicians", [0, -3])
def test_no_physicians_make_no_cohort(physicians: int) -> None:
    with pytest.raises(InputError, match="at least one"):
        feasible_minimum(100, physicians, 90)


@dataclass(frozen=True)
class TwoHabits:
    """A physician model as a user would write it."""

    def draw(self, n_physicians: int, random: np.random.Generator) -> Physicians:
        strict = random.random(n_physicians) < 0.5
        return Physicians(
            tuple(f"Dr {number}" for number in range(n_physicians)),
            np.where(strict, 1.0, 0.6),
            np.zeros(n_physicians),
            np.where(strict, 1, 2).astype(np.int16),
        )

    def describe(self) -> str:
        return "half strict, half not"


@dataclass(frozen=True)
class Overconfident(TwoHabits):
    def draw(self, n_physicians: int, random: np.random.Generator) -> Physicians:
        names = tuple(map(str, range(n_physicians)))
        none = np.zeros(n_physicians, dtype=np.int16)
        return Physicians(names, np.full(n_physicians, 1.1), np.zeros(n_physicians), none)


def test_a_physician_model_of_ones_own() -> None:
    cohort = simulate(Scenario("two", physicians=TwoHabits(), n_patients=4_000))
    found = oracle(cohort)
    assert set(found["group"]) == {1, 2}
    assert found["physician"][0] == "Dr 0"
    strict = found.filter(found["group"] == 1)
    assert set(strict["oracle"]) == {0.0}


def test_a_model_with_impossible_probabilities_is_refused() -> None:
    with pytest.raises(InputError, match="'p_high' has a value outside 0 to 1"):
        simulate(Scenario("over", physicians=Overconfident()))
