"""PostgreSQL, in a session that the server itself keeps from writing.

The session is read-only, and a query is declared as a cursor: the server then takes one SELECT and
nothing else, no COPY, no COMMIT before it and no command after it. Functions that the server's
own catalogue calls volatile may act outside of transactions and are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from intravar.errors import InputError
from intravar.sources.databases.base import Database
from intravar.sources.paths import check_server_url, scrubbed, without_password
from intravar.sources.plain import from_rows
from intravar.text import first_line, shortened

#: Volatile functions that give values and change nothing.
_HARMLESS = frozenset(
    {"random", "random_normal", "gen_random_uuid", "clock_timestamp", "timeofday", "uuidv4"}
)
_SYNTAX_ERROR = "42601"
_TEXTS = re.compile(
    r"""(?:\b[eE])'(?:[^'\\]|\\.|'')*'   # E'text with \' in it'
    | '(?:[^']|'')*'                     # 'text'
    | \$(\w*)\$.*?\$\1\$                 # $tag$text$tag$
    | --[^\n]*                           # a comment to the end of the line
    | /\*.*?\*/                          # a comment
    """,
    re.VERBOSE | re.DOTALL,
)
_CALLED = re.compile(r'("(?:[^"]|"")+"|[^\W\d][\w$]*)\s*\(')


class PostgreSQL(Database):
    """A PostgreSQL server, read from only."""

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise InputError(
                "reading PostgreSQL takes an extra: pip install 'intravar[databases]'"
            ) from error
        check_server_url(url)
        self._error = psycopg.Error
        self._url = url
        try:
            scheme, _, rest = url.partition("://")
            self._connection = psycopg.connect(f"{scheme.lower()}://{rest}", connect_timeout=10)
            self._connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
            self._connection.commit()
            self._connection.read_only = True
        except (psycopg.Error, ValueError, UnicodeError) as error:
            raise InputError(
                f"cannot connect to {without_password(url)}: {self._connection_problem(error)}"
            ) from error

    def tables(self) -> list[str]:
        """Return the names of the tables and views."""
        try:
            rows = self._connection.execute(
                "SELECT table_schema, table_name FROM information_schema.tables "
                "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
            ).fetchall()
        except self._error as error:
            raise InputError(f"the query failed: {self._words(error)}") from error
        return [name if schema == "public" else f"{schema}.{name}" for schema, name in rows]

    def batches(self, query: str, size: int | None) -> Iterator[pl.DataFrame]:
        """See :class:`Database`."""
        query = query.strip().rstrip(";")
        try:
            self._refuse_volatile(query)
            with self._connection.cursor(name="patients") as cursor:
                cursor.execute(query.encode())
                names = [column.name for column in cursor.description or ()]
                if not names:
                    raise InputError("the query selects nothing; give one SELECT")
                rows = cursor.fetchall() if size is None else cursor.fetchmany(size)
                while True:
                    yield from_rows(names, rows)
                    rows = [] if size is None else cursor.fetchmany(size)
                    if not rows:
                        return
        except (self._error, UnicodeError) as error:
            one = getattr(error, "sqlstate", None) == _SYNTAX_ERROR
            remedy = "; give one SELECT" if one else ""
            raise InputError(f"the query failed: {self._words(error)}{remedy}") from error
        finally:
            self._connection.rollback()

    def _refuse_volatile(self, query: str) -> None:
        called = functions_called(query)
        found = self._connection.execute(
            "SELECT DISTINCT proname FROM pg_catalog.pg_proc "
            "WHERE provolatile = 'v' AND proname = ANY(%s) ORDER BY 1",
            [sorted(called - _HARMLESS)],
        ).fetchall()
        if found:
            raise InputError(
                f"the query is refused: the function '{found[0][0]}' may change something (the "
                "database calls it volatile); select from tables and views alone, or declare the "
                "function STABLE if it only reads"
            )

    def _words(self, error: BaseException) -> str:
        return scrubbed(first_line(error), self._url)

    def _connection_problem(self, error: BaseException) -> str:
        """Keep what the server said, without the list of addresses that were tried."""
        text = scrubbed(" ".join(str(error).split()), self._url)
        found = re.search(r"FATAL: +(.*?)(?= connection to server|$)", text)
        return shortened(found[1] if found else text, 160)


def functions_called(query: str) -> set[str]:
    """Return the names that stand before a parenthesis in a query, as the catalogue spells them.

    Examples
    --------
    >>> sorted(functions_called("SELECT Lo(1), pg_catalog.SetVal /* x */ (2), 'f(x)'"))
    ['lo', 'setval']
    """
    bare = _TEXTS.sub(" ", query)
    if re.search(r'[uU]&"', bare):
        raise InputError('the query is refused: write names plainly, not as U&"..."')
    return {
        name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()
        for name in _CALLED.findall(bare)
    }
