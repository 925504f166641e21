"""What is told of a physician's own rule rests on enough patients."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st

from intravar.estimators.evidence import Decisions, Predictions, with_n_apart
from intravar.observed import Observed
from intravar.publication.disclosure import published_own_rules
from intravar.publication.policy import is_few
from intravar.publication.results import OwnRule

SHOWN = {"A": "P-1", "B": "P-2"}


def measured(columns: dict[str, list[float]], rows: list[tuple[str, str, str]]) -> Any:
    """Return as much of a measurement as is looked at: A and B with the same patients."""
    table = pl.DataFrame(columns)
    both = pl.concat([table, table])
    n = table.height
    observed = Observed.of(both, [0, 1] * n, ["A"] * n + ["B"] * n)
    said = pl.DataFrame(rows, schema=["physician", "covariate", "how"], orient="row")
    differences = with_n_apart(said, observed)
    none = np.zeros(0)
    return SimpleNamespace(
        main=SimpleNamespace(evidence=Predictions(none, none, none, none, differences)),
        check=SimpleNamespace(prepared=SimpleNamespace(observed=observed)),
        request=SimpleNamespace(smallest_cell=11),
    )


def test_a_word_that_rests_on_few_patients_is_left_out_and_the_next_takes_its_place() -> None:
    columns = {"smoker": [1.0] * 11 + [0.0] * 49, "age": [float(n) for n in range(60)]}
    rows = [("A", "smoker", "more"), ("A", "age", "less"), ("B", "age", "up")]
    found = published_own_rules(measured(columns, rows), {"P-1", "P-2"}, SHOWN)
    assert found == (OwnRule("P-1", "age", "less"), OwnRule("P-2", "age", "up"))


def test_nothing_is_told_of_those_who_are_not_reported_nor_of_other_evidence() -> None:
    one = measured({"age": [float(n) for n in range(60)]}, [("A", "age", "less")])
    assert published_own_rules(one, {"P-2"}, SHOWN) == ()
    one.main.evidence = Decisions()
    assert published_own_rules(one, {"P-1"}, SHOWN) == ()


def test_three_at_the_most_and_none_twice() -> None:
    columns = {name: [float(n % 30) for n in range(60)] for name in "abcd"}
    rows = [("A", name, "more") for name in "aabcd"]
    found = published_own_rules(measured(columns, rows), {"P-1"}, SHOWN)
    assert [row.covariate for row in found] == ["a", "b", "c"]


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 15))
def test_both_values_of_a_covariate_are_frequent_where_it_is_told(
    ones: int, zeros: int, smallest: int
) -> None:
    assume(ones + zeros)
    told = measured({"smoker": [1.0] * ones + [0.0] * zeros}, [("A", "smoker", "more")])
    apart = told.main.evidence.differences["n_apart"].item()
    assert is_few(apart, smallest) == is_few(min(ones, zeros), smallest)
