"""Charts of a sheet: one's own figure among unnamed peers, and in rows beside all together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from intravar.documents.blocks import Figure
from intravar.documents.charts.dots import Dot, dot_plot
from intravar.documents.charts.plot import NARROW, WIDE, Plot
from intravar.documents.charts.rows import row_plot
from intravar.wording import Words

#: With fewer peers than this a dot without a name is as good as one with it.
FEWEST_PEERS = 5
AXIS = "decided differently, of 100 pairs"


class Own(NamedTuple):
    """One's own figure of a hundred pairs, with its interval."""

    value: float
    low: float
    high: float

    @property
    def told(self) -> str:
        """The figure in a few words."""
        return f"{self.value:.0f} [{self.low:.0f}, {self.high:.0f}]"


class SheetRow(NamedTuple):
    """A row: what it is, one's own figure of a hundred, that of all, and what stands without one.

    Examples
    --------
    >>> SheetRow("2023", Own(20, 10, 30), 25).told
    'you 20 [10, 30], all 25'
    >>> SheetRow("2024", None, None, "at most 25").told
    'you at most 25'
    """

    label: str
    own: Own | None
    all: float | None
    instead: str = "not shown"

    @property
    def told(self) -> str:
        """The row's figures in words."""
        mine = self.instead if self.own is None else self.own.told
        return f"you {mine}" + ("" if self.all is None else f", all {self.all:.0f}")


def among_peers(own: Own, peers: Sequence[float], words: Words, axis: str = AXIS) -> Figure | str:
    """Return a figure among those of the others, or say why these are too few to be unnamed.

    Parameters
    ----------
    own
        One's own figure.
    peers
        Those of the others as published, of a hundred; they are rounded to whole ones.
    words
        What things are called.
    axis
        What the figures are.
    """
    if len(peers) < FEWEST_PEERS:
        return (
            f"The others' figures are not shown: with fewer than {FEWEST_PEERS} of them, each "
            "could be recognised."
        )
    lower = sum(round(value) < round(own.value) for value in peers)
    told = words.fill(
        "Your figure with its 95 % interval, and a dot for each of {n}, rounded and without names. "
        "{lower} of them have a lower figure.",
        n=f"{len(peers):,} other {words.deciders}",
        lower=f"{lower:,}",
    )
    end = max(50.0, *peers, own.high + 1)
    dots = [Dot(float(round(value)), kind="peer") for value in peers]
    dots.append(Dot(own.value, kind="own", label=f"you: {own.told}"))
    svgs = []
    for width in (WIDE, NARROW):
        plot = dot_plot(dots, width, axis, ends=(0, end), step=max(1.0, end / 100))
        plot.interval(0.98, own.low, own.high, upright=False)
        svgs.append(plot.svg("Your figure among the others", told))
    key = (("own", "you"), ("peer", words.fill("another {decider}")))
    return Figure("strip", "", told, told, svgs, key)


def rows_figure(rows: Sequence[SheetRow], name: str, title: str, line: str, words: Words) -> Figure:
    """Return a row for each decision, level or period: one's own figure, and a ring for all."""
    told = "; ".join(f"{row.label}: {row.told}" for row in rows)
    svgs = [_plot(rows, width).svg(title, f"{told}.") for width in (WIDE, NARROW)]
    key = (("own", "you, with your 95 % interval"), ("all", "all together"))
    return Figure(name, "", f"{told}.", words.fill(line), svgs, key)


def _plot(rows: Sequence[SheetRow], width: int) -> Plot:
    ends = [row.own.high for row in rows if row.own is not None] + [row.all or 0.0 for row in rows]
    plot = row_plot([row.label for row in rows], max(50.0, *ends), width, AXIS)
    for position, row in enumerate(rows, 1):
        at = plot.at(position)
        if row.own is not None:
            plot.interval(at, row.own.low, row.own.high, upright=False)
            plot.point((row.own.value, at), f"{row.label}: {row.told}", "own", radius=5)
        if row.all is not None:
            plot.point((row.all, at), f"{row.label}: {row.told}", "all", radius=6)
    return plot
