"""Several decisions per patient: the draw agrees with its truth, and nothing else moves."""

import pickle
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from intravar.errors import InputError
from intravar.inference.outcomes import chained, differ, given_earlier, marginal, positions, vectors
from intravar.study.cohort import Cohort
from intravar.study.oracle import oracle, oracle_several
from intravar.study.simulation import conditions_of, simulate


@pytest.mark.parametrize("name", conditions_of("multi"))
def test_draws_follow_the_table_of_outcomes(name: str) -> None:
    cohort = simulate(name, n_patients=8_000, n_physicians=8, random_state=3)
    assert cohort.truth is not None
    table = cohort.truth.outcomes
    assert table is not None
    np.testing.assert_allclose(table.sum(axis=1), 1)
    seen = np.bincount(
        positions(cohort.decisions.to_numpy().astype(np.int64)), minlength=table.shape[1]
    )
    error = np.sqrt((table * (1 - table)).sum(axis=0))
    assert (np.abs(seen - table.sum(axis=0)) < 4 * error + 1).all()
    # What the truth says of the first decision is what the table says of it.
    np.testing.assert_allclose(marginal(table)[:, 0], cohort.truth.probability)


def test_second_drug_is_given_less_often_where_the_first_was() -> None:
    cohort = simulate("multi-interacting", n_patients=6_000, n_physicians=6, random_state=1)
    first, second, third = (column.to_numpy() for column in cohort.decisions)
    assert second[first == 1].mean() < 0.5 * second[first == 0].mean()
    assert abs(third[first == 1].mean() - third[first == 0].mean()) < 0.05


def test_steadiness_is_correlated_as_asked() -> None:
    for name, correlation in {"independent": 0.0, "correlated": 0.7}.items():
        scenario = conditions_of("multi")[f"multi-{name}"]
        drawn = scenario.physicians.draw(4_000, np.random.default_rng(1))
        assert drawn.further is not None
        p = np.column_stack([drawn.p_high, drawn.further])
        found = np.corrcoef(np.log(p / (1 - p)).T)
        assert np.abs(found - np.where(np.eye(4) == 1, 1, correlation)).max() < 0.06


def test_oracle_of_several_by_hand() -> None:
    """Two patients who are alike, drawn over and over, differ as often as the oracle says."""
    cohort = simulate("multi-interacting", n_patients=60, n_physicians=3, random_state=2)
    truth = oracle_several(cohort)
    assert cohort.truth is not None
    assert cohort.truth.outcomes is not None
    rows = np.flatnonzero(cohort.physician.cast(pl.String) == "P01")
    random = np.random.default_rng(0)
    table = cohort.truth.outcomes[rows]
    edges = table.cumsum(axis=1)

    def drawn() -> np.ndarray:
        return (random.random((4_000, len(rows), 1)) > edges).sum(axis=2).clip(max=7)

    one, other = vectors(3)[drawn()], vectors(3)[drawn()]
    apart = (one != other).sum(axis=2)
    assert truth["differ"][0] == pytest.approx((apart > 0).mean(), abs=0.01)
    assert truth["n_differences"][0] == pytest.approx(apart.mean(), abs=0.015)
    assert truth["decision"].to_list() == pytest.approx(oracle(cohort)["comparable"].to_list())


def test_tables_of_outcomes() -> None:
    table = chained([np.array([[0.3]]), np.array([[0.2, 0.9]])])
    assert table[0].tolist() == pytest.approx([0.7 * 0.8, 0.3 * 0.1, 0.7 * 0.2, 0.3 * 0.9])
    assert differ(table)[0] == pytest.approx(1 - (table**2).sum())
    alone, given = given_earlier(table)[0]
    assert alone == pytest.approx(2 * 0.3 * 0.7)
    assert given == pytest.approx(0.7 * 2 * 0.2 * 0.8 + 0.3 * 2 * 0.9 * 0.1)


def test_cohort_keeps_all_decisions() -> None:
    cohort = simulate("multi-independent", n_patients=100, n_physicians=4, random_state=1)
    back = Cohort.from_polars(cohort.to_polars())
    assert back.decisions.equals(cohort.decisions)
    assert back.covariate_names == cohort.covariate_names
    again = pickle.loads(pickle.dumps(cohort))
    assert again.decisions.equals(cohort.decisions)
    some = cohort.take([3, 1])
    assert some.decisions.equals(cohort.decisions[[3, 1]])
    assert some.truth is not None
    assert some.truth.outcomes is not None
    assert len(some.truth.outcomes) == 2
    assert "decision_3: " in repr(cohort)
    assert not set(cohort.decisions.columns) & set(cohort.observed()[0].columns)


def test_what_does_not_fit_is_refused() -> None:
    cohort = simulate("multi-independent", n_patients=20, n_physicians=4, random_state=1)
    X, y, physician = cohort.observed()
    with pytest.raises(InputError, match="call them decision_2"):
        Cohort(X, y, physician, further=pl.DataFrame({"other": y}))
    with pytest.raises(InputError, match="further decisions have 3 entries"):
        Cohort(X, y, physician, further=pl.DataFrame({"decision_2": y[:3]}))
    scenario = conditions_of("multi")["multi-correlated"]
    with pytest.raises(InputError, match="one rule per decision"):
        replace(scenario, further_rules=()).simulate(1)
    with pytest.raises(InputError, match="several decisions"):
        oracle_several(simulate("score2", n_patients=50, n_physicians=5))
