"""What a sheet shows: the own figure among those of others, and rows of own figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from intravar.documents.blocks import Block, Figure, Paragraph, charted, row_figure
from intravar.documents.charts.plot import Dot, Plot
from intravar.documents.charts.rows import Labelled, dot_plot
from intravar.documents.measurement.deciders import axis_of
from intravar.measurement.sentences import about
from intravar.tables import hundred, hundredths, most
from intravar.wording import Words, agree

#: With fewer peers than this a dot without a name is as good as one with it.
FEWEST_PEERS = 5


class Own(NamedTuple):
    """One's own figure, with its interval."""

    value: float
    low: float
    high: float
    claim: str = "about"

    @property
    def told(self) -> str:
        """The figure in a few words."""
        return about(*self).removeprefix("about ")

    @property
    def ends(self) -> tuple[float, float]:
        """Where its line begins and ends, of 100: an upper limit has no low end."""
        return 100 * (self.value if self.claim == "at most" else self.low), 100 * self.high


def own_row(
    label: str, own: Own | None, whole: float | None, claim: str = "about", instead: str = ""
) -> Labelled:
    """Return a row with one's own figure and that of all, or what is said `instead` of the own.

    Examples
    --------
    >>> own_row("2023", Own(0.2, 0.1, 0.3), 0.25).told
    '2023: you 20 [10, 30], all 25'
    >>> own_row("2023", Own(0.2, 0.1, 0.3, "at most"), 0.25, "at most").told
    '2023: you at most 20 (95 % sure: at most 30), all at most 25'
    """
    dots = [] if own is None else [Dot(100 * own.value, f"you {own.told}", "own", radius=5)]
    if whole is not None:
        dots.append(Dot(100 * whole, f"all {most(claim)}{hundred(whole, claim)}", "all", radius=6))
    lines = [] if own is None else [("interval", *own.ends)]
    told = "" if own is not None else f"you {instead or 'not shown'}"
    return Labelled(label, dots, lines, instead=told)


def among_peers(own: Own, peers: Sequence[float], words: Words, axis: str = "") -> Block:
    """Return a figure among those of others, rounded; or say why these are too few."""
    if len(peers) < FEWEST_PEERS:
        return Paragraph(
            f"The others' figures are not shown: with fewer than {FEWEST_PEERS} of them, each "
            "could be recognised.",
            quiet=True,
        )
    figure, *others = (hundredths(value, own.claim) for value in (own.value, *peers))
    lower = sum(value < figure for value in others)
    limit = own.claim == "at most"
    label = f"you: at most {figure}" if limit else f"you: {own.told}"
    told = (
        f"Your {'upper limit' if limit else 'figure'} with its 95 % interval, and a dot for each "
        f"of {len(peers):,} other {words.deciders}, rounded and without names. {lower:,} of them "
        f"{agree(lower, 'has', 'have')} a lower figure."
    )
    end = max(50.0, *others, 100 * own.high + 1)
    dots = [Dot(float(value), kind="peer") for value in others]
    dots.append(Dot(100 * own.value, kind="own", label=label))

    def plot(width: int) -> Plot:
        drawn = dot_plot(dots, width, axis, ends=(0, end), step=max(1.0, end / 100))
        drawn.interval(0.98, *own.ends, upright=False)
        return drawn

    key = (("own", "you"), ("peer", f"another {words.decider}"))
    return charted("strip", "Your figure among the others", told, plot, key=key, heading="")


def own_figure(rows: Sequence[Labelled], name: str, title: str, line: str, claim: str) -> Figure:
    """Return a row for each decision, level or period: one's own figure, and a ring for all."""
    key = (("own", "you, with your 95 % interval"), ("all", "all together"))
    end, axis = max(50.0, *(row.most for row in rows)), axis_of(claim)
    return row_figure(name, title, rows, axis, most=end, reading=line, key=key, heading="")
