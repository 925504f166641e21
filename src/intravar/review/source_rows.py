"""More of the source about the patients of a measurement: their ids, and columns to show.

The source is read again, and every patient who was kept is compared with what is read: where a row
holds something else now, nothing is shown, because it could be another patient's.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intravar.errors import InputError, option, unknown_name
from intravar.measurement.cases.tables import typed
from intravar.preparation.physicians import physician_names
from intravar.request import Request
from intravar.sources import read_source
from intravar.text import clean_name

_KEPT = ("row", "physician", "decision")


def request_of(out: Path) -> tuple[str | None, Request]:
    """Return the source and the request of a measurement; None where it was a frame."""
    try:
        stored = tomllib.loads((out / "request.toml").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"'{out / 'request.toml'}' cannot be read; measure again") from error
    source = stored.pop("source", None)
    if source is not None and "://" not in source:
        source = str(out / source)
    entries = {name: value for section in stored.values() for name, value in section.items()}
    return source, Request(**entries)


def columns_of_source(
    source: Any, request: Request, patients: pl.DataFrame, columns: Sequence[str]
) -> pl.DataFrame:
    """Return columns of the source for every patient, in the order of the patients.

    Parameters
    ----------
    source, request
        The table and how it was read.
    patients
        Who was kept: row (counted from 1), physician, decision, covariates.
    columns
        Which to return.
    """
    as_text = (request.physician, request.decision, *request.categorical)
    read = read_source(source, as_text=as_text, where=request.where, **request.reading)
    for name in columns:
        if name not in read.table.columns:
            raise unknown_name("column", name, read.table.columns, remedy="of the source")
    where = np.arange(read.table.height) if read.rows is None else read.rows
    place = pl.Series(np.searchsorted(where, patients["row"].to_numpy() - 1))
    if not len(where) or place.max() >= len(where):  # type: ignore[operator]
        raise _changed(source)
    if not np.array_equal(where[place.to_numpy()] + 1, patients["row"].to_numpy()):
        raise _changed(source)
    table = read.table[place]
    names = physician_names(read.table[clean_name(request.physician)])[0].cast(pl.String)[place]
    same = names.eq_missing(patients["physician"]).all()
    for name in patients.columns:
        stored = name.removesuffix(" (covariate)") if name not in table.columns else name
        if name in _KEPT or stored not in table.columns or not same:
            continue
        kind = "category" if patients[name].dtype == pl.String else "number"
        kind = "date" if patients[name].dtype == pl.Date else kind
        again = typed(table[stored], kind)
        same = again.cast(patients[name].dtype, strict=False).eq_missing(patients[name]).all()
    if not same:
        raise _changed(source)
    return table.select(columns)


def _changed(source: Any) -> InputError:
    name = f"'{source}'" if isinstance(source, str | Path) else "the table"
    return InputError(
        f"{name} is not what was measured: rows have changed; measure again, or leave "
        f"{option('show')} and {option('patient')} out"
    )
