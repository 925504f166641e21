"""One meaning for one table, wherever it was kept.

Text files know only text, workbooks only floats, databases types of their own. Every column is
brought to one of a few types by what it holds and not by how it was stored, so that the same table
gives the same result from every source. How texts are written as numbers and dates is told by all
rows of a column; a column that does not tell by itself is read as the others are written.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.sources.texts import EXACT, Forms, settled, text_forms, typed_texts
from intravar.text import checked_names, meant, shortened

_NESTED = (list, tuple, dict, set, frozenset)
#: Kinds that polars keeps as they are, if a column holds one of them alone.
_KEPT = (bool, str, bytes, date, datetime, time, timedelta)


def from_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """Make a table of rows of Python values; a column of mixed kinds becomes text.

    Examples
    --------
    >>> from_rows(["a"], [(1,), ("x",)])["a"].to_list()
    ['1', 'x']
    """
    checked_names(names, "the query")
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pl.DataFrame(
        [series_of(name, values) for name, values in zip(names, columns, strict=True)]
    )


def series_of(name: str, values: Sequence[Any]) -> pl.Series:
    """Make a column of Python values; numbers that a float cannot hold become text, exactly.

    Examples
    --------
    >>> from decimal import Decimal
    >>> series_of("id", [Decimal("12345678901234567890.00"), 7]).to_list()
    ['12345678901234567890', '7']
    >>> series_of("x", [1, 2.5, float("nan")]).to_list()
    [1.0, 2.5, None]
    """
    known = [_known(value) for value in values]
    kinds = {type(value) for value in known if value is not None}
    if not kinds:  # other rows of a larger table may tell
        return pl.Series(name, known, dtype=pl.Null)
    if any(issubclass(kind, _NESTED) for kind in kinds):
        nested = [None if value is None else [str(value)] for value in known]
        return pl.Series(name, nested, dtype=pl.List(pl.String))
    if kinds <= {int, bool, float} and kinds != {bool}:
        if all(value is None or abs(value) <= EXACT for value in known if type(value) is not float):
            dtype = pl.Float64 if float in kinds else pl.Int64
            return pl.Series(name, known, dtype=dtype, strict=False)
        if kinds == {int} and all(value is None or -(2**63) <= value < 2**63 for value in known):
            return pl.Series(name, known, dtype=pl.Int64)
    if kinds == {datetime}:  # local dates are local dates, in whatever zone
        known = [None if value is None else value.replace(tzinfo=None) for value in known]
    with suppress(TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        if len(kinds) == 1 and kinds <= {*_KEPT}:
            return pl.Series(name, known, strict=True)
    return pl.Series(name, [_text(value) for value in known], dtype=pl.String)


def from_array(name: str, values: npt.NDArray[Any]) -> pl.Series:
    """Make a column of an array, whatever unit its dates have.

    Examples
    --------
    >>> from_array("seen", np.array(["2020-01-31T10"], "datetime64[h]")).dtype
    Datetime(time_unit='ms', time_zone=None)
    """
    if values.dtype.kind not in "mM" or np.datetime_data(values.dtype)[0] not in _COARSE:
        return pl.Series(name, values)
    moments = values.astype("datetime64[ms]" if values.dtype.kind == "M" else "timedelta64[ms]")
    if ((moments.astype(values.dtype) == values) | np.isnat(values)).all():
        return pl.Series(name, moments)
    if values.dtype.kind == "M":
        return pl.Series(name, _written(values))
    unit = values.dtype.type(1, np.datetime_data(values.dtype)) / np.timedelta64(1, "s")
    seconds = np.where(np.isnat(values), np.nan, values.astype(np.float64) * unit)
    return pl.Series(name, seconds, nan_to_null=True)


def _written(dates: npt.NDArray[Any]) -> list[str | None]:
    """Return dates as texts: some lie outside of the calendar."""
    return [None if text == "NaT" else text for text in dates.astype(str).tolist()]


def _known(value: Any) -> Any:
    """Return a value as Python has it: None for NaN of any kind and what pandas puts there."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return None if np.isnat(value) else from_array("", np.array([value])).item()
    if isinstance(value, np.generic):
        value = value.item()
    is_nan = isinstance(value, float | Decimal) and value != value
    return None if is_nan or type(value).__name__ in ("NAType", "NaTType") else value


def _text(value: Any) -> str | None:
    """Write a value as a CSV file would hold it: 7.0 is 7."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite():
        written = format(value, "f")
        return written.rstrip("0").rstrip(".") if "." in written else written
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return str(value)


#: Days of the years 1 to 9999, outside of which nothing can be said about a date.
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
#: How many of the units that dates are stored in make a day.
_PER_DAY = {"D": 1, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
#: Units of NumPy that polars has not.
_COARSE = ("Y", "M", "W", "D", "h", "m", "s")
_WHOLE = r"^-?[0-9]+(?:\.0+)?$"


def plain_table(
    table: pl.DataFrame, as_text: Collection[str] = (), forms: Forms | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """Return a table with plain types, and notes on what was understood.

    Texts of the columns `as_text` stay texts: physician 007 is a name, not the number 7. `forms`
    are how texts are written, where these are some rows of a larger table that has told.

    Examples
    --------
    >>> table = pl.DataFrame({"doctor": ["007"], "weight": ["70,5"]})
    >>> plain, notes = plain_table(table, ["doctor"])
    >>> plain.row(0, named=True), notes
    ({'doctor': '007', 'weight': 70.5}, ['decimal commas in weight'])
    """
    plain = plain_columns(table, as_text)
    texts = plain.select(
        meant(pl.nth(place))
        for place, (name, dtype) in enumerate(plain.schema.items())
        if dtype == pl.String and name not in as_text
    )
    forms = text_forms(texts) if forms is None else forms
    names_by_how, typed = dict[str, list[str]](), []
    for column in texts.get_columns():
        if whole_numbers_beyond_floats(column) is not None:
            typed.append(column)
            continue
        form = forms.get(column.name)
        read = typed_texts(column) if form is None else form.typed(column)
        typed.append(read.values)
        if read.how:
            names_by_how.setdefault(read.how, []).append(column.name)
    notes = [f"{how} in {_listed(names)}" for how, names in names_by_how.items()]
    return plain.with_columns(typed), notes


def plain_columns(table: pl.DataFrame, keep: Collection[str] = ()) -> pl.DataFrame:
    """Return columns in one of the few types that are understood; nested ones stay nested.

    If the values of a column are names, which are kept, every digit counts. Dates among which some
    lie outside of the calendar become texts: whoever uses the column refuses it.
    """
    table = table.with_columns(
        _seldom(column, column.name in keep)
        for column in table.get_columns()
        if column.dtype in _SELDOM
    )
    table = table.with_columns(_far_column(table[name]) for name in far_columns(table))
    return settled(table.select(_cast(place, dtype) for place, dtype in enumerate(table.dtypes)))


def plain_column(column: pl.Series, keep: bool) -> pl.Series:
    """Return a single column as :func:`plain_columns` does."""
    return plain_columns(column.to_frame(), [column.name] if keep else ()).to_series()


def _cast(place: int, dtype: pl.DataType) -> pl.Expr:
    """Return a column in the type that its type stands for."""
    cell = pl.nth(place)
    if dtype in (pl.Null, pl.Categorical, pl.Enum):
        return cell.cast(pl.String)
    if dtype.is_integer():
        return cell.cast(pl.Int64)
    if dtype.is_float() and dtype != pl.Float64:
        # The digits that a person sees: 0.1 of single precision is 0.1.
        return cell.cast(pl.String).cast(pl.Float64)
    if isinstance(dtype, pl.Duration):
        return cell.cast(pl.Duration("us"), strict=False)
    if isinstance(dtype, pl.Datetime):
        # What a clock showed there: local dates are local dates. The last hours of the calendar may
        # lie beyond it there.
        moment = in_calendar(cell, dtype, 1).cast(pl.Datetime("us", dtype.time_zone))
        clocks = (moment.dt.replace_time_zone(None), moment.to_physical().cast(pl.Datetime("us")))
        return pl.coalesce(in_calendar(clock, pl.Datetime("us")) for clock in clocks)
    return in_calendar(cell, dtype) if dtype == pl.Date else cell


def in_calendar(cell: pl.Expr, dtype: pl.DataType, around: int = 0) -> pl.Expr:
    """Return dates without those outside of the years 1 to 9999, or so many days around them."""
    day = cell.to_physical().cast(pl.Int64) // _PER_DAY[getattr(dtype, "time_unit", "D")]
    return pl.when(day.is_between(FIRST_DAY - around, LAST_DAY + around)).then(cell)


def far_columns(table: pl.DataFrame | pl.LazyFrame) -> list[str]:
    """Return the columns with dates outside of the years 1 to 9999, or durations as long as that.

    The infinity of databases, which is stored as the largest number, is a missing date.
    """
    lost = []
    for place, (name, dtype) in enumerate(table.collect_schema().items()):
        if dtype == pl.Date or isinstance(dtype, pl.Datetime | pl.Duration):
            number = pl.nth(place).to_physical().cast(pl.Int64)
            largest = 2 ** (31 if dtype == pl.Date else 63) - 1
            is_lost = number.is_between(1 - largest, largest - 1) & _cast(place, dtype).is_null()
            lost.append(is_lost.any().alias(name))
    far = table.lazy().select(lost).collect(engine="streaming")
    return [column.name for column in far.get_columns() if column[0]]


def _far_column(column: pl.Series) -> pl.Series:
    """Return dates as they are written, durations in seconds: some lie outside of the calendar."""
    if isinstance(column.dtype, pl.Duration):
        per_second = _PER_DAY[column.dtype.time_unit] / 86_400
        return column.to_physical().cast(pl.Float64) / per_second
    return pl.Series(column.name, _written(column.to_numpy()))


#: Types of which the values decide what stands for them.
_SELDOM = (pl.Object, pl.UInt64, pl.Int128, pl.UInt128, pl.Decimal)


def _seldom(column: pl.Series, keep: bool) -> pl.Series:
    """Return objects by their kinds; numbers that are too long as text if every digit counts."""
    if column.dtype == pl.Object:
        return series_of(column.name, column.to_list())
    if column.dtype.is_decimal() and not keep:
        return column.cast(pl.Float64)
    texts = column.cast(pl.String)
    pointed = texts.str.contains(".", literal=True).fill_null(False)
    texts = texts.str.strip_chars_end("0").str.strip_chars_end(".").zip_with(pointed, texts)
    whole = texts.cast(pl.Int64, strict=False)
    if whole.null_count() == texts.null_count():
        return whole
    exact = keep or whole_numbers_beyond_floats(texts) is not None
    return texts if exact else column.cast(pl.Float64)


def whole_numbers_beyond_floats(column: pl.Series) -> pl.Series | None:
    """Return whole numbers as texts if floating point cannot tell them apart; None if it can.

    Examples
    --------
    >>> whole_numbers_beyond_floats(pl.Series("id", [2**60, 2**60 + 1])).to_list()
    ['1152921504606846976', '1152921504606846977']
    >>> whole_numbers_beyond_floats(pl.Series("id", [2**60, 2**61])) is None
    True
    """
    if column.dtype != pl.String and not column.dtype.is_integer():
        return None
    texts = column.cast(pl.String)
    long = texts.filter(texts.str.contains(r"^\s*[+-]?[0-9]{16,}\s*$"))
    if not len(long):
        return None
    digits = long.str.strip_chars().str.replace(r"^\+", "").str.replace(r"^(-?)0+", "${1}")
    apart = long.str.strip_chars().cast(pl.Float64, strict=False).n_unique()
    return texts if apart < digits.n_unique() else None


def as_names(column: pl.Series) -> pl.Series:
    """Return values as texts that name something: 7.0 is 7 where all are whole numbers.

    Examples
    --------
    >>> as_names(pl.Series(["7.0", "007"])).to_list(), as_names(pl.Series([1.5, 2.0])).to_list()
    (['7', '007'], ['1.5', '2.0'])
    """
    names = plain_column(column, keep=True).cast(pl.String)
    if names.drop_nulls().str.contains(_WHOLE).all():
        return names.str.replace(r"\.0+$", "")
    return names


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(shortened(name, 30) for name in names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
