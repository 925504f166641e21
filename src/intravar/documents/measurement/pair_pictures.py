"""Pictures of the pairs behind the numbers: how alike, how far apart, how many."""

from __future__ import annotations

from typing import Any

import numpy as np

from intravar.documents.measurement.physician_pictures import MOST_INTERVALS
from intravar.documents.measurement.plot import Plot
from intravar.documents.measurement.row_plots import row_plot
from intravar.errors import theirs
from intravar.publication.outputs import Outputs

_KINDS = ("fill", "second", "third", "fourth")


def love_rows(outputs: Outputs) -> list[dict[str, Any]]:
    """Return the covariates whose difference within pairs is known."""
    label = outputs.words.label
    return [
        row | {"covariate": label(row["covariate"])}
        for row in outputs.diagnostics["love"]
        if row["within_pairs"] is not None
    ]


def plot_love(rows: list[dict[str, Any]], width: int) -> Plot:
    """Plot the difference of every covariate within pairs and at random."""
    most = max(max(row["within_pairs"], row["at_random"] or 0) for row in rows) * 1.05
    names = [row["covariate"] for row in rows]
    plot = row_plot(names, most, width, "standardised difference (RMS)")
    for position, row in enumerate(rows, 1):
        down = plot.at(position)
        plot.line([(row["within_pairs"], down), (row["at_random"], down)], "interval")
        at_random = f"{theirs(row['covariate'])}: {row['at_random']:.3f} at random"
        within = f"{theirs(row['covariate'])}: {row['within_pairs']:.3f} within pairs"
        plot.point((row["at_random"], down), at_random, "hollow")
        plot.point((row["within_pairs"], down), within)
    return plot


def attrition_parts(outputs: Outputs) -> list[dict[str, Any]]:
    """Return the shares of what became of each physician's patients, the most paired first.

    Many physicians are put together with their neighbours.
    """
    rows = outputs.diagnostics["attrition"]
    if not rows:
        return []
    parts = [name for name in rows[0] if name != "physician"]
    counts = np.array([[row[part] for part in parts] for row in rows], dtype=float)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    order = np.argsort(-shares[:, parts.index("paired")], kind="stable")
    groups = np.array_split(order, min(len(order), MOST_INTERVALS))
    return [
        {
            "who": theirs(rows[group[0]]["physician"])
            if len(group) == 1
            else f"{len(group)} physicians",
            **dict(zip(parts, shares[group].mean(axis=0).tolist(), strict=True)),
        }
        for group in groups
    ]


def plot_attrition(rows: list[dict[str, Any]], width: int) -> Plot:
    """Plot what became of every physician's patients."""
    plot = Plot(width, x=(0, len(rows)), y=(0, 1))
    plot.axes("physicians, most paired first", "share of patients", count=0)
    for position, row in enumerate(rows):
        below = 0.0
        for part, kind in zip([name for name in row if name != "who"], _KINDS, strict=False):
            hint = f"{row['who']}: {100 * row[part]:.0f} % {part.replace('_', ' ')}"
            if row[part]:
                plot.bar((position + 0.08, position + 0.92), (below, below + row[part]), hint, kind)
            below += row[part]
    return plot


def plot_distances(rows: list[dict[str, Any]], width: int) -> Plot:
    """Plot the distribution of distances within pairs, over the caliper."""
    heights = [0.1 * row["share"] / (row["to"] - row["from"]) for row in rows]
    plot = Plot(width, x=(0, 1), y=(0, max(heights)))
    plot.axes("distance / caliper", "share of pairs per 0.1")
    for row, height in zip(rows, heights, strict=True):
        hint = f"{row['from']:.2f} to {row['to']:.2f}: {100 * row['share']:.1f} % of pairs"
        plot.bar((row["from"], row["to"]), (0, height), hint, "fill")
    return plot


def sweep_rows(outputs: Outputs) -> list[dict[str, Any]]:
    """Return the calipers at which there are pairs."""
    return [row for row in outputs.diagnostics["sweep"] if row["mean_discordance"] is not None]


def plot_sweep(rows: list[dict[str, Any]], width: int) -> Plot:
    """Plot discordance and share of patients in pairs against the caliper."""
    plot = Plot(width, x=(0, max(1.0, *(row["fraction"] for row in rows))), y=(0, 1))
    plot.axes("caliper, as a multiple of the one used", "share")
    for name, kind, point in (
        ("mean_discordance", "line", "point"),
        ("share_paired", "limit", "hollow"),
    ):
        plot.line([(row["fraction"], row[name]) for row in rows], kind)
        for row in rows:
            words = name.replace("_", " ")
            hint = f"{row['fraction']:g} of the caliper: {words} {row[name]:.2f}"
            plot.point((row["fraction"], row[name]), hint, point)
    return plot
