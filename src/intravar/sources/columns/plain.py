"""One meaning for one table, wherever it was kept.

Text files know only text, workbooks only floats, databases types of their own. Every column is
brought to one of a few types by what it holds and not by how it was stored, so that the same table
gives the same result from every source. How texts are written as numbers and dates is told by all
rows of a column; a column that does not tell by itself is read as the others are written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from intravar.sources.columns.dates import (
    FIRST_DAY,
    LAST_DAY,
    YEAR_FIRST,
    DateForm,
    Order,
    date_form,
    dates,
    without_midnight,
)
from intravar.sources.columns.numbers import NumberForm, Sign, number_form, numbers, whole_numbers
from intravar.text import (
    MISSING,
    checked_names,
    clean_name,
    clean_texts,
    shortened,
    without_missing,
)

_TRUE_FALSE = ("true", "false")
#: Rows of a large table that are looked at before all are.
BEGINNING = 10_000


@dataclass(frozen=True)
class TextForm:
    """How the texts of a column are written; nothing of these if they are plain texts."""

    number: NumberForm | None = None
    date: DateForm | None = None
    true_false: bool = False


@dataclass(frozen=True)
class Habits:
    """How numbers and dates are written in a table, as far as its columns tell.

    Attributes
    ----------
    sign, order
        The decimal sign and the order of day and month that columns prove, if they agree.
    points
        Whether some column has decimal points beyond doubt: programs write them, whatever people
        do, so that this counts only where nothing is proven.
    """

    sign: Sign | None = None
    order: Order | None = None
    points: bool = False


@dataclass(frozen=True)
class Forms:
    """How the texts of a table are written.

    Attributes
    ----------
    columns
        The form of every column of texts.
    habits
        By what each is read where it does not tell by itself.
    """

    columns: Mapping[str, TextForm]
    habits: Mapping[str, Habits]

    @classmethod
    def of(cls, columns: Mapping[str, TextForm]) -> Forms:
        """Read columns that do not tell as those are written that do."""
        numbers = [form.number for form in columns.values() if form.number is not None]
        signs = {form.proven for form in numbers} - {None}
        orders = {form.date.proven for form in columns.values() if form.date is not None} - {None}
        points = any(form.points for form in numbers)
        shared = Habits(
            signs.pop() if len(signs) == 1 else None,
            orders.pop() if len(orders) == 1 else None,
            points,
        )
        return cls(columns, {name: _own(form, shared) for name, form in columns.items()})

    def among(self, some: Forms) -> Forms:
        """Return the forms of some rows, read by what all rows tell."""
        return Forms(some.columns, {name: self.habits[name] for name in some.columns})


def _own(form: TextForm, shared: Habits) -> Habits:
    """Put what a column tells by itself before what the table does."""
    sign = shared.sign if form.number is None else form.number.by_habit(shared)
    order = shared.order if form.date is None else form.date.order(shared.order)
    return Habits(sign, order, shared.points)


def text_form(column: pl.Series) -> TextForm:
    """Tell how the texts of a column are written.

    Examples
    --------
    >>> text_form(pl.Series(["31/12/2020", None])).date.orders
    ('day first',)
    """
    number = number_form(column)
    if number is not None:
        return TextForm(number)
    date = date_form(column)
    if date is not None:
        return TextForm(date=date)
    present = column.drop_nulls()
    return TextForm(
        true_false=bool(len(present))
        and all(
            some.str.to_lowercase().is_in(_TRUE_FALSE).all() for some in (present.head(20), present)
        )
    )


def forms_of(table: pl.DataFrame, as_text: Collection[str] = ()) -> Forms:
    """Return how the texts of a table are written; some columns are names and stay as they are."""
    return Forms.of(
        {name: text_form(_meant(table[name])) for name in _texts(table.schema, as_text)}
    )


def forms_of_large(lazy: pl.LazyFrame, as_text: Collection[str] = ()) -> Forms:
    """Return how the texts of a large table are written, told by all of its rows.

    What the first rows settle is not looked at again; a column that is plain numbers or years
    first in all rows is settled in one pass. Of the others all different texts are looked at.
    """
    names = _texts(lazy.collect_schema(), as_text)
    first = lazy.select(names).head(BEGINNING).collect(engine="streaming")
    forms: dict[str, TextForm] = {}
    asked: dict[str, pl.Expr] = {}
    for name in names:
        texts = _meant(first[name])
        known, cell = text_form(texts), pl.col(name)
        if texts.null_count() < len(texts) and known == TextForm():
            forms[name] = known  # no other row makes numbers of words
        elif known.number is not None and known.number.is_plain:
            fits = cell.cast(pl.Float64, strict=False).is_not_null()
            settled = known.number.points | ~cell.str.contains(".", literal=True).any()
            asked[name] = (fits | _absent(cell)).all() & settled
            forms[name] = known
        elif known.date is not None and known.date.pattern == YEAR_FIRST:
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


def _texts(schema: Mapping[str, pl.DataType], as_text: Collection[str]) -> list[str]:
    kinds = (pl.String, pl.Categorical, pl.Enum)
    return [name for name, dtype in schema.items() if dtype in kinds and name not in as_text]


def _meant(column: pl.Series) -> pl.Series:
    return without_missing(clean_texts(column.cast(pl.String)))


def _absent(cell: pl.Expr) -> pl.Expr:
    return cell.is_null() | cell.is_in(MISSING)


_WHOLE = r"^-?[0-9]+(?:\.0+)?$"


@dataclass(frozen=True)
class Typed:
    """A column of texts by what it holds.

    Attributes
    ----------
    values
        Numbers, dates, times, true and false; or the texts, if they are nothing of these.
    how
        What to say about the way in which it was read; "" if there is nothing to say.
    doubt
        Why the texts were left as they are although they look like numbers or dates.
    """

    values: pl.Series
    how: str = ""
    doubt: str = ""


def plain_table(
    table: pl.DataFrame,
    as_text: Collection[str] = (),
    name: str = "the table",
    forms: Forms | None = None,
) -> tuple[pl.DataFrame, list[str]]:
    """Return a table with plain names and types, and notes on what was understood.

    Parameters
    ----------
    table
        As stored.
    as_text
        Columns whose texts stay texts: physician 007 is a name, not the number 7.
    name
        What to call the table in messages.
    forms
        How texts are written, where these are some rows of a larger table that has told.

    Examples
    --------
    >>> table = pl.DataFrame({"doctor": ["007"], "weight ": ["70,5"]})
    >>> plain, notes = plain_table(table, ["doctor"])
    >>> plain.row(0, named=True), notes
    ({'doctor': '007', 'weight': 70.5}, ['decimal commas in weight'])
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
    said: dict[str, list[str]] = {}
    for position, column in enumerate(columns):
        if column.name in texts:
            text = texts[column.name]
            form = forms.columns.get(column.name) or text_form(text)
            typed = _typed(text, form, forms.habits.get(column.name, Habits()))
            columns[position] = typed.values
            if typed.how:
                said.setdefault(typed.how, []).append(column.name)
    return pl.DataFrame(columns), [f"{how} in {_listed(names)}" for how, names in said.items()]


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
    return _typed(column, text_form(column), Habits())


def _typed(column: pl.Series, form: TextForm, habits: Habits) -> Typed:
    if form.number is not None:
        return _as_numbers(column, form.number, habits)
    if form.date is not None:
        return _as_dates(column, form.date, habits)
    return Typed(column.str.to_lowercase() == "true") if form.true_false else Typed(column)


def _as_numbers(column: pl.Series, form: NumberForm, habits: Habits) -> Typed:
    sign = form.by_habit(habits)
    if sign is None:
        marked = column.filter(column.str.contains("[.,]").fill_null(False)).sort()
        example = str(marked[0]) if len(marked) else "1.234"
        whole, part = example.replace(",", "").replace(".", ""), example.replace(",", ".")
        return Typed(
            column, doubt=f"'{example}' may be {whole} or {part}; write {whole} or {part}0"
        )
    grouped = form.grouped if form.sign is not None else sign == "."
    grouped |= form.either and sign == ","
    said = []
    if sign == "," and column.str.contains(",", literal=True).any():
        said.append("decimal commas")
    if grouped:
        said.append("thousands separators")
    if form.percent:
        said.append("per cent signs")
    return Typed(numbers(column, form, sign), " and ".join(said))


def _as_dates(column: pl.Series, form: DateForm, habits: Habits) -> Typed:
    order = form.order(habits.order)
    example = str(column.drop_nulls().sort().first() or "")
    if form.two_centuries:
        return Typed(column, doubt=f"'{example}' may be of either century; write years in full")
    if order is None:
        day = dates(pl.Series([example]), form, "day first").dt.strftime("%-d %B")[0]
        month = dates(pl.Series([example]), form, "month first").dt.strftime("%B %-d")[0]
        words = f"'{example}' may be {day} or {month}; write dates as 2020-12-31"
        return Typed(column, doubt=words)
    how = {"day first": "day/month/year", "month first": "month/day/year"}.get(order)
    return Typed(dates(column, form, order), f"dates as {how}" if how else "")


def plain_column(column: pl.Series, keep: bool) -> pl.Series:
    """Return a column in one of the few types that are understood; nested ones stay nested.

    Parameters
    ----------
    column
        As stored.
    keep
        Whether its values are names, of which every digit counts.
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
        from intravar.sources.columns.values import series_of

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
