"""How the texts of a column are written as numbers, dates or true and false, and what they mean.

"1,234" is one number in Zürich and another in London. All ways in which a column can be read are
found by patterns. What a column means is told by the column where it can be, else by the other
columns of the table; where neither tells, nobody guesses. All questions are asked in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal, TypeAlias

import polars as pl

from intravar.text import MISSING, UNUSUAL, clean_texts, cleaned, empty_as_null, meant

#: A way to read a number, by its decimal sign, or a date, by the order of its parts.
Way = Literal[".", ",", "day first", "month first", "year first"]
_SIGNS: frozenset[str] = frozenset((".", ","))
_ORDERS: frozenset[str] = frozenset(("day first", "month first", "year first"))
#: That a column has decimal points beyond doubt. Programs write them, whatever people do: it counts
#: only where no decimal sign is proven.
POINTS = "points"
NOTHING: frozenset[str] = frozenset()

_END = r"(?:[eE][+-]?[0-9]+)?$"
PLAIN = rf"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+){_END}"
_INFINITE = r"^(?i:[+-]?inf(?:inity)?)$"
_WITH_POINT = rf"^[+-]?(?:(?:[0-9]+|[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+)(?:\.[0-9]*)?|\.[0-9]+){_END}"
_WITH_COMMA = rf"^[+-]?(?:[0-9]+|[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}})+)(?:,[0-9]+)?{_END}"
_GROUPED = r"^[+-]?[0-9]{1,3}(?:[ '’\u{00a0}\u{202f}][0-9]{3})+(?:[.,][0-9]+)?$"
_GROUP = r"[ '’\u{00a0}\u{202f}]"
#: Whole numbers beyond this are not told apart by a float.
EXACT = 2**53
#: 1500 beside 1,234: who separates thousands would have written 1,500.
_UNGROUPED = r"^[+-]?[0-9]{4,}"

_TIME = (
    r"(?:[T ](?P<H>[0-9]{1,2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
    r"\s?(?P<half>[AaPp]\.?[Mm]\.?)?"
    r"\s?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2}| ?UTC| ?GMT)?)?$"
)
YEAR_FIRST = rf"^(?P<a>[0-9]{{4}})[-/.](?P<b>[0-9]{{1,2}})[-/.](?P<c>[0-9]{{1,2}}){_TIME}"
_YEAR_LAST = (
    rf"^(?P<a>[0-9]{{1,2}})[-/.](?P<b>[0-9]{{1,2}})[-/.](?P<c>[0-9]{{4}}|[0-9]{{2}}){_TIME}"
)
#: Years that Python's calendar lacks: 0 and before, and those beyond 9999.
_FAR = (
    r"^(?:-[0-9]{4}|[+-]?[0-9]{5,}|0000)[-/.]|^[0-9]{1,2}[-/.][0-9]{1,2}[-/.]0000(?:[T ]|$)"
    r"|[A-Za-z]{3,9}[.,]?[- ](?:[0-9]{1,2},? )?0000$|BC$"
)
_SHORT_YEAR = r"^[0-9]+[-/.][0-9]+[-/.][0-9]{2}(?:\D|$)"
_CLOCK = r"^[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?$"
_NAMED = ("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%d. %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%y")
#: Where year, month and day stand in a pattern.
_PLACES: dict[Way, str] = {"year first": "abc", "day first": "cba", "month first": "cab"}
#: A column of texts with this share of numbers, or of dates, is one of numbers or dates.
MOSTLY = 0.9
#: Two-digit years up to this one are of this century.
LAST_OF_CENTURY = 40
#: Two-digit years further apart than this may lie on either side of a century.
WIDEST_SPAN = 50

_TRUE_FALSE = "^(?:[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])$"
#: So many texts are looked at before all are.
_FIRST = 20
_TEXT = pl.col("text")
_CURRENCIES = frozenset("€$£")
_UNIT = "([%€$£])"
_WITHOUT_UNIT = _TEXT.str.replace(r"^[€$£]\s*|\s*[%€$£]$", "")
#: A text without its per cent or currency sign and without spaces between thousands.
_BARE = (
    pl.when(_WITHOUT_UNIT.str.contains(_GROUPED))
    .then(_WITHOUT_UNIT.str.replace_all(_GROUP, ""))
    .otherwise(_WITHOUT_UNIT)
)


def _in_full(years: pl.Expr) -> pl.Expr:
    """Return years with the century that two digits leave out."""
    number = years.cast(pl.Int64)
    century = pl.when(number <= LAST_OF_CENTURY).then(2000).otherwise(1900)
    return pl.when(years.str.len_chars() == 2).then(number + century).otherwise(number)


def _clock(text: pl.Expr) -> pl.Expr:
    padded = pl.when(text.str.count_matches(":") == 1).then(text + ":00").otherwise(text)
    return padded.str.zfill(8).str.to_time("%H:%M:%S%.f", strict=False)


def _all(pattern: str) -> pl.Expr:
    return _TEXT.str.contains(pattern).all()


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
class Form:
    """How the texts of a column are written: as words, by default.

    `ways` are those in which all of them can be read; `proves` is what the column tells about the
    others of its table. All numbers match the pattern `PLAIN` if programs may have written them;
    their `marks` are points, commas, spaces and per cent signs. Dates match the pattern, which may
    be a format with names of months, or "" for a time of day. Beside decimal points numbers that
    all have a point are `fixed` decimals. With two-digit years that may lie on either side of a
    century, or with a `far` one that the calendar lacks, nothing is read. Where a column does not
    tell by itself it is read by `habits`, those of its table.
    """

    kind: Literal["words", "true or false", "number", "date"] = "words"
    ways: tuple[Way, ...] = ()
    proves: frozenset[str] = NOTHING
    pattern: str = ""
    marks: frozenset[str] = NOTHING
    fixed: bool = False
    two_centuries: bool = False
    far: bool = False
    habits: frozenset[str] = NOTHING

    def way(self, habits: frozenset[str]) -> Way | None:
        """Choose a way by how other columns are written; None if they do not tell either."""
        if len(self.ways) == 1:
            return self.ways[0]
        told = next((way for way in self.ways if way in habits), None)
        return "." if told is None and self.fixed and POINTS in habits else told

    def read_by(self, habits: frozenset[str]) -> Form:
        """Put what the column tells by itself before what the table does."""
        if (way := self.way(habits)) is not None:
            habits = (habits - (_SIGNS if way in _SIGNS else _ORDERS)) | {way}
        return replace(self, habits=habits)

    def typed(self, column: pl.Series) -> Typed:
        """Return texts that are written so by what they hold, or as they are where in doubt."""
        if self.kind == "true or false":
            return Typed(column.str.to_lowercase() == "true")
        if self.kind == "words":
            return Typed(column)
        way = self.way(self.habits)
        if way is None or self.two_centuries or self.far:
            return Typed(column, doubt=self._doubt(column))
        return (_numbers if self.kind == "number" else _dates)(column, self, way)

    def _doubt(self, column: pl.Series) -> str:
        """Say what a text of the column may be."""
        if self.kind == "number":
            marked = column.filter(column.str.contains("[.,]").fill_null(False)).sort()
            text = str(marked[0]).strip("%€$£ ") if len(marked) else "1.234"
            whole, part = text.replace(",", "").replace(".", ""), text.replace(",", ".")
            return f"'{text}' may be {whole} or {part}; write {whole} or {part}0"
        if self.far:
            text = str(column.filter(column.str.contains(_FAR)).sort().first())
            return f"'{text}' lies outside of the years 1 to 9999; correct it or empty the cell"
        text = str(column.drop_nulls().sort().first() or "")
        if self.two_centuries:
            return f"'{text}' may be of either century; write years in full"
        first, second = _moments(pl.Series([text]), self.pattern, self.ways).row(0)
        return (
            f"'{text}' may be {first.day} {first:%B} or {second:%B} {second.day}; write dates as "
            "2020-12-31"
        )


#: How the columns of texts of a table are written.
Forms: TypeAlias = Mapping[str, Form]


def read_alike(forms: Forms) -> Forms:
    """Read columns that do not tell as those are written that do, where these agree."""
    proven = NOTHING.union(*(form.proves for form in forms.values()))
    for rivals in (_SIGNS, _ORDERS):
        if len(proven & rivals) > 1:
            proven -= rivals
    return {name: form.read_by(proven) for name, form in forms.items()}


def among(forms: Forms, some: Forms) -> Forms:
    """Return the forms of some rows, read by what all rows tell."""
    return {name: replace(form, habits=forms.get(name, form).habits) for name, form in some.items()}


def text_forms(table: pl.DataFrame | pl.LazyFrame, as_text: Collection[str] = ()) -> Forms:
    """Tell how the columns of texts of a table are written, by all of its rows.

    Plain numbers, and words, are known after one pass. Of other columns all different texts are
    looked at. The columns `as_text` are left out.

    Examples
    --------
    >>> text_forms(pl.DataFrame({"seen": ["31/12/20", "01/02/21"]}))["seen"].ways
    ('day first',)
    >>> text_forms(pl.DataFrame({"ldl": ["5,6", "7"]}))["ldl"].ways
    (',',)
    """
    lazy, forms = table.lazy(), dict[str, Form]()
    texts = {
        name: pl.nth(place).cast(pl.String)
        for place, (name, dtype) in enumerate(lazy.collect_schema().items())
        if dtype in (pl.String, pl.Categorical, pl.Enum) and name not in as_text
    }
    first = (pl.struct(_at_first(cell)).alias(str(at)) for at, cell in enumerate(texts.values()))
    answers = lazy.select(first).collect(engine="streaming") if texts else pl.DataFrame()
    for (name, cell), answer in zip(texts.items(), answers.iter_columns(), strict=True):
        told = answer[0]
        if told["plain"] and told["number"] and not (told["pointed"] and told["comma"]):
            points = frozenset({POINTS}) if told["pointed"] else NOTHING
            marks = frozenset("." if told["pointed"] else "")
            forms[name] = Form("number", (".",), points, PLAIN, marks)
            continue
        looks = [find for kind, (_, find) in _KINDS.items() if told[kind]]
        if looks:
            every = lazy.select(cell.unique().alias(name)).collect(engine="streaming")
            known = every.select(meant(pl.nth(0))).to_series()
            known = clean_texts(known).to_frame().select(meant(pl.nth(0))).to_series().drop_nulls()
        forms[name] = next(filter(None, (find(known) for find in looks)), Form())
    return read_alike(forms)


def _at_first(cell: pl.Expr) -> list[pl.Expr]:
    """Ask what the first texts of a column look like, and whether all are plain numbers."""
    known = cell.filter(~cell.str.strip_chars().is_in(MISSING))
    first = meant(cleaned(known.head(_FIRST))).drop_nulls()
    asked = {
        "plain": (cell.str.contains(PLAIN) | cell.is_null() | cell.is_in(MISSING)).all(),
        "pointed": known.str.contains(".", literal=True).any(),
        "comma": first.str.contains(_WITH_COMMA).all(),
    } | {
        kind: (first.count() > 0) & first.str.contains(like).all()
        for kind, (like, _) in _KINDS.items()
    }
    return [question.alias(name) for name, question in asked.items()]


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
    return text_forms(column.to_frame())[column.name].typed(column)


def _true_false_form(texts: pl.Series) -> Form | None:
    return Form("true or false") if texts.str.contains(_TRUE_FALSE).all() else None


def _number_form(texts: pl.Series) -> Form | None:
    told = _asked(texts, _OF_NUMBERS)
    commas, points = told["commas"], told["points"]
    fits = {".": told["point" if commas else "finite"], ",": told["comma"]}
    if not any(fits.values()) or told["units"] > 1:
        return None  # 5 and 5 % in one column: nobody knows what the 5 is
    found = {",": commas, ".": points, " ": told["spaced"], told["unit"]: told["unit"]}
    marks = frozenset(mark for mark, there in found.items() if there)
    pattern = PLAIN if told["plain"] else ""
    if fits["."] and not commas and not points:
        return Form("number", (".",), NOTHING, pattern, marks)
    if all(fits.values()) and not told["ungrouped"]:
        # Points among numbers without commas may separate thousands: where people write 5,6 they
        # write 1.234 for 1234. Beside 950 they may be anything.
        fixed = not commas and told["everywhere"]
        return Form("number", (".", ","), marks=marks, fixed=fixed)
    if fits["."] and not (fits[","] and commas):
        return Form("number", (".",), frozenset({"." if commas else POINTS}), pattern, marks)
    return Form("number", (",",), frozenset({","}), "", marks)


def _date_form(texts: pl.Series) -> Form | None:
    far = texts.str.contains(_FAR)
    if far.any():  # where all are, they are no dates
        form = None if far.all() else _date_form(texts.filter(~far))
        return None if form is None else replace(form, far=True)
    told = _asked(texts, _OF_DATES)
    if told["clock"]:
        known = _asked(texts, {"known": _clock(_TEXT).is_not_null().all()})["known"]
        return Form("date", ("year first",)) if known else None
    if not (told["year_first"] or told["year_last"]):
        fitting = [form for form, fits in _asked(texts, _OF_NAMES).items() if fits]
        return Form("date", ("year first",), pattern=fitting[0]) if fitting else None
    pattern = YEAR_FIRST if told["year_first"] else _YEAR_LAST
    ways: tuple[Way, ...] = ("day first", "month first")
    moments = _moments(texts, pattern, ("year first",) if told["year_first"] else ways)
    valid: list[Any] = [order for order in moments.columns if not moments[order].null_count()]
    if len(valid) == 2 and moments[valid[0]].equals(moments[valid[1]]):
        del valid[1]  # both mean the same
    if not valid:
        return None
    proves = frozenset(valid) - {"year first"} if len(valid) == 1 else NOTHING
    if told["dots"]:
        valid = valid[:1]  # only those who begin with the day separate the parts by dots
    wide = pattern == _YEAR_LAST and told["short"]
    wide = wide and _asked(texts, {"wide": _YEAR.max() - _YEAR.min() > WIDEST_SPAN})["wide"]
    return Form("date", tuple(valid), proves, pattern, two_centuries=wide)


_OF_NUMBERS = {
    "plain": _all(PLAIN),
    "unit": _TEXT.str.extract(_UNIT).first(),
    "units": _TEXT.str.extract(_UNIT).n_unique(),
    "spaced": _WITHOUT_UNIT.str.contains(_GROUPED).any(),
    "finite": _BARE.str.contains(rf"{PLAIN}|{_INFINITE}").all(),
    "point": _BARE.str.contains(_WITH_POINT).all(),
    "comma": _BARE.str.contains(_WITH_COMMA).all(),
    "commas": _BARE.str.contains(",", literal=True).any(),
    "points": _BARE.str.contains(".", literal=True).any(),
    "everywhere": _BARE.str.contains(".", literal=True).all(),
    "ungrouped": _BARE.str.contains(_UNGROUPED).any(),
}
_YEAR = _in_full(_TEXT.str.extract(_YEAR_LAST, 3))
_OF_DATES = {
    "year_first": _all(YEAR_FIRST),
    "year_last": _all(_YEAR_LAST),
    "clock": _all(_CLOCK),
    "short": _TEXT.str.contains(_SHORT_YEAR).any(),
    "dots": _all(r"^[0-9]+\.[0-9]+\."),
}
_OF_NAMES = {form: _TEXT.str.to_date(form, strict=False).is_not_null().all() for form in _NAMED}
#: What the first texts must look like for the others to be looked at, and what looks at them.
_KINDS: dict[str, tuple[str, Callable[[pl.Series], Form | None]]] = {
    "number": (r"^(?:[+-]?(?:[0-9.,]|(?i:inf))|[€$£])", _number_form),
    "date": (r"^(?:-?[0-9]+[-/.: ]|[A-Za-z]{3,9}\.? [0-9])", _date_form),
    "true or false": (_TRUE_FALSE, _true_false_form),
}


def _numbers(column: pl.Series, form: Form, sign: Way) -> Typed:
    """Return texts as whole numbers where all are, else as floats."""
    other = "." if sign == "," else ","
    bare = _TEXT
    if form.pattern != PLAIN:
        bare = _BARE.str.replace_all(other, "", literal=True).str.replace(",", ".", literal=True)
    said = {
        "decimal commas": sign == "," and "," in form.marks,
        "thousands separators": bool(form.marks & {other, " "}),
        "per cent signs": "%" in form.marks,
        "currency signs": bool(form.marks & _CURRENCIES),
    }
    how = " and ".join(words for words, holds in said.items() if holds)
    texts = _frame(column).select(bare.str.strip_prefix("+").alias(column.name))
    if sign not in form.marks:
        whole = texts.to_series().cast(pl.Int64, strict=False)
        if whole.null_count() == column.null_count():
            return Typed(whole, how)
    return Typed(settled(texts.cast(pl.Float64)).to_series(), how)


def _dates(column: pl.Series, form: Form, order: Way) -> Typed:
    """Return texts as dates, with times where they are given."""
    if not form.pattern:
        return Typed(_frame(column).select(_clock(_TEXT).alias(column.name)).to_series())
    if form.pattern in _NAMED:
        return Typed(column.str.to_date(form.pattern, strict=False))
    moments = settled(_moments(column, form.pattern, (order,))).to_series().alias(column.name)
    how = {"day first": "day/month/year", "month first": "month/day/year"}.get(order)
    return Typed(moments, f"dates as {how}" if how else "")


def _moments(texts: pl.Series, pattern: str, orders: tuple[Way, ...]) -> pl.DataFrame:
    """Return what clocks showed, with a column for every order of day, month and year."""
    # In one piece: polars panics over the parts of texts that lie in several.
    part = texts.rechunk().str.extract_groups(pattern).struct.unnest()
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


def odd_dates(texts: pl.Series) -> pl.Series | None:
    """Tell which texts are no dates in the form of most; None if they do not look like dates.

    Examples
    --------
    >>> odd_dates(pl.Series(["2020-01-31", "31.01.2020", "2020-03-31"])).to_list()
    [False, True, False]
    """
    if not texts.drop_nulls().head(_FIRST).str.contains(r"^[0-9]{1,4}[-/.][0-9]").any():
        return None
    last = _moments(texts, _YEAR_LAST, ("day first", "month first"))
    read = last.with_columns(_moments(texts, YEAR_FIRST, ("year first",)).to_series())
    # With years in full: 1.8.13 is a version as well as a date.
    known = read.select(pl.coalesce(pl.all())).to_series().is_not_null()
    if (known & texts.str.contains("[0-9]{4}")).sum() < MOSTLY * texts.count():
        return None
    most = max(read.get_columns(), key=pl.Series.count)
    return most.is_null() & texts.is_not_null()


def settled(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with the types that the values of its columns decide.

    Floats are whole numbers if all of them are, and never NaN; dates with times are dates if every
    time is midnight; texts are clean.

    Examples
    --------
    >>> settled(pl.DataFrame({"age": [7.0, float("nan")]}))["age"].to_list()
    [7, None]
    """
    cases = [
        (place, *case) for place, dtype in enumerate(table.dtypes) for case in _cases(place, dtype)
    ]
    asked = [question.alias(str(at)) for at, (_, question, _) in enumerate(cases)]
    holds = table.select(asked).row(0) if asked else ()
    made = {place: then for (place, _, then), so in zip(cases, holds, strict=True) if so}
    return table.with_columns(made.values()) if made else table


def _cases(place: int, dtype: pl.DataType) -> list[tuple[pl.Expr, pl.Expr]]:
    """Return what may hold for a column, and what it becomes then; the last that holds counts."""
    cell = pl.nth(place)
    if dtype == pl.String:
        unusual = cell.str.contains(UNUSUAL).any()
        return [((cell == "").any(), empty_as_null(cell)), (unusual, cleaned(cell))]
    if dtype.is_float():
        known, fits = cell.fill_nan(None), (cell.round() == cell) & (cell.abs() < EXACT)
        whole = (fits | cell.is_nan()).all() & cell.is_not_nan().any()
        return [(cell.is_nan().any(), known), (whole, known.cast(pl.Int64))]
    if isinstance(dtype, pl.Datetime):
        day = cell.dt.date()
        return [
            ((day.cast(dtype) == cell).all(), day),
            # A workbook keeps a time of day as a time on the day before its calendar begins.
            ((day == date(1899, 12, 31)).all() & (cell.count() > 0), cell.dt.time()),
        ]
    return []


def _frame(column: pl.Series) -> pl.DataFrame:
    return column.alias("text").to_frame()


def _asked(column: pl.Series, questions: Mapping[str, pl.Expr]) -> dict[str, Any]:
    """Return the answers to questions about a column, all asked in one pass."""
    return _frame(column).select(**questions).row(0, named=True)
