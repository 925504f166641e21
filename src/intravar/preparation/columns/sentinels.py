"""Numbers that stand for "not known": 999 among ages, -9 among counts."""

from __future__ import annotations

import polars as pl

#: Numbers that are written where a value is not known.
CODES = (-1, -7, -8, -9, -77, -88, -99, -999, -9999, 9, 77, 88, 99, 777, 888, 999, 9999, 99999)


def sentinels(numbers: pl.Series) -> list[int]:
    """Return the codes that lie apart from all other numbers of a column.

    Examples
    --------
    >>> sentinels(pl.Series([50, 61, 999, 47]))
    [999]
    >>> sentinels(pl.Series([90, 98, 99, 97]))
    []
    """
    present = numbers.drop_nulls().cast(pl.Float64)
    coded = present.is_in([float(code) for code in CODES])
    others = present.filter(~coded)
    if not coded.any() or others.n_unique() < 2:
        return []
    low, high = float(others.min()), float(others.max())  # type: ignore[arg-type]
    apart = max(0.5 * (high - low), 1.0)
    return [
        int(code)
        for code in present.filter(coded).unique().sort()
        if (code < 0 <= low) or code - high > apart or low - code > apart
    ]


def said_of(codes: list[int]) -> str:
    """Say that numbers look like codes for what is not known; "" for none."""
    if not codes:
        return ""
    listed = ", ".join(str(code) for code in codes[:3])
    return f"{listed} lies apart from all other values: empty it if it means that nobody knows"
