"""Plots with a labelled row per name or a dot for each, and several pictures in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from intravar.arrays import FloatArray
from intravar.documents.charts.plot import (
    BOTTOM,
    GRID,
    RIGHT,
    TOP,
    WIDE,
    Dot,
    Plot,
    label_lines,
    text_width,
)
from intravar.text import shortened

#: Letters of a label at the most: of a dot, and of a row.
LONGEST, LONGEST_OF_ROW = 30, 44
#: Pixels of a lane of labels, of the stack of dots, and the largest radius.
LANE, STACK, RADIUS = 17, 84, 5.0


def dot_plot(
    dots: Sequence[Dot], width: int, axis: str, *, ends: tuple[float, float], step: float = 1.0
) -> Plot:
    """Plot a dot for everybody, stacked in steps; labels stand above, none over another.

    Values that round to the same multiple of `step` stand above each other.
    """
    dots = [dot._replace(label=shortened(dot.label, LONGEST)) for dot in dots]
    lanes = _lanes([dot for dot in dots if dot.label], width, ends)
    top = LANE * (max(lanes.values(), default=-1) + 1) + 6
    places = Counter(round(dot.value / step) for dot in dots)
    across = step / ((ends[1] - ends[0]) or 1) * (width - 2 * RIGHT)
    most = max(places.values(), default=1)
    radius = max(1.2, min(RADIUS, STACK / (2 * most), 0.48 * across))
    pitch = min(2 * radius, (STACK - 2 * radius) / most)  # a stack of thousands is a line
    height = round(top + pitch * most + 2 * radius + 8 + BOTTOM)
    plot = Plot(width, height, x=ends, y=(0, 1), left=RIGHT, top=top)
    plot.axes(axis, y_ticks=())
    stacked: Counter[int] = Counter()
    for dot in sorted(dots, key=lambda each: each.kind):
        place = round(dot.value / step)
        a, base = plot.place(min(max(place * step, ends[0]), ends[1]), 0)
        b = round(base - stacked[place] * pitch - radius, 1)
        stacked[place] += 1
        if dot.label:
            lane = 8 + LANE * lanes[dot]
            plot.add(GRID, a, a, lane + 6, b)
            left, anchor = _anchored(dot.label, a, width)
            plot.write(dot.label, (left, lane), "label", anchor)
        plot.mark((a, b), dot.hint, dot.kind, who=dot.who, radius=round(radius, 1))
    return plot


def _anchored(label: str, at: float, width: int) -> tuple[float, str]:
    """Return where a label stands so that it does not leave the picture."""
    half = text_width(label) / 2
    if at - half < 2:
        return 2.0, "start"
    return (width - 2.0, "end") if at + half > width - 2 else (at, "middle")


def _lanes(labelled: Sequence[Dot], width: int, ends: tuple[float, float]) -> dict[Dot, int]:
    """Give every label a lane in which it does not run into another."""
    taken: list[float] = []
    lanes = {}
    span = (ends[1] - ends[0]) or 1
    for dot in sorted(labelled, key=lambda each: each.value):
        at = RIGHT + (dot.value - ends[0]) / span * (width - 2 * RIGHT)
        left, anchor = _anchored(dot.label, at, width)
        wide = text_width(dot.label)
        start = left - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        lane = next((n for n, end in enumerate(taken) if start > end + 8), len(taken))
        taken[lane : lane + 1] = [start + wide]
        lanes[dot] = lane
    return lanes


#: Marks up to which each is drawn. A wide picture has 570 pixels between its ends: beyond, marks
#: side by side have less than a pixel each, and those on a plane hide others.
MOST_SINGLE = 500
#: From a number to words, such as "3 physicians".
Counted = Callable[[int], str]


def in_bins(values: FloatArray, step: float) -> list[tuple[float, float, int]]:
    """Count shares in bins from a low to below a high end, those without any left out."""
    edges = np.round(np.arange(round(1 / step) + 1) * step, 10)
    counts, _ = np.histogram(values, edges)
    bins = zip(edges.tolist(), edges[1:].tolist(), counts.tolist(), strict=False)
    return [(low, high, number) for low, high, number in bins if number]


def histogram(
    values: FloatArray,
    width: int,
    names: tuple[str, str],
    counted: Counted,
    *,
    step: float = 0.01,
    reach: float = 0.0,
    unit: float = 1.0,
) -> Plot:
    """Plot how many have which share, with room above the bars for a mark.

    `names` are what the share is and what is counted, which `counted` says; the axis goes to
    `reach` at least, and a share of 1 is a `unit` on it: 100 for "of 100".
    """
    bins = in_bins(values, step)
    right = max(reach, unit * bins[-1][1])
    plot = Plot(width, x=(0, right), y=(0, 1.15 * max(number for _, _, number in bins)))
    plot.axes(*names)
    for low, high, number in bins:
        ends = f"{unit * low:.3g} to {'' if high == 1 else 'below '}{unit * high:.3g}"
        hint = f"{ends}: {counted(number)}"
        plot.bar((unit * low, unit * high), (0, number), hint, "fill")
    return plot


#: Height of a row, and of a line of its label; room for labels by width.
ROW, LINE = 24, 16
LABELS = 180, 110


class Labelled(NamedTuple):
    """A row: its label, its dots, and lines from low to high with their kinds; "fill" is a bar.

    What dots say follows the label; `instead` is said where a dot is missing.
    """

    label: str
    dots: Sequence[Dot] = ()
    lines: Sequence[tuple[str, float, float]] = ()
    instead: str = ""

    @property
    def in_words(self) -> str:
        """The row in words."""
        parts = filter(None, (self.instead, *(dot.hint for dot in self.dots)))
        return f"{self.label}: {', '.join(parts)}"


def row_plot(
    rows: Sequence[Labelled], axis: str, *, most: float | None = None
) -> Callable[[int], Plot]:
    """Return what plots a labelled row per name in a width; values begin with zero or the lowest.

    The axis ends with `most`, or a little behind the largest value.
    """
    values = [0.0, *(dot.value for row in rows for dot in row.dots)]
    values += [end for row in rows for _, *ends in row.lines for end in ends]
    least, end = min(values), 1.05 * max(values) if most is None else most
    names = [shortened(row.label, LONGEST_OF_ROW) for row in rows]
    longest = max(map(text_width, names))

    def plot(width: int) -> Plot:
        room = min(longest + 1, LABELS[width != WIDE])
        labels = [label_lines(name, room) for name in names]
        height = max(ROW, LINE * max(map(len, labels)) + 8)
        drawn = Plot(
            width,
            height * len(rows) + TOP + BOTTOM,
            x=(least, end or 1.0),
            y=(len(rows) + 0.5, 0.5),
            left=round(room) + 16,
        )
        drawn.axes(axis, y_ticks=())
        for at, (row, lines) in enumerate(zip(rows, labels, strict=True), 1):
            _, middle = drawn.place(0, at)
            for n, line in enumerate(lines):
                down = middle + LINE * (n - (len(lines) - 1) / 2)
                drawn.write(line, (drawn.left - 8, down), "label", "end")
            for kind, low, high in row.lines:
                if kind == "fill":
                    drawn.bar((low, high), (at + 8 / height, at - 8 / height), row.in_words, kind)
                else:
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
    digits = ".0f" if unit else ".3g"
    bars = [
        Labelled(name, (), [("fill", 0, max(value, 0))], f"{value:{digits}}{unit}")
        for name, value in rows
    ]
    return row_plot(bars, axis, most=end)
