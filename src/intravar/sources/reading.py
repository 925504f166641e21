"""One door for every source: a path, a folder, a database or a frame becomes a polars table.

A small table is read as a whole, a large one is gone through a piece at a time. What cannot be gone
through, a workbook say or text in another encoding, is read as a whole by whoever asks.
"""

import operator
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from intravar.arrays import IntArray
from intravar.errors import InputError, option, unknown_name
from intravar.observed import is_pandas
from intravar.sources.files import read_file, scan_parquet, scan_text
from intravar.sources.paths import database_kind, regular_file, without_password
from intravar.sources.plain import from_array, plain_table, series_of
from intravar.sources.texts import Forms, among, text_forms, typed_texts
from intravar.text import (
    checked_names,
    checked_shape,
    clean_name,
    first_line,
    shortened,
    without_missing,
)
from intravar.where import MISSING, Value, columns_of, read_population
from intravar.wording import with_options

#: How the names begin of columns that are added to the rows of a large table.
OWN = "intravar: "
#: The number of a row in its source, counted from 0.
ROW = f"{OWN}row"
_FRAME = "the frame"
#: Comparisons by how they are written.
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, eq=False)
class Scanned:
    """A table to be gone through: as stored, with the number of every row.

    Results are pandas if the source was (`as_pandas`). `advice` says what else the source holds,
    for errors about columns that the table lacks.
    """

    lazy: pl.LazyFrame
    n_rows: int
    name: str
    notes: tuple[str, ...] = ()
    as_pandas: bool = False
    advice: str = ""

    def named_after(self, source: Any) -> "Scanned":
        """Return the table under the name of its source, of which it may be a copy."""
        is_named = isinstance(source, str | os.PathLike)
        return replace(self, name=without_password(str(source))) if is_named else self

    @property
    def called(self) -> str:
        """What to call it in messages."""
        return self.name if self.name == _FRAME else f"'{self.name}'"


def scan_source(
    source: Any, spool: Callable[[], Path], *, least: int, **reading: str | None
) -> Scanned | None:
    """Return a table of more than `least` rows; None if it has fewer, or must be read as a whole.

    `spool` gives a folder for what a database hands over; `reading` is as in :func:`read_source`.
    """
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        with suppress(Exception):  # whoever reads it as a whole says what is wrong with it
            return _large(source.lazy(), least, _FRAME)
        return None
    if not isinstance(source, str | os.PathLike) or not str(source).strip():
        return None
    asked = {name: value for name, value in reading.items() if value is not None}
    kind = database_kind(source)
    if kind is not None:
        # Loaded where it is asked for, as its drivers are.
        from intravar.sources.databases import spooled

        lazy = spooled(str(source), kind, spool, least, asked.get("table"), asked.get("query"))
        return _large(lazy, least, without_password(str(source)))
    path, notes = Path(source), tuple[str, ...]()
    try:
        if not asked.keys() <= {"separator", "encoding"} or not path.exists():
            return None
        lazy = scan_parquet(path) if "encoding" not in asked else None
        if lazy is None and path.is_file():
            lazy, notes = scan_text(path, **asked) or (None, ())
        return _large(lazy, least, str(source), notes)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return None  # whoever reads it as a whole says what is wrong with it


@contextmanager
def advised(advice: str) -> Iterator[None]:
    """Add advice to errors, unless it is empty."""
    try:
        yield
    except InputError as error:
        if not advice:
            raise
        message = {"problem": error.message, "advice": with_options(advice)}
        raise InputError("{problem}; {advice}", **message) from error


def _large(
    lazy: pl.LazyFrame | None, least: int, name: str, notes: tuple[str, ...] = ()
) -> Scanned | None:
    n_rows = 0 if lazy is None else lazy.select(pl.len()).collect(engine="streaming").item()
    if lazy is None or n_rows <= least:
        return None
    return _numbered(Scanned(lazy, n_rows, name, notes))


def _numbered(stored: Scanned) -> Scanned:
    """Return a table with clean names and the number of every row."""
    names = {name: clean_name(name) for name in stored.lazy.collect_schema().names()}
    checked_names([*names.values()], stored.called)
    for name in names.values():
        if name.startswith(OWN):
            raise InputError(
                f"column '{name}' has a name that intravar gives to columns of its own; rename it"
            )
    return replace(stored, lazy=stored.lazy.rename(names).with_row_index(ROW))


def read_whole(source: Any, **reading: str | None) -> Scanned:
    """Read a table into memory as it is stored, see :func:`read_source`."""
    name, notes, advice = _FRAME, list[str](), ""
    asked = {argument: value for argument, value in reading.items() if value is not None}
    if not isinstance(source, str | os.PathLike):
        frame = _frame(source)
    elif not str(source).strip():
        raise InputError("no table is named; give a path, a URL of a database or a data frame")
    else:
        name, kind = without_password(str(source)), database_kind(source)
        if kind is not None:
            from intravar.sources.databases import read_database

            frame = read_database(str(source), kind, asked.get("table"), asked.get("query"))
        elif wrong := sorted(asked.keys() & {"table", "query"}):
            raise InputError(f"{option(wrong[-1])} is for databases; '{name}' is not one")
        else:
            frame, notes, advice = read_file(Path(source), **asked)
    stored = Scanned(frame.lazy(), frame.height, name, tuple(notes), is_pandas(source), advice)
    with advised(advice):
        checked_shape(frame, stored.called)
    return _numbered(stored)


def population_of(
    scanned: Scanned,
    where: str | None,
    as_text: Collection[str] = (),
    *,
    identifiers: Collection[str] = (),
) -> tuple[pl.LazyFrame, Forms]:
    """Return the rows of the patients who are meant, and how their texts are written.

    What a column holds is told by these rows, as if the table had been filtered before; how it is
    written all rows tell. Columns in `as_text` and `identifiers` stay texts; a condition may still
    compare an identifier with a number.
    """
    forms = text_forms(scanned.lazy, {*as_text, *identifiers})
    if where is None:
        return scanned.lazy, forms
    asked = [*dict.fromkeys(map(clean_name, columns_of(where)))]
    stored = [name for name in scanned.lazy.collect_schema().names() if name != ROW]
    for name in asked:
        if name not in stored:
            remedy = f"{option('where')}; the table has {', '.join(stored[:8])}"
            raise unknown_name("column", name, stored, remedy=remedy)
    looked_at = scanned.lazy.select(ROW, *asked).collect(engine="streaming")
    plain, _ = plain_table(looked_at.drop(ROW), as_text, forms=forms)
    inside = looked_at.filter(belongs(plain, where)).select(ROW)
    if not inside.height:
        raise InputError(
            f"no row of {scanned.called} belongs to the population of {option('where')}; does it "
            "ask for values that the table has?"
        )
    chosen = scanned.lazy.join(inside.lazy(), on=ROW, how="semi")
    return chosen, among(forms, text_forms(chosen, {*as_text, *identifiers}))


def belongs(table: pl.DataFrame, where: str) -> pl.Series:
    """Tell for every row of a plain table whether it belongs to the population.

    A comparison with a missing value is neither true nor false, as in SQL: whoever is not known to
    belong to the population is left out.

    Examples
    --------
    >>> table = pl.DataFrame({"age": [80, 60, None], "sex": ["F", "F", "M"]})
    >>> belongs(table, "age >= 75 or sex = 'M'").to_list()
    [True, False, True]
    >>> belongs(table, "not age < 75").to_list()
    [True, False, False]
    """
    holds: pl.Series = read_population(where, partial(_holds, table))
    return holds.fill_null(False)


def _holds(table: pl.DataFrame, name: str, sign: str, value: Value) -> Any:
    column = table[clean_name(name)]
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object, pl.Duration, pl.Time):
        raise InputError(
            f"column '{shortened(column.name)}' is {column.dtype}; {option('where')} compares "
            "numbers, texts, dates and true or false"
        )
    column = column.fill_nan(None) if column.dtype.is_float() else without_missing(column)
    if sign == MISSING:
        return column.is_null()
    column, other = _alike(column, value)
    if isinstance(other, str) and sign not in ("=", "!="):
        raise InputError(
            f"{option('where')} asks whether '{shortened(column.name)}' {sign} "
            f"'{shortened(other)}'; texts have no order here, list them with 'in'"
        )
    return COMPARE[sign](column, other)


def _alike(column: pl.Series, value: Value) -> tuple[pl.Series, Any]:
    """Return column and value in types that can be compared."""
    if column.dtype == pl.String:
        form = text_forms(column.to_frame())[column.name]
        if form.refused == "far" or not isinstance(value, str):
            typed = form.typed(column)
            if typed.doubt:
                raise InputError(
                    f"{option('where')} compares column '{shortened(column.name)}' with {value}, "
                    f"but {typed.doubt}"
                )
            column = typed.values
    dtype, read = column.dtype, value
    if isinstance(value, str) and dtype == pl.String:
        return column, clean_name(value)
    if column.null_count() == len(column):  # nothing is known, so nothing is compared wrongly
        return pl.Series(column.name, [None] * len(column), dtype=pl.Float64), 0.0
    if isinstance(value, str) and dtype != pl.Boolean:
        read = typed_texts(pl.Series([value])).values[0]
    if isinstance(read, date) and dtype in (pl.Date, pl.Datetime):
        if isinstance(read, datetime):
            return column.cast(pl.Datetime("us")), read
        return column.dt.date(), read  # a day is the whole day
    if isinstance(read, bool | int | float) and (dtype == pl.Boolean or dtype.is_numeric()):
        number = float(read) if abs(read) >= 2**63 else read
        plain = column.cast(pl.Int64) if dtype == pl.Boolean else column
        return plain, int(read) if isinstance(read, bool) else number
    kinds = {pl.String: "texts", pl.Boolean: "true and false"}
    kind = kinds.get(type(dtype), "dates" if dtype.is_temporal() else "numbers")
    written = f"'{shortened(value)}'" if isinstance(value, str) else str(value)
    raise InputError(
        f"{option('where')} compares '{shortened(column.name)}' with {written}, but it holds "
        f"{kind}, {shortened(str(column.drop_nulls()[0]), 30)} for instance; write texts in "
        "quotation marks and dates as '2020-12-31'"
    )


@dataclass(frozen=True)
class Source:
    """A table of patients, what to call its source, and what was found out while reading.

    `rows` are those of the source, counted from 0.
    """

    table: pl.DataFrame
    name: str
    notes: tuple[str, ...]
    rows: IntArray


def read_source(
    source: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    as_text: Sequence[str] = (),
    identifiers: Sequence[str] = (),
    where: str | None = None,
) -> Source:
    """Read a table of patients; the same table gives the same columns from every source.

    Parameters
    ----------
    source
        Path of a CSV, TSV, Parquet, Excel, DuckDB or SQLite file (text also gzipped), a folder of
        Parquet parts, a `postgresql://` URL, or a frame of pandas, polars or another library that
        narwhals reads.
    table, query
        What to read from a database.
    separator, encoding, sheet
        How to read a text file or a workbook; found out where not given.
    as_text
        Columns whose texts stay texts: physician 007 is a name, not the number 7.
    identifiers
        The same, but `where` may compare them with numbers.
    where
        Which patients are meant, see :func:`intravar.where.read_population`; others are left
        out, as if the table had been filtered before.

    Examples
    --------
    >>> read_source({"age": [50, 61], "drug": [0, 1]}).table.shape
    (2, 2)
    """
    with TemporaryDirectory(prefix="intravar-") as folder:
        file = regular_file(source, lambda: Path(folder))
        stored = read_whole(
            file, table=table, query=query, separator=separator, encoding=encoding, sheet=sheet
        ).named_after(source)
    kept, named = ([clean_name(name) for name in names] for names in (as_text, identifiers))
    lazy, forms = population_of(stored, where, kept, identifiers=named)
    rows = lazy.sort(ROW).collect()
    plain, notes = plain_table(rows.drop(ROW), [*kept, *named], forms=forms)
    return Source(plain, stored.name, (*stored.notes, *notes), rows[ROW].to_numpy())


def _frame(source: Any) -> pl.DataFrame:
    """Return a table of Python values, or a frame of any library, as a polars table."""
    try:
        if isinstance(source, dict):
            lengths = {str(name): len(values) for name, values in source.items()}
            if len(set(lengths.values())) > 1:
                each = [f"'{name}' {length:,}" for name, length in list(lengths.items())[:5]]
                raise InputError(f"the columns of the frame differ in length: {', '.join(each)}")
            return pl.DataFrame([_series(str(name), values) for name, values in source.items()])
        frame = nw.from_native(source)
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        names = [clean_name(str(name)) for name in frame.columns]
        checked_names(names, "the frame")
        return pl.DataFrame([_series(name, frame[:, place]) for place, name in enumerate(names)])
    except InputError:
        raise
    except Exception as error:  # every library of frames fails in classes of its own
        if isinstance(error, TypeError) and not nw.dependencies.is_into_dataframe(source):
            kind = type(source).__name__
            raise InputError(f"a {kind} is not a table; give a path or a data frame") from error
        raise InputError(f"the frame cannot be read: {first_line(error)}") from error


def _series(name: str, values: Any) -> pl.Series:
    """Return values as a column."""
    if isinstance(values, pl.Series) and values.dtype != pl.Object:
        return values.alias(name)
    if isinstance(values, np.ndarray) and values.dtype != object:
        return from_array(name, values)
    if isinstance(values, nw.Series):
        if getattr(values.dtype, "time_unit", "") == "s":  # polars has milliseconds, not all fit
            column = from_array(name, values.to_numpy())
            if getattr(values.dtype, "time_zone", None) is None or not column.dtype.is_temporal():
                return column
        try:
            column = values.to_polars().alias(name)
        except Exception:  # a column of several kinds of objects, which pyarrow does not take
            return series_of(name, values.to_list())
        if column.dtype == pl.Object:
            return series_of(name, column.to_list())
        if "extension" not in str(column.dtype).lower():
            return column
        # Periods and intervals of pandas.
        values = [None if value is None else str(value) for value in values.to_list()]
    return series_of(name, list(values))
