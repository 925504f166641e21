"""The figures that the paper prints, to set ours beside them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple


class Printed(NamedTuple):
    """A printed figure with the ends of its printed interval, where there is one."""

    value: float
    low: float | None = None
    high: float | None = None


#: Table of the paper that holds a condition's figures by physician group.
GROUP_TABLES = {
    "score2": "score2_groups",
    "copula": "sensitivity_copula",
    "lognormal": "sensitivity_lognormal",
}


@cache
def _tables() -> dict[str, Any]:
    text = files("intravar.study.benchmark").joinpath("data/published.json").read_text("utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables


def printed_cell(table: str, method: str, column: str) -> Printed | None:
    """Return what a table of the paper prints for a method in a column; None where nothing.

    Examples
    --------
    >>> printed_cell("score2_groups", "learned-weights", "group1")
    Printed(value=0.107, low=0.09, high=0.12)
    """
    found = _tables()[table]
    row = found["rows"].get(_row_name(method))
    if row is None or column not in found["columns"]:
        return None
    cell = row[found["columns"].index(column)]
    if cell is None:
        return None
    return Printed(*cell) if isinstance(cell, list) else Printed(cell)


def printed_spearman(condition: str, method: str) -> Printed | None:
    """Return the printed rank correlation of a method with the truth.

    Examples
    --------
    >>> printed_spearman("continuous", "mutual-information").value
    0.679
    """
    simple = {
        "score2": "score2_spearman",
        "continuous": "continuous_spearman_vs_true_discordance",
    }
    if condition in simple:
        value = _tables()[simple[condition]].get(_row_name(method))
        return None if value is None else Printed(value)
    if condition in GROUP_TABLES:
        return printed_cell(GROUP_TABLES[condition], method, "spearman_gt")
    return None


def printed_grid() -> dict[str, Any]:
    """Return what the paper says of the size grid: its extremes and its bound."""
    grid: dict[str, Any] = _tables()["panel_size_grid"]
    return grid


def _row_name(method: str) -> str:
    return "ground_truth" if method == "oracle" else method.replace("-", "_")
