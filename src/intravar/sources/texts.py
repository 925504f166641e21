"""How the texts of a column are written as numbers, dates or true and false, and what they mean.

"1,234" is one number in Zürich and another in London. What a column means is told by the column
where it can be, else by the other columns of the table; where neither tells, nobody guesses. Every
question about a column is a pattern, and all patterns of a question are asked in one pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

import polars as pl

Sign = Literal[".", ","]
Order = Literal["day first", "month first", "year first"]

_END = r"(?:[eE][+-]?[0-9]+)?$"
_PLAIN = rf"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+){_END}"
_INFINITE = r"^(?i:[+-]?inf(?:inity)?)$"
_WITH_POINT = rf"^[+-]?(?:(?:[0-9]+|[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+)(?:\.[0-9]*)?|\.[0-9]+){_END}"
_WITH_COMMA = rf"^[+-]?(?:[0-9]+|[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}})+)(?:,[0-9]+)?{_END}"
_GROUPED = r"^[+-]?[0-9]{1,3}(?:[ '’\u{00a0}\u{202f}][0-9]{3})+(?:[.,][0-9]+)?%?$"
_GROUP = r"[ '’\u{00a0}\u{202f}]"
#: 1500 beside 1,234: who separates thousands would have written 1,500.
_UNGROUPED = r"^[+-]?[0-9]{4,}"
#: Whole numbers beyond this are not told apart by a float.
EXACT = 2**53

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
#: Where year, month and day stand in a pattern.
_PLACES: dict[Order, str] = {"year first": "abc", "day first": "cba", "month first": "cab"}
#: Two-digit years up to this one are of this century.
LAST_OF_CENTURY = 40
#: Two-digit years further apart than this may lie on either side of a century.
WIDEST_SPAN = 50

_TRUE_FALSE = "^(?:[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$"
#: What the first texts must look like for the others to be looked at.
_MAYBE = {
    "number": r"^[+-]?(?:[0-9.,]|(?i:inf))",
    "date": r"^(?:[0-9]{1,4}[-/.: ]|[A-Za-z]{3,9}\.? [0-9])",
    "true_false": _TRUE_FALSE,
}
_TEXT = pl.col("text")
_WITHOUT_PERCENT = _TEXT.str.replace(r"\s*%$", "")
#: A text without its per cent sign and without spaces between thousands.
_BARE = (
    pl.when(_TEXT.str.contains(_GROUPED))
    .then(_WITHOUT_PERCENT.str.replace_all(_GROUP, ""))
    .otherwise(_WITHOUT_PERCENT)
)


@dataclass(frozen=True)
class Habits:
    """How numbers and dates are written in a table, as far as columns prove it and agree.

    Programs write decimal points, whatever people do: `points`, that some column has them beyond
    doubt, counts only where nothing is proven.
    """

    sign: Sign | None = None
    order: Order | None = None
    points: bool = False


@dataclass(frozen=True)
class Typed:
    """A column of texts by what it holds: numbers, dates, times, true and false, or the texts.

    `how` is what to say about the way in which it was read; `doubt` is why texts were left as they
    are although they look like numbers or dates. Both are "" if there is nothing to say.
    """

    values: pl.Series
    how: str = ""
    doubt: str = ""


@dataclass(frozen=True)
class TextForm:
    """How the texts of a column are written: these are plain texts."""

    @property
    def proven(self) -> Habits:
        """What the column proves by itself about how the table is written."""
        return Habits()

    def own(self, shared: Habits) -> Habits:
        """Put what the column tells by itself before what the table does."""
        return shared

    def typed(self, column: pl.Series, habits: Habits) -> Typed:
        """Return texts that are written so by what they hold."""
        return Typed(column)


@dataclass(frozen=True)
class TrueFalse(TextForm):
    """The words true and false."""

    def typed(self, column: pl.Series, habits: Habits) -> Typed:
        """Return true and false."""
        return Typed(column.str.to_lowercase() == "true")


@dataclass(frozen=True)
class NumberForm(TextForm):
    """Numbers, by their decimal sign; None where the column does not tell and it matters.

    Thousands may be `grouped`, and every number may carry a `percent` sign. Points that are taken
    for decimal points but may separate thousands are `either`; `points` are decimal beyond doubt,
    and with points `everywhere` they are as fixed decimals have them. `proof` is the sign that the
    column's own texts prove: plain numbers prove nothing, programs write them so.
    """

    sign: Sign | None
    proof: Sign | None
    grouped: bool = False
    percent: bool = False
    either: bool = False
    points: bool = False
    everywhere: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the texts are numbers as programs write them."""
        return self.sign == "." and not (self.grouped or self.percent or self.either)

    @property
    def proven(self) -> Habits:
        """See :class:`TextForm`."""
        return Habits(self.proof, points=self.points)

    def own(self, shared: Habits) -> Habits:
        """See :class:`TextForm`."""
        # Where people write 5,6 they write 1.234 for 1234. Beside decimal points 1.234 and 8.990
        # are fixed decimals; beside 950 they may be anything.
        if self.either:
            fixed = shared.points and self.everywhere
            return replace(shared, sign=shared.sign or ("." if fixed else None))
        return replace(shared, sign=self.sign or shared.sign)

    def typed(self, column: pl.Series, habits: Habits) -> Typed:
        """Return numbers, or the texts where the decimal sign is in doubt."""
        sign = self.own(habits).sign
        if sign is None:
            marked = column.filter(column.str.contains("[.,]").fill_null(False)).sort()
            example = str(marked[0]) if len(marked) else "1.234"
            whole, part = example.replace(",", "").replace(".", ""), example.replace(",", ".")
            return Typed(
                column, doubt=f"'{example}' may be {whole} or {part}; write {whole} or {part}0"
            )
        grouped = self.grouped if self.sign is not None else sign == "."
        commas = sign == "," and bool(column.str.contains(",", literal=True).any())
        told = {
            "decimal commas": commas,
            "thousands separators": grouped or (self.either and sign == ","),
            "per cent signs": self.percent,
        }
        said = " and ".join(words for words, holds in told.items() if holds)
        return Typed(self._numbers(column, sign), said)

    def _numbers(self, column: pl.Series, sign: Sign) -> pl.Series:
        """Return texts as whole numbers where all are, else as floats."""
        bare = _TEXT
        if sign == ",":
            bare = _BARE.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
        elif not self.is_plain:
            bare = _BARE.str.replace_all(",", "", literal=True)
        texts = _frame(column).select(bare.str.strip_prefix("+")).to_series().alias(column.name)
        if not texts.str.contains(r"[^0-9-]").any():
            whole = texts.cast(pl.Int64, strict=False)
            if whole.null_count() == texts.null_count():
                return whole
        return whole_numbers(texts.cast(pl.Float64))


@dataclass(frozen=True)
class DateForm(TextForm):
    """Dates, by the pattern that all of them match, and the orders in which all are dates.

    The pattern may be a format with names of months, or "" for a time of day. With two-digit years
    that may lie on either side of a century nothing is read. Only those who begin with the day
    separate the parts by dots.
    """

    pattern: str
    orders: tuple[Order, ...]
    two_centuries: bool = False
    dots: bool = False

    @property
    def proven(self) -> Habits:
        """See :class:`TextForm`."""
        only = self.orders[0] if len(self.orders) == 1 else None
        return Habits(order=None if only == "year first" else only)

    def own(self, shared: Habits) -> Habits:
        """See :class:`TextForm`."""
        if len(self.orders) == 1:
            return replace(shared, order=self.orders[0])
        told = "day first" if self.dots else shared.order
        return replace(shared, order=told if told in self.orders else None)

    def typed(self, column: pl.Series, habits: Habits) -> Typed:
        """Return dates, with times where they are given, or the texts where they are in doubt."""
        order = self.own(habits).order
        example = str(column.drop_nulls().sort().first() or "")
        if self.two_centuries:
            return Typed(column, doubt=f"'{example}' may be of either century; write years in full")
        if order is None:
            both = _moments(pl.Series([example]), self.pattern, ("day first", "month first"))
            first, second = both.row(0)
            day, month = f"{first.day} {first:%B}", f"{second:%B} {second.day}"
            words = f"'{example}' may be {day} or {month}; write dates as 2020-12-31"
            return Typed(column, doubt=words)
        how = {"day first": "day/month/year", "month first": "month/day/year"}.get(order)
        return Typed(self._dates(column, order), f"dates as {how}" if how else "")

    def _dates(self, column: pl.Series, order: Order) -> pl.Series:
        if not self.pattern:
            return _frame(column).select(_clock(_TEXT)).to_series().alias(column.name)
        if self.pattern in _NAMED:
            return column.str.to_date(self.pattern, strict=False)
        moments = _moments(column, self.pattern, (order,)).to_series()
        return without_midnight(moments.alias(column.name))


def text_form(column: pl.Series) -> TextForm:
    """Tell how the texts of a column are written.

    Examples
    --------
    >>> text_form(pl.Series(["31/12/20", "01/02/21"])).orders
    ('day first',)
    >>> text_form(pl.Series(["5,6", "7"])).sign
    ','
    """
    texts = column.drop_nulls()
    if not len(texts):
        return TextForm()
    maybe = _asked(texts.head(20), **{name: _all(like) for name, like in _MAYBE.items()})
    form: TextForm | None = _number_form(texts) if maybe["number"] else None
    if form is None and maybe["date"]:
        form = _date_form(texts.unique())
    if form is None and maybe["true_false"] and _asked(texts, all=_all(_TRUE_FALSE))["all"]:
        form = TrueFalse()
    return form or TextForm()


def _number_form(texts: pl.Series) -> NumberForm | None:
    simple = _asked(texts, plain=_all(_PLAIN), pointed=_TEXT.str.contains(".", literal=True).any())
    if simple["plain"] and not simple["pointed"]:
        return NumberForm(".", None)
    if simple["plain"] and not _asked(texts.head(20), comma=_all(_WITH_COMMA))["comma"]:
        return NumberForm(".", None, points=True)
    bare = _TEXT if simple["plain"] else _BARE
    told = _asked(
        texts.unique(),
        percent=_TEXT.str.ends_with("%").all(),
        some=_TEXT.str.ends_with("%").any(),
        spaced=_TEXT.str.contains(_GROUPED).any(),
        finite=bare.str.contains(rf"{_PLAIN}|{_INFINITE}").all(),
        point=bare.str.contains(_WITH_POINT).all(),
        comma=bare.str.contains(_WITH_COMMA).all(),
        commas=bare.str.contains(",", literal=True).any(),
        points=bare.str.contains(".", literal=True).any(),
        everywhere=bare.str.contains(".", literal=True).all(),
        ungrouped=bare.str.contains(_UNGROUPED).any(),
    )
    percent, spaced, comma = told["percent"], told["spaced"], told["comma"]
    if told["some"] and not percent:
        return None  # 5 and 5 % in one column: nobody knows what the 5 is
    if not told["commas"]:
        if not told["finite"]:
            return NumberForm(",", ",", True, percent) if comma else None
        if not told["points"]:
            return NumberForm(".", None, spaced, percent)
        if not comma or told["ungrouped"]:
            return NumberForm(".", None, spaced, percent, points=True)
        # Points among numbers without commas may separate thousands.
        every = told["everywhere"]
        return NumberForm(".", None, spaced, percent, either=True, everywhere=every)
    if told["point"] and comma:
        sure = told["ungrouped"]
        return (
            NumberForm(",", ",", spaced, percent) if sure else NumberForm(None, None, True, percent)
        )
    if told["point"]:
        return NumberForm(".", ".", True, percent)
    return NumberForm(",", ",", told["points"] or spaced, percent) if comma else None


def _date_form(texts: pl.Series) -> DateForm | None:
    told = _asked(
        texts,
        year_first=_all(YEAR_FIRST),
        year_last=_all(_YEAR_LAST),
        clock=_all(_CLOCK),
        short=_TEXT.str.contains(r"^[0-9]+[-/.][0-9]+[-/.][0-9]{2}(?:\D|$)").any(),
        dots=_all(r"^[0-9]+\.[0-9]+\."),
    )
    if told["year_first"]:
        return _checked(texts, DateForm(YEAR_FIRST, ("year first",)))
    if told["year_last"]:
        year = _in_full(_TEXT.str.extract(_YEAR_LAST, 3))
        wide = _asked(texts, wide=year.max() - year.min() > WIDEST_SPAN)["wide"]
        orders: tuple[Order, ...] = ("day first", "month first")
        form = DateForm(_YEAR_LAST, orders, told["short"] and wide, told["dots"])
        return _checked(texts, form)
    if told["clock"]:
        known = _asked(texts, known=_clock(_TEXT).is_not_null().all())["known"]
        return DateForm("", ("year first",)) if known else None
    named = {form: _TEXT.str.to_date(form, strict=False).is_not_null().all() for form in _NAMED}
    fits = _asked(texts, **named)
    return next((DateForm(form, ("year first",)) for form in _NAMED if fits[form]), None)


def _checked(texts: pl.Series, form: DateForm) -> DateForm | None:
    """Return a form with the orders in which all texts are dates; one, if both mean the same."""
    moments = _moments(texts, form.pattern, form.orders)
    valid = tuple(order for order in form.orders if not moments[order].null_count())
    if len(valid) == 2 and moments[valid[0]].equals(moments[valid[1]]):
        valid = valid[:1]
    return replace(form, orders=valid) if valid else None


def _moments(texts: pl.Series, pattern: str, orders: tuple[Order, ...]) -> pl.DataFrame:
    """Return what clocks showed, with a column for every order of day, month and year."""
    part = texts.str.extract_groups(pattern).struct.unnest()
    hour, half = pl.col("H").fill_null("0").cast(pl.Int64), pl.col("half").str.to_lowercase()
    late = pl.when(half.str.starts_with("p")).then(12).otherwise(0)
    time = (
        pl.when(half.is_null()).then(hour).otherwise(hour % 12 + late).cast(pl.String).str.zfill(2),
        pl.col("M").fill_null("00"),
        pl.col("S").fill_null("00"),
        pl.col("f").fill_null("0"),
    )
    written = {}
    for order in orders:
        year, month, day = (pl.col(name) for name in _PLACES[order])
        days = (_in_full(year).cast(pl.String).str.zfill(4), month.str.zfill(2), day.str.zfill(2))
        text = pl.when(month.is_not_null()).then(pl.format("{}-{}-{}T{}:{}:{}.{}", *days, *time))
        moment = text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)
        written[order] = moment
    return part.select(**written)


def _in_full(years: pl.Expr) -> pl.Expr:
    """Return years with the century that two digits leave out."""
    number = years.cast(pl.Int64)
    century = pl.when(number <= LAST_OF_CENTURY).then(2000).otherwise(1900)
    return pl.when(years.str.len_chars() == 2).then(number + century).otherwise(number)


def _clock(text: pl.Expr) -> pl.Expr:
    padded = pl.when(text.str.count_matches(":") == 1).then(text + ":00").otherwise(text)
    return padded.str.zfill(8).str.to_time("%H:%M:%S%.f", strict=False)


def whole_numbers(column: pl.Series) -> pl.Series:
    """Return floats as whole numbers if all of them are; a missing one is null, never NaN.

    Examples
    --------
    >>> whole_numbers(pl.Series([7.0, float("nan")])).to_list()
    [7, None]
    """
    column = column.fill_nan(None)
    fits = ((_TEXT.round() == _TEXT) & (_TEXT.abs() < EXACT)).all() & (_TEXT.count() > 0)
    return column.cast(pl.Int64) if _asked(column, fits=fits)["fits"] else column


def without_midnight(column: pl.Series) -> pl.Series:
    """Return dates with times as dates if every time is midnight."""
    day = _TEXT.dt.date()
    told = _asked(
        column,
        # A workbook keeps a time of day as a time on the day before its calendar begins.
        clock=(day == date(1899, 12, 31)).all() & (_TEXT.count() > 0),
        midnight=(day.cast(column.dtype) == _TEXT).all(),
    )
    if told["clock"]:
        return column.dt.time()
    return column.dt.date() if told["midnight"] else column


def _frame(column: pl.Series) -> pl.DataFrame:
    return column.alias("text").to_frame()


def _asked(column: pl.Series, **questions: pl.Expr) -> dict[str, Any]:
    """Return the answers to questions about a column, all asked in one pass."""
    return _frame(column).select(**questions).row(0, named=True)


def _all(pattern: str) -> pl.Expr:
    return _TEXT.str.contains(pattern).all()
