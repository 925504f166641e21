"""Plots with a labelled row per name, and several pictures in one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from intravar.documents.charts.plot import (
    BOTTOM,
    RIGHT,
    TOP,
    WIDE,
    Dot,
    Drawing,
    Plot,
    label_lines,
    text_width,
)

#: Height of a row, and of a line of its label where that stands above the row's mark.
ROW, LINE = 24, 16
#: Room for labels beside the rows, by width; longer ones go above.
BESIDE = 180, 110


class Labelled(NamedTuple):
    """A row: its label, its dots, lines from low to high with their kinds, or a bar from zero.

    What dots say follows the label; `instead` is said where a dot is missing.
    """

    label: str
    dots: Sequence[Dot] = ()
    lines: Sequence[tuple[str, float, float]] = ()
    bar: Dot | None = None
    instead: str = ""

    @property
    def marks(self) -> list[Dot]:
        """The dots and the bar."""
        return [*self.dots, *([] if self.bar is None else [self.bar])]

    @property
    def most(self) -> float:
        """The largest value in it."""
        ends = (high for _, _, high in self.lines)
        return max((0.0, *(mark.value for mark in self.marks), *ends))

    @property
    def told(self) -> str:
        """The row in words."""
        said = filter(None, (self.instead, *(mark.hint for mark in self.marks)))
        return f"{self.label}: {', '.join(said)}"


def row_plot(
    rows: Sequence[Labelled], axis: str, *, most: float | None = None
) -> Callable[[int], Plot]:
    """Return what plots a labelled row per name in a width, with values from zero to the right.

    The axis ends with `most`, or a little behind the largest value. Labels stand beside the rows
    where there is room, else above.
    """
    end = 1.05 * max(row.most for row in rows) if most is None else most
    longest = max(text_width(row.label) for row in rows)

    def plot(width: int) -> Plot:
        beside = longest <= BESIDE[width != WIDE] - 16
        left = round(longest) + 16 if beside else 12
        room = width - left - RIGHT
        labels = [[row.label] if beside else label_lines(row.label, room) for row in rows]
        height = ROW if beside else ROW + LINE * max(map(len, labels))
        drawn = Plot(
            width,
            height * len(rows) + TOP + BOTTOM,
            x=(0, end or 1.0),
            y=(len(rows) + 0.5, 0.5),
            left=left,
        )
        drawn.axes(axis, y_ticks=())
        for position, (row, lines) in enumerate(zip(rows, labels, strict=True), 1):
            _, middle = drawn.place(0, position)
            top = middle - height / 2 + 11
            for n, line in enumerate(lines):
                at_left = (drawn.left - 8, middle) if beside else (drawn.left, top + LINE * n - 4)
                drawn.write(line, at_left, "label", "end" if beside else "start")
            at = position if beside else position + 0.5 - ROW / 2 / height
            if row.bar is not None:
                ends = at + 8 / height, at - 8 / height
                hint = f"{row.label}: {row.bar.hint}"
                drawn.bar((0, max(row.bar.value, 0.0)), ends, hint, "fill")
            for kind, low, high in row.lines:
                drawn.interval(at, low, high, upright=False, kind=kind)
            for dot in row.dots:
                look = {"who": dot.who, "radius": dot.radius}
                drawn.point((dot.value, at), f"{row.label}: {dot.hint}", dot.kind, **look)
        return drawn

    return plot


def bar_plot(
    axis: str, rows: Sequence[tuple[str, float]], *, most: float | None = None, unit: str = ""
) -> Callable[[int], Plot]:
    """Return what plots a bar per labelled row."""
    end = max((value for _, value in rows), default=0.0) if most is None else most
    bars = [
        Labelled(name, bar=Dot(value, f"{value:{'.0f' if unit else '.3g'}}{unit}"))
        for name, value in rows
    ]
    return row_plot(bars, axis, most=end)


#: Pixels over a panel for its title.
TITLE = 22


def panels(drawings: Sequence[Drawing], columns: int, titles: Sequence[str] = ()) -> Drawing:
    """Return one picture of several, so many in a row, each with a title or none with one."""
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
