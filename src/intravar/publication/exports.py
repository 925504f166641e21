"""Tables as CSV that a spreadsheet shows and never runs."""

from __future__ import annotations

import polars as pl

#: A cell that begins like this is a formula to a spreadsheet.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def escaped(text: str) -> str:
    """Return a text that a spreadsheet takes for text.

    Examples
    --------
    >>> escaped("=1+1"), escaped("Ada")
    ("'=1+1", 'Ada')
    """
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def safe_csv(table: pl.DataFrame) -> str:
    """Write a table as CSV with every text and column name escaped."""
    texts = [name for name, dtype in table.schema.items() if dtype == pl.String]
    pattern = r"^([=+\-@\t\r])"
    safe = table.with_columns(pl.col(texts).str.replace(pattern, r"'$1"))
    return safe.rename({name: escaped(name) for name in table.columns}).write_csv()
