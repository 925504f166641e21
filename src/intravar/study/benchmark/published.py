"""The figures that the paper prints, to set ours beside them."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Printed(NamedTuple):
    """A printed figure with the ends of its printed interval, where there is one."""

    value: float
    low: float | None = None
    high: float | None = None


#: Table that holds a condition's figures by physician group.
GROUP_TABLES = {name: f"{name}_groups" for name in ("score2", "copula", "lognormal")}


@cache
def _printed() -> dict[tuple[str, str, str], Printed]:
    text = files("intravar.study.benchmark").joinpath("data/published.toml").read_text("utf-8")
    tables = tomllib.loads(text)
    return {
        (table, method, column): Printed(*cell)
        for table, rows in tables.items()
        for method, row in rows.items()
        for column, cell in zip(rows["columns"], row, strict=True)
        if method != "columns" and cell
    }


def printed_cell(table: str, method: str, column: str) -> Printed | None:
    """Return what the paper prints in a table of ours; None where nothing.

    Examples
    --------
    >>> printed_cell("score2_groups", "learned-weights", "group1")
    Printed(value=0.107, low=0.09, high=0.12)
    """
    return _printed().get((table, method, column))
