"""Writes one table in every way in which intravar reads tables."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from postgres import write_table

#: What a writer returns: a source, and how to read it.
Written = tuple[Any, dict[str, Any]]
Writer = Callable[[pl.DataFrame, Path], Written]


def as_csv(table: pl.DataFrame, folder: Path) -> Written:
    table.write_csv(folder / "t.csv")
    return folder / "t.csv", {}


def as_tsv_of_windows(table: pl.DataFrame, folder: Path) -> Written:
    text = table.write_csv(separator="\t", line_terminator="\r\n", quote_style="always")
    (folder / "t.txt").write_bytes(text.encode("utf-16"))
    return folder / "t.txt", {}


def as_quoted_csv(table: pl.DataFrame, folder: Path) -> Written:
    text = table.write_csv(separator=";", quote_style="non_numeric")
    (folder / "s.csv").write_bytes(text.encode("utf-8-sig"))
    return folder / "s.csv", {"encoding": "utf-8"}


def as_parquet(table: pl.DataFrame, folder: Path) -> Written:
    table.write_parquet(folder / "t.parquet")
    return folder / "t.parquet", {}


def as_parts(table: pl.DataFrame, folder: Path) -> Written:
    parts = folder / "parts"
    parts.mkdir(exist_ok=True)
    half = table.height // 2
    table[:half].write_parquet(parts / "0.parquet")
    table[half:].select(reversed(table.columns)).write_parquet(parts / "1.parquet")
    return parts, {}


def as_workbook(table: pl.DataFrame, folder: Path) -> Written:
    import xlsxwriter

    file = folder / "t.xlsx"
    with xlsxwriter.Workbook(file, {"default_date_format": "yyyy-mm-dd hh:mm:ss"}) as book:
        page = book.add_worksheet("patients")
        for place, name in enumerate(table.columns):
            page.write_string(0, place, name)
            for row, value in enumerate(table[name].to_list(), start=1):
                _write_cell(page, row, place, value)
    return file, {}


def _write_cell(page: Any, row: int, place: int, value: Any) -> None:
    if value is None or value != value:
        page.write_blank(row, place, None)
    elif isinstance(value, bool):
        page.write_boolean(row, place, value)
    elif isinstance(value, datetime | date | time):
        page.write_datetime(row, place, value)
    elif isinstance(value, str) or abs(value) > 1e15:  # a workbook has floats only
        page.write_string(row, place, str(value))
    else:
        page.write_number(row, place, float(value))


def as_sqlite(table: pl.DataFrame, folder: Path) -> Written:
    file = folder / "t.sqlite"
    file.unlink(missing_ok=True)
    connection = sqlite3.connect(file)
    listed = ", ".join(_quoted(name) for name in table.columns)
    connection.execute(f"CREATE TABLE t ({listed})")
    marks = ", ".join("?" * table.width)
    rows = [[_for_sqlite(value) for value in row] for row in table.iter_rows()]
    connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
    connection.commit()
    connection.close()
    return file, {}


def _for_sqlite(value: Any) -> Any:
    return str(value) if isinstance(value, Decimal | date | datetime | time) else value


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def as_duckdb(table: pl.DataFrame, folder: Path) -> Written:
    import duckdb

    file = folder / "t.duckdb"
    file.unlink(missing_ok=True)
    with duckdb.connect(str(file)) as connection:
        connection.register("given", table.to_arrow())
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    return file, {}


def as_json_lines(table: pl.DataFrame, folder: Path) -> Written:
    file = folder / "t.jsonl"
    with file.open("w") as lines:
        for row in table.iter_rows(named=True):
            values = {name: _for_sqlite(value) for name, value in row.items()}
            lines.write(f"{json.dumps(values)}\n")
    return file, {}


def as_stata(table: pl.DataFrame, folder: Path) -> Written:
    import pyreadstat

    pyreadstat.write_dta(_of_doubles(table), str(folder / "t.dta"))
    return folder / "t.dta", {}


def as_spss(table: pl.DataFrame, folder: Path) -> Written:
    import pyreadstat

    pyreadstat.write_sav(_of_doubles(table), str(folder / "t.sav"))
    return folder / "t.sav", {}


def _of_doubles(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with the types that statistics programs have; NaN is a missing value there."""
    return table.with_columns(
        pl.selectors.numeric().cast(pl.Float64).fill_nan(None),
        pl.selectors.boolean().cast(pl.Float64),
        pl.selectors.by_dtype(pl.Null).cast(pl.String),
    )


def as_frame(table: pl.DataFrame, folder: Path) -> Written:
    return table, {}


def as_pandas(table: pl.DataFrame, folder: Path) -> Written:
    return table.to_pandas(use_pyarrow_extension_array=True), {}


def as_objects(table: pl.DataFrame, folder: Path) -> Written:
    import pandas as pd

    columns = {name: pd.Series(table[name].to_list(), dtype=object) for name in table.columns}
    return pd.DataFrame(columns), {}


def as_dict(table: pl.DataFrame, folder: Path) -> Written:
    return {name: table[name].to_list() for name in table.columns}, {}


def as_postgresql(url: str) -> Writer:
    def write(table: pl.DataFrame, folder: Path) -> Written:
        write_table(url, "t", table, replace=True)
        return url, {"table": "t"}

    return write


WRITERS: dict[str, Writer] = {
    "CSV": as_csv,
    "TSV, UTF-16, Windows": as_tsv_of_windows,
    "CSV with ; and a BOM": as_quoted_csv,
    "Parquet": as_parquet,
    "folder of parts": as_parts,
    "workbook": as_workbook,
    "JSON lines": as_json_lines,
    "SQLite": as_sqlite,
    "DuckDB": as_duckdb,
    "polars": as_frame,
    "pandas": as_pandas,
    "pandas objects": as_objects,
    "dict": as_dict,
}
#: Formats in which columns are called as variables of a program, and numbers are doubles.
STATISTICS_WRITERS: dict[str, Writer] = {"Stata": as_stata, "SPSS": as_spss}
