"""What a source must satisfy before anyone looks at its columns."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from intravar.errors import InputError, option


def checked_shape(table: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the table if it has two columns and one row at least."""
    if table.width == 0:
        raise InputError(f"{name} is empty; give a table with a header and one row per patient")
    if table.width == 1:
        raise InputError(
            f"{name} has one column only ('{shortened(table.columns[0])}'); "
            "a table needs a physician and a decision; is the separator right "
            f"({option('separator')})?"
        )
    if table.height == 0:
        raise InputError(f"{name} has a header but no rows; there are no patients to measure")
    return table


def checked_names(names: Sequence[str], name: str) -> None:
    """Refuse two columns of one name: nobody could say which of them is meant."""
    seen: set[str] = set()
    for column in names:
        if column in seen:
            raise InputError(f"{name} has two columns '{shortened(column)}'; rename one of them")
        seen.add(column)


def shortened(text: str, longest: int = 60) -> str:
    """Return a text fit for one line of a message.

    Examples
    --------
    >>> shortened("a" * 100, longest=5)
    'aaaa…'
    """
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
