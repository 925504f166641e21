"""Tables in DuckDB, SQLite and PostgreSQL: a query can read them and do nothing else.

A query is one SELECT. That it changes nothing is left to each database's own means, never to
looking for words in the query: the connection is read-only, other files and the network are shut.
"""

from __future__ import annotations

import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from intravar.errors import InputError, option, unknown_name
from intravar.sources import paths
from intravar.sources.plain import from_rows
from intravar.sources.query_check import check_query, drop_powers
from intravar.table_files import scan_parquet
from intravar.text import checked_names, first_line, shortened

#: Rows that a database hands over at a time.
AT_A_TIME = 200_000
_REFUSED = "it may read this database and nothing else; give one SELECT"
_NOTHING = "the query selects nothing; give one SELECT"


def read_database(
    source: str, kind: paths.Kind, table: str | None = None, query: str | None = None
) -> pl.DataFrame:
    """Return a table, or what a query selects; without either the only table.

    All rows are read, whatever population is asked for: how a column is written is told by all of
    it. Who wants the database to choose writes a query.
    """
    name = paths.without_password(source)
    with closing(open_database(source, kind)) as database:
        frame = database.fetch(chosen_query(database, table, query, name))
    if not frame.height:
        what = f"table '{table}'" if table else "the query"
        raise InputError(f"{what} returned no rows from {name}; there is nothing to measure")
    return frame


def spooled(
    source: str,
    kind: paths.Kind,
    folder: Callable[[], Path],
    least: int,
    table: str | None,
    query: str | None,
) -> pl.LazyFrame | None:
    """Return a table of more than `least` rows, written to files of a folder; None for others."""
    with closing(open_database(source, kind)) as database:
        asked = chosen_query(database, table, query, paths.without_password(source))
        # On lines of its own: a query may end in a comment.
        inner = f"(\n{asked.strip().rstrip(';')}\n) AS patients"
        try:
            if int(database.fetch(f"SELECT count(*) AS n FROM {inner}").item()) <= least:
                return None
        except InputError:
            return None  # whoever reads it as a whole says what is wrong with it
        place, frames = folder(), []
        for number, batch in enumerate(database.batches(asked, AT_A_TIME)):
            part = place / f"rows-{number:06d}.parquet"
            batch.write_parquet(part, compression="lz4")
            frames.append(scan_parquet(part))
    return pl.concat(frames, how="vertical_relaxed")


def chosen_query(database: Database, table: str | None, query: str | None, name: str) -> str:
    """Return the query that is asked: as given, or all of a table, the only one by default."""
    if table is not None and query is not None:
        raise InputError(f"give {option('table')} or {option('query')}, not both")
    if query is not None and not query.strip():
        raise InputError(f"{option('query')} is empty; give a SELECT")
    if query is not None:
        database.check_role()
        return query
    known = database.tables()
    if not known:
        raise InputError(f"{name} has no tables")
    if table is None and len(known) > 1:
        raise InputError(
            f"{name} has {len(known)} tables ({', '.join(known[:8])}{', ...' * (len(known) > 8)}); "
            f"choose one with {option('table')} or {option('query')}"
        )
    if table is not None and table not in known:
        raise unknown_name("table", table, known, remedy=f"{name} has {', '.join(known[:8])}")
    return f"SELECT * FROM {quoted(table or known[0])}"


class Database(ABC):
    """A database opened for reading.

    A subclass lists schema and name of every table and view; tables of the `_usual` schema go by
    their name alone. `_errors` are those of the library, which `_problem` says in words.
    """

    _connection: Any
    _errors: tuple[type[Exception], ...]
    _listing: ClassVar[str]
    _usual: ClassVar[str] = "main"
    #: Name of a role of the server that has rights which a query must not have.
    _powerful_role: str | None = None

    @abstractmethod
    def _selected(self, query: str, size: int | None) -> Iterator[pl.DataFrame]:
        """Yield what a query selects, see :meth:`batches`."""

    def _problem(self, error: Exception) -> str:
        """Say why a query failed."""
        return f"the query failed: {first_line(error)}"

    def check_role(self) -> None:
        """Refuse queries of a role that may reach files or programs of the server."""
        if self._powerful_role is not None:
            raise InputError(
                f"the role '{self._powerful_role}' may reach files or programs of the server, so "
                f"that {option('query')} is refused; connect as a role that only reads, or name a "
                f"table or view with {option('table')}"
            )

    def tables(self) -> list[str]:
        """Return the names of the tables and views."""
        with self._worded():
            rows = self._connection.execute(self._listing).fetchall()
        return [name if schema == self._usual else f"{schema}.{name}" for schema, name in rows]

    def batches(self, query: str, size: int | None) -> Iterator[pl.DataFrame]:
        """Yield what a query selects, so many rows at a time or all at once; at least one table."""
        with self._worded():
            yield from self._selected(query, size)

    def fetch(self, query: str) -> pl.DataFrame:
        """Return what a query selects."""
        (frame,) = self.batches(query, None)
        return frame

    def close(self) -> None:
        """Let go of the database."""
        self._connection.close()

    @contextmanager
    def _worded(self) -> Iterator[None]:
        try:
            yield
        except InputError:
            raise
        except self._errors as error:
            raise InputError(self._problem(error)) from error


#: Types that do not pass through Arrow as what they are, and what stands for them.
_AS_TEXT = ("HUGEINT", "UHUGEINT", "BIGNUM", "VARINT", "BIT", "TIME WITH TIME ZONE", "UUID", "JSON")


class DuckDB(Database):
    """A DuckDB file: no other file, no network, no extension, no variable of this program."""

    _listing = "SELECT table_schema, table_name FROM information_schema.tables ORDER BY 1, 2"

    def __init__(self, path: Path) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise InputError(
                f"'{path}' is a DuckDB file; reading it takes an extra: "
                "pip install 'intravar[databases]'"
            ) from error
        self._errors = (duckdb.Error, pl.exceptions.PolarsError, pl.exceptions.PanicException)
        self._select = duckdb.StatementType.SELECT
        try:
            self._connection = duckdb.connect(str(path), read_only=True)
            self._connection.execute("SET enable_external_access = false")
            self._connection.execute("SET lock_configuration = true")
        except duckdb.Error as error:
            words = first_line(error)
            remedy = "; close it there, or copy the file" if "lock" in words.lower() else ""
            raise InputError(f"cannot open '{path}': {words}{remedy}") from error

    def _selected(self, query: str, size: int | None) -> Iterator[pl.DataFrame]:
        statements = self._connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type != self._select:
            raise InputError(f"the query is refused: {_REFUSED}")
        selected = self._connection.sql(statements[0].query)
        if selected is None:
            raise InputError(_NOTHING)
        checked_names(selected.columns, "the query")
        # What Arrow does not know: ids of 38 digits become text, intervals microseconds.
        listed, lasting = [], []
        for name, kind in zip(selected.columns, map(str, selected.types), strict=True):
            column = '"' + name.replace('"', '""') + '"'
            if kind.upper() == "INTERVAL":
                lasting.append(pl.col(name).cast(pl.Duration("us")))
                column = f"CAST(round(epoch({column}) * 1e6) AS BIGINT) AS {column}"
            elif kind.upper() in _AS_TEXT or kind.upper().startswith("UNION"):
                column = f"CAST({column} AS VARCHAR) AS {column}"
            listed.append(column)
        known = selected.project(", ".join(listed))
        if size is None:
            yield known.pl().with_columns(lasting)
            return
        # Called otherwise before DuckDB 1.4.
        reader = getattr(known, "to_arrow_reader", None) or known.fetch_arrow_reader
        for batch in reader(size):
            yield pl.DataFrame(pl.from_arrow(batch)).with_columns(lasting)

    def _problem(self, error: Exception) -> str:
        if isinstance(error, self._errors[0]):
            return super()._problem(error)
        return (
            f"what the query selects cannot be read ({first_line(error)}); cast the column to a "
            "number or text"
        )


class SQLite(Database):
    """A SQLite file: a query may select and read; ATTACH, PRAGMA and all else is denied."""

    _listing = (
        "SELECT 'main', name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite_%' ORDER BY name"
    )
    _errors = (sqlite3.Error, sqlite3.Warning, ValueError)
    _allowed = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
    _denied = ("load_extension", "fts3_tokenizer", "writefile", "readfile", "edit", "eval")

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._worded():
            self._connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=2
            )
            self._connection.execute("PRAGMA query_only = ON")
            self._connection.set_authorizer(self._authorise)

    def _selected(self, query: str, size: int | None) -> Iterator[pl.DataFrame]:
        # All at once: only all values together tell what a column holds.
        cursor = self._connection.execute(query)
        if cursor.description is None:
            raise InputError(_NOTHING)
        yield from_rows([column[0] for column in cursor.description], cursor.fetchall())

    def _problem(self, error: Exception) -> str:
        words = str(error)
        if re.search("not authorized|authorization denied|one statement", words):
            return f"the query is refused ({first_line(error)}): {_REFUSED}"
        if "locked" in words:
            return f"'{self._path}' is locked by another program; close it there, or copy the file"
        if re.search("malformed|not a database|open database|I/O", words):
            return f"'{self._path}' is not a whole SQLite file ({first_line(error)})"
        return super()._problem(error)

    @classmethod
    def _authorise(cls, action: int, _first: str | None, second: str | None, *_: Any) -> int:
        harmless = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in cls._denied
        allowed = harmless or action in cls._allowed
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


_SYNTAX_ERROR = "42601"


class PostgreSQL(Database):
    """A PostgreSQL server, in a session that may only read.

    Every query is checked by :func:`intravar.sources.query_check.check_query` before it runs. The
    session is read-only, has no rights to files or programs of the server, and declares a query as
    a cursor: the server then takes one SELECT, no COPY, no COMMIT before it and no command after.
    """

    _listing = (
        "SELECT table_schema, table_name FROM information_schema.tables "
        "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
    )
    _usual = "public"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
            from psycopg.types import datetime
        except ImportError as error:
            raise InputError(
                "reading PostgreSQL takes an extra: pip install 'intravar[databases]'"
            ) from error
        paths.check_server_url(url)
        self._errors = (psycopg.Error, UnicodeError)
        self._url = url
        try:
            scheme, _, rest = url.partition("://")
            self._connection = psycopg.connect(f"{scheme.lower()}://{rest}", connect_timeout=10)
            self._connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
            self._powerful_role = drop_powers(self._connection)
            self._connection.commit()
            self._connection.read_only = True
            for kind in ("Date", "Timestamp", "Timestamptz"):
                loader = _far_as_text(getattr(datetime, f"{kind}Loader"))
                self._connection.adapters.register_loader(kind.lower(), loader)
        except (psycopg.Error, ValueError, UnicodeError) as error:
            # What the server said, without the list of addresses that were tried.
            text = paths.scrubbed(" ".join(str(error).split()), url)
            match = re.search(r"FATAL: +(.*?)(?= connection to server|$)", text)
            words = shortened(match[1] if match else text, 160)
            raise InputError(f"cannot connect to {paths.without_password(url)}: {words}") from error

    def _selected(self, query: str, size: int | None) -> Iterator[pl.DataFrame]:
        query = query.strip().rstrip(";")
        try:
            check_query(self._connection, query)
            with self._connection.cursor(name="patients") as cursor:
                cursor.execute(query.encode())
                names = [column.name for column in cursor.description or ()]
                if not names:
                    raise InputError(_NOTHING)
                rows = cursor.fetchall() if size is None else cursor.fetchmany(size)
                yield from_rows(names, rows)
                while size is not None and (rows := cursor.fetchmany(size)):
                    yield from_rows(names, rows)
        finally:
            self._connection.rollback()

    def _problem(self, error: Exception) -> str:
        one = getattr(error, "sqlstate", None) == _SYNTAX_ERROR
        remedy = "; give one SELECT" if one else ""
        return f"{paths.scrubbed(super()._problem(error), self._url)}{remedy}"


def _far_as_text(loader: type[Any]) -> type[Any]:
    """Return what reads dates, those too that Python has not: infinity is a missing date."""
    import psycopg

    def load(self: Any, data: Any) -> Any:
        try:
            return loader.load(self, data)
        except psycopg.DataError:
            text = bytes(data).decode()
            return None if "infinity" in text else text

    return type(loader.__name__, (loader,), {"load": load})


def open_database(source: str, kind: paths.Kind) -> Database:
    """Open a database for reading."""
    if kind == "postgresql":
        return PostgreSQL(source)
    path = Path(source.split("://", 1)[1] if "://" in source else source)
    if not paths.existing(path).is_file():
        raise InputError(f"'{paths.shown(path)}' is a folder, not a database")
    return DuckDB(path) if kind == "duckdb" else SQLite(path)


def quoted(name: str) -> str:
    """Quote a table's name, with its schema if it has one.

    Examples
    --------
    >>> quoted("cdm.person")
    '"cdm"."person"'
    """
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))
