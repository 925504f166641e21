"""What every table of patients must satisfy: a binary decision and a physician in every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from intravar.errors import InputError

PHYSICIAN = "physician"
DECISION = "decision"
#: Columns that a simulated table may carry beside these; no method ever sees them.
TRUTH_COLUMNS = ("eligible", "p_high", "p_low", "d_star", "group")


def checked_decision(decision: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Return the decisions as read-only 0 and 1, or say which row is neither.

    Examples
    --------
    >>> checked_decision([True, False])
    array([1, 0], dtype=int8)
    """
    raw = np.asarray(decision)
    if raw.ndim != 1:
        raise InputError(f"column '{DECISION}' has {raw.ndim} dimensions; give one value a row")
    values = pl.Series(raw.tolist() if raw.dtype == object else raw, strict=False)
    missing = values.is_nan() if values.dtype.is_float() else values.is_null()
    missing = missing.fill_null(True)
    if missing.any():
        row = int(missing.arg_max() or 0)
        raise InputError(f"column '{DECISION}' is missing in row {row}; fill it or drop the row")
    binary = np.isin(raw, (0, 1))
    if not binary.all():
        row = int((~binary).argmax())
        found = raw.tolist()[row]
        raise InputError(f"column '{DECISION}' has {found!r} in row {row}; it takes 0 and 1 only")
    result = raw.astype(np.int8)
    result.setflags(write=False)
    return result


def checked_labels(physician: Sequence[Any] | pl.Series | npt.NDArray[Any]) -> pl.Series:
    """Return the physician of every patient as given, or say where one is missing.

    Numbers stay numbers. Names of mixed kinds (7 and "Ada") become text.

    Examples
    --------
    >>> checked_labels([7, 10]).dtype
    Int64
    """
    series = physician if isinstance(physician, pl.Series) else pl.Series(_plain(physician))
    missing = series.is_nan() if series.dtype.is_float() else series.is_null()
    missing = missing.fill_null(True)
    if missing.any():
        row = int(missing.arg_max() or 0)
        raise InputError(f"column '{PHYSICIAN}' is missing in row {row}; fill it or drop the row")
    if series.dtype in (pl.String, pl.Categorical, pl.Enum):
        names = series.unique().cast(pl.String)
        blank = names.filter(names.str.strip_chars() == "")
        if len(blank):
            row = int(series.cast(pl.String).is_in(blank.implode()).arg_max() or 0)
            raise InputError(f"column '{PHYSICIAN}' is blank in row {row}; fill it or drop the row")
    return series.alias(PHYSICIAN)


def physician_or_groups(physician: Any, groups: Any) -> Any:
    """Return the physician of every patient, under either of the two names it may be given."""
    if (physician is None) == (groups is None):
        given = "neither physician nor groups is" if physician is None else "both are"
        raise InputError(f"{given} given; say who decided, one value a patient, with one of them")
    return groups if physician is None else physician


def checked_physician(physician: Sequence[Any] | pl.Series | npt.NDArray[Any]) -> pl.Series:
    """Return the physician of every patient as a categorical, or say where one is missing."""
    series = checked_labels(physician)
    # A Categorical keeps a million repeated names as a million small integers.
    return series if series.dtype == pl.Categorical else series.cast(pl.String).cast(pl.Categorical)


def _plain(physician: Sequence[Any] | npt.NDArray[Any]) -> list[Any] | npt.NDArray[Any]:
    array = np.asarray(physician)
    if array.ndim != 1:
        raise InputError(f"column '{PHYSICIAN}' has {array.ndim} dimensions; give one value a row")
    if array.dtype != object:
        return array
    values = [None if value is None or value != value else value for value in array.tolist()]
    if {type(value) for value in values} - {type(None)} == {int}:
        return values
    # Names of mixed kinds (7 and "Ada") become text.
    return [None if value is None else str(value) for value in values]
