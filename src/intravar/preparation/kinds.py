"""What columns are: who decided, which names patients, which hold numbers, dates or categories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
import polars as pl

from intravar.arrays import BoolArray, FloatArray, IntArray
from intravar.errors import InputError, RowError, did_you_mean, option
from intravar.request import Request
from intravar.sources.plain import as_names, plain_column, whole_numbers_beyond_floats
from intravar.sources.texts import MOSTLY, odd_dates, typed_texts, unreadable
from intravar.text import clean_name, shortened, without_missing
from intravar.wording import declared_in

#: Below this many rows no column is taken for an identifier by its values.
FEW_ROWS = 20
#: From this many rows on, whole numbers that never repeat on a short stretch are numbers of rows.
MANY_ROWS = 100
#: A column called an identifier is one if it has more different values than this share of rows.
NAMED_SHARE = 0.3

_WORDS = declared_in(__package__, "words")
#: Words for an answer, and for a decision that nobody knows.
ANSWERS = {name: frozenset(words) for name, words in _WORDS["answers"].items()}


def words_in(name: str, which: str) -> re.Match[str] | None:
    """Find words of a kind, see words.toml, that stand apart in the name of a column.

    Examples
    --------
    >>> words_in("patientId", "known_by") is None, words_in("postcode", "known_by") is None
    (False, True)
    """
    return _pattern(which).search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name))


@cache
def _pattern(which: str) -> re.Pattern[str]:
    words = "|".join(_WORDS["columns"][which])
    while "{" in words:
        parts = {name: f"(?:{'|'.join(each)})" for name, each in _WORDS["columns"].items()}
        words = words.format(**parts)
    return re.compile(rf"(?:^|[_\W])({words})(?:[_\W]|$)", re.IGNORECASE)


#: Names of identifiers of anything: a site's id is one too, and a site may be compared.
_ANY = re.compile(
    r"^(?:row_?(?:names?|id|number|nr|no)|index|unnamed.*|id|.*[_\W](?:id|ids|key|nr|uuid|guid)"
    r"|.*(?:Id|ID)|record|accession.*)$",
    re.IGNORECASE,
)
#: Beyond this many, an error names only the first columns of a table.
NAMED_COLUMNS = 12
#: Fields of a request that name columns.
_NAMING = (
    *("physician", "decision", "covariates", "exclude", "after", "confirm", "categorical"),
    *("patient", "case", "date", "by", "weight"),
)


def assign_roles(columns: Sequence[str], request: Request) -> Request:
    """Return a request in the names of a table, with every covariate that is in use.

    A case is a patient whom a physician sees again; who is one patient is found out where no column
    is named. A name that is not in the table is refused.

    Examples
    --------
    >>> request = Request(physician="doctor", decision="drug")
    >>> assign_roles(["doctor", "drug", "age"], request).covariates
    ('age',)
    """
    named: dict[str, Any] = {}
    for field in _NAMING:
        if (given := getattr(request, field)) is not None:
            one = isinstance(given, str)
            names = [clean_name(name) for name in ([given] if one else given)]
            named[field] = names[0] if one else tuple(names)
            for name in names:
                if name not in columns and (name or field != "patient"):
                    raise missing_column(name, columns)
    roles = replace(request, **named)
    physician, decision = roles.physician, roles.decision
    if physician == decision:
        raise InputError(f"column '{physician}' cannot be both who decided and what was decided")
    for field in ("date", "by", "weight"):
        if (name := named.get(field, "")) in (physician, decision):
            other = "one who decided" if name == physician else "decision"
            raise InputError(f"{option(field)} names '{name}', which is the {other}; name another")
    for name in roles.covariates or ():
        if name in (physician, decision):
            role = "physician" if name == physician else "decision"
            raise InputError(f"column '{name}' is the {role}; it cannot be a covariate as well")
    others = (physician, decision, roles.patient, roles.case, roles.date, roles.weight)
    left_out = {*roles.exclude, *roles.after, *others}
    listed = columns if roles.covariates is None else roles.covariates
    kept = tuple(name for name in listed if name not in left_out)
    if not kept and not set(columns) - {physician, decision}:
        raise InputError(
            f"the table has no column besides '{physician}' and '{decision}'; add columns that "
            "describe each decision, patients are compared by them"
        )
    if not kept:
        raise InputError(
            f"no covariate is left to compare by; name some with {option('covariates')} or exclude "
            "fewer"
        )
    return replace(roles, covariates=kept, patient=roles.patient or roles.case)


def missing_column(name: str, columns: Sequence[str]) -> InputError:
    """Word the error for a column that is not there, with the nearest one that is."""
    guess = did_you_mean(name, columns) or "."
    first = ", ".join(shortened(column, 30) for column in columns[:NAMED_COLUMNS])
    more = f" and {len(columns) - NAMED_COLUMNS} more" if len(columns) > NAMED_COLUMNS else ""
    above = "; is there a title above the header? Delete it" if "column 2" in columns else ""
    return InputError(f"there is no column '{name}'{guess} The table has {first}{more}{above}")


def identifier(column: pl.Series, part: float = 1.0) -> str:
    """Say why a column of whole numbers or texts names patients or rows; "" if it does not.

    The order of rows plays no part. `part` is the share of a table's rows that these are.

    Examples
    --------
    >>> visits = pl.Series("patient_id", [3, 3, 5, 5, 9, 9])
    >>> identifier(visits)
    'its name says that it is an id'
    """
    if column.dtype.is_float():
        return ""
    present = column.drop_nulls()
    distinct = present.n_unique()
    if words_in(column.name, "personal") and distinct > min(FEW_ROWS, NAMED_SHARE * len(present)):
        return "its name says that it is an id"
    if len(present) < FEW_ROWS:
        return ""
    if column.dtype.is_integer() and distinct == len(present):
        stretch = int(present.max()) - int(present.min()) + 1  # type: ignore[arg-type]
        if stretch == distinct or (distinct >= MANY_ROWS and stretch * part <= 2 * distinct):
            return "a different whole number in every row"
    if _ANY.match(column.name) and distinct > NAMED_SHARE * len(present):
        return "its name and its many different values say that it names rows"
    return ""


#: Numbers that are written where a value is not known.
CODES = (-1, -7, -8, -9, -77, -88, -99, -999, -9999, 9, 77, 88, 99, 777, 888, 999, 9999, 99999)


def about_codes(numbers: pl.Series) -> str:
    """Say that numbers which lie apart from all others look like codes; "" if none does.

    Examples
    --------
    >>> about_codes(pl.Series([50, 61, 999, 47]))
    '999 lies apart from all other values: empty it if it means that nobody knows'
    >>> about_codes(pl.Series([90, 98, 99, 97]))
    ''
    """
    present = numbers.drop_nulls().cast(pl.Float64)
    coded = present.is_in([float(code) for code in CODES])
    others = present.filter(~coded)
    if not coded.any() or others.n_unique() < 2:
        return ""
    low, high = float(others.min()), float(others.max())  # type: ignore[arg-type]
    apart = max(0.5 * (high - low), 1.0)
    codes = [
        str(int(code))
        for code in present.filter(coded).unique().sort()
        if (code < 0 <= low) or code - high > apart or low - code > apart
    ]
    note = "lies apart from all other values: empty it if it means that nobody knows"
    return f"{', '.join(codes[:3])} {note}" if codes else ""


Kind = Literal["number", "yes/no", "date", "category", "identifier", "constant", "empty", "other"]

#: A column with more different texts than this share of its rows names rows, not categories.
MOSTLY_DISTINCT = 0.5
#: More numbers than this beside a few texts are measurements, not codes of a category.
CODE_LIKE = 20
#: Squares of larger numbers, and single-precision copies of them, overflow.
LARGEST_NUMBER = 1e30
#: Microseconds.
DAY = 86_400_000_000


@dataclass(frozen=True)
class Column:
    """A covariate as it was understood, and what was done to it or why it cannot be used.

    Values go with the kind: Float64 for numbers, yes/no and dates (days since 1970), else text.
    """

    name: str
    kind: Kind
    values: pl.Series
    note: str = ""

    def taken(self, rows: IntArray | BoolArray) -> Column:
        """Return the column of some rows: those at places, or those that are marked."""
        kept = self.values.filter(rows) if rows.dtype == np.bool_ else self.values[rows]
        return replace(self, values=kept)


def understand(
    column: pl.Series, *, categorical: bool = False, chosen: bool = False, part: float = 1.0
) -> Column:
    """Find out what a column holds; `part` is the share of a table's rows that these are.

    A column may be taken as a category whatever it looks like. One that was chosen by name is not
    taken for an identifier. Text among numbers, infinite numbers, and kinds that cannot be
    compared are refused.

    Examples
    --------
    >>> understand(pl.Series("sex", ["m", "f", None])).kind
    'category'
    >>> understand(pl.Series("when", ["2020-01-31", "2021-02-28"])).values.to_list()
    [18292.0, 18686.0]
    """
    column = without_missing(plain_column(column, keep=categorical))
    name, present = column.name, column.drop_nulls()
    if column.dtype.is_nested() or column.dtype == pl.Binary:
        if chosen:
            raise InputError(
                f"column '{name}' is {column.dtype}, which cannot be compared; drop it or turn it "
                "into a number or a category"
            )
        return Column(name, "other", column, f"{column.dtype} cannot be compared")
    if not len(present):
        return Column(name, "empty", column, "no value in any row")
    digits = None if categorical else whole_numbers_beyond_floats(column)
    if digits is not None and present.n_unique() > 1:
        kind, note = _kind_of_texts(digits, digits.drop_nulls(), chosen, part)
        return Column(name, kind, digits, note or "whole numbers too long to be measurements")
    if column.dtype == pl.String and not categorical:
        column = _meant(column)
        present = column.drop_nulls()
    if present.n_unique() == 1:
        return Column(name, "constant", column, "the same value in every row")
    if categorical:
        return Column(name, "category", _names(column), "taken as a category on request")
    # A number that is too large is refused in an identifier as well.
    numbers = None if column.dtype == pl.String else _numbers(column)
    kind, note = _kind_of(column, present, chosen, part)
    if numbers is None or kind == "identifier":
        return Column(name, kind, column, note)
    if column.dtype.is_numeric():
        note = about_codes(numbers)
    return Column(name, kind, numbers, note)


def _meant(texts: pl.Series) -> pl.Series:
    """Return texts by what they hold; a column of which nobody knows what it means is refused."""
    typed = typed_texts(texts)
    if typed.doubt:
        remedy = f"drop the column with {option('exclude', texts.name)}"
        raise InputError(f"in column '{texts.name}' {typed.doubt}, or {remedy}")
    return typed.values


def understand_as(column: pl.Series, kind: Kind, *, categorical: bool = False) -> Column:
    """Take a column for what another part of the same table was found to hold.

    Examples
    --------
    >>> understand_as(pl.Series("age", ["50", None]), "number").values.to_list()
    [50.0, None]
    >>> understand_as(pl.Series("age", ["fifty"]), "number")
    Traceback (most recent call last):
    intravar.errors.RowError: column 'age' has 'fifty' in data row 1 where other rows have numbers;
    correct it, take the column as a category with categorical=['age'], or drop it with
    exclude=['age']
    """
    column = without_missing(plain_column(column, keep=kind == "category"))
    if kind == "category":
        named = _names(column) if categorical else column.cast(pl.String)
        return Column(column.name, kind, named)
    if column.dtype == pl.String and column.null_count() < len(column):
        column = _meant(column)
    if column.null_count() == len(column):
        return Column(column.name, kind, column.cast(pl.Float64, strict=False))
    # Durations and times of day are numbers.
    is_date = column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime)
    fits = is_date == (kind == "date") and column.dtype != pl.String
    if fits or column.dtype == pl.Boolean:
        return Column(column.name, kind, _numbers(column))
    held = {"number": "numbers", "date": "dates"}.get(kind, "yes or no")
    odd: pl.Series | None = unreadable(column.cast(pl.String), dates=kind == "date")
    if odd is None or not odd.any():  # each may stand there alone, and not all together
        odd, held = odd_dates(column) if kind == "date" else None, f"{held} in one form"
    raise _unlike_others(column, column.is_not_null() if odd is None else odd, held)


def sampling_weights(column: pl.Series) -> FloatArray:
    """Return sampling weights; refuse a weight that is missing or not positive.

    Examples
    --------
    >>> sampling_weights(pl.Series("w", [1, 10])).tolist()
    [1.0, 10.0]
    """
    remedy = "; weights are positive numbers: correct it, or drop the row"
    values = understand_as(column, "number").values
    for wrong, found in ((values.is_null(), "is missing"), (values <= 0, "has {}")):
        if wrong.fill_null(False).any():
            row = int(wrong.arg_max() or 0)
            shown = found.format(f"{values[row]:g}" if values[row] is not None else "")
            raise RowError(row, f"column '{column.name}' (the weight) {shown}", remedy)
    return values.to_numpy()


def _unlike_others(column: pl.Series, odd: pl.Series, held: str) -> RowError:
    """Word the error for the first value that is odd among what other rows have."""
    row = int(odd.arg_max() or 0)
    return RowError(
        row,
        f"column '{column.name}' has '{shortened(str(column[row]), 40)}'",
        f" where other rows have {held}; correct it, take the column as a category with "
        f"{option('categorical', column.name)}, or drop it with {option('exclude', column.name)}",
    )


def _kind_of(column: pl.Series, present: pl.Series, chosen: bool, part: float) -> tuple[Kind, str]:
    """Tell what a column with several values holds, and what there is to say of it."""
    if column.dtype == pl.Boolean:
        return "yes/no", ""
    if column.dtype.is_temporal():
        notes = {pl.Duration: "a duration, in seconds", pl.Time: "a time, in hours"}
        note = notes.get(column.dtype.base_type())
        return ("number", note) if note else ("date", "days since 1970-01-01")
    if column.dtype == pl.String:
        numbers = column.cast(pl.Float64, strict=False).fill_nan(None)
        share = len(numbers.drop_nulls()) / len(present)
        measured = numbers.n_unique() > CODE_LIKE
        if share >= MOSTLY or (measured and share >= 0.5):
            raise _unlike_others(column, numbers.is_null() & column.is_not_null(), "numbers")
        if (odd := odd_dates(column)) is not None:
            raise _unlike_others(column, odd, "dates in one form")
    if column.dtype == pl.String:
        return _kind_of_texts(column, present, chosen, part)
    why = "" if chosen else identifier(column, part)
    if why:
        return "identifier", why
    two = present.n_unique() == 2 and set(present.to_list()[:1000]) <= {0, 1}
    return "yes/no" if two else "number", ""


def _kind_of_texts(
    column: pl.Series, present: pl.Series, chosen: bool, part: float
) -> tuple[Kind, str]:
    """Return whether texts are categories or identifiers, and a note."""
    why = "" if chosen else identifier(column, part)
    if why:
        return "identifier", why
    distinct = present.n_unique()
    if len(present) >= FEW_ROWS and distinct > MOSTLY_DISTINCT * len(present):
        if not chosen:
            return "identifier", "a different text in most rows"
        raise InputError(
            f"column '{column.name}' has {distinct:,} different texts in {len(present):,} rows; it "
            "is an id and cannot be compared; drop it"
        )
    alike = present.unique().str.to_lowercase().str.replace_all(r"\s+", " ").is_duplicated()
    return "category", "some levels differ in capitals alone" if alike.any() else ""


def _numbers(column: pl.Series) -> pl.Series:
    """Return values as Float64, dates in days since 1970; one too large to compare is refused."""
    if column.dtype == pl.Duration:
        return (column.dt.total_microseconds() / 1e6).cast(pl.Float64)
    if column.dtype == pl.Time:
        return (column.cast(pl.Int64) / 3.6e12).cast(pl.Float64)
    if column.dtype.is_temporal():
        return (column.cast(pl.Datetime("us")).dt.epoch("us") / DAY).cast(pl.Float64)
    values = column.fill_nan(None) if column.dtype.is_float() else column.cast(pl.Float64)
    if max(-(values.min() or 0), values.max() or 0) > LARGEST_NUMBER:  # type: ignore[operator]
        row = int((values.abs() > LARGEST_NUMBER).fill_null(False).arg_max() or 0)
        size = "infinite" if np.isinf(values[row]) else f"{values[row]:.3g}, too large to compare,"
        raise RowError(
            row,
            f"column '{column.name}' is {size}",
            f"; correct it or drop the column with {option('exclude', column.name)}",
        )
    return values


def _names(column: pl.Series) -> pl.Series:
    """Return the levels of a category that was asked for."""
    return as_names(column.dt.total_microseconds() if column.dtype == pl.Duration else column)
