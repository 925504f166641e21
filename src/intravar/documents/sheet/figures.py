"""What a sheet shows: the own figure among those of others, rows of own figures, and cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from intravar.documents.blocks import Block, Figure, Heading, Paragraph, Table, charted, plain_table
from intravar.documents.charts.dots import Dot, dot_plot
from intravar.documents.charts.plot import Plot
from intravar.documents.charts.rows import row_plot
from intravar.publication.explain import explain
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


def among_peers(own: Own, peers: Sequence[float], words: Words, axis: str = AXIS) -> Block:
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
        return Paragraph(
            f"The others' figures are not shown: with fewer than {FEWEST_PEERS} of them, each "
            "could be recognised.",
            quiet=True,
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

    def plot(width: int) -> Plot:
        drawn = dot_plot(dots, width, axis, ends=(0, end), step=max(1.0, end / 100))
        drawn.interval(0.98, own.low, own.high, upright=False)
        return drawn

    key = (("own", "you"), ("peer", words.fill("another {decider}")))
    return charted("strip", "Your figure among the others", told, plot, key=key, heading="")


def rows_figure(rows: Sequence[SheetRow], name: str, title: str, line: str, words: Words) -> Figure:
    """Return a row for each decision, level or period: one's own figure, and a ring for all."""
    told = "; ".join(f"{row.label}: {row.told}" for row in rows)
    key = (("own", "you, with your 95 % interval"), ("all", "all together"))
    line = words.fill(line)
    return charted(
        name, title, f"{told}.", lambda w: _plot(rows, w), reading=line, key=key, heading=""
    )


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


#: Decisions that stand on a sheet.
MOST_CASES = 3


def surprising(folder: Path, physician: str, decision: str, words: Words) -> list[Block]:
    """Return decisions of a decider beside similar cases decided otherwise. Patient-level."""
    told = words.decision or words.label(decision)
    found = explain(folder, physician, most=MOST_CASES)
    tables: list[Block] = [
        _case(rows.filter(pl.col("pair") == rows["pair"][0]), told, words, number)
        for number, (_, rows) in enumerate(found.group_by("case", maintain_order=True), 1)
    ]
    return [Heading("Decisions of yours that surprised"), *tables] if tables else []


def _case(rows: pl.DataFrame, decision: str, words: Words, number: int) -> Table:
    """Return a case and the one most alike that was decided otherwise, where there is one."""
    first = rows.row(0, named=True)
    sides = [f"row {first[name]:,}" for name in ("row_for", "row_against") if first[name]]
    cells = rows.select("covariate", "decided_for", "decided_against", "difference").rows()
    return plain_table(
        f"Case {number}",
        f"{_expected(first, words)}: data {' and '.join(sides)}",
        ("", f"{decision}: yes", f"{decision}: no", "difference"),
        [[words.label(name), *(cell or "–" for cell in values)] for name, *values in cells],
        words=(0, 1, 2, 3),
    )


def _expected(first: Mapping[str, Any], words: Words) -> str:
    """Say why a case is shown; a prediction is told where one was made."""
    if first["predicted"] is None:
        return words.fill("Two similar {cases}, decided differently")
    yes = first["row"] == first["row_for"]
    return words.fill(
        "You {decided} data row {row:,}; a yes was expected in {likely} of 100 such {cases}",
        decided=words.fill("{decided_for}" if yes else "{decided_against}"),
        row=first["row"],
        likely=round(100 * first["predicted"]),
    )
