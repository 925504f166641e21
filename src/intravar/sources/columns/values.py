"""Columns from values of Python, of whatever kinds a database or a frame of objects holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from intravar.sources.columns.texts import EXACT
from intravar.text import checked_names

_NESTED = (list, tuple, dict, set, frozenset)
_NUMBERS = (bool, int, float, Decimal)
#: Kinds that polars keeps as they are, if a column holds one of them alone.
_KEPT: dict[type, pl.DataType] = {
    bool: pl.Boolean(),
    str: pl.String(),
    bytes: pl.Binary(),
    date: pl.Date(),
    time: pl.Time(),
    timedelta: pl.Duration("us"),
}


def from_rows(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """Make a table of rows of Python values; a column of mixed kinds becomes text.

    Examples
    --------
    >>> from_rows(["a"], [(1,), ("x",)])["a"].to_list()
    ['1', 'x']
    """
    checked_names(names, "the query")
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return pl.DataFrame(
        [series_of(name, values) for name, values in zip(names, columns, strict=True)]
    )


def series_of(name: str, values: Sequence[Any]) -> pl.Series:
    """Make a column of Python values; numbers that a float cannot hold become text, exactly.

    Examples
    --------
    >>> from decimal import Decimal
    >>> series_of("id", [Decimal("12345678901234567890.00"), 7]).to_list()
    ['12345678901234567890', '7']
    >>> series_of("x", [1, 2.5, float("nan")]).to_list()
    [1.0, 2.5, None]
    """
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    known = [None if _is_missing(value) else value for value in plain]
    kinds = {type(value) for value in known if value is not None}
    if any(issubclass(kind, _NESTED) for kind in kinds):
        nested = [None if value is None else [str(value)] for value in known]
        return pl.Series(name, nested, dtype=pl.List(pl.String))
    if kinds and kinds <= {int, bool, float} and kinds != {bool}:
        if all(value is None or abs(value) <= EXACT for value in known if type(value) is not float):
            dtype = pl.Float64 if float in kinds else pl.Int64
            return pl.Series(name, known, dtype=dtype, strict=False)
        if kinds == {int} and all(value is None or -(2**63) <= value < 2**63 for value in known):
            return pl.Series(name, known, dtype=pl.Int64)
    try:
        if len(kinds) == 1 and (kind := next(iter(kinds))) in _KEPT:
            return pl.Series(name, known, dtype=_KEPT[kind], strict=True)
        if kinds == {datetime}:  # local dates are local dates, in whatever zone
            local = [None if value is None else value.replace(tzinfo=None) for value in known]
            return pl.Series(name, local, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        pass  # times of several zones, say: they are read as text then
    return pl.Series(name, [_text(value) for value in known], dtype=pl.String)


def _is_missing(value: Any) -> bool:
    """Tell None, NaN of any kind, and what pandas puts in their place."""
    if value is None:
        return True
    if isinstance(value, float | Decimal):
        return value != value
    return type(value).__name__ in ("NAType", "NaTType")


def _text(value: Any) -> str | None:
    """Write a value as a CSV file would hold it: 7.0 is 7."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        return str(int(value))
    if isinstance(value, Decimal) and value.is_finite():
        written = format(value, "f")
        return written.rstrip("0").rstrip(".") if "." in written else written
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return str(value)
