"""Pictures that tell whether to believe it: other methods, the physicians' patients, the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from intravar.documents.measurement.binned_pictures import MOST_SINGLE, PLANE_STEP, histogram
from intravar.documents.measurement.plot import BOTTOM, MOST_HINTS, TOP, WIDE, Plot
from intravar.documents.measurement.row_plots import bar_plot
from intravar.errors import theirs
from intravar.publication.outputs import Outputs

#: Covariates shown at most.
MOST_BALANCE = 15


def agreement_rows(outputs: Outputs) -> list[dict[str, Any]]:
    """Return the rank correlations of every two methods; none where there is one method."""
    rows: list[dict[str, Any]] = outputs.diagnostics["agreement"]
    return rows if len({row["method"] for row in rows}) > 1 else []


def plot_agreement(rows: list[dict[str, Any]], width: int) -> Plot:
    """Plot the rank correlation of every two methods as a square of cells."""
    names = list(dict.fromkeys(row["method"] for row in rows))
    n = len(names)
    left = 190 if width == WIDE else 150
    plot = Plot(width, 34 * n + TOP + BOTTOM, x=(0, n), y=(n + 0.5, 0.5), left=left)
    for position, name in enumerate(names, 1):
        a, b = plot.place(0, position)
        plot.write(f"{position} {name}", (a - 8, b), "label", "end")
        a, _ = plot.place(position - 0.5, 1)
        plot.write(f"{position}", (a, plot.height - BOTTOM + 12), "tick")
    for row in rows:
        _add_cell(plot, names.index(row["other"]), names.index(row["method"]) + 1, row)
    return plot


def _add_cell(plot: Plot, x: int, y: int, row: dict[str, Any]) -> None:
    value = row["spearman"]
    text = "–" if value is None else f"{value:.2f}"
    hint = f"{row['method']} and {row['other']}: {text}"
    strength = 0.0 if value is None else abs(value)
    plot.bar((x + 0.04, x + 0.96), (y + 0.45, y - 0.45), hint, f"cell c{round(strength * 4)}")
    plot.write(text, plot.place(x + 0.5, y), "cell-text")


def balance_rows(outputs: Outputs) -> list[tuple[str, float]]:
    """Return the covariates in which physicians' patients differ most."""
    label = outputs.words.label
    rows = [
        (label(str(row["covariate"])), float(row["between_physicians"]))
        for row in outputs.diagnostics["balance"]
    ]
    return sorted(rows, key=lambda row: -row[1])[:MOST_BALANCE]


def plot_balance(rows: list[tuple[str, float]], width: int) -> Plot:
    """Plot how much of a covariate's variance lies between physicians."""
    return bar_plot("share of variance between physicians", rows, width)


def overlap_rows(outputs: Outputs) -> list[dict[str, Any]]:
    """Return the physicians, the one whose patients are most special first."""
    place = {name: n for n, name in enumerate(outputs.physicians["physician"].to_list())}
    rows = [row | {"p": place.get(row["physician"])} for row in outputs.diagnostics["overlap"]]
    return sorted(rows, key=lambda row: (row["overlap"], row["physician"]))


def overlap_in_words(rows: list[dict[str, Any]]) -> str:
    """Say what the picture of overlap shows."""
    marks = "One mark per physician" if len(rows) <= MOST_SINGLE else "Physicians counted by it"
    return (
        f"{marks}; 1 where the panel is like the whole, 0 where it has nothing in common with it."
    )


def plot_overlap(rows: list[dict[str, Any]], width: int) -> Plot:
    """Plot how much every physician's patients are like all."""
    if len(rows) > MOST_SINGLE:
        overlap = np.array([row["overlap"] for row in rows], dtype=float)
        return histogram(overlap, width, "overlap", PLANE_STEP)
    plot = Plot(width, x=(0, len(rows) + 1), y=(0, 1))
    plot.axes("physicians, least overlap first", "overlap", count=len(rows))
    radius = max(1.5, min(4.0, 0.35 * width / len(rows)))
    for position, row in enumerate(rows, 1):
        hint = (
            f"{theirs(row['physician'])}: {row['overlap']:.2f}" if len(rows) <= MOST_HINTS else ""
        )
        plot.point((position, row["overlap"]), hint, who=row["p"], radius=radius)
    return plot


def calibration_bins(outputs: Outputs) -> list[dict[str, Any]]:
    """Return predicted and observed shares; none where there is one bin only."""
    rows: list[dict[str, Any]] = outputs.diagnostics["calibration"]
    return rows if len(rows) > 1 else []


def plot_calibration(rows: list[dict[str, Any]], width: int) -> Plot:
    """Plot observed against predicted shares decided for."""
    plot = Plot(width, x=(0, 1), y=(0, 1))
    plot.axes("predicted share decided for", "observed share")
    plot.line([(0, 0), (1, 1)], "limit")
    for row in rows:
        hint = f"predicted {row['predicted']:.2f}, observed {row['observed']:.2f}"
        plot.point((row["predicted"], row["observed"]), hint)
    return plot
