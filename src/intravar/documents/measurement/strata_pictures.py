"""Subgroups and periods in pictures: as they are, and on patients alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from intravar.documents.measurement.plot import Drawing
from intravar.documents.measurement.row_plots import row_plot
from intravar.errors import theirs
from intravar.publication.outputs import Outputs

Rows = list[dict[str, Any]]


def strata_rows(part: str) -> Callable[[Outputs], Rows]:
    """Return what takes the strata out of what is published: those of "by", or of "course"."""
    return lambda outputs: (outputs.summary.get(part) or {}).get("strata", [])


def plot_strata(rows: Rows, width: int) -> Drawing:
    """Plot a row per stratum: hollow as it is, filled on patients alike, with intervals."""
    most = max(row[end] or 0.0 for row in rows for end in ("high", "alike_high"))
    plot = row_plot(
        [row["stratum"] for row in rows], most * 1.05, width, "discordance (probability)"
    )
    for position, row in enumerate(rows, 1):
        at = plot.at(position)
        name = theirs(row["stratum"])
        plot.point((row["discordance"], at), f"{name}: {row['discordance']:.2f} as it is", "hollow")
        if row["alike"] is None:
            continue
        plot.line([(row["alike_low"], at), (row["alike_high"], at)], "interval")
        plot.point((row["alike"], at), f"{name}: {row['alike']:.2f} on patients alike")
    return plot


def strata_in_words(rows: Rows) -> str:
    """Say what the picture shows."""
    told = [
        f"{theirs(row['stratum'])}: {row['discordance']:.2f} as it is"
        + ("" if row["alike"] is None else f", {row['alike']:.2f} on patients alike")
        for row in rows
    ]
    return f"Discordance in every stratum. {'; '.join(told)}."
