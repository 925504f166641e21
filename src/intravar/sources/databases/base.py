"""Which database a source is, and which of its tables is meant."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import polars as pl

from intravar.errors import InputError, option, unknown_name
from intravar.sources.databases.connections import Database, DuckDB, PostgreSQL, SQLite
from intravar.sources.paths import Kind, existing, shown, without_password

#: Rows that a database hands over at a time.
AT_A_TIME = 200_000


def read_database(
    source: str, kind: Kind, table: str | None = None, query: str | None = None
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


def spooled(
    source: str,
    kind: Kind,
    folder: Callable[[], Path],
    *,
    least: int,
    table: str | None = None,
    query: str | None = None,
) -> pl.LazyFrame | None:
    """Return a table of more than `least` rows, written to files of a folder; None for others."""
    with closing(open_database(source, kind)) as database:
        asked = chosen_query(database, table, query, without_password(source))
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
            frames.append(pl.scan_parquet(part))
    return pl.concat(frames, how="vertical_relaxed")


def chosen_query(database: Database, table: str | None, query: str | None, name: str) -> str:
    """Return the query that is asked: as given, or all of a table, the only one by default."""
    if table is not None and query is not None:
        raise InputError("give {} or {}, not both", option("table"), option("query"))
    if query is not None and not query.strip():
        raise InputError("{} is empty; give a SELECT", option("query"))
    if query is not None:
        return query
    known = database.tables()
    if not known:
        raise InputError(f"{name} has no tables")
    if table is None and len(known) > 1:
        raise InputError(
            "{} has {} tables ({}); choose one with {} or {}",
            name,
            len(known),
            ", ".join(known[:8]) + (", ..." if len(known) > 8 else ""),
            option("table"),
            option("query"),
        )
    if table is not None and table not in known:
        raise unknown_name("table", table, known, remedy=f"{name} has {', '.join(known[:8])}")
    return f"SELECT * FROM {quoted(table or known[0])}"


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
