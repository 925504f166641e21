"""Tables from files: delimited text, Parquet and Excel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from intravar.errors import InputError, option
from intravar.sources.delimited import read_text
from intravar.text import checked_names, shortened

PARQUET_MAGIC = b"PAR1"
EXCEL_SUFFIXES = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
ZIP_MAGIC = b"PK\x03\x04"
#: The beginnings of files that people hand over by mistake, and what they are.
NOT_TABLES = {
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"<!DOCTYPE": "a web page",
    b"<!doctype": "a web page",
    b"<html": "a web page",
    b"{": "JSON",
}


def read_file(
    path: Path,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    as_text: Sequence[str] = (),
) -> tuple[pl.DataFrame, list[str]]:
    """Read a file or a folder of Parquet parts; return the table and notes on how it was read."""
    if path.is_dir():
        return _read_folder(path), []
    beginning = _beginning(path)
    if not beginning:
        raise InputError(f"'{path}' is empty; give a table with a header and one row per patient")
    if beginning.startswith(PARQUET_MAGIC) or path.suffix.lower() == ".parquet":
        return _read_parquet(path), []
    if path.suffix.lower() in EXCEL_SUFFIXES:
        return _read_excel(path, sheet)
    if sheet is not None:
        raise InputError(f"{option('sheet')} is for workbooks; '{path}' is not one")
    if beginning.startswith(ZIP_MAGIC):
        raise InputError(
            f"'{path}' is a zip archive; unpack it first, or use 'intravar omop' if it holds an "
            "OMOP database"
        )
    for magic, kind in NOT_TABLES.items():
        if beginning.startswith(magic):
            raise InputError(f"'{path}' is {kind}, not a table; give CSV, Parquet or a database")
    return read_text(path, separator=separator, encoding=encoding, as_text=as_text)


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(16)
    except FileNotFoundError as error:
        raise InputError(f"file '{path}' does not exist{_nearby(path)}") from error
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from error


def _nearby(path: Path) -> str:
    """Name the files of the same folder that the user may have meant."""
    from difflib import get_close_matches

    if not path.parent.is_dir():
        return f"; nor does the folder '{path.parent}'"
    names = [entry.name for entry in path.parent.iterdir()]
    nearest = get_close_matches(path.name, names, n=1, cutoff=0.6)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""


def _read_folder(path: Path) -> pl.DataFrame:
    parts = sorted(part for part in path.rglob("*.parquet") if not part.name.startswith((".", "_")))
    if parts:
        return pl.concat([_read_parquet(part) for part in parts], how="vertical_relaxed")
    lower = {entry.name.lower() for entry in path.iterdir()}
    if {"person.csv", "visit_occurrence.csv"} <= lower:
        raise InputError(
            f"'{path}' is a folder of OMOP tables; make a table of patients of it with "
            "'intravar omop' first"
        )
    raise InputError(f"folder '{path}' has no .parquet file in it; name a file")


def _read_parquet(path: Path) -> pl.DataFrame:
    try:
        return pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = shortened(str(error).splitlines()[0], 100)
        raise InputError(
            f"'{path}' is not a whole Parquet file ({reason}); was its copy cut short?"
        ) from error


def _read_excel(path: Path, sheet: str | None) -> tuple[pl.DataFrame, list[str]]:
    try:
        import fastexcel
    except ImportError as error:
        raise InputError(
            f"'{path}' is a workbook; reading it takes an extra: pip install 'intravar[excel]'"
        ) from error
    try:
        book = fastexcel.read_excel(path)
    except Exception as error:  # the library raises classes of its own for every defect of a file
        reason = shortened(str(error).splitlines()[0], 100)
        raise InputError(f"'{path}' is not a readable workbook ({reason})") from error
    if sheet is None:
        sheet = book.sheet_names[0]
    elif sheet not in book.sheet_names:
        listed = ", ".join(f"'{name}'" for name in book.sheet_names)
        raise InputError(f"'{path}' has no sheet '{sheet}'; it has {listed}")
    header = book.load_sheet(sheet, header_row=None, n_rows=1).to_polars()
    if header.height:
        names = [str(value) for value in header.row(0) if value is not None]
        checked_names(names, f"'{path}'")
    table = book.load_sheet(sheet).to_polars()
    others = len(book.sheet_names) - 1
    note = f"sheet '{sheet}'" + (f" ({others} other sheets not read)" if others else "")
    return table, [note]
