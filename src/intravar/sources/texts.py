"""How the texts of a column are written as numbers, dates or true and false, and what they mean.

"1,234" is one number in Zürich and another in London. A column can be read in a way if all of its
texts can. What a column means is told by the column where it can be, else by the other columns of
the table; where neither tells, nobody guesses.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Literal, TypeAlias

import polars as pl

from intravar.text import MISSING, UNUSUAL, clean_texts, cleaned, empty_as_null, without_missing

#: That a column has decimal points beyond doubt. Programs write them, whatever people do: it counts
#: only where no decimal sign is proven.
POINTS = "points"
NOTHING: frozenset[str] = frozenset()
#: A column of texts with this share of numbers, or of dates, is one of numbers or dates.
MOSTLY = 0.9
#: Two-digit years up to this one are of this century.
LAST_OF_CENTURY = 40
#: Two-digit years further apart than this may lie on either side of a century.
WIDEST_SPAN = 50
#: Whole numbers beyond this are not told apart by a float.
EXACT = 2**53
#: So many texts, of so many rows, are looked at before all are.
_FIRST, _BEGINNING = 20, 10_000

_TEXT = pl.col("text")
_END = r"(?:[eE][+-]?[0-9]+)?$"
PLAIN = rf"^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+){_END}"
_WITH_COMMA = rf"^[+-]?(?:[0-9]+|[1-9][0-9]{{0,2}}(?:\.[0-9]{{3}})+)(?:,[0-9]+)?{_END}"
#: Numbers by their decimal sign.
_NUMBERS = {
    ".": rf"^[+-]?(?:(?:[0-9]+|[1-9][0-9]{{0,2}}(?:,[0-9]{{3}})+)(?:\.[0-9]*)?|\.[0-9]+){_END}"
    r"|^(?i:[+-]?inf(?:inity)?)$",
    ",": _WITH_COMMA,
}
_GROUPED = r"^[+-]?[0-9]{1,3}(?:[ '’\u{00a0}\u{202f}][0-9]{3})+(?:[.,][0-9]+)?$"
_GROUP = r"[ '’\u{00a0}\u{202f}]"
_WITHOUT_UNIT = _TEXT.str.replace(r"^[€$£]\s*|\s*[%€$£]$", "")
#: A text without its per cent or currency sign and without spaces between thousands.
_BARE = (
    pl.when(_WITHOUT_UNIT.str.contains(_GROUPED))
    .then(_WITHOUT_UNIT.str.replace_all(_GROUP, ""))
    .otherwise(_WITHOUT_UNIT)
)
#: What is asked about a column of numbers.
_ABOUT_NUMBERS = {
    **{sign: _BARE.str.contains(pattern).all() for sign, pattern in _NUMBERS.items()},
    "units": _TEXT.str.extract("([%€$£])").n_unique(),
    "commas": _BARE.str.contains(",", literal=True).any(),
    "points": _BARE.str.contains(".", literal=True).any(),
    "everywhere": _BARE.str.contains(".", literal=True).all(),
    # 1500 beside 1,234: who separates thousands would have written 1,500.
    "ungrouped": _BARE.str.contains(r"^[+-]?[0-9]{4,}").any(),
}

_TIME = (
    r"(?:[T ](?P<H>[0-9]{1,2}):(?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,](?P<f>[0-9]{1,9}))?)?"
    r"\s?(?P<half>[AaPp]\.?[Mm]\.?)?"
    r"\s?(?P<zone>Z|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2}| ?UTC| ?GMT)?)?$"
)
_YEAR_FIRST = rf"^(?P<a>[0-9]{{4}})[-/.](?P<b>[0-9]{{1,2}})[-/.](?P<c>[0-9]{{1,2}}){_TIME}"
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
#: What the first texts must look like for the others to be looked at.
_BEGINS = {
    "number": r"^(?:[+-]?(?:[0-9.,]|(?i:inf))|[€$£])",
    "date": r"^(?:-?[0-9]+[-/.: ]|[A-Za-z]{3,9}\.? [0-9])",
    "true or false": "^(?i:true|false)$",
}


def _in_full(years: pl.Expr) -> pl.Expr:
    """Return years with the century that two digits leave out."""
    number = years.cast(pl.Int64)
    century = pl.when(number <= LAST_OF_CENTURY).then(2000).otherwise(1900)
    return pl.when(years.str.len_chars() == 2).then(number + century).otherwise(number)


def _moment(pattern: str, places: str) -> pl.Expr:
    """Return what clocks showed; `places` are those of year, month and day in the pattern."""
    part = _TEXT.str.extract_groups(pattern).struct
    year, month, day = (part.field(name) for name in places)
    hour, half = part.field("H").fill_null("0").cast(pl.Int64), part.field("half")
    late = pl.when(half.str.contains("^[Pp]")).then(12).otherwise(0)
    text = pl.format(
        "{}-{}-{}T{}:{}:{}.{}",
        _in_full(year).cast(pl.String).str.zfill(4),
        month.str.zfill(2),
        day.str.zfill(2),
        pl.when(half.is_null()).then(hour).otherwise(hour % 12 + late).cast(pl.String).str.zfill(2),
        *(part.field(name).fill_null("00") for name in "MSf"),
    )
    known = pl.when(month.is_not_null()).then(text)
    return known.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", time_unit="us", strict=False)


_PADDED = pl.when(_TEXT.str.count_matches(":") == 1).then(_TEXT + ":00").otherwise(_TEXT)
#: Dates and times by the way in which they are written; None where a text is not.
_DATES: dict[str, pl.Expr] = {
    "year first": _moment(_YEAR_FIRST, "abc"),
    "day first": _moment(_YEAR_LAST, "cba"),
    "month first": _moment(_YEAR_LAST, "cab"),
    "clock": pl.when(_TEXT.str.contains(_CLOCK)).then(
        _PADDED.str.zfill(8).str.to_time("%H:%M:%S%.f", strict=False)
    ),
    **{form: _TEXT.str.to_date(form, strict=False) for form in _NAMED},
}
#: Ways of which at most one holds in a table.
_RIVALS = (frozenset(_NUMBERS), frozenset(("year first", "day first", "month first")))


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

    `ways` are those in which all of them can be read, by the decimal sign or the order of a date;
    `proves` is what the column tells about the others of its table. Beside decimal points numbers
    that all have a point are `fixed` decimals. Dates are `refused` whose two-digit years may be of
    either century, or of which one is far outside of the calendar. Where a column does not tell by
    itself it is read by `habits`, those of its table.
    """

    kind: Literal["words", "true or false", "number", "date"] = "words"
    ways: tuple[str, ...] = ()
    proves: frozenset[str] = NOTHING
    fixed: bool = False
    refused: Literal["", "either century", "far"] = ""
    habits: frozenset[str] = NOTHING

    def way(self, habits: frozenset[str]) -> str | None:
        """Choose a way by how other columns are written; None if they do not tell either."""
        if len(self.ways) == 1:
            return self.ways[0]
        usual = next((way for way in self.ways if way in habits), None)
        return "." if usual is None and self.fixed and POINTS in habits else usual

    def read_by(self, habits: frozenset[str]) -> Form:
        """Put what the column tells by itself before what the table does."""
        if (way := self.way(habits)) is not None:
            rivals = next((each for each in _RIVALS if way in each), NOTHING)
            habits = (habits - rivals) | {way}
        return replace(self, habits=habits)

    def typed(self, column: pl.Series) -> Typed:
        """Return texts that are written so by what they hold, or as they are where in doubt."""
        if self.kind == "true or false":
            return Typed(column.str.to_lowercase() == "true")
        if self.kind == "words":
            return Typed(column)
        way = self.way(self.habits)
        if way is None or self.refused:
            return Typed(column, doubt=self._doubt(column))
        if self.kind == "number":
            return _numbers(column, way)
        moments = settled(_read(column, _DATES[way])).to_series()
        how = {"day first": "day/month/year", "month first": "month/day/year"}.get(way)
        return Typed(moments, f"dates as {how}" if how else "")

    def _doubt(self, column: pl.Series) -> str:
        """Say what a text of the column may be."""
        if self.kind == "number":
            marked = column.filter(column.str.contains("[.,]").fill_null(False)).sort()
            text = str(marked[0]).strip("%€$£ ") if len(marked) else "1.234"
            whole, part = text.replace(",", "").replace(".", ""), text.replace(",", ".")
            return f"'{text}' may be {whole} or {part}; write {whole} or {part}0"
        if self.refused == "far":
            text = str(column.filter(column.str.contains(_FAR)).sort().first())
            return f"'{text}' lies outside of the years 1 to 9999; correct it or empty the cell"
        known = column.drop_nulls().sort().head(1)
        text = str(known.first() or "")
        if self.refused:
            return f"'{text}' may be of either century; write years in full"
        first, second = (_read(known, _DATES[way]).item() for way in self.ways)
        return (
            f"'{text}' may be {first.day} {first:%B} or {second:%B} {second.day}; write dates as "
            "2020-12-31"
        )


#: How the columns of texts of a table are written.
Forms: TypeAlias = Mapping[str, Form]


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
    kinds, forms = (pl.String, pl.Categorical, pl.Enum), dict[str, Form]()
    places = {
        name: place
        for place, (name, dtype) in enumerate(table.lazy().collect_schema().items())
        if dtype in kinds and name not in as_text
    }
    texts = table.lazy().select(pl.nth(place).cast(pl.String) for place in places.values())
    begun = {
        column.name: _known(column).head(_FIRST)
        for column in texts.head(_BEGINNING).collect(engine="streaming").get_columns()
    }
    looks = {
        name: [kind for kind, like in _BEGINS.items() if first.str.contains(like).all()]
        for name, first in begun.items()
    }
    asked: list[pl.Expr] = []
    for place, name in enumerate(places):
        if "number" in looks[name]:
            cell = pl.nth(place)
            fits = cell.cast(pl.Float64, strict=False).is_not_null() | cell.is_in(MISSING)
            asked.append((fits | cell.is_null()).all().alias(f"plain {place}"))
            pointed = cell.str.contains(".", literal=True) & (cell != ".")
            asked.append(pointed.any().alias(f"pointed {place}"))
    told = texts.select(asked).collect(engine="streaming").row(0, named=True) if asked else {}
    for place, (name, first) in enumerate(begun.items()):
        has_points = told.get(f"pointed {place}", False)
        doubtful = not len(first) or (has_points and first.str.contains(_WITH_COMMA).all())
        if told.get(f"plain {place}") and not doubtful:
            forms[name] = Form("number", (".",), frozenset({POINTS} if has_points else ()))
        elif looks[name]:
            every = texts.select(pl.nth(place).unique()).collect(engine="streaming").to_series()
            forms[name] = _form(_known(every.alias("text")), looks[name])
        else:
            forms[name] = Form()
    # Columns that do not tell are read as those are written that do, where these agree.
    proven = NOTHING.union(*(form.proves for form in forms.values()))
    for rivals in _RIVALS:
        if len(proven & rivals) > 1:
            proven -= rivals
    return {name: form.read_by(proven) for name, form in forms.items()}


def _known(texts: pl.Series) -> pl.Series:
    """Return clean texts without those that stand for a missing value."""
    return without_missing(clean_texts(without_missing(texts))).drop_nulls()


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


def _form(texts: pl.Series, kinds: Collection[str]) -> Form:
    """Tell how different texts are written that begin as those of some kinds do."""
    if not len(texts):
        return Form()
    form = _number_form(texts) if "number" in kinds else None
    form = _date_form(texts) if form is None and "date" in kinds else form
    if form is None and texts.str.contains(_BEGINS["true or false"]).all():
        return Form("true or false")
    return form or Form()


def _number_form(texts: pl.Series) -> Form | None:
    facts = texts.to_frame().select(**_ABOUT_NUMBERS).row(0, named=True)
    commas, points = facts["commas"], facts["points"]
    if not (facts["."] or facts[","]) or facts["units"] > 1:
        return None  # 5 and 5 % in one column: nobody knows what the 5 is
    if facts["."] and not commas and not points:
        return Form("number", (".",))
    if facts["."] and facts[","] and not facts["ungrouped"]:
        # Points among numbers without commas may separate thousands: where people write 5,6 they
        # write 1.234 for 1234. Beside 950 they may be anything.
        return Form("number", (".", ","), fixed=not commas and facts["everywhere"])
    if facts["."] and not (facts[","] and commas):
        return Form("number", (".",), frozenset({"." if commas else POINTS}))
    return Form("number", (",",), frozenset({","}))


def _date_form(texts: pl.Series) -> Form | None:
    far = texts.str.contains(_FAR)
    if far.any():  # where all are, they are no dates
        form = None if far.all() else _date_form(texts.filter(~far))
        return None if form is None else replace(form, refused="far")
    begun, moments = texts.head(_FIRST), dict[str, pl.DataFrame]()
    for way, moment in _DATES.items():
        if not _read(begun, moment).to_series().has_nulls():
            moments[way] = _read(texts, moment)
    ways = [way for way, read in moments.items() if not read.to_series().has_nulls()]
    if len(ways) == 2 and moments[ways[0]].equals(moments[ways[1]]):
        del ways[1]  # both mean the same
    if not ways:
        return None
    year_last, wide = ways[0] in ("day first", "month first"), False
    proves = frozenset(ways) if len(ways) == 1 and year_last else NOTHING
    if not year_last or texts.str.contains(r"^[0-9]+\.[0-9]+\.").all():
        ways = ways[:1]  # only those who begin with the day separate the parts by dots
    if year_last and texts.str.contains(_SHORT_YEAR).any():
        years = _in_full(_TEXT.str.extract(_YEAR_LAST, 3))
        wide = _read(texts, years.max() - years.min()).item() > WIDEST_SPAN
    return Form("date", tuple(ways), proves, refused="either century" if wide else "")


def _numbers(column: pl.Series, sign: str) -> Typed:
    """Return texts as whole numbers where all are, else as floats."""
    texts, how = column.str.strip_prefix("+"), ""
    values = texts.cast(pl.Int64, strict=False)
    if values.null_count() == column.null_count():
        return Typed(values)
    values = texts.cast(pl.Float64, strict=False)
    if sign == "," or values.null_count() > column.null_count():
        other = "." if sign == "," else ","
        bare = _read(column, _BARE).to_series()
        features = {
            "decimal commas": sign == "," and bare.str.contains(",", literal=True).any(),
            "thousands separators": bare.str.contains(other, literal=True).any()
            or _read(column, _WITHOUT_UNIT.str.contains(_GROUPED)).to_series().any(),
            "per cent signs": column.str.contains("%", literal=True).any(),
            "currency signs": column.str.contains("[€$£]").any(),
        }
        how = " and ".join(words for words, holds in features.items() if holds)
        bare = bare.str.replace_all(other, "", literal=True).str.replace(",", ".", literal=True)
        bare = bare.str.strip_prefix("+")
        values = bare.cast(pl.Int64, strict=False)
        if values.null_count() > column.null_count():
            values = bare.cast(pl.Float64)
    return Typed(settled(values.to_frame()).to_series(), how)


def _read(texts: pl.Series, how: pl.Expr) -> pl.DataFrame:
    """Return texts as an expression reads them."""
    # In one piece: polars panics over the parts of texts that lie in several.
    return texts.rechunk().alias("text").to_frame().select(how.alias(texts.name))


def unreadable(texts: pl.Series, *, dates: bool) -> pl.Series:
    """Tell which texts are no numbers, or no dates, in any way."""
    if dates:
        read = pl.all_horizontal(each.is_null() for each in _DATES.values())
    else:
        read = pl.all_horizontal(~_BARE.str.contains(each) for each in _NUMBERS.values())
    return _read(texts, _TEXT.is_not_null() & read).to_series()


def odd_dates(texts: pl.Series) -> pl.Series | None:
    """Tell which texts are no dates in the form of most; None if they do not look like dates.

    Examples
    --------
    >>> odd_dates(pl.Series(["2020-01-31", "31.01.2020", "2020-03-31"])).to_list()
    [False, True, False]
    """
    if not texts.drop_nulls().head(_FIRST).str.contains(r"^[0-9]{1,4}[-/.][0-9]").any():
        return None
    ways = ("day first", "month first", "year first")
    read = pl.DataFrame([_read(texts, _DATES[way]).to_series().alias(way) for way in ways])
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
    converted = {place: then for (place, _, then), so in zip(cases, holds, strict=True) if so}
    return table.with_columns(converted.values()) if converted else table


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
