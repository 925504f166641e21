"""DuckDB, opened so that a query can read its own file and do nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from intravar.errors import InputError
from intravar.sources.databases.base import Database
from intravar.text import checked_names, first_line

#: Types that do not pass through Arrow as what they are, and what stands for them.
_AS_TEXT = ("HUGEINT", "UHUGEINT", "BIGNUM", "VARINT", "BIT", "TIME WITH TIME ZONE", "UUID", "JSON")
_SETTINGS = (
    # No other file, no network, no extension, no variable of this program.
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


class DuckDB(Database):
    """A DuckDB file opened for reading."""

    def __init__(self, path: Path) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise InputError(
                f"'{path}' is a DuckDB file; reading it takes an extra: "
                "pip install 'intravar[databases]'"
            ) from error
        self._error = duckdb.Error
        self._select = duckdb.StatementType.SELECT
        try:
            self._connection = duckdb.connect(str(path), read_only=True)
            for setting in _SETTINGS:
                self._connection.execute(setting)
        except duckdb.Error as error:
            words = first_line(error)
            remedy = "; close it there, or copy the file" if "lock" in words.lower() else ""
            raise InputError(f"cannot open '{path}': {words}{remedy}") from error

    def tables(self) -> list[str]:
        """Return the names of the tables and views."""
        rows = self._connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables ORDER BY 1, 2"
        ).fetchall()
        return [name if schema == "main" else f"{schema}.{name}" for schema, name in rows]

    def batches(self, query: str, size: int | None) -> Iterator[pl.DataFrame]:
        """See :class:`Database`."""
        try:
            found = self._selected(query)
            known = _in_known_types(found)
            if size is None:
                yield _durations(known.pl(), found)
                return
            # Called otherwise before DuckDB 1.4.
            reader = getattr(known, "to_arrow_reader", None) or known.fetch_arrow_reader
            for batch in reader(size):
                frame = pl.from_arrow(batch)
                assert isinstance(frame, pl.DataFrame)
                yield _durations(frame, found)
        except self._error as error:
            raise InputError(f"the query failed: {first_line(error)}") from error
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise InputError(
                f"what the query selects cannot be read ({first_line(error)}); cast the column to "
                "a number or text"
            ) from error

    def _selected(self, query: str) -> Any:
        statements = self._connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type != self._select:
            raise InputError(
                "the query is refused: it may read this database and nothing else; give one SELECT"
            )
        found = self._connection.sql(statements[0].query)
        if found is None:
            raise InputError("the query selects nothing; give one SELECT")
        checked_names(found.columns, "the query")
        return found


def _in_known_types(found: Any) -> Any:
    """Cast what Arrow does not know: ids of 38 digits to text, intervals to microseconds."""
    listed = []
    for name, kind in zip(found.columns, found.types, strict=True):
        column, kind = '"' + name.replace('"', '""') + '"', str(kind).upper()
        if kind == "INTERVAL":
            listed.append(f"CAST(round(epoch({column}) * 1e6) AS BIGINT) AS {column}")
        elif kind in _AS_TEXT or kind.startswith("UNION"):
            listed.append(f"CAST({column} AS VARCHAR) AS {column}")
        else:
            listed.append(column)
    return found.project(", ".join(listed))


def _durations(frame: pl.DataFrame, found: Any) -> pl.DataFrame:
    return frame.with_columns(
        pl.col(name).cast(pl.Duration("us"))
        for name, kind in zip(found.columns, found.types, strict=True)
        if str(kind).upper() == "INTERVAL"
    )
