"""Tables of an OMOP CDM 5.4 database: a folder or zip of CSV or Parquet files, or a database."""

import io
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import polars as pl

from intravar.errors import InputError, option
from intravar.sources.databases import Database, open_database, quoted
from intravar.sources.paths import database_kind, existing, open_zip, read_member, without_password
from intravar.sources.plain import plain_column
from intravar.table_files import scan_csv, scan_parquet
from intravar.text import MISSING, first_line

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
        self._database: Database | None = None
        self._archive: zipfile.ZipFile | None = None
        self._folder = path = Path(source)
        self._tables: dict[str, str] = {}
        if (kind := database_kind(source)) is not None:
            self._database = open_database(str(source), kind)
            for name in self._database.tables():
                of, _, table = name.rpartition(".")
                if schema is None or of.lower() == schema.lower():
                    self._tables.setdefault(table.lower(), name)
            names = []
        elif existing(path).is_dir():
            names = sorted(file.relative_to(path).as_posix() for file in path.rglob("*"))
        elif path.suffix.lower() == ".zip" or zipfile.is_zipfile(path):
            self._archive = open_zip(path)
            names = self._archive.namelist()
        else:
            raise InputError(
                f"'{path}' is neither a folder nor a zip archive of OMOP tables, nor a database"
            )
        for name in names:
            file = PurePosixPath(name)
            hidden = file.name.startswith(".") or "__MACOSX" in file.parts  # macOS adds some
            if file.suffix.lower() in (".csv", ".parquet") and not hidden:
                self._tables.setdefault(file.stem.lower(), name)
        if "person" not in self._tables:
            self.close()
            ask = "" if schema else f" (is it in a schema? name it with {option('schema')})"
            raise InputError(
                f"'{self.name}' has no table 'person'; an OMOP CDM database has one{ask}"
            )

    def close(self) -> None:
        """Let go of the database or the archive."""
        for opened in (self._database, self._archive):
            if opened is not None:
                opened.close()

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
        try:
            stored = self._stored(actual)
            spelled = {name.lower(): name for name in stored.collect_schema().names()}
            for column in (*columns, *([] if where is None else [where[0]])):
                if column not in spelled:
                    raise InputError(f"table '{table}' of '{self.name}' has no column '{column}'")
            names = {spelled[name]: name for name in (*columns, *optional) if name in spelled}
            if self._database is not None:
                query = f"SELECT {', '.join(map(quoted, names))} FROM {quoted(actual)}"
                if where is not None:
                    values = ", ".join(str(int(value)) for value in where[1]) or "NULL"
                    query += f" WHERE {quoted(spelled[where[0]])} IN ({values})"
                stored = self._database.fetch(query).lazy()
            elif where is not None:
                number = pl.col(spelled[where[0]]).cast(pl.Float64, strict=False)
                stored = stored.filter(number.cast(pl.Int64, strict=False).is_in(list(where[1])))
            frame = stored.select(pl.col(name).alias(as_) for name, as_ in names.items()).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise InputError(f"table '{actual}' cannot be read: {first_line(error)}") from error
        absent = [pl.lit(None).alias(name) for name in optional if name not in spelled]
        frame = frame.with_columns(absent).select(*columns, *optional)
        return pl.DataFrame([_typed(column, table) for column in frame.get_columns()])

    def _stored(self, table: str) -> pl.LazyFrame:
        """Return a table as it is stored; of one in a database the columns alone."""
        if self._database is not None:
            return self._database.fetch(f"SELECT * FROM {quoted(table)} LIMIT 0").lazy()
        source: Path | bytes = self._folder / table
        if self._archive is not None:
            source = read_member(self._archive, table)
        if table.lower().endswith(".parquet"):
            return scan_parquet(source)
        with source.open("rb") if isinstance(source, Path) else io.BytesIO(source) as file:
            header = file.readline()
        # Vocabularies come with tabs in files called CSV.
        separator = max((",", "\t", ";"), key=lambda sign: header.count(sign.encode()))
        missing = list(MISSING)
        return scan_csv(source, separator=separator, infer_schema=False, null_values=missing)


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
