"""Tables from delimited text: separator, encoding and decimal comma are found out or told."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from intravar.errors import InputError, option
from intravar.text import checked_names, shortened

GZIP_MAGIC = b"\x1f\x8b"
SEPARATORS = (",", ";", "\t", "|")
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
#: What stands for a missing value in text.
MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", ".")
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DECIMAL_COMMA = re.compile(r"^[+-]?\d+(,\d+)?$")


def read_text(
    path: Path,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    as_text: Sequence[str] = (),
) -> tuple[pl.DataFrame, list[str]]:
    """Read delimited text, gzipped or not; return the table and notes on how it was read."""
    text, used_encoding = _decoded(path, _bytes(path), encoding)
    first = next((line for line in text.splitlines()[:50] if line.strip()), "")
    used = _separator(separator) if separator else _found_separator(first, path)
    header = next(csv.reader([first], delimiter=used), [])
    checked_names([name for name in header if name], f"'{path}'")
    try:
        table = pl.read_csv(
            text.encode("utf-8"),
            separator=used,
            null_values=list(MISSING),
            infer_schema_length=None,
            schema_overrides={name: pl.String for name in as_text if name in header},
        )
    except pl.exceptions.NoDataError as error:
        raise InputError(
            f"'{path}' is empty; give a table with a header and one row per patient"
        ) from error
    except pl.exceptions.PolarsError as error:
        raise _unreadable(path, text, used, len(header), error) from error
    table = _without_index_name(table)
    notes = []
    if used != ",":
        notes.append(f"separator {'tab' if used == chr(9) else repr(used)}")
    if used_encoding not in ("utf-8", "utf-8-sig"):
        notes.append(f"encoding {used_encoding}")
    if used != ",":
        table, changed = _decimal_commas(table, as_text)
        if changed:
            notes.append(f"decimal commas in {', '.join(changed)}")
    return table, notes


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"'{path}' is not a whole gzip file ({error}); was its copy cut short?"
        ) from error
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from error


def _decoded(path: Path, data: bytes, encoding: str | None) -> tuple[str, str]:
    if encoding is None:
        encoding = next(
            (name for mark, name in BYTE_ORDER_MARKS.items() if data.startswith(mark)), "utf-8"
        )
    if encoding == "utf-8" and b"\x00" in data[:65_536]:
        raise InputError(
            f"'{path}' is not a table but binary data; give CSV, Parquet or a database"
        )
    try:
        return data.decode(encoding), encoding
    except LookupError as error:
        raise InputError(
            f"unknown encoding '{encoding}'; try utf-8, cp1252, latin-1 or utf-16"
        ) from error
    except UnicodeDecodeError as error:
        raise _wrong_encoding(path, data, encoding, error) from error


def _wrong_encoding(
    path: Path, data: bytes, encoding: str, error: UnicodeDecodeError
) -> InputError:
    line = data.count(b"\n", 0, error.start) + 1
    found = f"line {line} has the byte 0x{data[error.start]:02x}"
    others = [row for row in data.split(b"\n") if not row.isascii()]
    if encoding == "utf-8" and any(_is_utf8(row) for row in others):
        return InputError(
            f"'{path}' mixes encodings: {found}, which is not UTF-8, but other lines are UTF-8; "
            "save it in one encoding"
        )
    return InputError(
        f"'{path}' is not {encoding.upper()}: {found}; name its encoding, for instance "
        f"{option('encoding', 'cp1252')}"
    )


def _is_utf8(row: bytes) -> bool:
    try:
        row.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _separator(given: str) -> str:
    separator = NAMED_SEPARATORS.get(given.lower(), given)
    if len(separator) != 1:
        raise InputError(f"separator '{given}' is not one character; try ',' ';' '|' or tab")
    return separator


def _found_separator(first: str, path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".tsv", ".tab")) and "\t" in first:
        return "\t"
    unquoted = re.sub(r'"[^"]*"', "", first)
    return max(SEPARATORS, key=lambda candidate: unquoted.count(candidate))


def _unreadable(path: Path, text: str, separator: str, width: int, error: Exception) -> InputError:
    """Say which line does not fit: the library tells only that one does not."""
    rows = csv.reader(text.splitlines(), delimiter=separator)
    try:
        for row in rows:
            if len(row) > width:
                return InputError(
                    f"'{path}' has {len(row)} fields in line {rows.line_num} where the header has "
                    f"{width}; quote the cell that contains the separator, or name another one"
                )
    except csv.Error:
        pass
    return InputError(f"'{path}' is not a table: {shortened(str(error).splitlines()[0], 100)}")


def _without_index_name(table: pl.DataFrame) -> pl.DataFrame:
    """Give the unnamed first column that R and pandas write a name."""
    if table.columns and table.columns[0] == "" and "index" not in table.columns:
        return table.rename({"": "index"})
    return table


def _decimal_commas(table: pl.DataFrame, as_text: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    changed = []
    for name in table.columns:
        column = table[name]
        if column.dtype != pl.String or name in as_text or column.null_count() == table.height:
            continue
        if column.str.contains(_DECIMAL_COMMA.pattern).all(ignore_nulls=True):
            changed.append(name)
    numbers = [
        pl.col(name).str.replace(",", ".", literal=True).cast(pl.Float64) for name in changed
    ]
    return table.with_columns(numbers), changed
