"""Dates and times in text: ISO in all its lengths, day or month first, names of months."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

import polars as pl

Order = Literal["day first", "month first", "year first"]

_TIME = (
    r"(?:[T ](?P<H>[0-9]{1,2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
    r"\s?(?P<half>[AaPp]\.?[Mm]\.?)?"
    r"\s?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2}| ?UTC| ?GMT)?)?$"
)
YEAR_FIRST = rf"^(?P<a>[0-9]{{4}})[-/.](?P<b>[0-9]{{1,2}})[-/.](?P<c>[0-9]{{1,2}}){_TIME}"
_YEAR_LAST = (
    rf"^(?P<a>[0-9]{{1,2}})[-/.](?P<b>[0-9]{{1,2}})[-/.](?P<c>[0-9]{{4}}|[0-9]{{2}}){_TIME}"
)
_CLOCK = r"^[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?$"
_NAMED = ("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%d. %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%y")
_MAYBE = r"^(?:[0-9]{1,4}[-/.: ]|[A-Za-z]{3,9}\.? [0-9])"
#: Two-digit years up to this one are of this century.
LAST_OF_CENTURY = 40
#: Two-digit years further apart than this may lie on either side of a century.
WIDEST_SPAN = 50
#: Days that lie between the years 1 and 9999, outside of which nothing can be said about a date.
FIRST_DAY, LAST_DAY = -719_162, 2_932_896


@dataclass(frozen=True)
class DateForm:
    """How the dates of a column are written.

    Attributes
    ----------
    pattern
        The pattern that all of them match, or a format with names of months; "" for a time of day.
    orders
        The orders of day, month and year in which all of them are dates.
    two_centuries
        Whether two-digit years may lie on either side of a century.
    dots
        Whether the parts are separated by dots, which only those who begin with the day do.
    """

    pattern: str
    orders: tuple[Order, ...]
    two_centuries: bool = False
    dots: bool = False

    @property
    def proven(self) -> Order | None:
        """The order that the column itself proves."""
        only = self.orders[0] if len(self.orders) == 1 else None
        return None if only == "year first" else only

    def order(self, habit: Order | None) -> Order | None:
        """Return the order to read by; None where it cannot be told."""
        if len(self.orders) == 1:
            return self.orders[0]
        if self.dots:
            return "day first"
        return habit if habit in self.orders else None


def date_form(column: pl.Series) -> DateForm | None:
    """Tell how the texts of a column are written as dates; None if they are not dates.

    Examples
    --------
    >>> date_form(pl.Series(["31/12/20", "01/02/21"])).orders
    ('day first',)
    >>> date_form(pl.Series(["01/02/2020", "03/04/2020"])).orders
    ('day first', 'month first')
    """
    present = column.drop_nulls()
    if not len(present) or not present.head(20).str.contains(_MAYBE).all():
        return None
    texts = present.unique()
    if texts.str.contains(YEAR_FIRST).all():
        return _checked(texts, DateForm(YEAR_FIRST, ("year first",)))
    if texts.str.contains(_YEAR_LAST).all():
        short = bool(texts.str.contains(r"^[0-9]+[-/.][0-9]+[-/.][0-9]{2}(?:\D|$)").any())
        years = pl.select(_century(pl.lit(texts).str.extract(_YEAR_LAST, 3))).to_series()
        wide = int(years.max()) - int(years.min()) > WIDEST_SPAN  # type: ignore[arg-type]
        dots = bool(texts.str.contains(r"^[0-9]+\.[0-9]+\.").all())
        return _checked(
            texts, DateForm(_YEAR_LAST, ("day first", "month first"), short and wide, dots)
        )
    if texts.str.contains(_CLOCK).all():
        known = _clock(texts).null_count() == 0
        return DateForm("", ("year first",)) if known else None
    for form in _NAMED:
        if texts.str.to_date(form, strict=False).null_count() == 0:
            return DateForm(form, ("year first",))
    return None


def dates(column: pl.Series, form: DateForm, order: Order) -> pl.Series:
    """Return texts as dates, or as dates with times where times are given: as clocks showed."""
    if not form.pattern:
        return _clock(column)
    if form.pattern in _NAMED:
        return column.str.to_date(form.pattern, strict=False)
    return without_midnight(_parsed(column, form, order))


def without_midnight(column: pl.Series) -> pl.Series:
    """Return dates with times as dates if every time is midnight."""
    day = column.dt.date()
    # A workbook keeps a time of day as a time on the day before its calendar begins.
    if len(day.drop_nulls()) and (day == date(1899, 12, 31)).all(ignore_nulls=True):
        return column.dt.time()
    same = (day.cast(column.dtype) == column).all(ignore_nulls=True)
    return day if same else column


def _checked(texts: pl.Series, form: DateForm) -> DateForm | None:
    read = {order: _parsed(texts, form, order) for order in form.orders}
    valid = tuple(order for order, moments in read.items() if moments.null_count() == 0)
    if not valid:
        return None
    if len(valid) == 2 and read[valid[0]].equals(read[valid[1]]):
        valid = valid[:1]
    return DateForm(form.pattern, valid, form.two_centuries, form.dots)


def _parsed(texts: pl.Series, form: DateForm, order: Order) -> pl.Series:
    names = {"year first": "abc", "day first": "cba", "month first": "cab"}[order]
    year, month, day = (pl.col(name) for name in names)
    hour, half = pl.col("H").fill_null("0").cast(pl.Int64), pl.col("half").str.to_lowercase()
    late = half.str.starts_with("p").fill_null(False)
    hour = pl.when(half.is_not_null()).then(hour % 12 + 12 * late.cast(pl.Int64)).otherwise(hour)
    written = pl.format(
        "{}-{}-{}T{}:{}:{}.{}",
        _century(year).cast(pl.String).str.zfill(4),
        month.str.zfill(2),
        day.str.zfill(2),
        hour.cast(pl.String).str.zfill(2),
        pl.col("M").fill_null("00"),
        pl.col("S").fill_null("00"),
        pl.col("f").fill_null("0"),
    )
    known = pl.when(month.is_not_null()).then(written)
    moment = known.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
    # One pass for all: a call for each step would take longer than the steps. Texts in several
    # pieces make polars panic there.
    parts = (
        texts.rechunk()
        .alias("text")
        .to_frame()
        .select(pl.col("text").str.extract_groups(form.pattern))
    )
    return parts.unnest("text").select(moment.alias(texts.name)).to_series()


def _century(years: pl.Expr) -> pl.Expr:
    numbers = years.cast(pl.Int64)
    this = pl.when(numbers <= LAST_OF_CENTURY).then(numbers + 2000).otherwise(numbers + 1900)
    return pl.when(years.str.len_chars() == 2).then(this).otherwise(numbers)


def _clock(texts: pl.Series) -> pl.Series:
    padded = pl.select(
        pl.when(texts.str.count_matches(":") == 1).then(texts + ":00").otherwise(texts)
    ).to_series()
    return padded.str.zfill(8).str.to_time("%H:%M:%S%.f", strict=False).alias(texts.name)
