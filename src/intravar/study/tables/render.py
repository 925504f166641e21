"""Tables as people read them: methods down, columns across, the paper's figure in brackets.

One measure under several conditions is shown with the conditions down and the methods across.
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from intravar.estimators import METHODS
from intravar.study.tables.cells import is_cells

HEADINGS = {
    "mean_delta": "mean delta",
    "mean_abs_delta": "mean |delta|",
    "median_delta": "median delta",
    "percent_positive": "% positive",
    "mean_physician_error": "mean |delta| per physician",
    "coverage": "coverage of D*",
    "mean_error": "mean distance to D*",
    "spearman_oracle": "Spearman, oracle",
    "spearman_d_star": "Spearman, D*",
    "score2": "SCORE2",
    "w1": "w = 1",
    "w2_3": "w = 2-3",
    "w4_6": "w = 4-6",
    "w7_9": "w = 7-9",
    "pass1": "pass 1",
    "pass2": "pass 2",
} | {f"group{group}": f"group {group}" for group in range(1, 6)}
_PER_CENT = ("percent_positive",)
#: Measures from 0 to 1.
_FROM_ZERO = ("coverage", "mean_abs_delta", "mean_error", "mean_physician_error")
_SIGNED = ("mean_delta", "median_delta", "score2", "w1", "w2_3", "w4_6", "w7_9", "pass1", "pass2")


def method_label(name: str) -> str:
    """Return the name of a method as tables show it."""
    if name in METHODS:
        return METHODS[name].label
    return name.capitalize() if name in ("oracle", "constant") else name


def text_grid(table: pl.DataFrame, *, narrow: bool = False) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the rows of a table as text.

    Parameters
    ----------
    table
        A table of cells, or any other table.
    narrow
        Whether intervals go below figures, in two decimals, instead of beside them.
    """
    if not is_cells(table):
        heading = [_heading(column) for column in table.columns]
        return heading, [[_plain(value) for value in row] for row in table.iter_rows()]
    if is_matrix(table):
        return _matrix(table, narrow)
    several = table["condition"].n_unique() > 1
    columns = table["column"].unique(maintain_order=True).to_list()
    heading = ["condition"] * several + ["method"] + [_heading(column) for column in columns]
    rows = []
    for key, part in table.group_by("condition", "method", maintain_order=True):
        condition, method = str(key[0]), str(key[1])
        cells = {row["column"]: row for row in part.iter_rows(named=True)}
        label = [condition] * several + [method_label(method)]
        texts = [_cell_text(cells[column], narrow) if column in cells else "" for column in columns]
        rows.append(label + texts)
    return heading, rows


def is_matrix(table: pl.DataFrame) -> bool:
    """Say whether a table of cells has one measure under several conditions."""
    return table["column"].n_unique() == 1 and table["condition"].n_unique() > 1


def _matrix(table: pl.DataFrame, narrow: bool) -> tuple[list[str], list[list[str]]]:
    methods = table["method"].unique(maintain_order=True).to_list()
    rows = []
    for (condition,), part in table.group_by("condition", maintain_order=True):
        cells = {row["method"]: row for row in part.iter_rows(named=True)}
        texts = [_cell_text(cells[name], narrow) if name in cells else "" for name in methods]
        rows.append([str(condition), *texts])
    return ["condition", *(method_label(name) for name in methods)], rows


def markdown(table: pl.DataFrame) -> str:
    """Return a table in Markdown."""
    heading, rows = text_grid(table)
    lines = [_line(heading), "|---" * len(heading) + "|", *(_line(row) for row in rows)]
    return "\n".join(lines) + "\n"


def _line(cells: list[str]) -> str:
    # A bar would end the cell, an asterisk begin italics.
    marks = {"|": "\\|", "*": "\\*", "\n": "<br>"}
    return "| " + " | ".join("".join(marks.get(c, c) for c in cell) for cell in cells) + " |"


def _heading(column: str) -> str:
    return HEADINGS.get(column, method_label(column))


def shown_interval(cell: dict[str, Any]) -> tuple[float | None, float | None]:
    """Return the interval that goes with a cell's value.

    One draw: its bootstrap interval. Several: the range that holds 95 % of single draws, within
    what the measure can take.
    """
    if cell["draws"] is None or cell["draws"] < 2 or cell["draw_low"] is None:
        return cell["low"], cell["high"]
    least, most = _bounds(str(cell["column"]), str(cell["method"]))
    return max(cell["draw_low"], least), min(cell["draw_high"], most)


def _bounds(column: str, method: str) -> tuple[float, float]:
    """Return what a measure can take at least and at most."""
    if column in _PER_CENT:
        return 0.0, 100.0
    if column.startswith("group"):
        known = METHODS.get(method)
        return 0.0, 1.0 if known is None or known.scale == "discordance" else math.inf
    return (0.0, 1.0) if column in _FROM_ZERO else (-1.0, 1.0)


def _cell_text(cell: dict[str, Any], narrow: bool) -> str:
    value = cell["value"]
    if value is None:
        return "undefined"
    column = str(cell["column"])
    text, signed = _number(value, column), column in _SIGNED
    low, high = shown_interval(cell)
    if low is not None and high is not None:
        if narrow:
            text += f"\n{_short(low, column)}{',' if signed else '-'}{_short(high, column)}"
        else:
            text += f" [{_number(low, column)}, {_number(high, column)}]"
    if cell["published"] is not None:
        mark = "" if cell["inside"] in (True, None) else "*"
        text += f"\n({_number(cell['published'], column)}){mark}"
    return text


def _number(value: object, column: str) -> str:
    number = float(value)  # type: ignore[arg-type]
    if column in _PER_CENT:
        return f"{number:.1f}"
    return f"{number:+.3f}" if column in _SIGNED else f"{number:.3f}"


def _short(value: object, column: str) -> str:
    """Return a number in as few characters as tell it from its neighbours."""
    number = float(value)  # type: ignore[arg-type]
    if column in _PER_CENT:
        return f"{number:.0f}"
    if abs(number) >= 1:
        return f"{number:.1f}"
    text = f"{number:+.2f}" if column in _SIGNED else f"{number:.2f}"
    return text.replace("0.", ".", 1)


def _plain(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)
