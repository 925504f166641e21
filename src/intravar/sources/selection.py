"""Choose the patients of a population from a table.

A comparison with a missing value is neither true nor false, as in SQL: whoever is not known to
belong to the population is left out.
"""

from __future__ import annotations

import operator
from datetime import date, datetime
from functools import reduce
from typing import Any

import polars as pl

from intravar.errors import InputError, option, unknown_name
from intravar.sources.texts import text_forms, typed_texts
from intravar.text import clean_name, shortened, without_missing
from intravar.where import Combined, IsMissing, Negated, Population, Value
from intravar.wording import Sentence

_LARGEST = 2**63
_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def belongs(table: pl.DataFrame, population: Population) -> pl.Series:
    """Tell for every row of a plain table whether it belongs to the population.

    Examples
    --------
    >>> from intravar.where import parse_population
    >>> table = pl.DataFrame({"age": [80, 60, None], "sex": ["F", "F", "M"]})
    >>> belongs(table, parse_population("age >= 75 or sex = 'M'")).to_list()
    [True, False, True]
    >>> belongs(table, parse_population("not age < 75")).to_list()
    [True, False, False]
    """
    return _holds(table, population).fill_null(False)


def _holds(table: pl.DataFrame, population: Population) -> pl.Series:
    if isinstance(population, Combined):
        parts = [_holds(table, part) for part in population.parts]
        return reduce(operator.and_ if population.word == "and" else operator.or_, parts)
    if isinstance(population, Negated):
        return ~_holds(table, population.part)
    column = _column(table, population.column)
    if isinstance(population, IsMissing):
        return column.is_null()
    column, other = _alike(column, population.value)
    if isinstance(other, str) and population.operator not in ("=", "!="):
        raise InputError(
            "{} asks whether '{}' {} '{}'; texts have no order here, list them with 'in'",
            option("where"),
            shortened(column.name),
            population.operator,
            shortened(other),
        )
    holds: pl.Series = _COMPARE[population.operator](column, other)
    return holds


def _column(table: pl.DataFrame, name: str) -> pl.Series:
    wanted = clean_name(name)
    if wanted not in table.columns:
        remedy = Sentence("{}; the table has {}", option("where"), ", ".join(table.columns[:8]))
        raise unknown_name("column", wanted, table.columns, remedy=remedy)
    column = table[wanted]
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object, pl.Duration, pl.Time):
        raise InputError(
            "column '{}' is {}; {} compares numbers, texts, dates and true or false",
            shortened(wanted),
            column.dtype,
            option("where"),
        )
    return column.fill_nan(None) if column.dtype.is_float() else without_missing(column)


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
    dtype = column.dtype
    read: Any = value
    if isinstance(value, str):
        if dtype == pl.String:
            return column, clean_name(value)
        read = typed_texts(pl.Series([value])).values[0]
        if dtype == pl.Boolean or isinstance(read, str):
            raise _unlike(column, value)
    if column.null_count() == len(column):  # nothing is known, so nothing is compared wrongly
        return pl.Series(column.name, [None] * len(column), dtype=pl.Float64), 0.0
    if dtype == pl.Date and type(read) is date:
        return column, read
    if isinstance(dtype, pl.Datetime) and isinstance(read, date):
        if isinstance(read, datetime):
            return column, read
        return column.dt.date(), read  # a day is the whole day
    if dtype == pl.Date and isinstance(read, datetime):
        return column.cast(pl.Datetime("us")), read
    if not isinstance(read, bool | int | float):
        raise _unlike(column, value)
    number = float(read) if abs(read) >= _LARGEST else read
    if dtype == pl.Boolean:
        return (column, read) if isinstance(read, bool) else (column.cast(pl.Int64), number)
    if dtype.is_numeric():
        return column, int(read) if isinstance(read, bool) else number
    raise _unlike(column, value)


def _unlike(column: pl.Series, value: Value) -> InputError:
    kinds = {pl.String: "texts", pl.Boolean: "true and false", pl.Date: "dates"}
    kind = kinds.get(type(column.dtype), "dates" if column.dtype.is_temporal() else "numbers")
    example = column.drop_nulls()[0]
    written = f"'{shortened(value)}'" if isinstance(value, str) else str(value)
    return InputError(
        "{} compares '{}' with {}, but it holds {}, {} for instance; write texts in "
        "quotation marks and dates as '2020-12-31'",
        option("where"),
        shortened(column.name),
        written,
        kind,
        shortened(str(example), 30),
    )
