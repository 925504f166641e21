"""One door for every source: a path, a folder, a database or a frame becomes a polars table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl

from intravar.errors import InputError, option
from intravar.frames import is_pandas
from intravar.sources.databases import database_kind, read_database, without_password
from intravar.sources.files import read_file
from intravar.text import checked_shape


@dataclass(frozen=True)
class Source:
    """A table and where it came from.

    Attributes
    ----------
    table
        The table, one row per patient.
    name
        What to call the source in messages; a password in a URL is left out.
    notes
        What was found out while reading: separator, encoding, sheet.
    as_pandas
        Whether it was a frame of pandas, and results are to be.
    """

    table: pl.DataFrame
    name: str
    notes: tuple[str, ...] = field(default=())
    as_pandas: bool = False


def read_source(
    source: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    as_text: Sequence[str] = (),
) -> Source:
    """Read a table of patients.

    Parameters
    ----------
    source
        Path of a CSV, TSV, Parquet, Excel, DuckDB or SQLite file (text also gzipped), a folder of
        Parquet parts, a `postgresql://` URL, or a frame of pandas, polars or another library that
        narwhals reads.
    table, query
        What to read from a database.
    separator, encoding, sheet
        How to read a text file or a workbook; found out where not given.
    as_text
        Columns that stay text in a text file: physician 007 is a name, not the number 7.

    Examples
    --------
    >>> read_source({"age": [50, 61], "drug": [0, 1]}).table.shape
    (2, 2)
    """
    if not isinstance(source, str | os.PathLike):
        table_read = checked_shape(_frame(source), "the frame")
        return Source(table_read, "the frame", as_pandas=is_pandas(source))
    kind = database_kind(source)
    if kind is not None:
        name = without_password(str(source))
        frame = read_database(str(source), kind, table=table, query=query)
        return Source(checked_shape(frame, name), name)
    for name, value in (("table", table), ("query", query)):
        if value is not None:
            raise InputError(f"{option(name)} is for databases; '{source}' is not one")
    frame, notes = read_file(
        Path(source), separator=separator, encoding=encoding, sheet=sheet, as_text=as_text
    )
    return Source(checked_shape(frame, f"'{source}'"), str(source), tuple(notes))


def _frame(source: Any) -> pl.DataFrame:
    if isinstance(source, dict):
        return pl.DataFrame(source, strict=False)
    try:
        frame = nw.from_native(source)
    except TypeError as error:
        kind = type(source).__name__
        raise InputError(f"a {kind} is not a table; give a path or a data frame") from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    names = [str(name) for name in frame.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"the frame has two columns '{twice[0]}'; rename one of them")
    table: pl.DataFrame = frame.to_polars()
    return table
