"""How texts are written as numbers and dates: every column by all of its rows.

A column that does not tell by itself is read as the others of the table are written. In a large
table all rows tell as well, in a pass or two: what some rows leave open others may decide.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl

from intravar.sources.columns.dates import YEAR_FIRST, DateForm, Order, date_form
from intravar.sources.columns.numbers import NumberForm, Sign, number_form
from intravar.text import MISSING, clean_texts, without_missing

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
