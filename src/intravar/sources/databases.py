"""Tables from DuckDB, SQLite and PostgreSQL, opened for reading only."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit, urlunsplit

import polars as pl

from intravar.errors import InputError, option, unknown_name
from intravar.text import checked_names, shortened

Kind = Literal["postgresql", "duckdb", "sqlite"]
SQLITE_MAGIC = b"SQLite format 3\x00"
DUCKDB_MAGIC = b"DUCK"  # after eight bytes of checksum
_SCHEMES: dict[str, Kind] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "duckdb": "duckdb",
    "sqlite": "sqlite",
}
_SUFFIXES: dict[str, Kind] = {
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}


class Database(Protocol):
    """A database opened for reading."""

    def tables(self) -> list[str]:
        """Return the names of the tables and views."""

    def fetch(self, query: str) -> pl.DataFrame:
        """Return what a query selects."""

    def close(self) -> None:
        """Let go of the database."""


def database_kind(source: str | os.PathLike[str]) -> Kind | None:
    """Tell a database by its URL, its suffix or its first bytes; None for anything else."""
    text = str(source)
    scheme, separator, _ = text.partition("://")
    if separator:
        if scheme not in _SCHEMES:
            raise InputError(
                f"'{without_password(text)}' has the scheme '{scheme}', which is not read; give a "
                "file or postgresql://, duckdb:// or sqlite://"
            )
        return _SCHEMES[scheme]
    path = Path(text)
    if path.is_file():
        with path.open("rb") as file:
            beginning = file.read(16)
        if beginning == SQLITE_MAGIC:
            return "sqlite"
        if beginning[8:12] == DUCKDB_MAGIC:
            return "duckdb"
        return None
    return _SUFFIXES.get(path.suffix.lower())


def without_password(url: str) -> str:
    """Return a URL fit to be shown.

    Examples
    --------
    >>> without_password("postgresql://ann:secret@host/db?password=secret")
    'postgresql://ann@host/db'
    """
    if "://" not in url:
        return url
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit((parts.scheme, f"{user.partition(':')[0]}{at}{host}", parts.path, "", ""))


def read_database(
    source: str, kind: Kind, *, table: str | None = None, query: str | None = None
) -> pl.DataFrame:
    """Return a table, or what a query selects; the only table where neither is named."""
    if table is not None and query is not None:
        raise InputError(f"give {option('table')} or {option('query')}, not both")
    name = without_password(source)
    with closing(open_database(source, kind)) as database:
        if query is None:
            query = f"SELECT * FROM {_chosen(database, table, name)}"
        frame = database.fetch(query)
    if frame.height == 0:
        what = f"table '{table}'" if table else "the query"
        raise InputError(f"{what} returned no rows from {name}; there are no patients to measure")
    return frame


def open_database(source: str, kind: Kind) -> Database:
    """Open a database for reading."""
    if kind == "postgresql":
        return _Postgres(source)
    path = Path(source.split("://", 1)[1] if "://" in source else source)
    if not path.is_file():
        raise InputError(f"file '{path}' does not exist")
    return _DuckDB(path) if kind == "duckdb" else _SQLite(path)


def quoted(name: str) -> str:
    """Quote a table's name, with its schema if it has one.

    Examples
    --------
    >>> quoted("cdm.person")
    '"cdm"."person"'
    """
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def _chosen(database: Database, table: str | None, name: str) -> str:
    known = database.tables()
    if not known:
        raise InputError(f"{name} has no tables")
    if table is None:
        if len(known) == 1:
            return quoted(known[0])
        listed = ", ".join(known[:8]) + (", ..." if len(known) > 8 else "")
        raise InputError(
            f"{name} has {len(known)} tables ({listed}); choose one with {option('table')} or "
            f"{option('query')}"
        )
    if table not in known:
        raise unknown_name("table", table, known, remedy=f"{name} has {', '.join(known[:8])}")
    return quoted(table)


class _DuckDB:
    def __init__(self, path: Path) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise InputError(
                f"'{path}' is a DuckDB file; reading it takes an extra: "
                "pip install 'intravar[databases]'"
            ) from error
        self._error = duckdb.Error
        try:
            self._connection = duckdb.connect(str(path), read_only=True)
            # A query reads this database and nothing else: no other file, no network.
            self._connection.execute("SET enable_external_access = false")
        except duckdb.Error as error:
            raise InputError(f"cannot open '{path}': {_first_line(error)}") from error

    def tables(self) -> list[str]:
        rows = self._connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables ORDER BY 1, 2"
        ).fetchall()
        return [name if schema == "main" else f"{schema}.{name}" for schema, name in rows]

    def fetch(self, query: str) -> pl.DataFrame:
        try:
            found = self._connection.sql(query)
            if found is None:
                raise InputError("the query selects nothing; give a SELECT")
            checked_names(found.columns, "the query")
            return _plain_types(found.pl())
        except self._error as error:
            raise InputError(f"the query failed: {_first_line(error)}") from error

    def close(self) -> None:
        self._connection.close()


class _SQLite:
    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)

    def tables(self) -> list[str]:
        rows = self._connection.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ).fetchall()
        return [str(row[0]) for row in rows]

    def fetch(self, query: str) -> pl.DataFrame:
        try:
            cursor = self._connection.execute(query)
            rows = cursor.fetchall()
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise InputError(f"the query failed: {_first_line(error)}") from error
        return from_rows([column[0] for column in cursor.description or ()], rows)

    def close(self) -> None:
        self._connection.close()


class _Postgres:
    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise InputError(
                "reading PostgreSQL takes an extra: pip install 'intravar[databases]'"
            ) from error
        self._error = psycopg.Error
        try:
            self._connection = psycopg.connect(url, connect_timeout=10)
            self._connection.read_only = True
        except psycopg.Error as error:
            raise InputError(
                f"cannot connect to {without_password(url)}: {_connection_problem(error)}"
            ) from error

    def tables(self) -> list[str]:
        rows = self._connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
        ).fetchall()
        return [name if schema == "public" else f"{schema}.{name}" for schema, name in rows]

    def fetch(self, query: str) -> pl.DataFrame:
        try:
            cursor = self._connection.execute(query.encode())
            if cursor.description is None:
                raise InputError("the query selects nothing; give a SELECT")
            names = [column.name for column in cursor.description]
            return from_rows(names, cursor.fetchall())
        except self._error as error:
            raise InputError(f"the query failed: {_first_line(error)}") from error

    def close(self) -> None:
        self._connection.close()


def from_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """Make a table of rows of Python values; a column of mixed kinds becomes text.

    Examples
    --------
    >>> from_rows(["a"], [(1,), ("x",)])["a"].to_list()
    ['1', 'x']
    """
    checked_names(names, "the query")
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pl.DataFrame(
        [_series(name, values) for name, values in zip(names, columns, strict=True)]
    )


def _series(name: str, values: Sequence[Any]) -> pl.Series:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool, int, float, Decimal} and kinds not in (set(), {bool}, {int}):
        numbers = [None if value is None else float(value) for value in values]
        return pl.Series(name, numbers, dtype=pl.Float64)
    if len(kinds) > 1:
        texts = [None if value is None else str(value) for value in values]
        return pl.Series(name, texts, dtype=pl.String)
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, pl.exceptions.PolarsError, OverflowError):
        texts = [None if value is None else str(value) for value in values]
        return pl.Series(name, texts, dtype=pl.String)


def _plain_types(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(
        pl.col(name).cast(pl.Float64)
        for name, dtype in frame.schema.items()
        if isinstance(dtype, pl.Decimal) or dtype == pl.Float32
    )


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return shortened(lines[0] if lines else type(error).__name__, 160)


def _connection_problem(error: BaseException) -> str:
    """Keep what the server said, without the list of addresses that were tried."""
    text = " ".join(str(error).split())
    found = re.search(r"FATAL: +(.*?)(?= connection to server|$)", text)
    return shortened(found[1] if found else text, 160)
