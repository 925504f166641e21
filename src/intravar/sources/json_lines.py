"""Tables in JSON lines: one object per line, one line per row.

Values are read as Python reads them, so that long whole numbers stay exact. A key that a line lacks
is a missing value there.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl

from intravar.errors import InputError
from intravar.sources.paths import read_bytes
from intravar.sources.plain import series_of
from intravar.text import checked_names, clean_name

#: Endings of files, before ``.gz`` as well.
SUFFIXES = (".jsonl", ".ndjson")


def is_json_lines(path: Path) -> bool:
    """Return whether the name of a file says that it holds JSON lines.

    Examples
    --------
    >>> is_json_lines(Path("visits.ndjson.gz")), is_json_lines(Path("visits.json"))
    (True, False)
    """
    return path.name.lower().removesuffix(".gz").endswith(SUFFIXES)


def read_json_lines(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """Read a file of JSON lines, gzipped or not; return the table and notes on how it was read."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"'{path}' is not UTF-8, which JSON lines are; convert it, or give the table as CSV"
        ) from error
    # Only a line feed ends a row: other breaks, such as U+2028, may stand in a text.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    rows = [_row(line, number, path) for number, line in lines]
    if not rows:
        raise InputError(f"'{path}' is empty; give a table with one row per decision")
    names = list(dict.fromkeys(name for row in rows for name in row))
    checked_names([clean_name(name) for name in names], f"'{path}'")
    columns = [series_of(name, [row.get(name) for row in rows]) for name in names]
    return pl.DataFrame(columns), ["JSON lines"]


def _row(line: str, number: int, path: Path) -> dict[str, Any]:
    """Return the row that a line holds."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"'{path}' has a line {number} that is not JSON ({error}); give one object per line"
        ) from error
    if not isinstance(row, dict):
        raise InputError(
            f"'{path}' has no object in line {number}; give one object such as "
            '{"physician": "A", "decision": 1} per line'
        )
    return row
