"""Plots with a labelled row per name, and several pictures in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from intravar.documents.charts.plot import (
    BOTTOM,
    RIGHT,
    TOP,
    WIDE,
    Drawing,
    Plot,
    label_lines,
    text_width,
)

#: Height of a row, and of a line of its label where that stands above the row's mark.
ROW, LINE = 24, 16
#: Room for labels beside the rows, by width; longer ones go above.
BESIDE = 180, 110


@dataclass
class RowPlot(Plot):
    """A plot with one labelled row below the other.

    Parameters
    ----------
    lines
        The lines of every label.
    beside
        Whether labels stand left of the rows; else above.
    """

    lines: list[list[str]] = field(default_factory=list)
    beside: bool = True

    @property
    def row_height(self) -> int:
        """Pixels from one row to the next."""
        return ROW if self.beside else ROW + LINE * max(len(each) for each in self.lines)

    def at(self, position: int) -> float:
        """Return the height of a row's mark; rows are counted from 1."""
        return position if self.beside else position + 0.5 - ROW / 2 / self.row_height

    def add_bar(self, position: int, value: float, hint: str, kind: str = "fill") -> None:
        """Add a bar from zero to a value."""
        half = 8 / self.row_height
        middle = self.at(position)
        self.bar((0, max(value, 0.0)), (middle + half, middle - half), hint, kind)

    def add_labels(self) -> None:
        """Write the labels of all rows."""
        for position, lines in enumerate(self.lines, 1):
            _, middle = self.place(0, position)
            if self.beside:
                self.write(lines[0], (self.left - 8, middle), "label", "end")
                continue
            top = middle - self.row_height / 2 + 11
            spans = Markup("").join(
                Markup('<tspan x="{}" y="{}">{}</tspan>').format(
                    self.left, round(top + LINE * n, 1), line
                )
                for n, line in enumerate(lines)
            )
            self.add('<text class="label">{spans}</text>', spans=spans)


def row_plot(names: Sequence[str], most: float, width: int, axis: str) -> RowPlot:
    """Return a plot with a labelled row per name and values from zero to the right."""
    room = BESIDE[0] if width == WIDE else BESIDE[1]
    longest = max(text_width(name) for name in names)
    beside = longest <= room - 16
    left = round(longest) + 16 if beside else 12
    lines = [[name] if beside else label_lines(name, width - left - RIGHT) for name in names]
    plot = RowPlot(
        width, x=(0, most or 1.0), y=(len(names) + 0.5, 0.5), left=left, lines=lines, beside=beside
    )
    plot.height = plot.row_height * len(names) + TOP + BOTTOM
    plot.axes(axis, y_ticks=())
    plot.add_labels()
    return plot


def bar_plot(axis: str, rows: list[tuple[str, float]], width: int) -> RowPlot:
    """Plot a bar per labelled row."""
    most = max((value for _, value in rows), default=0)
    plot = row_plot([name for name, _ in rows], most, width, axis)
    for position, (name, value) in enumerate(rows, 1):
        plot.add_bar(position, value, f"{name}: {value:.3g}")
    return plot


#: Pixels over a panel for its title.
TITLE = 22


def panels(drawings: Sequence[Drawing], columns: int, titles: Sequence[str] = ()) -> Drawing:
    """Return one picture of several, so many in a row.

    Parameters
    ----------
    drawings
        From the left and the top.
    columns
        How many stand side by side.
    titles
        One for each of them, or none at all.

    Examples
    --------
    >>> whole = panels([Drawing(100, 50), Drawing(100, 50), Drawing(100, 60)], 2)
    >>> whole.width, whole.height
    (200, 110)
    """
    whole, top = Drawing(0, 0), 0
    room = TITLE if titles else 0
    for first in range(0, len(drawings), columns):
        left = 0
        row = drawings[first : first + columns]
        for place, drawing in enumerate(row, first):
            if titles:
                whole.write(titles[place], (left + drawing.width / 2, top + 10), "panel-title")
            inner = Markup("").join(drawing.parts)
            whole.add('<g transform="translate({a} {b})">{i}</g>', a=left, b=top + room, i=inner)
            left += drawing.width
        whole.width = max(whole.width, left)
        top += room + max(drawing.height for drawing in row)
    whole.height = top
    return whole
