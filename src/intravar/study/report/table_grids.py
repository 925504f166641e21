"""The stored tables as grids of cells, for the page and for LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from intravar.study.report.stored_results import Results
from intravar.study.tables import TITLES, is_cells
from intravar.study.tables.render import HEADINGS, is_matrix, shown_interval

_PLAIN_HEADINGS = {
    "method": "Method",
    "condition": "Condition",
    "runs": "Runs",
    "median": "Median (s)",
    "longest": "Longest (s)",
    "total": "Total (s)",
    "peak_memory_mb": "Peak memory (MB)",
}


@dataclass(frozen=True)
class Cell:
    """A figure of ours, its interval and the paper's figure, each as number and as text."""

    value: float | None
    text: str
    low: float | None = None
    high: float | None = None
    interval: str = ""
    published: float | None = None
    published_text: str = ""
    outside: bool = False


@dataclass(frozen=True)
class Row:
    """A row of a grid; `cells` holds None where there is nothing."""

    heading: str
    cells: list[Cell | None]


@dataclass(frozen=True)
class Grid:
    """A table as people read it."""

    name: str
    title: str
    corner: str
    headings: list[str]
    rows: list[Row]
    #: Draws whose mean the cells are; 1 where every cell is one draw's.
    draws: int = 1

    @property
    def note(self) -> str:
        """What brackets, the paper's figures and asterisks mean here."""
        several = self.draws > 1
        parts = []
        if several:
            parts.append(f"Means over {self.draws} draws.")
        if self.has_intervals:
            single = "the range that holds 95 % of single draws"
            parts.append(f"In brackets: {single if several else '95 % bootstrap interval'}.")
        if self.has_paper:
            where = "the range that holds 95 % of single draws" if several else "our interval"
            parts.append(f"Paper: the published figure, * where it lies outside {where}.")
        return " ".join(parts)

    @property
    def has_paper(self) -> bool:
        """Whether the paper prints any of it."""
        return any(cell and cell.published is not None for row in self.rows for cell in row.cells)

    @property
    def has_intervals(self) -> bool:
        """Whether any cell has an interval."""
        return any(cell and cell.interval for row in self.rows for cell in row.cells)


def grid_of(results: Results, name: str) -> Grid:
    """Return a stored table as a grid.

    Raises
    ------
    KeyError
        If the study has no such table.
    """
    table = results.tables[name]
    if not is_cells(table):
        return _plain_grid(results, name, table)
    if name == "grid" or is_matrix(table):
        return _matrix(results, name, table)
    several = table["condition"].n_unique() > 1
    columns = table["column"].unique(maintain_order=True).to_list()
    rows = []
    for key, part in table.group_by("condition", "method", maintain_order=True):
        condition, method = str(key[0]), str(key[1])
        cells = {row["column"]: row for row in part.iter_rows(named=True)}
        label = results.label(method)
        rows.append(
            Row(
                f"{label}, {condition}" if several else label,
                [_cell(cells[c], _signed(name, c)) if c in cells else None for c in columns],
            )
        )
    headings = [HEADINGS.get(column, results.label(column)) for column in columns]
    draws = int(table["draws"].max() or 1)  # type: ignore[arg-type]
    return Grid(name, TITLES[name], "Method", headings, rows, draws)


def _signed(table: str, column: str) -> bool:
    if table in ("window_size", "passes", "grid"):
        return True
    return column in ("mean_delta", "median_delta")


def _matrix(results: Results, title: str, table: pl.DataFrame) -> Grid:
    """Return one measure with the conditions down and the methods across."""
    methods = table["method"].unique(maintain_order=True).to_list()
    rows = []
    for (name,), part in table.group_by("condition", maintain_order=True):
        known = results.known_condition(str(name)) if title == "grid" else None
        heading = str(name)
        if known:
            sizes = known.scenario
            heading = f"{sizes.n_patients:,} patients, {sizes.n_physicians} physicians"
        cells = {row["method"]: row for row in part.iter_rows(named=True)}
        found = [
            _cell(cells[m], _signed(title, cells[m]["column"])) if m in cells else None
            for m in methods
        ]
        rows.append(Row(heading, found))
    corner = "Cohort" if title == "grid" else "Condition"
    draws = 1 if title == "grid" else int(table["draws"].max() or 1)  # type: ignore[arg-type]
    return Grid(title, TITLES[title], corner, results.labels(methods), rows, draws)


def _plain_grid(results: Results, name: str, table: pl.DataFrame) -> Grid:
    first, *others = table.columns
    rows = [
        Row(
            results.label(str(row[first])),
            [_plain_cell(row[column]) for column in others],
        )
        for row in table.iter_rows(named=True)
    ]
    headings = [_PLAIN_HEADINGS.get(column, results.label(column)) for column in others]
    return Grid(name, TITLES.get(name, name), _PLAIN_HEADINGS.get(first, first), headings, rows)


def _plain_cell(value: Any) -> Cell | None:
    if value is None:
        return None
    if isinstance(value, str):
        return Cell(None, value)
    text = f"{value:,d}" if isinstance(value, int) else f"{value:,.2f}"
    return Cell(float(value), text)


def _cell(row: dict[str, Any], signed: bool) -> Cell:
    digits = 1 if row["column"] == "percent_positive" else 3

    def text(number: float | None) -> str:
        return "" if number is None else number_text(number, digits, signed)

    low, high = shown_interval(row)
    single = row["mcse"] is None and low == high
    if single:
        low = high = None
    return Cell(
        row["value"],
        text(row["value"]) or "undefined",
        low,
        high,
        f"[{text(low)}, {text(high)}]" if low is not None and high is not None else "",
        row["published"],
        text(row["published"]),
        row["inside"] is False and not single,
    )


def is_single() -> pl.Expr:
    """Return where a cell rests on one number, whose bootstrap interval has no width."""
    return pl.col("mcse").is_null() & (pl.col("low") == pl.col("high")).fill_null(False)


def number_text(number: float, digits: int = 3, signed: bool = False) -> str:
    """Return a number as all tables print it, with a true minus sign.

    Examples
    --------
    >>> number_text(-0.0312, signed=True), number_text(0.5)
    ('−0.031', '0.500')
    """
    text = f"{number:+.{digits}f}" if signed else f"{number:.{digits}f}"
    return text.replace("-", "−")
