"""Stored tables as people read them: on the page, in a terminal, in Markdown and in LaTeX.

Methods stand down and columns across. One measure under several conditions is shown with the
conditions down and the methods across.
"""

import math
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from intravar.estimators import METHODS
from intravar.study.simulation.conditions import conditions_of
from intravar.study.tables import HEADINGS
from intravar.study.units import OTHER_SCALE

_PER_CENT = "percent_positive"
#: What measures can take, where it is not from -1 to 1.
_ENDS = {_PER_CENT: (0.0, 100.0)} | dict.fromkeys(
    ("coverage", "mean_abs_delta", "mean_error", "mean_physician_error"), (0.0, 1.0)
)
_SIGNED = ("mean_delta", "median_delta", "score2", "w1", "w2_3", "w4_6", "w7_9", "pass1", "pass2")
_SINGLE_DRAWS = "the range that holds 95 % of single draws"
#: Characters that mean something in LaTeX.
_LATEX = {letter: f"\\{letter}" for letter in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "−": "$-$",
    "+": "$+$",
    "*": r"$^{*}$",
}

#: Gives the name of a method as people read it.
Label = Callable[[str], str]


class Cell(NamedTuple):
    """A figure of ours, its interval and the paper's figure, each as number and as text."""

    value: float | None
    text: str
    interval: str = ""
    #: The interval in as few characters as tell its ends from their neighbours.
    short: str = ""
    published: float | None = None
    published_text: str = ""
    outside: bool = False


@dataclass(frozen=True)
class Grid:
    """A table as people read it; rows are a heading and cells, None where there is nothing."""

    name: str
    title: str
    corner: str
    headings: list[str]
    rows: list[tuple[str, list[Cell | None]]]
    #: Draws whose mean the cells are; 1 where every cell is one draw's.
    draws: int = 1

    @property
    def note(self) -> str:
        """What brackets, the paper's figures and asterisks mean here."""
        several = self.draws > 1
        parts = [f"Means over {self.draws} draws."] * several
        if any(cell and cell.interval for _, cells in self.rows for cell in cells):
            parts.append(f"In brackets: {_SINGLE_DRAWS if several else '95 % bootstrap interval'}.")
        if self.has_paper:
            where = _SINGLE_DRAWS if several else "our interval"
            parts.append(f"Paper: the published figure, * where it lies outside {where}.")
        return " ".join(parts)

    @property
    def has_paper(self) -> bool:
        """Whether the paper prints any of it."""
        return any(cell and cell.published is not None for _, cells in self.rows for cell in cells)


def method_label(name: str) -> str:
    """Return the name of a method as tables show it."""
    if name in METHODS:
        return METHODS[name].label
    return name.capitalize() if name in ("oracle", "constant") else name


def make_grid(
    table: pl.DataFrame, name: str = "", title: str = "", label: Label = method_label
) -> Grid:
    """Return a table, of cells or any other, as a grid; `label` gives the names of methods."""

    def heading(column: str) -> str:
        return HEADINGS.get(column) or label(column)

    if "published" not in table.columns:
        first, *others = map(heading, table.columns)
        plain = [(label(str(start)), [*map(_plain_cell, row)]) for start, *row in table.iter_rows()]
        return Grid(name, title, first, others, plain)
    cohorts = {
        name: "{n_patients:,} patients, {n_physicians} physicians".format_map(vars(each))
        for name, each in conditions_of("grid").items()
    }
    several = table["condition"].n_unique() > 1
    turned = (table["column"].n_unique() == 1 and several) or name == "grid"
    down, across = (["condition"], "method") if turned else (["condition", "method"], "column")
    columns = table[across].unique(maintain_order=True).to_list()
    rows = []
    for (condition, *method), part in table.group_by(down, maintain_order=True):
        cells = {row[across]: _cell(row) for row in part.iter_rows(named=True)}
        words = [label(str(each)) for each in method]
        words += [cohorts.get(str(condition), str(condition))] if several or turned else []
        rows.append((", ".join(words), [cells.get(column) for column in columns]))
    corner = ("Cohort" if name == "grid" else "Condition") if turned else "Method"
    # The grid of sizes resamples its draws: its intervals are about all of them.
    draws = 1 if name == "grid" else int(table["draws"].max() or 1)  # type: ignore[arg-type]
    return Grid(name, title, corner, [heading(column) for column in columns], rows, draws)


def _plain_cell(value: Any) -> Cell | None:
    if value is None or isinstance(value, str):
        return None if value is None else Cell(None, value)
    return Cell(float(value), f"{value:,d}" if isinstance(value, int) else f"{value:,.2f}")


def _cell(row: Mapping[str, Any]) -> Cell:
    column, value, paper = str(row["column"]), row["value"], row["published"]
    interval = short = ""
    ends = [end for end in shown_interval(row) if end is not None]
    if len(ends) == 2:
        interval = f"[{', '.join(column_text(end, column) for end in ends)}]"
        short = ("," if column in _SIGNED else "-").join(_short(end, column) for end in ends)
    text = "undefined" if value is None else column_text(value, column)
    published = "" if paper is None else column_text(paper, column)
    return Cell(value, text, interval, short, paper, published, row["inside"] is False)


def column_text(number: float, column: str) -> str:
    """Return a number as all tables print those of a column.

    Examples
    --------
    >>> column_text(0.5, "mean_delta"), column_text(61.25, "percent_positive")
    ('+0.500', '61.2')
    """
    return number_text(number, 1 if column == _PER_CENT else 3, column in _SIGNED)


def _short(number: float, column: str) -> str:
    if column == _PER_CENT:
        return f"{number:.0f}"
    if abs(number) >= 1:
        return f"{number:.1f}"
    text = f"{number:+.2f}" if column in _SIGNED else f"{number:.2f}"
    return text.replace("0.", ".", 1)


def number_text(number: float, digits: int = 3, signed: bool = False) -> str:
    """Return a number with a true minus sign.

    Examples
    --------
    >>> number_text(-0.0312, signed=True), number_text(0.5)
    ('−0.031', '0.500')
    """
    return f"{number:{'+' if signed else ''}.{digits}f}".replace("-", "−")


def shown_interval(cell: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the interval that goes with a cell's value.

    One draw: its bootstrap interval. Several: the range that holds 95 % of single draws, within
    what the measure can take.
    """
    if cell["draws"] is None or cell["draws"] < 2 or cell["draw_low"] is None:
        return cell["low"], cell["high"]
    least, most = _ENDS.get(str(cell["column"]), (-1.0, 1.0))
    if str(cell["column"]).startswith("group"):
        least, most = 0.0, math.inf if cell["method"] in OTHER_SCALE else 1.0
    return max(cell["draw_low"], least), min(cell["draw_high"], most)


# --- in a terminal, in Markdown, in LaTeX ---


def text_grid(table: pl.DataFrame, *, narrow: bool = False) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the rows of a table as text, the paper's figure in brackets.

    Where it is narrow, intervals go below figures, in two decimals, instead of beside them.
    """

    def text(cell: Cell | None) -> str:
        if cell is None or cell.value is None:
            return cell.text if cell else ""
        interval = "\n" + cell.short if narrow else f" {cell.interval}"
        text = cell.text + (interval if cell.interval else "")
        if cell.published is not None:
            text += f"\n({cell.published_text}){'*' * cell.outside}"
        return text.replace("−", "-")

    grid = make_grid(table)
    rows = [[heading, *map(text, cells)] for heading, cells in grid.rows]
    return [grid.corner.lower(), *grid.headings], rows


def markdown(table: pl.DataFrame) -> str:
    """Return a table in Markdown."""
    heading, rows = text_grid(table)
    # A bar would end the cell, an asterisk begin italics.
    marks = str.maketrans({"|": "\\|", "*": "\\*", "\n": "<br>"})
    lines = [
        "| " + " | ".join(cell.translate(marks) for cell in cells) + " |"
        for cells in (heading, *rows)
    ]
    lines.insert(1, "|---" * len(heading) + "|")
    return "\n".join(lines) + "\n"


def latex_text(text: str) -> str:
    r"""Return text that LaTeX sets as it stands.

    Examples
    --------
    >>> latex_text("50 % of a_b")
    '50 \\% of a\\_b'
    """
    # Marks that turn the direction of writing have no place in a table's source.
    visible = (letter for letter in text if unicodedata.category(letter)[0] != "C")
    return "".join(_LATEX.get(letter, letter) for letter in visible)


def latex_table(grid: Grid) -> str:
    """Return a table environment with booktabs: our figures and, a row below, the paper's."""

    def line(texts: list[str]) -> str:
        return " & ".join(latex_text(text) for text in texts) + r" \\"

    lines = [
        "% needs \\usepackage{booktabs}",
        r"\begin{table}[htbp]",
        r"\centering",
        rf"\caption{{{latex_text(f'{grid.title}. {grid.note}'.strip())}}}",
        rf"\label{{tab:{grid.name.replace('_', '-')}}}",
        r"\footnotesize",
        rf"\begin{{tabular}}{{@{{}}l{'c' * len(grid.headings)}@{{}}}}",
        r"\toprule",
        line([grid.corner, *grid.headings]),
        r"\midrule",
    ]
    for heading, cells in grid.rows:
        ours = [f"{cell.text} {cell.interval}".strip() if cell else "—" for cell in cells]
        lines.append(line([heading, *ours]))
        theirs = [cell.published_text + "*" * cell.outside if cell else "" for cell in cells]
        if any(theirs):
            lines.append(rf"\quad paper & {line(theirs)}")
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)
