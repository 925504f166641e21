"""What a column holds: numbers, dates, categories, an identifier, or nothing to compare by."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from intravar.errors import InputError, option
from intravar.text import shortened

Kind = Literal["number", "yes/no", "date", "category", "identifier", "constant", "empty", "other"]

#: A text column with this share of numbers is a number column with text in it.
MOSTLY_NUMBERS = 0.9
#: A column with more different texts than this share of its rows names rows, not categories.
MOSTLY_DISTINCT = 0.5
#: Below this many rows no column is taken for an identifier.
FEW_ROWS = 20
#: More numbers than this beside a few texts are measurements, not codes of a category.
CODE_LIKE = 20
#: Squares of larger numbers, and single-precision copies of them, overflow.
LARGEST_NUMBER = 1e30
_IDENTIFIER_NAMES = re.compile(
    r"^(row_?(names?|id|number)|index|unnamed.*|id|.*[_ ](id|uuid|guid|mrn)|.*(Id|ID)|mrn|uuid)$"
)
_DATE_FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y/%m/%d", "%d.%m.%Y")


@dataclass(frozen=True)
class Column:
    """A covariate as it was understood.

    Attributes
    ----------
    name
        Its name in the table.
    kind
        What it holds.
    values
        Its values in a form that goes with the kind: Float64 for numbers, yes/no and dates (days
        since 1970), text for categories.
    note
        What was done to it on the way, or why it cannot be used.
    """

    name: str
    kind: Kind
    values: pl.Series
    note: str = ""


def understand(column: pl.Series, *, categorical: bool = False, chosen: bool = False) -> Column:
    """Find out what a column holds.

    Parameters
    ----------
    column
        As read.
    categorical
        Whether to take it as a category whatever it looks like.
    chosen
        Whether the user named it; a column that was named is not taken for an identifier.

    Raises
    ------
    InputError
        For text among numbers, infinite numbers, and kinds that cannot be compared.

    Examples
    --------
    >>> understand(pl.Series("sex", ["m", "f", None])).kind
    'category'
    >>> understand(pl.Series("when", ["2020-01-31", "2021-02-28"])).values.to_list()
    [18292.0, 18686.0]
    """
    column = without_blanks(column)
    name, present = column.name, column.drop_nulls()
    if column.dtype.is_float():
        present = present.drop_nans()
    if not len(present):
        return Column(name, "empty", column, "no value in any row")
    if present.n_unique() == 1:
        return Column(name, "constant", column, "the same value in every row")
    if categorical:
        return _category(column, "taken as a category on request")
    if column.dtype == pl.Boolean:
        return Column(name, "yes/no", column.cast(pl.Float64))
    if column.dtype.is_numeric():
        return _number(column, present, chosen)
    if column.dtype.is_temporal():
        return _date(column)
    if column.dtype in (pl.Categorical, pl.Enum, pl.String):
        return _text(without_blanks(column.cast(pl.String)), chosen)
    if chosen:
        raise InputError(
            f"column '{name}' is {column.dtype}, which cannot be compared; drop it or turn it into "
            "a number or a category"
        )
    return Column(name, "other", column, f"{column.dtype} cannot be compared")


def without_blanks(column: pl.Series) -> pl.Series:
    """Return a column without spaces around its texts; a text of spaces alone is missing.

    Examples
    --------
    >>> without_blanks(pl.Series("doctor", ["Ada ", " ", ""])).to_list()
    ['Ada', None, None]
    """
    if column.dtype != pl.String:
        return column
    stripped = column.str.strip_chars()
    return stripped.set(stripped == "", None)


def _number(column: pl.Series, present: pl.Series, chosen: bool, note: str = "") -> Column:
    values = column.cast(pl.Float64).fill_nan(None)
    absurd = (values.abs() > LARGEST_NUMBER).fill_null(False)
    if absurd.any():
        row = int(absurd.arg_max() or 0)
        size = "infinite" if np.isinf(values[row]) else f"{values[row]:.3g}, too large to compare,"
        raise InputError(
            f"column '{column.name}' is {size} in data row {row + 1}; correct it or drop the "
            f"column with {option('exclude', column.name)}"
        )
    if not chosen and _looks_like_row_numbers(column, present):
        return Column(column.name, "identifier", column, "a different whole number in every row")
    two = present.n_unique() == 2 and set(present.to_list()[:1000]) <= {0, 1}
    return Column(column.name, "yes/no" if two else "number", values, note)


def _looks_like_row_numbers(column: pl.Series, present: pl.Series) -> bool:
    if len(present) < FEW_ROWS or present.n_unique() < len(present):
        return False
    if column.dtype.is_float() and not (present == present.round()).all():
        return False
    consecutive = float(present.max()) - float(present.min()) + 1 == len(present)  # type: ignore[arg-type]
    named = _IDENTIFIER_NAMES.match(column.name) is not None
    return consecutive or present.is_sorted() or named


def _date(column: pl.Series) -> Column:
    if column.dtype == pl.Duration:
        seconds = column.dt.total_microseconds() / 1e6
        return Column(column.name, "number", seconds.cast(pl.Float64), "a duration, in seconds")
    if column.dtype == pl.Time:
        hours = column.cast(pl.Int64) / 3.6e12
        return Column(column.name, "number", hours.cast(pl.Float64), "a time, in hours")
    days = column.cast(pl.Datetime("us")).dt.epoch("us") / 86_400_000_000
    return Column(column.name, "date", days.cast(pl.Float64), "days since 1970-01-01")


def _text(column: pl.Series, chosen: bool) -> Column:
    present = column.drop_nulls()
    if not len(present):
        return Column(column.name, "empty", column, "no value in any row")
    numbers = column.cast(pl.Float64, strict=False).fill_nan(None)
    n_numbers = len(numbers.drop_nulls())
    if n_numbers == len(present):
        return _number(numbers.alias(column.name), numbers.drop_nulls(), chosen)
    share = n_numbers / len(present)
    measured = numbers.n_unique() > CODE_LIKE
    if share >= MOSTLY_NUMBERS or (measured and share >= 0.5):
        row = int((numbers.is_null() & column.is_not_null()).arg_max() or 0)
        raise InputError(
            f"column '{column.name}' has '{shortened(str(column[row]), 40)}' in data row {row + 1} "
            f"where other rows have numbers; correct it or drop the column with "
            f"{option('exclude', column.name)}"
        )
    dates = _parsed_dates(column, present)
    if dates is not None:
        return _date(dates)
    distinct = present.n_unique()
    if len(present) >= FEW_ROWS and distinct > MOSTLY_DISTINCT * len(present):
        if not chosen:
            return Column(column.name, "identifier", column, "a different text in most rows")
        raise InputError(
            f"column '{column.name}' has {distinct:,} different texts in {len(present):,} rows; it "
            "names patients and cannot be compared; drop it"
        )
    return _category(column, "")


def _parsed_dates(column: pl.Series, present: pl.Series) -> pl.Series | None:
    if not present.head(50).str.contains(r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}").all():
        return None
    for form in _DATE_FORMATS:
        parsed = column.str.to_datetime(form, strict=False)
        if parsed.null_count() == column.null_count():
            return parsed
    return None


def _category(column: pl.Series, note: str) -> Column:
    return Column(column.name, "category", column.cast(pl.String), note)
