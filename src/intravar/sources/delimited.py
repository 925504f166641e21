"""Tables from delimited text: separator and encoding are found out or told.

Every cell is read as text. What the texts mean is found out later, in the same way for all sources.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import polars as pl

from intravar.errors import InputError, option
from intravar.sources.paths import GZIP_MAGIC, read_bytes
from intravar.text import checked_names, clean_name, first_line, shortened

SEPARATORS = (",", ";", "\t", "|")
NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # begins as UTF-16 does, and is asked for first
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: The line by which Excel tells itself the separator.
_SEPARATOR_LINE = re.compile(r"^sep=(.)\r?\n")
#: Bytes that tell how a large text is written, and how packed files begin.
BEGINNING = 2**20
PACKED = (GZIP_MAGIC, b"PK\x03\x04")
#: Cells longer than this are no cells but a quote that was never closed.
LONGEST_CELL = 10_000_000


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
        table = pl.read_csv(
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
    if encoding not in (None, "utf-8") or b"\x00" in beginning:
        return None
    if any(beginning.startswith(mark) for mark in (*BYTE_ORDER_MARKS, *PACKED)):
        return None
    # A letter may be cut in two at the end.
    text = beginning.decode("utf-8", errors="ignore").lstrip("\n")
    if "\r" in text.replace("\r\n", "") or _SEPARATOR_LINE.match(text) or "\n" not in text:
        return None
    used, header, notes = _layout(text.replace("\r\n", "\n"), path, separator)
    lazy = pl.scan_csv(path, separator=used, infer_schema=False, new_columns=header)
    return lazy, tuple(notes)


def _decoded(path: Path, data: bytes, encoding: str | None) -> tuple[str, str]:
    if encoding is None:
        encoding = next(
            (name for mark, name in BYTE_ORDER_MARKS.items() if data.startswith(mark)), "utf-8"
        )
    elif data.startswith(codecs.BOM_UTF8) and not encoding.lower().startswith(("utf-8", "utf8")):
        raise InputError("'{}' is marked as UTF-8; read it without {}", path, option("encoding"))
    if encoding == "utf-8" and b"\x00" in data[:65_536]:
        raise InputError(
            "'{}' is not a table but binary data; give CSV, Parquet or a database, or name its "
            "encoding with {}",
            path,
            option("encoding"),
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
        "'{}' is not {}: {}; name its encoding, for instance {}",
        path,
        encoding.upper(),
        bad_byte,
        option("encoding", "cp1252"),
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
        separator = max(SEPARATORS, key=re.sub(r'"[^"]*"', "", first).count)
    named = "tab" if separator == "\t" else repr(separator)
    notes = [] if separator == "," else [f"separator {named}"]
    _, record = next(_numbered(first, separator), (1, []))
    return separator, named_columns(record, path), notes


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
