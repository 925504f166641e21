"""Which database a source is, and which of its tables is meant."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Literal, get_args

import polars as pl

from intravar.errors import InputError, option, unknown_name
from intravar.sources.databases.connections import Database, DuckDB, PostgreSQL, SQLite
from intravar.sources.databases.urls import refuse_connection_strings, without_password
from intravar.sources.paths import existing, shown

Kind = Literal["postgresql", "duckdb", "sqlite"]
SQLITE_MAGIC = b"SQLite format 3\x00"
DUCKDB_MAGIC = b"DUCK"  # after eight bytes of checksum
_SCHEMES: dict[str, Kind] = {kind: kind for kind in get_args(Kind)} | {"postgres": "postgresql"}
_SUFFIXES: dict[str, Kind] = {
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}


def database_kind(source: str | os.PathLike[str]) -> Kind | None:
    """Tell a database by its URL, its suffix or its first bytes; None for anything else."""
    text = str(source)
    scheme, separator, _ = text.partition("://")
    if separator and scheme.isascii() and "/" not in scheme:
        if scheme.lower() not in _SCHEMES:
            raise InputError(
                f"'{without_password(text)}' has the scheme '{scheme}', which is not read; give a "
                "file or postgresql://, duckdb:// or sqlite://"
            )
        return _SCHEMES[scheme.lower()]
    path = Path(text)
    try:
        if path.is_file():
            with path.open("rb") as file:
                beginning = file.read(16)
            if beginning == SQLITE_MAGIC:
                return "sqlite"
            return "duckdb" if beginning[8:12] == DUCKDB_MAGIC else None
    except (OSError, ValueError):
        return None  # whoever reads the file says why it cannot be read
    if not path.parent.is_dir() or "=" in text:
        refuse_connection_strings(text)
    return _SUFFIXES.get(path.suffix.lower())


def read_database(
    source: str, kind: Kind, *, table: str | None = None, query: str | None = None
) -> pl.DataFrame:
    """Return a table, or what a query selects; without either the only table.

    All rows are read, whatever population is asked for: how a column is written is told by all of
    it. Who wants the database to choose writes a query.
    """
    name = without_password(source)
    with closing(open_database(source, kind)) as database:
        frame = database.fetch(chosen_query(database, table, query, name))
    if not frame.height:
        what = f"table '{table}'" if table else "the query"
        raise InputError(f"{what} returned no rows from {name}; there is nothing to measure")
    return frame


def chosen_query(database: Database, table: str | None, query: str | None, name: str) -> str:
    """Return the query that is asked: as given, or all of a table."""
    if table is not None and query is not None:
        raise InputError("give {} or {}, not both", option("table"), option("query"))
    if query is not None and not query.strip():
        raise InputError("{} is empty; give a SELECT", option("query"))
    return f"SELECT * FROM {_chosen(database, table, name)}" if query is None else query


def count_rows(database: Database, query: str) -> int:
    """Return how many rows a query selects."""
    # On lines of its own: a query may end in a comment.
    inner = f"(\n{query.strip().rstrip(';')}\n) AS patients"
    return int(database.fetch(f"SELECT count(*) AS n FROM {inner}").item())


def open_database(source: str, kind: Kind) -> Database:
    """Open a database for reading."""
    if kind == "postgresql":
        return PostgreSQL(source)
    path = Path(source.split("://", 1)[1] if "://" in source else source)
    if not existing(path).is_file():
        raise InputError(f"'{shown(path)}' is a folder, not a database")
    return DuckDB(path) if kind == "duckdb" else SQLite(path)


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
            "{} has {} tables ({}); choose one with {} or {}",
            name,
            len(known),
            listed,
            option("table"),
            option("query"),
        )
    if table not in known:
        raise unknown_name("table", table, known, remedy=f"{name} has {', '.join(known[:8])}")
    return quoted(table)
