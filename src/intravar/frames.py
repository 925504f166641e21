"""Tables as they came: pandas in, pandas out."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import narwhals as nw
import polars as pl


def is_pandas(*given: Any) -> bool:
    """Tell whether one of some frames or series is of pandas.

    Examples
    --------
    >>> is_pandas(pl.Series([1]), [1, 2])
    False
    """
    natives = (nw.from_native(each, allow_series=True, pass_through=True) for each in given)
    return any(
        native.implementation.is_pandas()
        for native in natives
        if isinstance(native, nw.DataFrame | nw.LazyFrame | nw.Series)
    )


Result = TypeVar("Result")


def as_they_came(result: Result, *, as_pandas: bool) -> Result:
    """Return a result with all its frames as pandas if pandas came in, else as it is."""
    if not as_pandas or not is_dataclass(result) or isinstance(result, type):
        return result
    changed = {}
    for each in fields(result):
        value = getattr(result, each.name)
        if isinstance(value, pl.DataFrame):
            changed[each.name] = handed_back(value, as_pandas=True)
        elif is_dataclass(value):
            changed[each.name] = as_they_came(value, as_pandas=True)
        elif isinstance(value, tuple):
            changed[each.name] = tuple(as_they_came(one, as_pandas=True) for one in value)
    return replace(result, **changed)


def handed_back(table: pl.DataFrame, *, as_pandas: bool) -> Any:
    """Return a table as pandas if pandas came in, else as it is."""
    if not as_pandas:
        return table
    import pandas as pd  # an extra; whoever gave a frame of it has it

    # Column by column: the shorter way of polars needs pyarrow as well.
    return pd.DataFrame({name: table[name].to_numpy() for name in table.columns})
