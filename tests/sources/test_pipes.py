"""Tables that come through a pipe, which can be read only once."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

import intravar
from intravar.sources import read_source

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


def piped(tmp_path: Path, content: bytes) -> Path:
    """Return a named pipe into which the content is being written."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=[content], daemon=True).start()
    return path


def patients() -> pl.DataFrame:
    cohort = intravar.simulate("score2", n_patients=1_500, n_physicians=5, random_state=1)
    return cohort.to_polars()


def test_text_is_read_from_a_pipe(tmp_path: Path) -> None:
    path = piped(tmp_path, b"doctor,drug\nA,1\nB,0\n")

    found = read_source(path)

    assert found.table.rows() == [("A", 1), ("B", 0)]
    assert found.name == str(path)


def test_a_table_that_is_scanned_is_read_from_a_pipe(tmp_path: Path) -> None:
    table = patients()
    path = piped(tmp_path, table.write_csv().encode())

    check = intravar.check(path, physician="physician", decision="decision", sample=1_000)

    assert check.source == str(path)
    assert check.panels.n_patients == table.height


def test_parquet_is_read_from_a_pipe(tmp_path: Path) -> None:
    table = patients()
    table.write_parquet(tmp_path / "t.parquet")
    path = piped(tmp_path, (tmp_path / "t.parquet").read_bytes())

    check = intravar.check(path, physician="physician", decision="decision")

    assert len(check.prepared.rows) == table.height


def test_the_command_reads_its_standard_input() -> None:
    command = [sys.executable, "-m", "intravar", "check", "/dev/stdin"]
    roles = ["--physician", "physician", "--decision", "decision"]

    ran = subprocess.run(
        [*command, *roles], input=patients().write_csv(), capture_output=True, text=True
    )

    assert ran.returncode == 0, ran.stderr
    assert "age        covariate" in ran.stdout
