"""Tables of an OMOP CDM 5.4 database: a folder or zip of CSV or Parquet files, or a database."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import polars as pl

from intravar.errors import InputError, option
from intravar.sources.databases.base import open_database, quoted
from intravar.sources.databases.connections import Database
from intravar.sources.paths import database_kind, existing, open_zip, read_member, without_password
from intravar.sources.plain import plain_column
from intravar.text import MISSING, first_line
from intravar.wording import Sentence

#: Folders that macOS adds to archives; their files are not tables.
NOT_OURS = ("__MACOSX",)
#: How the names of columns end, and what such columns hold.
_TYPES: tuple[tuple[tuple[str, ...], str, type[pl.DataType]], ...] = (
    (("domain_id", "vocabulary_id"), "a text", pl.String),
    (("_id", "_of_birth"), "a number", pl.Int64),
    (("_date", "_datetime"), "a date", pl.Date),
    (("value_as_number",), "a number", pl.Float64),
    (("",), "a text", pl.String),
)


class OmopTables:
    """The tables of an OMOP database, whatever holds them and however names are spelled."""

    def __init__(self, source: str | os.PathLike[str], schema: str | None = None) -> None:
        self.name = without_password(str(source))
        self._reader = _open(source, schema)
        self._tables, self.close = self._reader.tables, self._reader.close
        if "person" not in self._tables:
            self.close()
            raise InputError(
                "'{}' has no table 'person'; an OMOP CDM database has one{}",
                self.name,
                ""
                if schema
                else Sentence(" (is it in a schema? name it with {})", option("schema")),
            )

    def has(self, table: str) -> bool:
        """Tell whether there is such a table."""
        return table in self._tables

    def read(
        self,
        table: str,
        columns: Sequence[str],
        where: tuple[str, Sequence[int]] | None = None,
        *,
        optional: Sequence[str] = (),
    ) -> pl.DataFrame:
        """Return columns of a table under their lower-case names, in the types of the CDM.

        `where` is a column and the values it may have. Columns that are optional are missing
        values throughout where the table lacks them.
        """
        if table not in self._tables:
            raise InputError(f"'{self.name}' has no table '{table}', which is needed for this")
        actual = self._tables[table]
        spelled = {name.lower(): name for name in self._reader.columns(actual)}
        for column in columns:
            if column not in spelled:
                raise InputError(f"table '{table}' of '{self.name}' has no column '{column}'")
        wanted = [name for name in (*columns, *optional) if name in spelled]
        condition = None if where is None else (spelled[where[0]], where[1])
        frame = self._reader.read(actual, [spelled[name] for name in wanted], condition)
        frame = frame.rename({spelled[name]: name for name in wanted})
        absent = [pl.lit(None).alias(name) for name in optional if name not in spelled]
        frame = frame.with_columns(absent).select(*columns, *optional)
        return pl.DataFrame([_typed(column, table) for column in frame.get_columns()])


def _open(source: str | os.PathLike[str], schema: str | None) -> _InDatabase | _InFiles:
    kind = database_kind(source)
    if kind is not None:
        return _InDatabase(open_database(str(source), kind), schema)
    path = existing(Path(source))
    if path.is_dir() or path.suffix.lower() == ".zip" or zipfile.is_zipfile(path):
        return _InFiles(path)
    raise InputError(
        f"'{path}' is neither a folder nor a zip archive of OMOP tables, nor a database"
    )


class _InDatabase:
    """Tables of a database; lower-case names go with those of the source."""

    def __init__(self, database: Database, schema: str | None) -> None:
        self._database = database
        self.close = database.close
        self.tables: dict[str, str] = {}
        for name in database.tables():
            of, _, table = name.rpartition(".")
            if schema is None or of.lower() == schema.lower():
                self.tables.setdefault(table.lower(), name)

    def columns(self, table: str) -> list[str]:
        return self._database.fetch(f"SELECT * FROM {quoted(table)} LIMIT 0").columns

    def read(
        self, table: str, columns: Sequence[str], where: tuple[str, Sequence[int]] | None
    ) -> pl.DataFrame:
        query = f"SELECT {', '.join(map(quoted, columns))} FROM {quoted(table)}"
        if where is not None:
            values = ", ".join(str(int(value)) for value in where[1]) or "NULL"
            query += f" WHERE {quoted(where[0])} IN ({values})"
        return self._database.fetch(query)


class _InFiles:
    """CSV and Parquet files of a folder or a zip archive."""

    def __init__(self, path: Path) -> None:
        self._folder = path
        self._archive = None if path.is_dir() else open_zip(path)
        self._unpacked: tuple[str, bytes] | None = None
        names = (
            sorted(str(file.relative_to(path)) for file in path.rglob("*"))
            if self._archive is None
            else self._archive.namelist()
        )
        self.tables = _table_files(names)

    def columns(self, table: str) -> list[str]:
        with _worded(table):
            return self._lazy(table).collect_schema().names()

    def read(
        self, table: str, columns: Sequence[str], where: tuple[str, Sequence[int]] | None
    ) -> pl.DataFrame:
        with _worded(table):
            frame = self._lazy(table)
            if where is not None:
                number = pl.col(where[0]).cast(pl.Float64, strict=False)
                frame = frame.filter(number.cast(pl.Int64, strict=False).is_in(list(where[1])))
            return frame.select(columns).collect()

    def close(self) -> None:
        if self._archive is not None:
            self._archive.close()

    def _lazy(self, table: str) -> pl.LazyFrame:
        source: Path | bytes = self._folder / table
        if self._archive is not None:
            # The last file is kept: columns are asked for before rows.
            if self._unpacked is None or self._unpacked[0] != table:
                self._unpacked = (table, read_member(self._archive, table))
            source = self._unpacked[1]
        if table.lower().endswith(".parquet"):
            return pl.scan_parquet(source)
        with source.open("rb") if isinstance(source, Path) else io.BytesIO(source) as file:
            header = file.readline()
        # Vocabularies come with tabs in files called CSV.
        separator = max((",", "\t", ";"), key=lambda sign: header.count(sign.encode()))
        missing = list(MISSING)
        return pl.scan_csv(source, separator=separator, infer_schema=False, null_values=missing)


@contextmanager
def _worded(table: str) -> Iterator[None]:
    """Say in words which table a library cannot read."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(f"table '{table}' cannot be read: {first_line(error)}") from error


def _table_files(names: Sequence[str]) -> dict[str, str]:
    """Find the tables among file names, without what macOS adds."""
    found: dict[str, str] = {}
    for name in names:
        path = PurePosixPath(name)
        if path.suffix.lower() not in (".csv", ".parquet") or path.name.startswith("."):
            continue
        if not any(part in NOT_OURS for part in path.parts):
            found.setdefault(path.stem.lower(), name)
    return found


def _typed(column: pl.Series, table: str) -> pl.Series:
    """Give a column the type that the CDM gives to columns of its name."""
    name = column.name
    what, dtype = next(((what, of) for ends, what, of in _TYPES if name.endswith(ends)))
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype.is_temporal():
        column = plain_column(column, keep=False)
    if what == "a date" and not column.dtype.is_temporal():
        texts = column.cast(pl.String)
        days = texts.str.extract("^([0-9]{4}-[0-9]{1,2}-[0-9]{1,2})")
        values = days.str.to_date("%Y-%m-%d", strict=False)
        values = values.fill_null(texts.str.to_date("%Y%m%d", strict=False))
        values = values.set(values.dt.year() < 1, None)
    elif what == "a number" and column.dtype == pl.String:
        # Whole numbers that once were floats end in .0.
        values = column.str.replace(r"\.0+$", "").cast(dtype, strict=False)
    else:
        values = column.cast(dtype, strict=False)
    lost = values.is_null() & column.is_not_null()
    if column.dtype.is_float() and dtype == pl.Int64:
        lost |= (values.cast(pl.Float64) != column).fill_null(False)
    if lost.any():
        row = int(lost.arg_max() or 0)
        raise InputError(
            f"column '{name}' of table '{table}' has {column[row]!r} in data row {row + 1}, which "
            f"is not {what}"
        )
    return values
