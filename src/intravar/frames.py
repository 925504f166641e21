"""Tables as they came: pandas in, pandas out."""

from __future__ import annotations

from typing import Any

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


def handed_back(table: pl.DataFrame, *, as_pandas: bool) -> Any:
    """Return a table as pandas if pandas came in, else as it is."""
    if not as_pandas:
        return table
    import pandas as pd  # an extra; whoever gave a frame of it has it

    # Column by column: the shorter way of polars needs pyarrow as well.
    return pd.DataFrame({name: table[name].to_numpy() for name in table.columns})
