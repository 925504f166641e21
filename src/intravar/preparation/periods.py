"""Patients dealt into strata: the levels of a column, or the periods of a date."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import TypeAlias

import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import InputError, option
from intravar.observed import Observed
from intravar.sources.reading import OWN
from intravar.sources.texts import typed_texts
from intravar.text import clean_texts, shortened

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


def with_period(observed: Observed, places: IntArray) -> tuple[Observed, IntArray]:
    """Return patients with a date and one covariate more, the period; and which they are."""
    known = np.flatnonzero(places >= 0)
    dated = observed if len(known) == observed.n_patients else observed.take(known)
    # One column in its order: trees cut it where the rule changed.
    period = places[known].astype(np.float64)[:, None]
    return replace(
        dated,
        covariates=np.hstack([dated.covariates, period]),
        names=(*dated.names, f"{OWN}period"),
        _learned={},
    ), known


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
