"""Decisions and physicians however they are written: what is missing is never counted."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from intravar import InputError, check
from intravar.preparation.decisions import code_decision, physician_names
from intravar.preparation.kinds import identifier, understand
from intravar.publication.checks import column_rows

NAN = float("nan")


def coded(values: list[Any], positive: str | None = None, **dtype: Any) -> list[int | None]:
    return code_decision(pl.Series("drug", values, **dtype), positive)[0].to_list()


def said(values: list[Any], positive: str | None = None) -> str:
    return code_decision(pl.Series("drug", values), positive)[2]


# --- what is missing is not counted ---


@pytest.mark.parametrize(
    ("values", "positive", "expected"),
    [
        ([5.0, 1.0, NAN], ">=4", [1, 0, None]),
        ([1.0, 0.0, NAN], "1", [1, 0, None]),
        ([1.0, 0.0, NAN], None, [1, 0, None]),
        (["5", "1", "NA"], ">=4", [1, 0, None]),
        (["5", "1", "?"], ">=4", [1, 0, None]),
        (["yes", "no", "unknown"], "yes", [1, 0, None]),
        (["yes", "no", "Unknown "], None, [1, 0, None]),
        (["yes", "no", "n/a"], "yes", [1, 0, None]),
        (["yes", "no", ""], "yes", [1, 0, None]),
        (["yes", "no", "None"], "yes", [1, 0, None]),
        (["statin", "None"], "statin", [1, 0]),
        (["+", "-"], "+", [1, 0]),
        (["yes", "no", "-"], "yes", [1, 0, None]),
        (["unknown", "known"], "unknown", [1, 0]),
    ],
)
def test_what_is_missing_is_not_counted(
    values: list[Any], positive: str | None, expected: list[Any]
) -> None:
    assert coded(values, positive) == expected


@pytest.mark.parametrize(
    ("values", "positive", "expected"),
    [
        (["1", "1.0", "0"], "1", [1, 1, 0]),
        (["1", "1.0", "0", "0.0"], None, [1, 1, 0, 0]),
        (["1", "01", "2"], "1.0", [1, 1, 0]),
        (["statin", "Statin", " STATIN", "no"], "statin", [1, 1, 1, 0]),
        (["high  dose", "High dose", "low"], "high dose", [1, 1, 0]),
        (["Jose\u0301", "José", "x"], "José", [1, 1, 0]),
        (["sta\u200btin", "statin", "x"], "statin", [1, 1, 0]),
        ([Decimal("1.00"), Decimal("0.00")], "1", [1, 0]),
        (["5,5", "3"], ">=4", [1, 0]),
    ],
)
def test_one_answer_in_several_spellings(
    values: list[Any], positive: str | None, expected: list[Any]
) -> None:
    assert coded(values, positive) == expected


def test_it_is_said() -> None:
    assert said(["statin", "statin", "Statin", "no"], "statin") == "'Statin' counts as 'statin'"
    assert said(["yes", "no", "unknown", "?"], "yes") == "'?', 'unknown' counts as missing"
    assert said(["a", "b", "c"], "a") == "'b', 'c' count as not a"
    assert said([0, 1, 9], "1") == ("'9' counts as not 1; empty it if it means that nobody knows")
    assert "99 lies apart from all other values" in said([1, 2, 5, 99], ">=4")
    assert said(["Yes", "yes", "NO", "no"]) == ""
    table = {
        "doctor": ["a", "b"] * 20,
        "drug": ["yes", "no", "no", "yes", "?"] * 8,
        "age": [n % 7 for n in range(40)],
    }
    found = check(table, physician="doctor", decision="drug")
    notes = {row.column: row.note for row in column_rows(found)}
    assert notes["drug"] == "'?' counts as missing"


def test_what_a_decision_cannot_be() -> None:
    with pytest.raises(InputError, match=r"\(the decision\) is List\(Int64\); a decision is a num"):
        coded([[1], [2]])
    with pytest.raises(InputError, match="is missing in every row"):
        coded(["NA", "?"], "1")
    with pytest.raises(InputError, match="every decision in column 'drug' is 'yes'"):
        coded(["yes", "unknown"], "yes")
    with pytest.raises(InputError, match=r"has 3 values \('0', '1', '9'\)"):
        coded([0, 1, 9])


# --- physicians ---


def names(values: list[Any], **dtype: Any) -> list[Any]:
    return physician_names(pl.Series("doctor", values, **dtype))[0].to_list()


BIG = 12345678901234567


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([7, 8], pl.Int64, [7, 8]),
        ([7.0, NAN], pl.Float64, [7, None]),
        ([1.5, 2.0], pl.Float64, ["1.5", "2.0"]),
        ([Decimal(BIG), Decimal(BIG + 1)], pl.Decimal(20, 0), [BIG, BIG + 1]),
        ([Decimal("7.00"), Decimal("7.50")], pl.Decimal(20, 2), ["7", "7.5"]),
        ([2**63 + 1, 2**63 + 2], pl.UInt64, [str(2**63 + 1), str(2**63 + 2)]),
        ([2**100, 2**100 + 1], pl.Int128, [str(2**100), str(2**100 + 1)]),
        (["007", "7"], pl.String, ["007", "7"]),
        (["7.0", "8.0"], pl.String, ["7", "8"]),
        (["1.0", "1.5"], pl.String, ["1.0", "1.5"]),
        (["NA", "None", ""], pl.String, ["NA", "None", None]),
        (["Jose\u0301", "José", "Jo\u200bsé"], pl.String, ["José"] * 3),
        (["Ada", "ada"], pl.Categorical, ["Ada", "ada"]),
    ],
)
def test_physicians(values: list[Any], dtype: Any, expected: list[Any]) -> None:
    assert names(values, dtype=dtype) == expected


def test_physicians_that_differ_by_little_are_counted_and_not_named() -> None:
    note = physician_names(pl.Series("d", ["Ada", "ADA", "007", "7", "Bo b", "Bob", "x"]))[1]
    assert note.startswith("6 names differ in capitals, spaces or leading zeros alone")
    assert "Ada" not in note
    note = physician_names(pl.Series("d", ["NA", "x"]))[1]
    assert note == "'NA' is taken for a name; leave the cell empty if nobody is meant"
    assert physician_names(pl.Series("d", ["x", "y", "10", "1"]))[1] == ""


def test_what_a_physician_cannot_be() -> None:
    with pytest.raises(InputError, match="more than 15 digits stored as floating point"):
        names([1e20, 1e20 + 1e5])
    with pytest.raises(InputError, match=r"\(who decided\) is List"):
        names([["a"], ["b"]])
    with pytest.raises(InputError, match="is missing in every row"):
        names([None, NAN])


# --- identifiers and codes for what is not known ---


@pytest.mark.parametrize(
    "name",
    ["patient_id", "PatientID", "nhs_no", "NHS number", "phone", "mobile", "mrn", "e-mail"],
)
@pytest.mark.parametrize("visits", [1, 2, 5])
def test_identifiers_are_set_aside_however_often_a_patient_comes(name: str, visits: int) -> None:
    numbers = pl.Series(name, [7919 * (row // visits) for row in range(200)])
    for column in (numbers, "X" + numbers.cast(pl.String)):
        assert understand(column.alias(name)).kind == "identifier"
    assert understand(numbers, chosen=True).kind == "number"


@pytest.mark.parametrize("name", ["hospital_id", "t_cell_count", "phone_type", "age", "case_mix"])
def test_what_is_no_identifier(name: str) -> None:
    column = pl.Series(name, [row * 7 % 13 for row in range(200)])
    assert identifier(column) == ""


def test_rows_in_any_order_are_understood_alike() -> None:
    for numbers in (range(200), range(5, 405, 2), [row**2 for row in range(200)]):
        rows = pl.Series("x", list(numbers))
        kinds = {understand(rows.sample(fraction=1, shuffle=True, seed=k)).kind for k in range(3)}
        assert kinds == {understand(rows).kind}


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([50, 61, 999], "999"),
        ([1, 2, 3, 4, 5, 9, 99], "9, 99"),
        ([0, 4, -9], "-9"),
        ([0.5, 1.5, -99.0, None], "-99"),
        ([-20, -12, 3], ""),
        ([88, 95, 99], ""),
        ([1, 2, 3], ""),
    ],
)
def test_codes_for_what_is_not_known_are_flagged(values: list[Any], codes: str) -> None:
    note = understand(pl.Series("x", values * 3)).note
    assert note.startswith(f"{codes} lies apart" if codes else "")
    assert bool(note) == bool(codes)


def test_levels_that_differ_in_capitals_are_said() -> None:
    assert understand(pl.Series("sex", ["f", "F", "m"] * 9)).note == (
        "some levels differ in capitals alone"
    )


@pytest.mark.parametrize("kind", ["binary", "duration", "list"])
@pytest.mark.parametrize("role", ["", "case", "patient", "categorical", "physician", "decision"])
def test_odd_columns_are_set_aside_or_refused_in_words(kind: str, role: str) -> None:
    n = 60
    odd: Any = {
        "binary": [bytes([255, row]) for row in range(n)],
        "duration": [timedelta(hours=row % 5) for row in range(n)],
        "list": [[row] for row in range(n)],
    }[kind]
    table = pl.DataFrame(
        {
            "doctor": [f"d{row % 3}" for row in range(n)],
            "drug": [row % 2 for row in range(n)],
            "age": [row * 7 % 37 for row in range(n)],
            "odd": odd,
        }
    )
    asked: dict[str, Any] = {"physician": "doctor", "decision": "drug"}
    if role:
        asked[role] = ["odd"] if role == "categorical" else "odd"
    refused = ""
    try:
        check(table, **asked)
    except InputError as error:
        refused = str(error)
    assert not refused or "'odd'" in refused


def test_columns_of_python_objects_are_read_by_what_they_hold() -> None:
    names, drug = ["Ada", "Ben"] * 20, [1, 0, 0, 1] * 10
    table = pl.DataFrame({"drug": drug, "age": [row * 7 % 37 for row in range(40)]}).with_columns(
        pl.Series("doctor", names, dtype=pl.Object), pl.Series("drug", drug, dtype=pl.Object)
    )
    found = check(table, physician="doctor", decision="drug")
    assert found.panels.table["physician"].to_list() == ["Ada", "Ben"]
    assert found.panels.table["n_for"].to_list() == [10, 10]
