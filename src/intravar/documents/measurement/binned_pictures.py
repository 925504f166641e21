"""Parts of pictures of very many physicians: counts in bins where single marks no longer help.

A bin counts physicians, by values that the table publishes: whoever has the table can count them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from intravar.arrays import FloatArray
from intravar.documents.measurement.plot import Plot

#: Physicians up to which each has a mark of its own. A wide picture has 570 pixels between its
#: ends: beyond, marks side by side have less than a pixel each, and those on a plane hide others.
MOST_SINGLE = 500
#: Marks of their own among very many: those beyond the limits, the farthest first.
MOST_MARKS = 50
#: Width of a bin of scores, and of one on a plane.
STEP, PLANE_STEP = 0.01, 0.02
#: Bins side by side on a plane at most.
COLUMNS = 32
#: Physicians from which on a bin of a plane is of the next darker shade.
SHADES = (1, 3, 10, 30, 100, 300)


class ScoreBin(NamedTuple):
    """How many have a value from one end to below the other."""

    low: float
    high: float
    number: int


def in_bins(values: FloatArray, step: float = STEP) -> list[ScoreBin]:
    """Count shares in bins of a width, those without any left out; the last one ends with 1.

    Examples
    --------
    >>> in_bins(np.array([0.29, 0.3, 0.305, 0.331]))
    [ScoreBin(low=0.29, high=0.3, number=1), ScoreBin(low=0.3, high=0.31, number=2), \
ScoreBin(low=0.33, high=0.34, number=1)]
    """
    places, counts = np.unique(_shares_place(values, step), return_counts=True)
    return [
        ScoreBin(round(place * step, 10), round((place + 1) * step, 10), count)
        for place, count in zip(places.tolist(), counts.tolist(), strict=True)
    ]


def _shares_place(values: FloatArray, step: float) -> FloatArray:
    return np.minimum(_place(values, step), round(1 / step) - 1)


def _place(values: FloatArray, step: float) -> FloatArray:
    return np.floor(values / step + 1e-9)


def histogram(
    values: FloatArray, width: int, axis: str, step: float = STEP, reach: float = 0.0
) -> Plot:
    """Plot how many physicians have which share, with room above the bars for a mark.

    Parameters
    ----------
    values
        A share of each physician.
    width
        Of the picture.
    axis
        What the share is.
    step
        Width of a bin.
    reach
        How far the axis goes at least.
    """
    bins = in_bins(values, step)
    most = max(each.number for each in bins)
    plot = Plot(width, x=(0, max(reach, *(each.high for each in bins))), y=(0, 1.15 * most))
    plot.axes(axis, f"physicians per {step:g}")
    for each in bins:
        hint = f"{_steps(each.low, each.high)}: {_physicians(each.number)}"
        plot.bar((each.low, each.high), (0, each.number), hint, "fill")
    return plot


def _steps(low: float, high: float) -> str:
    return f"{low:.2f} to {'' if high == 1 else 'below '}{high:.2f}"


def _physicians(count: int) -> str:
    return f"{count:,} physician{'' if count == 1 else 's'}"


class PlaneBin(NamedTuple):
    """How many have so many cases, from the first to the last, and a score from low to high."""

    first: int
    last: int
    low: float
    high: float
    number: int

    @property
    def shade(self) -> int:
        """Which of the shades it has."""
        return sum(self.number >= least for least in SHADES) - 1


def on_plane(sizes: FloatArray, scores: FloatArray) -> list[PlaneBin]:
    """Count physicians in bins of sizes, which are whole, and scores."""
    if not len(sizes):
        return []
    first, last = int(sizes.min()), int(sizes.max())
    across = -(-(last - first + 1) // COLUMNS)
    columns = _place(sizes - first, across)
    places = np.column_stack([columns, _shares_place(scores, PLANE_STEP)]).astype(int)
    found, counts = np.unique(places, axis=0, return_counts=True)
    return [
        PlaneBin(
            first + x * across,
            min(first + (x + 1) * across - 1, last),
            round(y * PLANE_STEP, 10),
            round((y + 1) * PLANE_STEP, 10),
            count,
        )
        for (x, y), count in zip(found.tolist(), counts.tolist(), strict=True)
    ]


def add_plane(plot: Plot, bins: Sequence[PlaneBin], unit: str) -> None:
    """Add the bins to a plot, the more physicians the darker."""
    for each in bins:
        size = f"{each.first:,}" if each.first == each.last else f"{each.first:,} to {each.last:,}"
        hint = f"{size} {unit}, {_steps(each.low, each.high)}: {_physicians(each.number)}"
        x = max(each.first - 0.5, plot.x[0]), min(each.last + 0.5, plot.x[1])
        y = each.low, min(each.high, plot.y[1])
        plot.bar(x, y, hint, f"shade-{each.shade}")


def shades_key(bins: Sequence[PlaneBin]) -> tuple[tuple[str, str], ...]:
    """Say what the shades stand for, as far as they are there."""
    there = sorted({each.shade for each in bins})
    ends = [*(f" to {more - 1}" for more in SHADES[1:]), " or more"]
    return tuple((f"shade-{shade}", f"{SHADES[shade]}{ends[shade]} physicians") for shade in there)
