"""The same table gives the same patients, or the same refusal, from every source.

A third of a minute of made-up tables by default, an hour with `-m slow`.
"""

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from every_source import STATISTICS_WRITERS, WRITERS, Writer, as_frame, as_postgresql
from intravar import InputError, Request
from intravar.preparation.check import checked
from intravar.preparation.prepare import Prepared
from intravar.text import clean_name
from postgres import server

LETTERS = string.ascii_letters + string.digits + " _-.,;|'\"%/éßØ山\u0308\u200b\t"
WORDS = st.text(st.sampled_from(LETTERS), max_size=6)
NAMES = st.text(st.sampled_from(LETTERS), min_size=1, max_size=8).filter(clean_name)
MAYBE_MISSING = ["NA", "", " ", "null", "nan", ".", "None", "?", "unknown"]


@dataclass
class Made:
    """A table, and what its columns are."""

    table: pl.DataFrame
    physician: str
    decision: str
    options: dict[str, Any]
    categorical: tuple[str, ...] = ()


# --- columns of every kind, small enough to shrink ---


def _some(
    draw: st.DrawFn, values: st.SearchStrategy[Any], n: int, dtype: Any, least: int = 1
) -> pl.Series:
    """Draw a few values and spread them over the rows, some of them missing."""
    pool = draw(st.lists(values, min_size=least, max_size=8))
    if draw(st.booleans()):
        pool.append(None)
    order = np.random.default_rng(draw(st.integers(0, 2**16)))
    return pl.Series([pool[place] for place in order.integers(0, len(pool), n)], dtype=dtype)


WHOLE = st.integers(-1000, 1000)
#: Workbooks keep fifteen digits.
FLOATS = st.one_of(
    st.floats(-1e9, 1e9).map(lambda x: float(f"{x:.12g}")),
    st.sampled_from([0.1, 1e-12, -0.0, float("nan"), 2.5, 1e14]),
    # Text cannot tell 1.234 from 1234, and asks.
).filter(lambda x: not re.fullmatch(r"-?[1-9][0-9]{0,2}\.[0-9]{3}", str(x)))
DAYS = st.dates(date(1950, 1, 1), date(2030, 1, 1))
MOMENTS = st.datetimes(datetime(1950, 1, 1), datetime(2030, 1, 1)).map(
    lambda moment: moment.replace(microsecond=0)
)
DECIMALS = st.decimals(-1000, 1000, places=2)
#: All that the patterns below can hold: without it every character of Unicode is gone through.
PLAIN = string.digits + ".,%/"
NUMERALS = st.one_of(
    st.from_regex(r"\A[1-9][0-9]{0,2}(,[0-9]{3})?\Z", alphabet=PLAIN),
    st.from_regex(r"\A[0-9]{1,3}[.,][0-9]{1,3}\Z", alphabet=PLAIN),
    st.from_regex(r"\A[0-9]{1,2}(\.[0-9])?%\Z", alphabet=PLAIN),
)
CALENDAR = st.one_of(
    st.from_regex(r"\A[0-2][0-9]/[01][0-9]/(20)?[12][0-9]\Z", alphabet=PLAIN),
    DAYS.map(lambda day: day.strftime("%d.%m.%Y")),
    DAYS.map(lambda day: day.strftime("%m/%d/%Y")),
    MOMENTS.map(lambda moment: moment.isoformat() + "Z"),
)
COVARIATES: list[tuple[st.SearchStrategy[Any], Any]] = [
    (WHOLE, pl.Int64),
    (FLOATS, pl.Float64),
    (st.booleans(), pl.Boolean),
    (DAYS, pl.Date),
    (MOMENTS, pl.Datetime("us")),
    (st.times().map(lambda moment: moment.replace(microsecond=0)), pl.Time),
    (DECIMALS, pl.Decimal(18, 2)),
    (WORDS, pl.String),
    (WHOLE.map(str), pl.String),
    (NUMERALS, pl.String),
    (CALENDAR, pl.String),
    (st.sampled_from(["true", "False", "TRUE"]), pl.String),
    (st.sampled_from(["a", "A", "b", *MAYBE_MISSING]), pl.String),
]
PHYSICIANS: list[tuple[st.SearchStrategy[Any], Any]] = [
    (st.integers(0, 20), pl.Int64),
    (st.integers(2**53, 2**62), pl.Int64),
    (st.integers(0, 20).map(float), pl.Float64),
    (st.integers(0, 9).map(lambda n: Decimal(10**15 + n)), pl.Decimal(18, 0)),
    (st.sampled_from(["7", "07", "007", "7.0", "NA", "Ada", "ada", "Jose\u0301", "José"]), None),
    (WORDS, pl.String),
]
DECISIONS: list[tuple[st.SearchStrategy[Any], Any, str | None]] = [
    (st.integers(0, 1), pl.Int64, None),
    (st.sampled_from([0.0, 1.0, float("nan")]), pl.Float64, None),
    (st.booleans(), pl.Boolean, None),
    (st.sampled_from(["yes", "No", "NO", "unknown", "NA"]), pl.String, None),
    (st.sampled_from(["statin", "Statin ", "none", "?", "other", "None"]), pl.String, "statin"),
    (st.sampled_from([1.0, 4.0, 5.5, float("nan"), 99.0]), pl.Float64, ">=4"),
    (st.sampled_from(["1", "1.0", "2", "n/a"]), pl.String, "1"),
]


def _is_there(value: Any) -> bool:
    return value is not None and value == value and str(value).strip() != ""


@st.composite
def tables(draw: st.DrawFn) -> Made:
    n = draw(st.integers(12, 48))
    names = draw(
        st.lists(NAMES, min_size=3, max_size=6, unique_by=lambda name: clean_name(name).casefold())
    )
    who, who_type = draw(st.sampled_from(PHYSICIANS))
    what, what_type, positive = draw(st.sampled_from(DECISIONS))
    columns = [_some(draw, who, n, who_type or pl.String), _some(draw, what, n, what_type, 5)]
    for _ in names[2:]:
        kind, dtype = draw(st.sampled_from(COVARIATES))
        columns.append(_some(draw, kind, n, dtype))
    table = pl.DataFrame([column.alias(name) for name, column in zip(names, columns, strict=True)])
    ordered = draw(st.permutations(names))
    # A workbook does not have the empty rows at its end.
    table = table.filter(table.map_rows(lambda row: any(map(_is_there, row))).to_series())
    # Codes may be written as numbers or as texts.
    codes = [name for name in names[2:] if table.schema[name] in (pl.Int64, pl.String)]
    categorical = tuple(codes[:1]) if draw(st.booleans()) else ()
    options = {"decision_positive": positive}
    return Made(table.select(ordered), names[0], names[1], options, categorical)


# --- what a source makes of a table ---


def prepared(made: Made, writer: Writer, folder: Path) -> Prepared | str:
    """Read what was written as a command would; return the patients or the words of a refusal."""
    source, reading = writer(made.table, folder)
    try:
        request = Request(
            physician=made.physician,
            decision=made.decision,
            categorical=made.categorical,
            **made.options,
            **reading,
        )
        return checked(source, request).prepared
    except InputError as error:
        return str(error)


def told(found: Prepared | str) -> Any:
    """Return all that must be the same, in a form that can be compared and read."""
    if isinstance(found, str):
        # SQLite has no other true and false than 1 and 0.
        return found.replace("'true'", "'1'").replace("'false'", "'0'")
    observed = found.observed
    return {
        "names": observed.names,
        "covariates": observed.covariates.tolist(),
        "decision": observed.decision.tolist(),
        "physicians": [str(observed.physicians[code]) for code in observed.code],
        "rows": found.rows.tolist(),
        "dropped": found.dropped,
        "columns": {(each.column, each.kind, each.use) for each in found.columns},
    }


@pytest.fixture(scope="module")
def writers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Writer]]:
    for library in ("duckdb", "fastexcel", "xlsxwriter", "pandas"):
        pytest.importorskip(library)
    with server(tmp_path_factory.mktemp("every-source")) as url:
        yield WRITERS | {"PostgreSQL": as_postgresql(url)}


def same_from_every_source(made: Made, writers: dict[str, Writer], folder: Path) -> None:
    expected = told(prepared(made, as_frame, folder))
    for name, writer in writers.items():
        assert told(prepared(made, writer, folder)) == expected, name


RELAXED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=20, suppress_health_check=RELAXED)
@given(made=tables())
def test_the_same_table_from_every_source(
    made: Made, writers: dict[str, Writer], tmp_path: Path
) -> None:
    same_from_every_source(made, writers, tmp_path)


@settings(max_examples=25, suppress_health_check=RELAXED)
@given(made=tables(), seed=st.integers(0, 2**16))
def test_rows_and_columns_in_any_order(made: Made, seed: int, tmp_path: Path) -> None:
    expected = prepared(made, as_frame, tmp_path)
    order = np.random.default_rng(seed).permutation(made.table.height)
    shuffled = made.table[order].select(sorted(made.table.columns))
    found = prepared(replace(made, table=shuffled), as_frame, tmp_path)
    if isinstance(expected, str) or isinstance(found, str):
        # A refusal names the first row that it met.
        assert isinstance(expected, str)
        assert isinstance(found, str)
        return
    assert found.dropped == expected.dropped
    one, other = found.observed, expected.observed
    assert (one.names, one.physicians) == (other.names, other.physicians)
    np.testing.assert_array_equal(one.covariates, other.covariates)
    np.testing.assert_array_equal(one.decision, other.decision)
    np.testing.assert_array_equal(one.code, other.code)


def storable_in_statistics_files(made: Made) -> Made | None:
    """Return the table with names that programs take; None if its numbers are no doubles."""
    for column in made.table.get_columns():
        is_long = column.dtype == pl.Int64 and (column.abs() > 2**53).any()
        if is_long or column.dtype.is_decimal():
            return None
    names = {name: f"v{place}" for place, name in enumerate(made.table.columns)}
    return replace(
        made,
        table=made.table.rename(names),
        physician=names[made.physician],
        decision=names[made.decision],
        categorical=tuple(names[name] for name in made.categorical),
    )


@settings(max_examples=20, suppress_health_check=RELAXED)
@given(made=tables())
def test_the_same_table_from_statistics_programs(made: Made, tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    storable = storable_in_statistics_files(made)
    if storable is not None:
        same_from_every_source(storable, STATISTICS_WRITERS, tmp_path)


@pytest.mark.slow
@settings(max_examples=8_000, suppress_health_check=RELAXED)
@given(made=tables())
def test_the_same_table_from_every_source_for_an_hour(
    made: Made, writers: dict[str, Writer], tmp_path: Path
) -> None:
    same_from_every_source(made, writers, tmp_path)
