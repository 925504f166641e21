"""What `measure` refuses after it has read a table, `check` refuses in the same words."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.preparation.check import check, checked_each
from intravar.publication.checks import check_lines
from intravar.request import Request

RANDOM = np.random.default_rng(6)
N = 240


def patients(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "doctor": np.repeat(np.arange(6), N // 6),
            "drug": (RANDOM.random(N) < 0.4).astype(int),
            "age": RANDOM.normal(60, 9, N),
        }
        | columns
    )


def look(table: pl.DataFrame, **options: Any) -> None:
    """Check a table, with one decision or several."""
    checked_each(table, Request(**options))


def refusal(call: Any, table: pl.DataFrame, **options: Any) -> str:
    with pytest.raises(intravar.InputError) as refused:
        call(table, physician="doctor", **({"decision": "drug"} | options))
    return str(refused.value)


TINY = pl.DataFrame({"doctor": list("abc") * 4, "drug": [1, 0, 0] * 4, "age": list(range(30, 42))})


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        (TINY, {}, "no physician has 5 patients or more"),
        (patients(doctor=RANDOM.normal(60, 9, N)), {}, "holds decimals"),
        (patients(case=np.arange(N)), {"case": "case"}, "saw a case of column"),
        (
            patients(other=[1, 0] * 15 + [None] * (N - 30)),
            {"decision": ["drug", "other"]},
            "all decisions are known in 30 rows only",
        ),
        (
            patients(ward=[None] * (N - 1) + ["a"], lab=[1.5, 2.5, 3] * 79 + [1, 2, None]),
            {"by": "ward", "missing": "drop"},
            "one value only",
        ),
        (patients(), {"method": "repeats"}, "counts cases that were seen twice"),
        (patients(), {"methods": ["nonsense"]}, "unknown method 'nonsense'"),
        (
            patients(other=[1, 0] * (N // 2)),
            {"decision": ["drug", "other"], "after": ["other"]},
            "which is one of the decisions",
        ),
    ],
)
def test_check_refuses_what_measure_refuses(
    table: pl.DataFrame, options: dict[str, Any], words: str
) -> None:
    by_check = refusal(look, table, **options)
    by_measure = refusal(intravar.measure, table, **options)
    assert words in by_check
    assert by_check == by_measure


def test_a_table_without_covariates() -> None:
    message = refusal(check, patients().select("doctor", "drug"))
    assert message.startswith("the table has no column besides 'doctor' and 'drug'")


def test_one_physician_is_announced() -> None:
    found = check(patients(doctor=["a"] * N), physician="doctor", decision="drug")
    assert "column 'doctor' names one physician only: there is nobody to compare with" in (
        check_lines(found)
    )


def test_decimals_as_physicians_are_asked_about() -> None:
    found = check(
        patients(doctor=np.repeat([1.5, 2.25, 3.5], N // 3)), physician="doctor", decision="drug"
    )
    assert "column 'doctor' holds decimals: does it name physicians?" in check_lines(found)


def test_a_share_of_a_small_table_is_not_called_nearly_all_or_none() -> None:
    small = patients().head(12).with_columns(drug=pl.Series([1, 0, 0] * 4), doctor=pl.lit("a"))
    lines = check_lines(check(small, physician="doctor", decision="drug"))
    assert not any("nearly" in line for line in lines)
    assert any("'1' for at most 11, or all but so many, of all patients" in line for line in lines)


@pytest.mark.parametrize("seed", [-1, "x", 1.5, None, 2**32])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(intravar.InputError, match="random_state is"):
        intravar.Predictability(random_state=seed).fit(  # type: ignore[arg-type]
            np.zeros((4, 1)), [0, 1, 0, 1], [1, 1, 2, 2]
        )
    if seed is not None:
        assert "random_state is" in refusal(check, patients(), random_state=seed)
