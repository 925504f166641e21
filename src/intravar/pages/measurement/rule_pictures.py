"""Pictures of the rule that the data suggest: what decisions depend on, and how."""

from __future__ import annotations

from typing import Any, NamedTuple

from intravar.errors import theirs
from intravar.pages.measurement.plot import Plot, bar_plot
from intravar.publication.outputs import Outputs

#: Covariates shown at most, and those whose dependence is shown.
MOST_IMPORTANT, MOST_DEPENDENCE = 12, 4


def importance_rows(outputs: Outputs) -> list[tuple[str, float]]:
    """Return the most important covariates with their loss of AUC."""
    rows = outputs.summary["rule"]["importance"][:MOST_IMPORTANT]
    return [(outputs.words.label(row["covariate"]), row["importance"]) for row in rows]


def plot_importance(rows: list[tuple[str, float]], width: int) -> Plot:
    """Plot the importance of covariates as bars."""
    return bar_plot("loss of AUC when shuffled", rows, width)


class Dependence(NamedTuple):
    """How the share decided for goes with one covariate."""

    covariate: str
    rows: list[dict[str, Any]]


def dependence_data(outputs: Outputs, place: int) -> Dependence | None:
    """Return the dependence on the covariate in that place of importance, counted from 0."""
    rule = outputs.summary["rule"]
    if place >= len(rule["importance"]):
        return None
    name = str(rule["importance"][place]["covariate"])
    rows = [row for row in rule["dependence"] if row["covariate"] == name]
    return Dependence(outputs.words.label(name), rows) if len(rows) > 1 else None


def dependence_in_words(data: Dependence) -> str:
    """Say where the dependence begins and ends."""
    first, last = data.rows[0], data.rows[-1]
    return (
        f"Mean predicted share decided for, from {first['share']:.2f} at {first['value']:g} to "
        f"{last['share']:.2f} at {last['value']:g}."
    )


def plot_dependence(data: Dependence, width: int) -> Plot:
    """Plot the predicted share decided for against the covariate."""
    points = [(row["value"], row["share"]) for row in data.rows]
    values = [value for value, _ in points]
    plot = Plot((min(values), max(values)), (0, 1), width, height=220)
    plot.axes(theirs(data.covariate[:40]), "share decided for")
    plot.line(points)
    for value, share in points:
        plot.point(value, share, f"{value:g}: {share:.2f}")
    return plot
