"""Large tables: gone through a piece at a time instead of read as a whole.

What cannot be gone through in this way, a workbook say or text in another encoding, is read as a
whole by whoever asks; nothing is refused here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from intravar.errors import InputError
from intravar.sources.columns.forms import Forms
from intravar.sources.columns.plain import plain_table
from intravar.sources.databases.base import (
    Database,
    chosen_query,
    count_rows,
    database_kind,
    open_database,
)
from intravar.sources.databases.urls import without_password
from intravar.sources.delimited import scan_text
from intravar.sources.files import scan_parquet
from intravar.sources.selection import belongs
from intravar.text import checked_names, clean_name
from intravar.where import Population, columns_of

#: How the names begin of columns that are added to the rows of a large table.
OWN = "intravar: "
#: The number of a row in its source, counted from 0.
ROW = f"{OWN}row"
#: Rows that a database hands over at a time.
AT_A_TIME = 200_000


@dataclass(frozen=True, eq=False)
class Scanned:
    """A table that is gone through a piece at a time.

    Attributes
    ----------
    lazy
        The table as it is stored, under clean names, and the number of every row.
    n_rows
        Number of rows.
    name, notes
        What to call the source, and how it is read.
    """

    lazy: pl.LazyFrame
    n_rows: int
    name: str
    notes: tuple[str, ...] = ()


def scan_source(
    source: Any,
    spool: Callable[[], Path],
    *,
    least: int,
    table: str | None = None,
    query: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Scanned | None:
    """Return a large table to be gone through; None if it is small, or must be read as a whole.

    Parameters
    ----------
    source
        See :func:`intravar.sources.read_source`.
    spool
        Gives a folder for what a database hands over.
    least
        Rows beyond which a table is large.
    table, query, separator, encoding, sheet
        How to read it.
    """
    if isinstance(source, pl.DataFrame | pl.LazyFrame):
        return _large(source.lazy(), least, "the frame")
    if not isinstance(source, str | os.PathLike) or not str(source).strip():
        return None
    kind = database_kind(source)
    if kind is not None:
        with closing(open_database(str(source), kind)) as database:
            asked = chosen_query(database, table, query, without_password(str(source)))
            if not _has_more(database, asked, least):
                return None
            parts = _spooled(database.batches(asked, AT_A_TIME), spool())
        frames = [pl.scan_parquet(part) for part in parts]
        together = pl.concat(frames, how="vertical_relaxed")
        return _large(together, least, without_password(str(source)))
    path = Path(source)
    if table is not None or query is not None or sheet is not None:
        return None
    try:
        if not path.exists():
            return None
        lazy = scan_parquet(path) if encoding is None else None
        notes: tuple[str, ...] = ()
        if lazy is None and path.is_file():
            found = scan_text(path, separator=separator, encoding=encoding)
            lazy, notes = (None, ()) if found is None else found
        return None if lazy is None else _large(lazy, least, str(source), notes)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        return None  # whoever reads it as a whole says what is wrong with it


def _large(
    lazy: pl.LazyFrame, least: int, name: str, notes: tuple[str, ...] = ()
) -> Scanned | None:
    n_rows = int(lazy.select(pl.len()).collect(engine="streaming").item())
    if n_rows <= least:
        return None
    stored = lazy.collect_schema().names()
    names = [clean_name(column) for column in stored]
    checked_names(names, f"'{name}'")
    refuse_own_names(names)
    renamed = lazy.rename(dict(zip(stored, names, strict=True)))
    return Scanned(renamed.with_row_index(ROW), n_rows, name, notes)


def refuse_own_names(names: Iterable[str]) -> None:
    """Refuse columns that are called as those which are added here."""
    for name in names:
        if name.startswith(OWN):
            raise InputError(
                f"column '{name}' has a name that intravar gives to columns of its own; rename it"
            )


def _has_more(database: Database, query: str, least: int) -> bool:
    """Tell whether a query selects more rows than so many; not if it cannot be asked."""
    try:
        return count_rows(database, query) > least
    except InputError:
        return False  # whoever reads it as a whole says what is wrong with it


def _spooled(batches: Any, folder: Path) -> list[Path]:
    """Keep what a database hands over in files."""
    parts = []
    for number, batch in enumerate(batches):
        parts.append(folder / f"rows-{number:06d}.parquet")
        batch.write_parquet(parts[-1], compression="lz4")
    return parts


def only(
    scanned: Scanned, population: Population, forms: Forms, as_text: Collection[str] = ()
) -> pl.LazyFrame:
    """Return the rows of a large table that belong to a population.

    Parameters
    ----------
    scanned, population
        The table, and who is meant.
    forms
        How the texts of the table are written.
    as_text
        Columns whose texts stay texts.
    """
    asked = [clean_name(name) for name in columns_of(population)]
    stored = [name for name in scanned.lazy.collect_schema().names() if name != ROW]
    known = [name for name in dict.fromkeys(asked) if name in stored]
    looked_at = scanned.lazy.select(ROW, *known).collect(engine="streaming")
    whole = looked_at.drop(ROW)
    if known != asked:  # a name that is not there is said with those that are
        whole = pl.DataFrame(schema=dict.fromkeys(stored, pl.String))
    inside = belongs(plain_table(whole, as_text, forms=forms)[0], population)
    return scanned.lazy.join(looked_at.filter(inside).select(ROW).lazy(), on=ROW, how="semi")
