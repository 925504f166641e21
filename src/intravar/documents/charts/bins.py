"""Counts in bins, where there are too many for a mark each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from intravar.arrays import FloatArray
from intravar.documents.charts.plot import Plot

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
