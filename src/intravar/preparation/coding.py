"""What is learned once of a column, from all rows or from a sample, and applied to every row.

That is how a covariate becomes numbers, and in which levels or periods patients are compared.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

import numpy as np
import polars as pl

from intravar.arrays import FloatArray, IntArray
from intravar.errors import InputError, option
from intravar.preparation.kinds import Column, Kind
from intravar.request import Missing, Request
from intravar.sources.texts import typed_texts
from intravar.text import clean_texts, shortened

#: Levels of a category beyond which the rarest are pooled.
MOST_LEVELS = 20
#: Levels with fewer patients are pooled: so few tell nothing apart.
RARE_LEVEL = 11
#: A category has many levels if several are pooled and at least this share of the rows has one.
SMALLEST_POOLED = 0.01
OTHER = "(other)"
ABSENT = "(missing)"


@dataclass(frozen=True)
class Coding:
    """What one covariate holds, how it becomes numbers, and what replaces a missing value.

    A category of k levels becomes k columns of 0 and 1 that form one block. Estimators scale a
    block as a whole, so that any two levels lie equally far apart and the category weighs as much
    as one number; a category of two levels is one column, which amounts to the same.

    A number may be `marked`: a column says where it was missing. `known` are the levels of a
    category that count as themselves; `levels` those that get a column. `n_pooled` levels, with
    `n_pooled_rows` patients, are pooled in these columns. If they are several and not negligible,
    the category has many levels: then `numbered` are all of its levels, the most frequent first,
    and predictions tell them apart by their numbers.
    """

    name: str
    kind: Kind
    fill: float | str | None
    marked: bool = False
    known: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    n_pooled: int = 0
    n_pooled_rows: int = 0
    numbered: tuple[str, ...] = ()

    def level_numbers(self, values: pl.Series) -> IntArray:
        """Return the number of every value's level.

        A level that was not seen when levels were numbered has a negative number of its own, which
        follows from its name.
        """
        texts = values.fill_null(OTHER if self.fill is None else self.fill)
        numbers = texts.replace_strict(
            pl.Series(self.numbered, dtype=pl.String),
            pl.Series(range(len(self.numbered)), dtype=pl.Int64),
            default=None,
        )
        unseen = -1 - (texts.hash(seed=0) // 4).cast(pl.Int64)
        return numbers.fill_null(unseen).to_numpy().astype(np.int64)

    def coded(self, values: pl.Series) -> list[pl.Series]:
        """Return the columns of some values; levels that were never seen count as pooled."""
        if self.kind != "category":
            mark = values.is_null().cast(pl.Float64).alias(f"{self.name} {ABSENT}")
            return [values.fill_null(self.fill), *([mark] if self.marked else [])]
        texts = values.fill_null(OTHER if self.fill is None else self.fill)
        texts = texts.set(~texts.is_in(self.known), OTHER)
        return [
            (texts == level).cast(pl.Float64).alias(f"{self.name}={level}") for level in self.levels
        ]


def learn_codings(
    columns: Sequence[Column], policy: Missing, smallest_level: int = RARE_LEVEL
) -> tuple[Coding, ...]:
    """Find out how covariates become numbers, and what takes the place of a missing value.

    "indicator" fills numbers with the median and marks them in a column of their own, and gives
    missing categories a level of their own; "impute" fills with the median and the most frequent
    level and leaves no mark. Levels with fewer patients than the smallest are pooled.
    """
    codings = []
    patterns: set[bytes] = set()
    for column in columns:
        if column.kind == "category":
            codings.append(_of_category(column, policy, smallest_level))
            continue
        values, marked = column.values, False
        if values.null_count() and policy == "indicator":
            # Values that are always missing together would otherwise count several times.
            pattern = np.packbits(values.is_null().to_numpy()).tobytes()
            marked = pattern not in patterns
            patterns.add(pattern)
        fill = None if (middle := values.median()) is None else float(middle)  # type: ignore[arg-type]
        codings.append(Coding(column.name, column.kind, fill, marked))
    return tuple(codings)


def _of_category(column: Column, policy: Missing, smallest_level: int) -> Coding:
    values, fill = column.values, None
    if values.null_count():
        fill = ABSENT if policy == "indicator" else str(values.drop_nulls().mode().sort()[0])
        values = values.fill_null(fill)
    counts = values.value_counts().sort("count", values.name, descending=[True, False])
    common = counts.filter(pl.col("count") >= smallest_level)[values.name].to_list()
    known = sorted(common if len(common) <= MOST_LEVELS else common[: MOST_LEVELS - 1])
    n_pooled = counts.height - len(known)
    pooled = counts.filter(~pl.col(values.name).is_in(known))
    n_pooled_rows = int(pooled["count"].sum())
    many = n_pooled > 1 and n_pooled_rows >= SMALLEST_POOLED * len(values)
    numbered = tuple(counts[values.name].to_list()) if many else ()
    levels = [*known, OTHER] if n_pooled else known
    if len(levels) == 2:
        levels = levels[1:] if levels[1] != OTHER else levels[:1]
    return Coding(
        name=column.name,
        kind=column.kind,
        fill=fill,
        known=tuple(known),
        levels=tuple(levels),
        n_pooled=n_pooled,
        n_pooled_rows=n_pooled_rows,
        numbered=numbered,
    )


def number_levels(codings: Sequence[Coding], columns: Sequence[Column]) -> dict[str, IntArray]:
    """Return the number of every row's level, by name of the categories with many levels."""
    return {
        coding.name: coding.level_numbers(column.values)
        for coding, column in zip(codings, columns, strict=True)
        if coding.numbered
    }


def encode_with(
    codings: Sequence[Coding], columns: Sequence[Column]
) -> tuple[pl.DataFrame, tuple[str, ...], list[tuple[int, ...]]]:
    """Turn covariates into numbers as it was found out before.

    Returns one Float64 column per number, date or level, the covariate that each comes from, and
    the positions of columns that code one category together.
    """
    encoded: dict[str, pl.Series] = {}
    origin, blocks = list[str](), list[tuple[int, ...]]()
    for coding, column in zip(codings, columns, strict=True):
        first = len(encoded)
        for each in coding.coded(column.values):
            name = each.name
            while name in encoded:  # a column may be called what a level of another one is
                name += "*"
            encoded[name] = each
        origin += [column.name] * (len(encoded) - first)
        # The mark of a missing number is a column of its own, not part of a block.
        if len(coding.levels) > 1:
            blocks.append(tuple(range(first, len(encoded))))
    return pl.DataFrame(encoded), tuple(origin), blocks


#: More strata than these nobody compares.
MOST_STRATA = 24
#: Whole numbers between these are years.
YEARS = (1900, 2100)
#: What those are called of whom it is not known: the first that no level is called.
UNKNOWN = ("not known", "missing", "no value", "empty")
#: Characters of a level's name.
LONGEST_NAME = 40
PERIODS = ("year", "quarter", "month")
_SPLIT = re.compile(r"(?:before/after|before|after|from|since)?\s*(\d{4}-\d{2}-\d{2})$")


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of a column, or the periods of a date, known of all rows: they deal patients."""

    column: str
    names: tuple[str, ...]
    values: pl.Series
    period: str | None = None

    def deal(self, column: pl.Series) -> IntArray:
        """Return the place of each patient among the names.

        Who has no level belongs to the last one; who has no date to none, which is -1.
        """
        known, unknown = clean_texts(column), len(self.values)
        if self.period is not None:
            empty = column.null_count() == len(column)
            known, unknown = known if empty else _period_of(column, self.period), -1
        places = known.cast(self.values.dtype, strict=False).replace_strict(
            self.values, range(len(self.values)), default=unknown, return_dtype=pl.Int64
        )
        return places.to_numpy()


#: What patients are dealt by, under the names of the request's fields.
Strata: TypeAlias = Mapping[str, Levels]


def read_period(period: str) -> str | date:
    """Return year, quarter or month, or the day at which a period of two parts changes.

    Examples
    --------
    >>> read_period("before/after 2024-03-01")
    datetime.date(2024, 3, 1)
    """
    meant = period.strip().lower()
    if meant in PERIODS:
        return meant
    with suppress(ValueError):
        if change := _SPLIT.match(meant):
            return date.fromisoformat(change[1])
    raise InputError(
        f"{option('period')} is '{shortened(period)}'; give year, quarter, month or "
        "'before/after 2024-03-01'"
    )


def strata_of(values: Callable[[str], pl.Series], roles: Request) -> Strata:
    """Find the levels and periods that were asked for; `values` gives those of a column."""
    strata: dict[str, Levels] = {}
    if roles.by is not None:
        strata["by"] = levels_of(values(roles.by))
    if roles.date is not None:
        strata["date"] = periods_of(values(roles.date), roles.period or "year")
    return strata


def levels_of(column: pl.Series) -> Levels:
    """Find the levels of a column; patients without a value form a stratum of their own.

    Examples
    --------
    >>> sex = pl.Series("sex", ["F", "M", None, "F"])
    >>> levels = levels_of(sex)
    >>> levels.names, levels.deal(sex).tolist()
    (('F', 'M', 'not known'), [0, 1, 2, 0])
    """
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        raise InputError(f"column '{column.name}' is {column.dtype}; {option('by')} takes levels")
    known = clean_texts(column)
    values = known.drop_nulls().unique().sort()
    if len(values) > MOST_STRATA:
        raise InputError(
            f"column '{column.name}' has {len(values):,} different values; {option('by')} takes "
            f"{MOST_STRATA} at most, make a column of bands or groups of it"
        )
    if len(values) + (known.null_count() > 0) < 2:
        raise InputError(
            f"column '{column.name}' has one value only; {option('by')} compares several"
        )
    texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    if len(set(texts)) < len(texts):
        texts = [str(value) for value in values]
    if values.to_list() == [0, 1]:
        texts = ["no", "yes"]
    if known.null_count():
        taken = {text.casefold() for text in texts}
        texts.append(next((word for word in UNKNOWN if word not in taken), UNKNOWN[0]))
    return Levels(column.name, level_names(texts), values)


def level_names(values: Sequence[str]) -> tuple[str, ...]:
    """Return a short name for every level, no two of them alike.

    Examples
    --------
    >>> level_names(["A  B", "A B", "B"])
    ('A B', 'A B (2)', 'B')
    """
    names: list[str] = []
    for text in (" ".join(value.split()) for value in values):
        half = LONGEST_NAME // 2  # long names often differ at their end
        name = text if len(text) <= LONGEST_NAME else f"{text[: half - 1]}…{text[-half:]}"
        tried = (name, *(f"{name} ({number})" for number in range(2, len(values) + 2)))
        names.append(next(each for each in tried if each not in names))
    return tuple(names)


def periods_of(column: pl.Series, period: str) -> Levels:
    """Find the periods that the dates of a column lie in.

    Examples
    --------
    >>> days = pl.Series("seen", [date(2024, 2, 1), date(2024, 5, 1), None])
    >>> periods = periods_of(days, "quarter")
    >>> periods.names, periods.deal(days).tolist()
    (('2024 Q1', '2024 Q2'), [0, 1, -1])
    """
    names = tuple(_period_of(column, period).drop_nulls().unique().sort())
    if len(names) > MOST_STRATA:
        raise InputError(
            f"'{column.name}' covers {len(names):,} periods; {MOST_STRATA} are the most, take "
            f"longer ones with {option('period', 'year')}"
        )
    if len(names) < 2:
        raise InputError(
            f"all dates in '{column.name}' lie in one period ({', '.join(names) or 'none'}); take "
            f"shorter ones with {option('period', 'quarter')} or a day between them"
        )
    return Levels(column.name, names, pl.Series(names), period)


def _period_of(column: pl.Series, period: str) -> pl.Series:
    """Return the name of the period of every date."""
    days, change = _days(column, period), read_period(period)
    if isinstance(change, date):
        names = {True: f"before {change}", False: f"from {change}"}
        return (days < change).replace_strict(names, return_dtype=pl.String)
    if change == "quarter":
        return days.dt.year().cast(pl.String) + " Q" + days.dt.quarter().cast(pl.String)
    return days.dt.strftime("%Y" if change == "year" else "%Y-%m")


def days_since_1970(column: pl.Series, period: str | None = None) -> FloatArray:
    """Return the day of every date as a number, NaN where there is none.

    Days are whole: the hour of a decision is not part of it.

    Examples
    --------
    >>> days_since_1970(pl.Series("seen", [date(1970, 1, 2), None])).tolist()
    [1.0, nan]
    """
    if column.null_count() == len(column):
        return np.full(len(column), np.nan)
    days = _days(column, period or "year").dt.epoch("d")
    return days.cast(pl.Float64).to_numpy()


def _days(column: pl.Series, period: str) -> pl.Series:
    if column.dtype in (pl.Date, pl.Datetime):
        return column.dt.date()
    present = column.drop_nulls()
    if column.dtype.is_integer() and present.is_between(*YEARS).all() and len(present):
        if read_period(period) != "year":
            raise InputError(
                f"column '{column.name}' holds years; {option('period')} is '{period}', years can "
                f"only be compared as years: {option('period', 'year')}"
            )
        return pl.select(pl.date(pl.lit(column), 1, 1)).to_series()
    if doubt := typed_texts(column).doubt if column.dtype == pl.String else "":
        raise InputError(f"in column '{column.name}' (the date) {doubt}")
    example = f", '{shortened(str(present[0]), 30)}' for instance" if len(present) else ""
    raise InputError(
        f"column '{column.name}' (the date) does not hold dates{example}; write them as 2024-12-31"
    )
