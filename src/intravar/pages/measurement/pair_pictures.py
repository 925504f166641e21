"""Pictures of the pairs behind the numbers: how alike, how far apart, how many."""

from __future__ import annotations

from typing import Any

from intravar.errors import theirs
from intravar.pages.measurement.plot import Plot, row_plot
from intravar.publication.outputs import Outputs

_PARTS = ("bar", "second", "third", "fourth")


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
    plot = row_plot(len(rows), most or 1.0, width)
    plot.axes("standardised difference (RMS)", y_ticks=False)
    for position, row in enumerate(rows, 1):
        plot.label(position, row["covariate"])
        plot.line([(row["within_pairs"], position), (row["at_random"], position)], "interval")
        at_random = f"{theirs(row['covariate'])}: {row['at_random']:.3f} at random"
        within = f"{theirs(row['covariate'])}: {row['within_pairs']:.3f} within pairs"
        plot.point(row["at_random"], position, at_random, "hollow")
        plot.point(row["within_pairs"], position, within)
    return plot


def plot_attrition(rows: list[dict[str, Any]], width: int) -> Plot:
    """Plot what became of every physician's patients, the most paired first."""
    parts = [name for name in rows[0] if name != "physician"]
    ordered = sorted(rows, key=lambda row: -row["paired"] / max(1, sum(row[p] for p in parts)))
    plot = Plot((0, len(rows)), (0, 1), width)
    plot.axes("physicians", "share of patients", count=0)
    for position, row in enumerate(ordered):
        total, below = sum(row[part] for part in parts) or 1, 0.0
        for part, kind in zip(parts, _PARTS, strict=False):
            share = row[part] / total
            hint = f"{theirs(row['physician'])}: {row[part]:,} {part.replace('_', ' ')}"
            if share:
                plot.bar((position + 0.08, position + 0.92), (below, below + share), hint, kind)
            below += share
    return plot


def plot_distances(rows: list[dict[str, Any]], width: int) -> Plot:
    """Plot the distribution of distances within pairs, over the caliper."""
    heights = [0.1 * row["share"] / (row["to"] - row["from"]) for row in rows]
    plot = Plot((0, 1), (0, max(heights)), width)
    plot.axes("distance / caliper", "share of pairs per 0.1")
    for row, height in zip(rows, heights, strict=True):
        hint = f"{row['from']:.2f} to {row['to']:.2f}: {100 * row['share']:.1f} % of pairs"
        plot.bar((row["from"], row["to"]), (0, height), hint, "bar")
    return plot


def sweep_rows(outputs: Outputs) -> list[dict[str, Any]]:
    """Return the calipers at which there are pairs."""
    return [row for row in outputs.diagnostics["sweep"] if row["mean_discordance"] is not None]


def plot_sweep(rows: list[dict[str, Any]], width: int) -> Plot:
    """Plot discordance and share of patients in pairs against the caliper."""
    plot = Plot((0, max(1.0, *(row["fraction"] for row in rows))), (0, 1), width)
    plot.axes("caliper, as a multiple of the one used", "share")
    for name, kind, point in (
        ("mean_discordance", "line", "point"),
        ("share_paired", "limit", "hollow"),
    ):
        plot.line([(row["fraction"], row[name]) for row in rows], kind)
        for row in rows:
            words = name.replace("_", " ")
            hint = f"{row['fraction']:g} of the caliper: {words} {row[name]:.2f}"
            plot.point(row["fraction"], row[name], hint, point)
    return plot
