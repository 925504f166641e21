"""Choose the patients of a population from a table.

A comparison with a missing value is neither true nor false, as in SQL: whoever is not known to
belong to the population is left out.
"""

from __future__ import annotations

import operator
from datetime import date, datetime
from functools import partial
from typing import Any

import polars as pl

from intravar.errors import InputError, option
from intravar.sources.texts import text_forms, typed_texts
from intravar.text import clean_name, shortened, without_missing
from intravar.where import MISSING, Value, read_population

_LARGEST = 2**63
_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def belongs(table: pl.DataFrame, where: str) -> pl.Series:
    """Tell for every row of a plain table whether it belongs to the population.

    Examples
    --------
    >>> table = pl.DataFrame({"age": [80, 60, None], "sex": ["F", "F", "M"]})
    >>> belongs(table, "age >= 75 or sex = 'M'").to_list()
    [True, False, True]
    >>> belongs(table, "not age < 75").to_list()
    [True, False, False]
    """
    holds: pl.Series = read_population(where, partial(_holds, table))
    return holds.fill_null(False)


def _holds(table: pl.DataFrame, name: str, sign: str, value: Value) -> Any:
    column = table[clean_name(name)]
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object, pl.Duration, pl.Time):
        raise InputError(
            "column '{}' is {}; {} compares numbers, texts, dates and true or false",
            shortened(column.name),
            column.dtype,
            option("where"),
        )
    column = column.fill_nan(None) if column.dtype.is_float() else without_missing(column)
    if sign == MISSING:
        return column.is_null()
    column, other = _alike(column, value)
    if isinstance(other, str) and sign not in ("=", "!="):
        raise InputError(
            "{} asks whether '{}' {} '{}'; texts have no order here, list them with 'in'",
            option("where"),
            shortened(column.name),
            sign,
            shortened(other),
        )
    return _COMPARE[sign](column, other)


def _alike(column: pl.Series, value: Value) -> tuple[pl.Series, Any]:
    """Return column and value in types that can be compared."""
    if column.dtype == pl.String:
        form = text_forms(column.to_frame())[column.name]
        if form.refused == "far" or not isinstance(value, str):
            typed = form.typed(column)
            if typed.doubt:
                raise InputError(
                    "{} compares column '{}' with {}, but {}",
                    option("where"),
                    shortened(column.name),
                    value,
                    typed.doubt,
                )
            column = typed.values
    dtype, read = column.dtype, value
    if isinstance(value, str):
        if dtype == pl.String:
            return column, clean_name(value)
        read = typed_texts(pl.Series([value])).values[0]
        if dtype == pl.Boolean or isinstance(read, str):
            raise _unlike(column, value)
    if column.null_count() == len(column):  # nothing is known, so nothing is compared wrongly
        return pl.Series(column.name, [None] * len(column), dtype=pl.Float64), 0.0
    if isinstance(read, date) and dtype in (pl.Date, pl.Datetime):
        if isinstance(read, datetime):
            return column.cast(pl.Datetime("us")), read
        return column.dt.date(), read  # a day is the whole day
    if isinstance(read, bool | int | float) and (dtype == pl.Boolean or dtype.is_numeric()):
        number = float(read) if abs(read) >= _LARGEST else read
        plain = column.cast(pl.Int64) if dtype == pl.Boolean else column
        return plain, int(read) if isinstance(read, bool) else number
    raise _unlike(column, value)


def _unlike(column: pl.Series, value: Value) -> InputError:
    kinds = {pl.String: "texts", pl.Boolean: "true and false", pl.Date: "dates"}
    kind = kinds.get(type(column.dtype), "dates" if column.dtype.is_temporal() else "numbers")
    written = f"'{shortened(value)}'" if isinstance(value, str) else str(value)
    return InputError(
        "{} compares '{}' with {}, but it holds {}, {} for instance; write texts in "
        "quotation marks and dates as '2020-12-31'",
        option("where"),
        shortened(column.name),
        written,
        kind,
        shortened(str(column.drop_nulls()[0]), 30),
    )
