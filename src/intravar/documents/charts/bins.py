"""Counts in bins, where there are too many for a mark each.

A bin counts rows by values that a table beside it publishes: whoever has the table can count them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from intravar.arrays import FloatArray
from intravar.documents.charts.plot import Plot

#: Marks up to which each is drawn. A wide picture has 570 pixels between its ends: beyond, marks
#: side by side have less than a pixel each, and those on a plane hide others.
MOST_SINGLE = 500
#: Width of a bin of shares, and of one on a plane.
STEP, PLANE_STEP = 0.01, 0.02
#: Bins side by side on a plane at most.
COLUMNS = 32
#: Counts from which on a bin of a plane is of the next darker shade.
SHADES = (1, 3, 10, 30, 100, 300)
#: From a number to words, such as "3 physicians".
Counted = Callable[[int], str]


class Bin(NamedTuple):
    """How many have a value from one end to below the other."""

    low: float
    high: float
    number: int


def in_bins(values: FloatArray, step: float = STEP) -> list[Bin]:
    """Count shares in bins of a width, those without any left out; the last one ends with 1.

    Examples
    --------
    >>> in_bins(np.array([0.29, 0.3, 0.305, 0.331]))
    [Bin(low=0.29, high=0.3, number=1), Bin(low=0.3, high=0.31, number=2), \
Bin(low=0.33, high=0.34, number=1)]
    """
    places, counts = np.unique(_place_of_share(values, step), return_counts=True)
    return [
        Bin(round(place * step, 10), round((place + 1) * step, 10), count)
        for place, count in zip(places.tolist(), counts.tolist(), strict=True)
    ]


def _place_of_share(values: FloatArray, step: float) -> FloatArray:
    return np.minimum(np.floor(values / step + 1e-9), round(1 / step) - 1)


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
        hint = f"{_ends(each.low, each.high, unit)}: {counted(each.number)}"
        plot.bar((unit * each.low, unit * each.high), (0, each.number), hint, "fill")
    return plot


def _ends(low: float, high: float, unit: float) -> str:
    return f"{unit * low:.3g} to {'' if high == 1 else 'below '}{unit * high:.3g}"


class PlaneBin(NamedTuple):
    """How many have a size from the first to the last, and a share from low to high."""

    first: int
    last: int
    low: float
    high: float
    number: int

    @property
    def shade(self) -> int:
        """Which of the shades it has."""
        return sum(self.number >= least for least in SHADES) - 1


def on_plane(sizes: FloatArray, shares: FloatArray) -> list[PlaneBin]:
    """Count in bins of sizes, which are whole, and shares."""
    if not len(sizes):
        return []
    first, last = int(sizes.min()), int(sizes.max())
    across = -(-(last - first + 1) // COLUMNS)
    columns = (sizes - first) // across
    places = np.column_stack([columns, _place_of_share(shares, PLANE_STEP)]).astype(int)
    different, counts = np.unique(places, axis=0, return_counts=True)
    return [
        PlaneBin(
            first + x * across,
            min(first + (x + 1) * across - 1, last),
            round(y * PLANE_STEP, 10),
            round((y + 1) * PLANE_STEP, 10),
            count,
        )
        for (x, y), count in zip(different.tolist(), counts.tolist(), strict=True)
    ]


def add_plane(
    plot: Plot, bins: Sequence[PlaneBin], unit: str, counted: Counted, scale: float = 1.0
) -> None:
    """Add the bins to a plot, the more there are in one the darker."""
    for each in bins:
        size = f"{each.first:,}" if each.first == each.last else f"{each.first:,} to {each.last:,}"
        hint = f"{size} {unit}, {_ends(each.low, each.high, scale)}: {counted(each.number)}"
        x = max(each.first - 0.5, plot.x[0]), min(each.last + 0.5, plot.x[1])
        y = scale * each.low, min(scale * each.high, plot.y[1])
        plot.bar(x, y, hint, f"shade-{each.shade}")


def shades_key(bins: Sequence[PlaneBin], unit: str) -> tuple[tuple[str, str], ...]:
    """Say what the shades stand for, as far as they are there."""
    there = sorted({each.shade for each in bins})
    ends = [*(f" to {more - 1}" for more in SHADES[1:]), " or more"]
    return tuple((f"shade-{shade}", f"{SHADES[shade]}{ends[shade]} {unit}") for shade in there)
