"""Tables from files: delimited text, Parquet, Excel, JSON lines, Stata, SPSS and SAS.

Every cell of a text is read as text. What the texts mean is found out later, in the same way for
all sources.
"""

import codecs
import csv
import io
import logging
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import polars as pl

from intravar import table_files
from intravar.errors import InputError, option
from intravar.sources.json_lines import is_json_lines, read_json_lines
from intravar.sources.paths import GZIP_MAGIC, existing, read_bytes, unreadable
from intravar.sources.statistics_files import format_of, read_statistics_file
from intravar.text import checked_names, clean_name, first_line, shortened

PARQUET_MAGIC = b"PAR1"
EXCEL_SUFFIXES = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
ZIP_MAGIC = b"PK\x03\x04"
#: Files that people hand over by mistake, and how they begin, in small letters.
NOT_TABLES = {
    "a PDF": (b"%pdf",),
    "a picture": (b"\x89png", b"\xff\xd8\xff", b"gif8"),
    "a web page": (b"<!doctype", b"<html", b"<table"),
    "XML": (b"<?xml",),
    "JSON": (b'{"', b"{ ", b"{\n", b"{\r", b"[{"),
    "an R file": (b"rdx",),
    "an Arrow file": (b"arrow1",),
    "packed with bzip2": (b"bzh",),
    "packed with xz": (b"\xfd7zxz",),
    "packed with zstd": (b"(\xb5/\xfd",),
    "packed with 7-Zip": (b"7z\xbc\xaf",),
}
SEPARATORS = (",", ";", "\t", "|")
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # begins as UTF-16 does, and is asked for first
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: Sheets of a workbook that a message lists.
MOST_SHEETS = 8
#: The line by which Excel tells itself the separator.
_SEPARATOR_LINE = re.compile(r"^sep=(.)\r?\n")
#: Bytes that tell how a large text is written.
BEGINNING = 2**20
#: Characters below the header that tell the separator; names of columns may hold others.
FIRST_ROWS = 2**14
#: Cells longer than this are no cells but a quote that was never closed.
LONGEST_CELL = 10_000_000


class FileTable(NamedTuple):
    """A table from a file, notes on how it was read, and what else the file holds.

    `advice` ends the message of an error about a table that is not the one that was meant.
    """

    table: pl.DataFrame
    notes: list[str]
    advice: str = ""


def read_file(
    path: Path,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> FileTable:
    """Read a file or a folder of Parquet parts."""
    if existing(path).is_dir():
        if sheet is not None:
            raise InputError(f"{option('sheet')} is for workbooks; '{path}' is a folder")
    elif not (beginning := _beginning(path)):
        raise InputError(f"'{path}' is empty; give a table with a header and one row per decision")
    lazy = scan_parquet(path)
    if lazy is not None:
        with _whole(path):
            return FileTable(lazy.collect(), [])
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
        raise InputError(f"{option('sheet')} is for workbooks; '{path}' is not one")
    if (suffix := format_of(path, beginning)) is not None:
        return FileTable(*read_statistics_file(path, suffix, encoding=encoding))
    if is_json_lines(path):
        return FileTable(*read_json_lines(path))
    if beginning.startswith(ZIP_MAGIC):
        raise InputError(
            f"'{path}' is a zip archive; unpack it first, or use 'intravar omop' if it holds an "
            "OMOP database"
        )
    for kind, beginnings in NOT_TABLES.items():
        if beginning.lower().startswith(beginnings):
            also = ", or JSON lines in a file called .jsonl" if kind == "JSON" else ""
            raise InputError(
                f"'{path}' is {kind}, not a table; give CSV, Parquet or a database{also}"
            )
    return FileTable(*read_text(path, separator=separator, encoding=encoding))


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
        return table_files.scan_parquet(path) if is_one else None
    paths = sorted(path.rglob("*.parquet"))
    parts = {each: _part(each, path) for each in paths if not each.name.startswith((".", "_"))}
    return _together(parts) if parts else None


def _part(part: Path, folder: Path) -> pl.LazyFrame:
    """Return a part with the columns that the names of its folders hold: doctor=7/part.parquet."""
    lazy = table_files.scan_parquet(part)
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


def _read_excel(path: Path, sheet: str | None) -> FileTable:
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
    others = [f"'{name}'" for name in book.sheet_names if name != sheet]
    if not others:
        return FileTable(table, [f"sheet '{sheet}'"])
    return FileTable(
        table,
        [f"sheet '{sheet}' ({_listed(others)} not read)"],
        f"this is sheet '{sheet}', the workbook also has {_listed(others)}: choose with "
        f"{option('sheet')}",
    )


def _listed(names: Sequence[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    shown = ", ".join(names[:MOST_SHEETS])
    more = len(names) - MOST_SHEETS
    return f"{shown} and {more} more" if more > 0 else shown


def read_text(
    path: Path, *, separator: str | None = None, encoding: str | None = None
) -> tuple[pl.DataFrame, list[str]]:
    """Read delimited text, gzipped or not; return a table of texts and notes on how it was read."""
    text, used_encoding = _decoded(path, read_bytes(path), encoding)
    # Old Macs ended lines otherwise.
    text = text.replace("\r\n", "\n") if "\n" in text else text.replace("\r", "\n")
    match = _SEPARATOR_LINE.match(text)
    if match:
        separator, text = separator or match[1], text[match.end() :]
    text = text.strip("\n")
    if not text.strip():
        raise InputError(f"'{path}' is empty; give a table with a header and one row per decision")
    used, header, notes = _layout(text, path, separator)
    try:
        table = table_files.read_csv(
            text.encode("utf-8"),
            separator=used,
            infer_schema=False,
            new_columns=header,
            truncate_ragged_lines=False,
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeError) as error:
        raise _unreadable(path, text, used, len(header), error) from error
    if used_encoding not in ("utf-8", "utf-8-sig"):
        notes.append(f"encoding {used_encoding}")
    n_cells, width = text.count(used), len(header)
    if '"' in text or n_cells != (text.count("\n") + 1) * (width - 1):
        for line, record in _numbered(text, used):
            if 0 < len(record) < width:
                notes.append(
                    f"lines that end early (the first is line {line}): the cells they lack are "
                    "missing"
                )
                break
    return table, notes


def scan_text(
    path: Path, *, separator: str | None = None, encoding: str | None = None
) -> tuple[pl.LazyFrame, tuple[str, ...]] | None:
    """Return delimited text to be gone through; None where it must be read as a whole."""
    with path.open("rb") as file:
        beginning = file.read(BEGINNING)
    if is_json_lines(path) or format_of(path, beginning) is not None:
        return None
    otherwise = beginning.startswith((*BYTE_ORDER_MARKS, GZIP_MAGIC, ZIP_MAGIC))
    if encoding not in (None, "utf-8") or b"\x00" in beginning or otherwise:
        return None
    # A letter may be cut in two at the end.
    text = beginning.decode("utf-8", errors="ignore").lstrip("\n")
    if "\r" in text.replace("\r\n", "") or _SEPARATOR_LINE.match(text) or "\n" not in text:
        return None
    used, header, notes = _layout(text.replace("\r\n", "\n"), path, separator)
    lazy = table_files.scan_csv(path, separator=used, infer_schema=False, new_columns=header)
    return lazy, tuple(notes)


def _decoded(path: Path, data: bytes, encoding: str | None) -> tuple[str, str]:
    if encoding is None:
        encoding = next(
            (name for mark, name in BYTE_ORDER_MARKS.items() if data.startswith(mark)), "utf-8"
        )
    elif data.startswith(codecs.BOM_UTF8) and not encoding.lower().startswith(("utf-8", "utf8")):
        raise InputError(f"'{path}' is marked as UTF-8; read it without {option('encoding')}")
    if encoding == "utf-8" and b"\x00" in data[:65_536]:
        raise InputError(
            f"'{path}' is not a table but binary data; give CSV, Parquet or a database, or name "
            f"its encoding with {option('encoding')}"
        )
    try:
        return data.decode(encoding).removeprefix("\ufeff"), encoding
    except UnicodeDecodeError as error:
        raise _wrong_encoding(path, data, encoding, error) from error
    except (LookupError, ValueError) as error:
        raise InputError(
            f"unknown encoding '{shortened(encoding, 30)}'; try utf-8, cp1252, latin-1 or utf-16"
        ) from error


def _wrong_encoding(
    path: Path, data: bytes, encoding: str, error: UnicodeDecodeError
) -> InputError:
    line = data.count(b"\n", 0, error.start) + 1
    if error.start >= len(data):
        return InputError(f"'{path}' is not {encoding.upper()}: it ends in the middle of a letter")
    bad_byte = f"line {line} has the byte 0x{data[error.start]:02x}"
    # A line that is UTF-8 comes back whole.
    others = [row for row in data.split(b"\n") if not row.isascii()]
    if encoding == "utf-8" and any(row.decode(errors="ignore").encode() == row for row in others):
        return InputError(
            f"'{path}' mixes encodings: {bad_byte}, which is not UTF-8, but other lines are UTF-8; "
            "save it in one encoding"
        )
    return InputError(
        f"'{path}' is not {encoding.upper()}: {bad_byte}; name its encoding, for instance "
        f"{option('encoding', 'cp1252')}"
    )


def _layout(text: str, path: Path, given: str | None) -> tuple[str, list[str], list[str]]:
    """Return what separates the cells, as given or found out, the header, and a note on it."""
    # The header may hold line breaks in quoted names.
    ends = (at.start() for at in re.finditer("\n", text))
    first = text[: next((end for end in ends if text.count('"', 0, end) % 2 == 0), len(text))]
    if given:
        separator = NAMED_SEPARATORS.get(given.lower(), given)
        if len(separator) != 1:
            raise InputError(
                f"separator '{shortened(given, 20)}' is not one character; try ',' ';' '|' or tab"
            )
        if not separator.isascii() or separator.isalnum() or separator in '"\r\n\x00':
            raise InputError(
                f"separator {given!r} cannot separate the cells of a table; try ',' ';' '|' or tab"
            )
    elif path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab")) and "\t" in first:
        separator = "\t"
    else:
        separator = _guessed(first, text[len(first) : len(first) + FIRST_ROWS])
    named = "tab" if separator == "\t" else repr(separator)
    notes = [] if separator == "," else [f"separator {named}"]
    _, record = next(_numbered(first, separator), (1, []))
    return separator, named_columns(record, path), notes


def _guessed(header: str, below: str) -> str:
    """Return what separates the names, and the cells of most rows below them as often."""
    names, rows = (re.sub(r'"[^"]*"', "", text) for text in (header, below))

    def fit(separator: str) -> tuple[int, int]:
        count = names.count(separator)
        return sum(row.count(separator) == count > 0 for row in rows.split("\n")), count

    return max(SEPARATORS, key=fit)


def named_columns(header: Sequence[str], path: Path) -> list[str]:
    """Return the names of the columns; those without one are called by their place."""
    names = [clean_name(name) for name in header]
    checked_names([name for name in names if name], f"'{path}'")
    known = set(names)
    for place, name in enumerate(names):
        if not name:
            # R and pandas write row numbers first, without a name.
            called = "index" if place == 0 and "index" not in known else f"column {place + 1}"
            while called in known:
                called += "*"
            names[place] = called
            known.add(called)
    return names


def _numbered(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield records with the line each begins in, up to one that cannot be read."""
    line, before = 1, csv.field_size_limit(LONGEST_CELL)
    try:
        with suppress(csv.Error):
            for record in csv.reader(io.StringIO(text), delimiter=separator):
                yield line, record
                line += 1 + sum(cell.count("\n") for cell in record)
    finally:
        csv.field_size_limit(before)


def _unreadable(
    path: Path, text: str, separator: str, width: int, error: BaseException
) -> InputError:
    """Say which line does not fit: the library tells only that one does not."""
    for line, row in _numbered(text, separator):
        if len(row) > width:
            above = ", or delete what stands above the header" if line == 2 else ""
            return InputError(
                f"'{path}' has {len(row)} fields in line {line} where the header has {width}; "
                f"quote the cell that contains the separator, or name another one{above}"
            )
    for number, content in enumerate(text.split("\n"), start=1):
        if content.count('"') % 2:
            return InputError(
                f"'{path}' has a quotation mark in line {number} that is not closed there; close "
                "it, or double it if it belongs to the text"
            )
    return InputError(f"'{path}' is not a table: {first_line(error)}")
