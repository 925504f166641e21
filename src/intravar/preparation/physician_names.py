"""Who decided: names that look the same are one physician, names that do not are several."""

from __future__ import annotations

import polars as pl

from intravar.errors import InputError
from intravar.sources.columns.numbers import EXACT
from intravar.sources.columns.plain import as_names, plain_column
from intravar.text import MISSING


def physician_names(column: pl.Series) -> tuple[pl.Series, str]:
    """Return physicians, and what to say about them without naming anybody.

    Numbers stay numbers, and 3.0 is physician 3; in a text every digit counts. Only an empty cell
    is nobody: a physician may be called NA.

    Examples
    --------
    >>> physician_names(pl.Series("doctor", ["Ada", "ADA", "Bo"]))[1]
    '2 names differ in capitals, spaces or leading zeros alone; each counts by itself'
    """
    column = plain_column(column, keep=True)
    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object, pl.Duration):
        raise InputError(
            f"column '{column.name}' (who decided) is {column.dtype}; give names or numbers"
        )
    if column.dtype.is_float() and (column.abs() >= EXACT).any():
        raise InputError(
            f"column '{column.name}' (who decided) has numbers of more than 15 digits stored as "
            "floating point, which does not tell them apart; store them as text or whole numbers"
        )
    names = as_names(column)
    if names.null_count() == len(names):
        raise InputError(f"column '{column.name}' (who decided) is missing in every row")
    if column.dtype.is_integer():
        return column, ""
    if column.dtype.is_float() and not names.str.contains(".", literal=True).any():
        return names.cast(pl.Int64), ""
    return names, _said(names.drop_nulls().unique())


def _said(names: pl.Series) -> str:
    said = []
    alike = (
        names.str.to_lowercase()
        .str.replace_all(r"\s+", "")
        .str.replace(r"^(\D*)0+(\d)", "${1}${2}")
        .is_duplicated()
        .sum()
    )
    if alike:
        said.append(
            f"{alike:,} names differ in capitals, spaces or leading zeros alone; each counts "
            "by itself"
        )
    words = sorted(set(names.to_list()) & set(MISSING))
    if words:
        listed = ", ".join(f"'{word}'" for word in words)
        said.append(f"{listed} is taken for a name; leave the cell empty if nobody is meant")
    return "; ".join(said)
