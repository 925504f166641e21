"""One rounding for all that is published."""

from __future__ import annotations

from typing import Any

import polars as pl

#: Digits of a published fraction; more would tell apart what is meant to look the same.
DIGITS = 3


def fraction(value: float | None, digits: int = DIGITS) -> float | None:
    """Round a fraction; None where it is not defined.

    Examples
    --------
    >>> fraction(0.12345), fraction(float("nan"))
    (0.123, None)
    """
    return None if value is None or value != value else round(float(value), digits)


def rows(table: pl.DataFrame, digits: int = DIGITS) -> list[dict[str, Any]]:
    """Return the rows of a table with its fractions rounded."""
    floats = [name for name, dtype in table.schema.items() if dtype == pl.Float64]
    return table.with_columns(pl.col(floats).round(digits)).to_dicts()


def two_digits(count: int) -> int:
    """Round a count to two digits: exact parts would add up to an exact total.

    Examples
    --------
    >>> two_digits(1234), two_digits(47)
    (1200, 50)
    """
    return round(count, -max(1, len(str(count)) - 2))


def significant(value: float, digits: int = 3) -> float:
    """Round a value of a covariate to so many digits that count.

    Examples
    --------
    >>> significant(123.456), significant(0.00123456)
    (123.0, 0.00123)
    """
    return float(f"{value:.{digits}g}")


def coarse(value: float | None, step: float) -> float | None:
    """Round a fraction to a multiple of a step; None where it is not defined.

    Examples
    --------
    >>> coarse(0.1234, 0.02), coarse(float("nan"), 0.02)
    (0.12, None)
    """
    return None if value is None or value != value else round(step * round(value / step), 6)


def coarse_step(moved: float) -> float:
    """Return a step that is no finer than what is moved.

    Examples
    --------
    >>> coarse_step(24 / 1200), coarse_step(24 / 60_000)
    (0.02, 0.001)
    """
    return next((step for step in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05) if step >= moved), 0.1)
