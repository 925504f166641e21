"""SQLite, opened so that a query can read its own file and do nothing else."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from intravar.errors import InputError
from intravar.sources.databases.base import Database
from intravar.sources.plain import from_rows
from intravar.text import checked_names, first_line

#: What a query may do; everything else, ATTACH, PRAGMA and VACUUM INTO among them, is denied.
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
_DENIED_FUNCTIONS = ("load_extension", "fts3_tokenizer", "writefile", "readfile", "edit", "eval")


class SQLite(Database):
    """A SQLite file opened for reading."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._connection = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=2
            )
            self._connection.execute("PRAGMA query_only = ON")
            self._connection.set_authorizer(_authorise)
        except sqlite3.Error as error:
            raise self._unreadable(error) from error

    def tables(self) -> list[str]:
        """Return the names of the tables and views."""
        try:
            rows = self._connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
                "AND name NOT LIKE 'sqlite_%' ORDER BY name"
            ).fetchall()
        except sqlite3.Error as error:
            raise self._unreadable(error) from error
        return [str(row[0]) for row in rows]

    def batches(self, query: str, size: int | None) -> Iterator[pl.DataFrame]:
        """Yield all at once: only all values together tell what a column holds."""
        try:
            cursor = self._connection.execute(query)
            if cursor.description is None:
                raise InputError("the query selects nothing; give one SELECT")
            names = [column[0] for column in cursor.description]
            checked_names(names, "the query")
            yield from_rows(names, cursor.fetchall())
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            if isinstance(error, InputError):
                raise
            words = str(error)
            if re.search("not authorized|authorization denied|one statement", words):
                raise InputError(
                    f"the query is refused ({first_line(error)}): it may read this database and "
                    "nothing else; give one SELECT"
                ) from error
            if "locked" in words or "malformed" in words or "not a database" in words:
                raise self._unreadable(error) from error
            raise InputError(f"the query failed: {first_line(error)}") from error

    def _unreadable(self, error: BaseException) -> InputError:
        if "locked" in str(error):
            return InputError(
                f"'{self._path}' is locked by another program; close it there, or copy the file"
            )
        return InputError(f"'{self._path}' is not a whole SQLite file ({first_line(error)})")


def _authorise(
    action: int, first: str | None, second: str | None, _database: str | None, _by: str | None
) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in _DENIED_FUNCTIONS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
