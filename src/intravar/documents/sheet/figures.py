"""What a sheet shows: the own figure among those of others, rows of own figures, and cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from intravar.documents.blocks import Block, Figure, Heading, Paragraph, charted
from intravar.documents.charts.dots import dot_plot
from intravar.documents.charts.plot import Dot, Plot
from intravar.documents.charts.rows import Labelled, row_plot
from intravar.publication.explain import explain
from intravar.tables import Table, table_of
from intravar.wording import Words, agree

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
    '2023: you 20 [10, 30], all 25'
    >>> SheetRow("2024", None, None, "at most 25").told
    '2024: you at most 25'
    """

    label: str
    own: Own | None
    all: float | None
    instead: str = "not shown"

    @property
    def told(self) -> str:
        """The row in words."""
        mine = self.instead if self.own is None else self.own.told
        return f"{self.label}: you {mine}" + ("" if self.all is None else f", all {self.all:.0f}")

    @property
    def labelled(self) -> Labelled:
        """The row as a chart has it."""
        dots = [] if self.own is None else [Dot(self.own.value, self.told, "own", radius=5)]
        dots += [] if self.all is None else [Dot(self.all, self.told, "all", radius=6)]
        lines = [] if self.own is None else [("interval", self.own.low, self.own.high)]
        return Labelled(self.label, dots, lines)


def among_peers(own: Own, peers: Sequence[float], words: Words, axis: str = AXIS) -> Block:
    """Return a figure among those of the others, or say why these are too few to be unnamed.

    The others' figures are those published, of a hundred; they are rounded to whole ones.
    """
    if len(peers) < FEWEST_PEERS:
        return Paragraph(
            f"The others' figures are not shown: with fewer than {FEWEST_PEERS} of them, each "
            "could be recognised.",
            quiet=True,
        )
    lower = sum(round(value) < round(own.value) for value in peers)
    told = (
        f"Your figure with its 95 % interval, and a dot for each of {len(peers):,} other "
        f"{words.deciders}, rounded and without names. {lower:,} of them "
        f"{agree(lower, 'has', 'have')} a lower figure."
    )
    end = max(50.0, *peers, own.high + 1)
    dots = [Dot(float(round(value)), kind="peer") for value in peers]
    dots.append(Dot(own.value, kind="own", label=f"you: {own.told}"))

    def plot(width: int) -> Plot:
        drawn = dot_plot(dots, width, axis, ends=(0, end), step=max(1.0, end / 100))
        drawn.interval(0.98, own.low, own.high, upright=False)
        return drawn

    key = (("own", "you"), ("peer", f"another {words.decider}"))
    return charted("strip", "Your figure among the others", told, plot, key=key, heading="")


def rows_figure(rows: Sequence[SheetRow], name: str, title: str, line: str) -> Figure:
    """Return a row for each decision, level or period: one's own figure, and a ring for all."""
    labelled = [row.labelled for row in rows]
    plot = row_plot(labelled, AXIS, most=max(50.0, *(row.most for row in labelled)))
    told = f"{'; '.join(row.told for row in rows)}."
    key = (("own", "you, with your 95 % interval"), ("all", "all together"))
    return charted(name, title, told, plot, reading=line, key=key, heading="")


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
    return table_of(
        f"Case {number}",
        f"{_expected(first, words)}: data {' and '.join(sides)}",
        rows.to_dicts(),
        [
            ("", 1, lambda row: words.label(row["covariate"])),
            (f"{decision}: yes", 1, lambda row: row["decided_for"] or "–"),
            (f"{decision}: no", 1, lambda row: row["decided_against"] or "–"),
            ("difference", 1, lambda row: row["difference"] or "–"),
        ],
        words=(0, 1, 2, 3),
    )


def _expected(first: Mapping[str, Any], words: Words) -> str:
    """Say why a case is shown; a prediction is told where one was made."""
    if first["predicted"] is None:
        return f"Two similar {words.cases}, decided differently"
    yes = first["row"] == first["row_for"]
    return (
        f"You {words.decided_for if yes else words.decided_against} data row {first['row']:,}; a "
        f"yes was expected in {round(100 * first['predicted'])} of 100 such {words.cases}"
    )
