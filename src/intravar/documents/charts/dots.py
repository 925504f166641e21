"""Everybody along one axis: a dot each, stacked and some labelled; of very many, counts in bins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from intravar.arrays import FloatArray
from intravar.documents.charts.plot import BOTTOM, GRID, RIGHT, Dot, Plot, text_width
from intravar.text import shortened

#: Letters of a label at the most.
LONGEST = 30
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
    found = {}
    span = (ends[1] - ends[0]) or 1
    for dot in sorted(labelled, key=lambda each: each.value):
        at = RIGHT + (dot.value - ends[0]) / span * (width - 2 * RIGHT)
        left, anchor = _anchored(dot.label, at, width)
        wide = text_width(dot.label)
        start = left - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        lane = next((n for n, end in enumerate(taken) if start > end + 8), len(taken))
        taken[lane : lane + 1] = [start + wide]
        found[dot] = lane
    return found


#: Marks up to which each is drawn. A wide picture has 570 pixels between its ends: beyond, marks
#: side by side have less than a pixel each, and those on a plane hide others.
MOST_SINGLE = 500
#: Width of a bin of shares.
STEP = 0.01
#: From a number to words, such as "3 physicians".
Counted = Callable[[int], str]


class Bin(NamedTuple):
    """How many have a value from one end to below the other."""

    low: float
    high: float
    number: int


def in_bins(values: FloatArray, step: float = STEP) -> list[Bin]:
    """Count shares in bins of a width, those without any left out; the last one ends with 1."""
    last = round(1 / step) - 1
    whole = np.minimum(np.floor(values / step + 1e-9), last)
    places, counts = np.unique(whole, return_counts=True)
    return [
        Bin(round(place * step, 10), round((place + 1) * step, 10), count)
        for place, count in zip(places.tolist(), counts.tolist(), strict=True)
    ]


def histogram(
    values: FloatArray,
    width: int,
    names: tuple[str, str],
    counted: Counted,
    *,
    step: float = STEP,
    reach: float = 0.0,
    unit: float = 1.0,
) -> Plot:
    """Plot how many have which share, with room above the bars for a mark.

    `names` are what the share is and what is counted, which `counted` says; the axis goes to
    `reach` at least, and a share of 1 is a `unit` on it: 100 for "of 100".
    """
    bins = in_bins(values, step)
    most = max(each.number for each in bins)
    right = max(reach, *(unit * each.high for each in bins))
    plot = Plot(width, x=(0, right), y=(0, 1.15 * most))
    plot.axes(*names)
    for each in bins:
        low, below = f"{unit * each.low:.3g}", "" if each.high == 1 else "below "
        hint = f"{low} to {below}{unit * each.high:.3g}: {counted(each.number)}"
        plot.bar((unit * each.low, unit * each.high), (0, each.number), hint, "fill")
    return plot
