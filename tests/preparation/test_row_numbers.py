"""An error names the row where the source has it, whatever was left out before."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.errors import InputError
from intravar.preparation.kinds import understand_as

ASKED: dict[str, Any] = {"physician": "doctor", "decision": "statin", "method": "latent-rule"}
#: Data row that holds what cannot be used; the first one has number 1.
BAD = 3_000


def patients(column: str, value: Any) -> pl.DataFrame:
    random, n = np.random.default_rng(0), 4_000
    table = pl.DataFrame(
        {
            "doctor": [f"d{number:02d}" for number in random.integers(0, 40, n)],
            "age": random.integers(40, 90, n).astype(float),
            "statin": ["" if row < 30 else str(random.integers(0, 2)) for row in range(n)],
        }
    )
    here = pl.int_range(pl.len()) == BAD - 1
    kept = pl.col(column).cast(pl.String) if isinstance(value, str) else pl.col(column)
    return table.with_columns(pl.when(here).then(pl.lit(value)).otherwise(kept).alias(column))


@pytest.mark.parametrize("sample", [1_000, 10_000])
@pytest.mark.parametrize(
    ("column", "value", "options"),
    [
        ("age", "sixty", {}),
        ("age", float("inf"), {}),
        ("age", float("inf"), {"where": "age >= 60"}),
        ("statin", "x", {"decision_positive": ">=1"}),
    ],
)
def test_the_row_of_the_source(sample: int, column: str, value: Any, options: dict[str, Any]):
    table = patients(column, value)
    with pytest.raises(InputError, match=f"in data row {BAD}\\b"):
        intravar.measure(table, **ASKED, **options, sample=sample)


def test_a_text_beyond_the_sample_is_refused_before_anything_is_learned():
    table = patients("age", "sixty").with_columns(ldl=pl.int_range(pl.len()) % 37)
    asked = {"physician": "doctor", "decision": "statin", "sample": 1_000}
    with pytest.raises(InputError, match=f"'sixty' in data row {BAD}\\b"):
        intravar.check(table, **asked)
    assert intravar.check(table, exclude=["age"], **asked).prepared.covariates == ("ldl",)


@pytest.mark.parametrize(
    ("kind", "values", "odd"),
    [
        ("date", ["2020-01-01", "2020-01-02", "soon"], "soon"),
        ("number", ["50", None, "fifty"], "fifty"),
        ("yes/no", ["1", "0", "maybe"], "maybe"),
    ],
)
def test_the_value_that_does_not_fit_is_named(kind: Any, values: list[str | None], odd: str):
    with pytest.raises(InputError, match=f"has '{odd}' in data row 3 where other rows have"):
        understand_as(pl.Series("x", values), kind)
