"""Tables of an OMOP CDM 5.4 database: a folder or zip of CSV or Parquet files, or a database."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import polars as pl

from intravar.errors import InputError, option, told
from intravar.sources.databases.base import Database, open_database, quoted
from intravar.sources.paths import database_kind, existing, open_zip, read_member, without_password
from intravar.text import MISSING, first_line

#: Folders that macOS adds to archives; their files are not tables.
NOT_OURS = ("__MACOSX",)
_DATE_FORMATS = ("%Y-%m-%d", "%Y%m%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S")


class OmopTables:
    """The tables of an OMOP database, whatever holds them and however names are spelled."""

    def __init__(self, source: str | os.PathLike[str], schema: str | None = None) -> None:
        self.name = without_password(str(source))
        self._reader = _open(source, schema)
        self._tables = self._reader.tables()
        if "person" not in self._tables:
            self.close()
            raise InputError(
                "'{}' has no table 'person'; an OMOP CDM database has one{}",
                self.name,
                "" if schema else told(" (is it in a schema? name it with {})", option("schema")),
            )

    def close(self) -> None:
        """Let go of the source."""
        self._reader.close()

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
        return _typed(frame.with_columns(absent), table).select(*columns, *optional)


def _open(source: str | os.PathLike[str], schema: str | None) -> _DatabaseReader | _FilesReader:
    kind = database_kind(source)
    if kind is not None:
        return _DatabaseReader(open_database(str(source), kind), schema)
    path = existing(Path(source))
    if path.is_dir() or path.suffix.lower() == ".zip" or zipfile.is_zipfile(path):
        return _FilesReader(path)
    raise InputError(
        f"'{path}' is neither a folder nor a zip archive of OMOP tables, nor a database"
    )


class _DatabaseReader:
    """Tables of a database; a reader gives lower-case names with those of the source."""

    def __init__(self, database: Database, schema: str | None) -> None:
        self._database = database
        self._schema = schema

    def tables(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for name in self._database.tables():
            schema, _, table = name.rpartition(".")
            if self._schema is None or schema.lower() == self._schema.lower():
                found.setdefault(table.lower(), name)
        return found

    def columns(self, table: str) -> list[str]:
        return self._database.fetch(f"SELECT * FROM {quoted(table)} LIMIT 0").columns

    def read(
        self, table: str, columns: Sequence[str], where: tuple[str, Sequence[int]] | None
    ) -> pl.DataFrame:
        listed = ", ".join(quoted(name) for name in columns)
        query = f"SELECT {listed} FROM {quoted(table)}"
        if where is not None:
            values = ", ".join(str(int(value)) for value in where[1]) or "NULL"
            query += f" WHERE {quoted(where[0])} IN ({values})"
        return self._database.fetch(query)

    def close(self) -> None:
        self._database.close()


class _FilesReader:
    """CSV and Parquet files of a folder or a zip archive."""

    def __init__(self, path: Path) -> None:
        self._folder = path
        self._archive = None if path.is_dir() else open_zip(path)
        self._unpacked: tuple[str, bytes] | None = None

    def tables(self) -> dict[str, str]:
        if self._archive is not None:
            return _table_files(self._archive.namelist())
        found = sorted(self._folder.rglob("*"))
        return _table_files([str(file.relative_to(self._folder)) for file in found])

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
        self._unpacked = None
        if self._archive is not None:
            self._archive.close()

    def _lazy(self, table: str) -> pl.LazyFrame:
        source = self._folder / table if self._archive is None else self._member(table)
        if table.lower().endswith(".parquet"):
            return pl.scan_parquet(source)
        with source.open("rb") if isinstance(source, Path) else io.BytesIO(source) as file:
            separator = _separator(file.readline())
        missing = list(MISSING)
        return pl.scan_csv(source, separator=separator, infer_schema=False, null_values=missing)

    def _member(self, table: str) -> bytes:
        """Return a file of the archive; the last one is kept: columns are asked for before rows."""
        assert self._archive is not None
        if self._unpacked is None or self._unpacked[0] != table:
            self._unpacked = (table, read_member(self._archive, table))
        return self._unpacked[1]


def _separator(header: bytes) -> str:
    """Return what separates the cells: vocabularies come with tabs in files called CSV."""
    return max((",", "\t", ";"), key=lambda sign: header.count(sign.encode()))


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


def _typed(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    """Give columns the types of the CDM: whole numbers, dates, numbers, text."""
    columns = []
    for name in frame.columns:
        column = frame[name]
        is_text = name in ("domain_id", "vocabulary_id")
        if name.endswith(("_id", "_of_birth")) and not is_text:
            column = _cast(column, pl.Int64, table)
        elif name.endswith(("_date", "_datetime")):
            column = _dates(column, table)
        elif name == "value_as_number":
            column = _cast(column, pl.Float64, table)
        else:
            column = column.cast(pl.String)
        columns.append(column.alias(name))
    return pl.DataFrame(columns)


def _cast(column: pl.Series, dtype: type[pl.DataType], table: str) -> pl.Series:
    is_text = column.dtype == pl.String  # whole numbers that once were floats end in .0
    whole = column.str.replace(r"\.0+$", "") if is_text else column
    numbers = whole.cast(dtype, strict=False)
    if column.dtype.is_float() and dtype == pl.Int64:
        numbers = numbers.set((numbers.cast(pl.Float64) != column).fill_null(False), None)
        column = column.fill_nan(None)
    _check_cast(column, numbers, table, "a number")
    return numbers


def _dates(column: pl.Series, table: str) -> pl.Series:
    if column.dtype.is_temporal() or column.dtype == pl.Null:
        return column.cast(pl.Date)
    texts = column.cast(pl.String)
    for form in _DATE_FORMATS:
        parsed = texts.str.to_datetime(form, strict=False)
        if parsed.null_count() == texts.null_count():
            return parsed.cast(pl.Date)
    parsed = texts.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    _check_cast(texts, parsed, table, "a date")
    return parsed


def _check_cast(before: pl.Series, after: pl.Series, table: str, what: str) -> None:
    lost = after.is_null() & before.is_not_null()
    if lost.any():
        row = int(lost.arg_max() or 0)
        raise InputError(
            f"column '{before.name}' of table '{table}' has {before[row]!r} in data row {row + 1}, "
            f"which is not {what}"
        )
