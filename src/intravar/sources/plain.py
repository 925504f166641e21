"""One meaning for one table, wherever it was kept.

Text files know only text, workbooks only floats, databases types of their own. Every column is
brought to one of a few types by what it holds and not by how it was stored, so that the same table
gives the same result from every source. How texts are written as numbers and dates is told by all
rows of a column; a column that does not tell by itself is read as the others are written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from intravar.sources.texts import (
    EXACT,
    YEAR_FIRST,
    DateForm,
    Habits,
    NumberForm,
    TextForm,
    Typed,
    text_form,
    whole_numbers,
    without_midnight,
)
from intravar.text import (
    MISSING,
    checked_names,
    clean_name,
    clean_texts,
    shortened,
    without_missing,
)

_NESTED = (list, tuple, dict, set, frozenset)
_NUMBERS = (bool, int, float, Decimal)
#: Kinds that polars keeps as they are, if a column holds one of them alone.
_KEPT: dict[type, pl.DataType] = {
    bool: pl.Boolean(),
    str: pl.String(),
    bytes: pl.Binary(),
    date: pl.Date(),
    time: pl.Time(),
    timedelta: pl.Duration("us"),
}


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
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    known = [None if _is_missing(value) else value for value in plain]
    kinds = {type(value) for value in known if value is not None}
    if any(issubclass(kind, _NESTED) for kind in kinds):
        nested = [None if value is None else [str(value)] for value in known]
        return pl.Series(name, nested, dtype=pl.List(pl.String))
    if kinds and kinds <= {int, bool, float} and kinds != {bool}:
        if all(value is None or abs(value) <= EXACT for value in known if type(value) is not float):
            dtype = pl.Float64 if float in kinds else pl.Int64
            return pl.Series(name, known, dtype=dtype, strict=False)
        if kinds == {int} and all(value is None or -(2**63) <= value < 2**63 for value in known):
            return pl.Series(name, known, dtype=pl.Int64)
    try:
        if len(kinds) == 1 and (kind := next(iter(kinds))) in _KEPT:
            return pl.Series(name, known, dtype=_KEPT[kind], strict=True)
        if kinds == {datetime}:  # local dates are local dates, in whatever zone
            local = [None if value is None else value.replace(tzinfo=None) for value in known]
            return pl.Series(name, local, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        pass  # times of several zones, say: they are read as text then
    return pl.Series(name, [_text(value) for value in known], dtype=pl.String)


def _is_missing(value: Any) -> bool:
    """Tell None, NaN of any kind, and what pandas puts in their place."""
    if value is None:
        return True
    if isinstance(value, float | Decimal):
        return value != value
    return type(value).__name__ in ("NAType", "NaTType")


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


#: Days that lie between the years 1 and 9999, outside of which nothing can be said about a date.
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
#: Rows of a large table that are looked at before all are.
BEGINNING = 10_000


@dataclass(frozen=True)
class Forms:
    """How the columns of texts of a table are written, and the habits by which each is read."""

    columns: Mapping[str, TextForm]
    habits: Mapping[str, Habits]

    @classmethod
    def of(cls, columns: Mapping[str, TextForm]) -> Forms:
        """Read columns that do not tell as those are written that do."""
        proven = [form.proven for form in columns.values()]
        signs, orders = {each.sign for each in proven}, {each.order for each in proven}
        signs.discard(None)
        orders.discard(None)
        shared = Habits(
            signs.pop() if len(signs) == 1 else None,
            orders.pop() if len(orders) == 1 else None,
            any(each.points for each in proven),
        )
        return cls(columns, {name: form.own(shared) for name, form in columns.items()})

    def among(self, some: Forms) -> Forms:
        """Return the forms of some rows, read by what all rows tell."""
        habits = {name: self.habits.get(name, own) for name, own in some.habits.items()}
        return Forms(some.columns, habits)


def forms_of_large(lazy: pl.LazyFrame, as_text: Collection[str] = ()) -> Forms:
    """Return how the texts of a large table are written, told by all of its rows.

    What the first rows settle is not looked at again; a column that is plain numbers or years
    first in all rows is settled in one pass. Of the others all different texts are looked at.
    """
    kinds = (pl.String, pl.Categorical, pl.Enum)
    stored = lazy.collect_schema().items()
    names = [name for name, dtype in stored if dtype in kinds and name not in as_text]
    first = lazy.select(names).head(BEGINNING).collect(engine="streaming")
    forms: dict[str, TextForm] = {}
    asked: dict[str, pl.Expr] = {}
    for name in names:
        texts = _meant(first[name])
        known, cell = text_form(texts), pl.col(name)
        if texts.null_count() < len(texts) and known == TextForm():
            forms[name] = known  # no other row makes numbers of words
        elif isinstance(known, NumberForm) and known.is_plain:
            fits = cell.cast(pl.Float64, strict=False).is_not_null()
            settled = known.points | ~cell.str.contains(".", literal=True).any()
            asked[name] = (fits | _absent(cell)).all() & settled
            forms[name] = known
        elif isinstance(known, DateForm) and known.pattern == YEAR_FIRST:
            asked[name] = (cell.str.contains(YEAR_FIRST) | _absent(cell)).all()
            forms[name] = known
    if asked:
        answers = lazy.select(**asked).collect(engine="streaming").row(0, named=True)
        forms = {name: form for name, form in forms.items() if answers.get(name, True)}
    for name in names:
        if name not in forms:
            texts = lazy.select(pl.col(name).unique()).collect(engine="streaming").to_series()
            forms[name] = text_form(_meant(texts))
    return Forms.of({name: forms[name] for name in names})


def _meant(column: pl.Series) -> pl.Series:
    return without_missing(clean_texts(column.cast(pl.String)))


def _absent(cell: pl.Expr) -> pl.Expr:
    return cell.is_null() | cell.is_in(MISSING)


_WHOLE = r"^-?[0-9]+(?:\.0+)?$"


def plain_table(
    table: pl.DataFrame,
    as_text: Collection[str] = (),
    name: str = "the table",
    forms: Forms | None = None,
) -> tuple[pl.DataFrame, list[str]]:
    """Return a table with plain names and types, and notes on what was understood.

    Texts of the columns `as_text` stay texts: physician 007 is a name, not the number 7. `name` is
    what to call the table in messages; `forms` are how texts are written, where these are some
    rows of a larger table that has told.

    Examples
    --------
    >>> table = pl.DataFrame({"doctor": ["007"], "weight ": ["70,5"]})
    >>> plain, notes = plain_table(table, ["doctor"])
    >>> plain.row(0, named=True), notes
    ({'doctor': '007', 'weight': 70.5}, ['decimal commas in weight'])
    """
    return understood(table, as_text, name, forms)[:2]


def understood(
    table: pl.DataFrame,
    as_text: Collection[str] = (),
    name: str = "the table",
    forms: Forms | None = None,
    whole: Forms | None = None,
) -> tuple[pl.DataFrame, list[str], Forms]:
    """Return what :func:`plain_table` does, and how texts are written.

    How these rows are written is found out anew where it is not given, and read by what the
    `whole` table tells, where they are some rows of it.
    """
    columns = [
        plain_column(column, column.name in as_text)
        for column in with_clean_names(table, name).get_columns()
    ]
    texts = {
        column.name: without_missing(column)
        for column in columns
        if column.dtype == pl.String and column.name not in as_text
    }
    if forms is None:
        forms = Forms.of({name: text_form(column) for name, column in texts.items()})
        forms = forms if whole is None else whole.among(forms)
    said: dict[str, list[str]] = {}
    for position, column in enumerate(columns):
        if column.name in texts:
            text = texts[column.name]
            form = forms.columns.get(column.name) or text_form(text)
            typed = form.typed(text, forms.habits.get(column.name, Habits()))
            columns[position] = typed.values
            if typed.how:
                said.setdefault(typed.how, []).append(column.name)
    notes = [f"{how} in {_listed(names)}" for how, names in said.items()]
    return pl.DataFrame(columns), notes, forms


def with_clean_names(table: pl.DataFrame, name: str = "the table") -> pl.DataFrame:
    """Return a table whose columns are called as they are meant; two of one name are refused."""
    names = [clean_name(column) for column in table.columns]
    checked_names(names, name)
    return table.rename(dict(zip(table.columns, names, strict=True)))


def typed_texts(column: pl.Series) -> Typed:
    """Return a single column of texts by what it holds.

    Examples
    --------
    >>> typed_texts(pl.Series(["2020-01-31T10:00Z"])).values.dtype
    Datetime(time_unit='us', time_zone=None)
    >>> typed_texts(pl.Series(["01/02/2020"])).doubt
    "'01/02/2020' may be 1 February or January 2; write dates as 2020-12-31"
    >>> typed_texts(pl.Series(["950", "1.234"])).doubt
    "'1.234' may be 1234 or 1.234; write 1234 or 1.2340"
    """
    return text_form(column).typed(column, Habits())


def plain_column(column: pl.Series, keep: bool) -> pl.Series:
    """Return a column in one of the few types that are understood; nested ones stay nested.

    If its values are names, which are kept, every digit counts.
    """
    dtype = column.dtype
    if dtype == pl.Null:
        return column.cast(pl.String)
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return clean_texts(column.cast(pl.String))
    if dtype.is_integer():
        return _whole(column, keep)
    if dtype.is_float():
        # The digits that a person sees: 0.1 of single precision is 0.1.
        exact = column if dtype == pl.Float64 else column.cast(pl.String).cast(pl.Float64)
        return whole_numbers(exact)
    if dtype.is_decimal():
        return _decimal(column, keep)
    if dtype == pl.Date:
        return _within_calendar(column)
    if isinstance(dtype, pl.Datetime):
        if dtype.time_zone is not None:  # what a clock showed there: local dates are local dates
            column = column.dt.replace_time_zone(None)
        return without_midnight(_within_calendar(column.cast(pl.Datetime("us"))))
    if isinstance(dtype, pl.Duration):
        return column.cast(pl.Duration("us"))
    if dtype == pl.Object:
        from intravar.sources.plain import series_of

        return plain_column(series_of(column.name, column.to_list()), keep)
    return column


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


def _whole(column: pl.Series, keep: bool) -> pl.Series:
    whole = column.cast(pl.Int64, strict=False)
    if whole.null_count() == column.null_count():
        return whole
    return column.cast(pl.String if keep else pl.Float64)


def _decimal(column: pl.Series, keep: bool) -> pl.Series:
    if not keep:
        return whole_numbers(column.cast(pl.Float64))
    texts = column.cast(pl.String)
    pointed = texts.str.contains(".", literal=True).fill_null(False)
    texts = texts.str.strip_chars_end("0").str.strip_chars_end(".").zip_with(pointed, texts)
    whole = texts.cast(pl.Int64, strict=False)
    return whole if whole.null_count() == texts.null_count() else texts


def _within_calendar(column: pl.Series) -> pl.Series:
    """Return dates; those before year 1 and after 9999, infinity among them, are missing."""
    per_day = 1 if column.dtype == pl.Date else 86_400_000_000
    day = column.to_physical().cast(pl.Int64) // per_day
    return column.set(((day < FIRST_DAY) | (day > LAST_DAY)).fill_null(False), None)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(shortened(name, 30) for name in names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
