"""Pictures of the rule that the data suggest: what decisions depend on, and how."""

from __future__ import annotations

from typing import Any, NamedTuple

from intravar.documents.measurement.plot import NARROW, Plot
from intravar.documents.measurement.row_plots import bar_plot, row_plot
from intravar.errors import theirs
from intravar.publication.outputs import Outputs

#: Covariates shown at most, and those whose dependence is shown.
MOST_IMPORTANT, MOST_DEPENDENCE = 12, 6
#: Share of the largest importance below which a dependence is not worth a picture.
WORTH_SHOWING = 0.05


def importance_rows(outputs: Outputs) -> list[tuple[str, float]]:
    """Return the most important covariates with their loss of AUC."""
    label = outputs.words.label
    rows = outputs.summary["rule"]["importance"][:MOST_IMPORTANT]
    return [(label(row["covariate"]), row["importance"]) for row in rows]


def plot_importance(rows: list[tuple[str, float]], width: int) -> Plot:
    """Plot the importance of covariates as bars."""
    return bar_plot("loss of AUC when shuffled", rows, width)


class Dependence(NamedTuple):
    """How the share decided for goes with one covariate.

    Attributes
    ----------
    covariate
        What it is called.
    points
        Values and shares; empty where values have names instead.
    named
        Names of values (yes and no, levels of a category) and shares.
    """

    covariate: str
    points: list[tuple[float, float]]
    named: list[tuple[str, float]]


def dependence_data(outputs: Outputs, place: int) -> Dependence | None:
    """Return the dependence on the covariate in that place of importance, counted from 0."""
    rule = outputs.summary["rule"]
    if place >= len(rule["importance"]):
        return None
    important = rule["importance"][place]
    if place and important["importance"] < WORTH_SHOWING * rule["importance"][0]["importance"]:
        return None
    name = str(important["covariate"])
    called = outputs.words.label(name)
    rows = [row for row in rule["dependence"] if row["covariate"] == name]
    if not rows:
        levels = _levels(rule["dependence"], name)
        return Dependence(called, [], levels) if len(levels) > 1 else None
    points = [(row["value"], row["share"]) for row in rows]
    kinds = {row["column"]: row["kind"] for row in outputs.checks["columns"]}
    if kinds.get(name) == "yes/no" and [value for value, _ in points] == [0, 1]:
        return Dependence(called, [], list(zip(("no", "yes"), (p for _, p in points), strict=True)))
    if 1 < len(points) <= 3:
        return Dependence(called, [], [(f"{value:g}", share) for value, share in points])
    return Dependence(called, points, []) if points else None


def _levels(rows: list[dict[str, Any]], name: str) -> list[tuple[str, float]]:
    """Return the levels of a category, which are columns of 0 and 1, and the share at each."""
    columns: dict[str, dict[float, float]] = {}
    for row in rows:
        column, found, level = str(row["covariate"]).partition(f"{name}=")
        if found and not column:
            columns.setdefault(level, {})[row["value"]] = row["share"]
    if len(columns) == 1:  # of two levels one is a column
        level, shares = next(iter(columns.items()))
        if set(shares) == {0, 1}:
            return [(level, shares[1]), (f"not {level}", shares[0])]
    return [(level, shares[1]) for level, shares in columns.items() if 1 in shares]


def dependence_in_words(data: Dependence) -> str:
    """Say where the dependence begins and ends, or the share at every value that has a name."""
    if data.named:
        listed = ", ".join(f"{share:.2f} at {theirs(name)}" for name, share in data.named)
        return f"Mean predicted share decided for: {listed}."
    (first, low), (last, high) = data.points[0], data.points[-1]
    return (
        f"Mean predicted share decided for, from {low:.2f} at {first:g} to {high:.2f} at {last:g}."
    )


def plot_dependence(data: Dependence, width: int = NARROW) -> Plot:
    """Plot the predicted share decided for: as bars where values have names, else as a line."""
    if data.named:
        bars = row_plot([name for name, _ in data.named], 1.0, width, "share decided for")
        for position, (name, share) in enumerate(data.named, 1):
            bars.add_bar(position, share, f"{theirs(name)}: {share:.2f}")
        return bars
    values = [value for value, _ in data.points]
    plot = Plot(width, 220, x=(min(values), max(values)), y=(0, 1))
    plot.axes("its value", "share decided for")
    plot.line(data.points)
    for value, share in data.points:
        plot.point((value, share), f"{value:g}: {share:.2f}")
    return plot
