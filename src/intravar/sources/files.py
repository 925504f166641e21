"""Tables from files: delimited text, Parquet and Excel."""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from intravar.errors import InputError, option
from intravar.sources.delimited import named_columns, read_text
from intravar.sources.paths import existing, unreadable
from intravar.text import first_line

PARQUET_MAGIC = b"PAR1"
EXCEL_SUFFIXES = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
ZIP_MAGIC = b"PK\x03\x04"
#: The beginnings of files that people hand over by mistake, and what they are.
NOT_TABLES = {
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"<!doctype": "a web page",
    b"<html": "a web page",
    b"<table": "a web page",
    b"<?xml": "XML",
    **dict.fromkeys((b'{"', b"{ ", b"{\n", b"{\r"), "JSON"),
    b"[{": "JSON",
    b"$FL2": "an SPSS file",
    b"<stata_dta": "a Stata file",
    b"RDX": "an R file",
    b"ARROW1": "an Arrow file",
    b"BZh": "packed with bzip2",
    b"\xfd7zXZ": "packed with xz",
    b"(\xb5/\xfd": "packed with zstd",
    b"7z\xbc\xaf": "packed with 7-Zip",
}


def read_file(
    path: Path,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> tuple[pl.DataFrame, list[str]]:
    """Read a file or a folder of Parquet parts; return the table and notes on how it was read."""
    if existing(path).is_dir():
        if sheet is not None:
            raise InputError("{} is for workbooks; '{}' is a folder", option("sheet"), path)
    elif not (beginning := _beginning(path)):
        raise InputError(f"'{path}' is empty; give a table with a header and one row per decision")
    lazy = scan_parquet(path)
    if lazy is not None:
        with _whole(path):
            return lazy.collect(), []
    if path.is_dir():
        names = {entry.name.lower() for entry in path.iterdir()}
        if {"person.csv", "visit_occurrence.csv"} <= names:
            raise InputError(
                f"'{path}' is a folder of OMOP tables; make one table of it with 'intravar omop' "
                "first"
            )
        raise InputError(f"folder '{path}' has no .parquet file in it; name a file")
    if path.suffix.lower() in EXCEL_SUFFIXES or _is_workbook(path, beginning):
        return _read_excel(path, sheet)
    if sheet is not None:
        raise InputError("{} is for workbooks; '{}' is not one", option("sheet"), path)
    if beginning.startswith(ZIP_MAGIC):
        raise InputError(
            f"'{path}' is a zip archive; unpack it first, or use 'intravar omop' if it holds an "
            "OMOP database"
        )
    for magic, kind in NOT_TABLES.items():
        if beginning.lower().startswith(magic.lower()):
            raise InputError(f"'{path}' is {kind}, not a table; give CSV, Parquet or a database")
    return read_text(path, separator=separator, encoding=encoding)


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(16)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def scan_parquet(path: Path) -> pl.LazyFrame | None:
    """Return Parquet, one file or a folder of parts, to be gone through; None if it is not that."""
    if path.is_file():
        is_one = path.suffix.lower() == ".parquet" or _beginning(path).startswith(PARQUET_MAGIC)
        return pl.scan_parquet(path, hive_partitioning=False) if is_one else None
    paths = sorted(path.rglob("*.parquet"))
    parts = {each: _part(each, path) for each in paths if not each.name.startswith((".", "_"))}
    return _together(parts) if parts else None


def _part(part: Path, folder: Path) -> pl.LazyFrame:
    """Return a part with the columns that the names of its folders hold: doctor=7/part.parquet."""
    lazy = pl.scan_parquet(part, hive_partitioning=False)
    with _whole(part):
        known = lazy.collect_schema().names()
    steps = (step.partition("=") for step in part.relative_to(folder).parts[:-1])
    from_folders = {name: value for name, equals, value in steps if equals and name not in known}
    return lazy.with_columns(
        pl.lit(None if value == "__HIVE_DEFAULT_PARTITION__" else value, pl.String).alias(name)
        for name, value in from_folders.items()
    )


def _together(parts: dict[Path, pl.LazyFrame]) -> pl.LazyFrame:
    """Put parts one below the other; they must have the same columns and types."""
    schemas = {part: lazy.collect_schema() for part, lazy in parts.items()}
    (first, of_first), *others = schemas.items()
    for part, schema in others:
        if names := of_first.keys() ^ schema.keys():
            has, lacks = (first, part) if min(names) in of_first else (part, first)
            raise InputError(
                f"'{has}' has a column '{min(names)}' and '{lacks}' has none; the parts of a "
                "table have the same columns"
            )
        for name, dtype in of_first.items():
            empty = [pl.DataFrame(schema={name: each}) for each in (dtype, schema[name])]
            try:
                pl.concat(empty, how="vertical_relaxed")
            except pl.exceptions.PolarsError as error:
                raise InputError(
                    f"column '{name}' is {dtype} in '{first}' and {schema[name]} in '{part}'; the "
                    "parts of a table have the same types"
                ) from error
    return pl.concat(
        [lazy.select(of_first.names()) for lazy in parts.values()], how="vertical_relaxed"
    )


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Say in words that a Parquet file is damaged."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(
            f"'{path}' is not a whole Parquet file ({first_line(error)}); was its copy cut short?"
        ) from error


def _is_workbook(path: Path, beginning: bytes) -> bool:
    """Tell a workbook by what it holds, whatever it is called."""
    if not beginning.startswith(ZIP_MAGIC):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def _read_excel(path: Path, sheet: str | None) -> tuple[pl.DataFrame, list[str]]:
    try:
        import fastexcel
    except ImportError as error:
        raise InputError(
            f"'{path}' is a workbook; reading it takes an extra: pip install 'intravar[excel]'"
        ) from error
    logging.getLogger("fastexcel").setLevel(logging.ERROR)  # it remarks on empty columns
    try:
        book = fastexcel.read_excel(path)
        if sheet is None:
            sheet = book.sheet_names[0]
        elif sheet not in book.sheet_names:
            listed = ", ".join(f"'{name}'" for name in book.sheet_names)
            raise InputError(f"'{path}' has no sheet '{sheet}'; it has {listed}")
        # All rows tell the kind of a column: guessed from the first, it makes others missing.
        header = book.load_sheet(sheet, header_row=None, n_rows=1, dtypes="string").to_polars()
        names = [str(value or "") for value in header.row(0)] if header.height else []
        table = book.load_sheet(sheet, schema_sample_rows=None).to_polars()
        if table.width == len(names):
            table.columns = named_columns(names, path)
    except InputError:
        raise
    except Exception as error:  # the library raises classes of its own for every defect of a file
        raise InputError(f"'{path}' is not a readable workbook ({first_line(error)})") from error
    others = len(book.sheet_names) - 1
    note = f"sheet '{sheet}'" + (f" ({others} other sheets not read)" if others else "")
    return table, [note]
