"""The grid of cohort sizes: one panel per number of physicians."""

from __future__ import annotations

import altair as alt
import polars as pl

from intravar.study.report.canvas import Canvas, Chart
from intravar.study.report.figures.marks import SIGNED, method_colour, method_shape, zero_line
from intravar.study.report.stored_results import Results


def grid_rows(results: Results) -> pl.DataFrame:
    """Return the cells of the grid with their sizes, methods that estimate a rate only."""
    rows = []
    for row in results.tables["grid"].iter_rows(named=True):
        condition = results.known_condition(str(row["condition"]))
        if condition is None or row["method"] not in results.rate_methods:
            continue
        rows.append(
            row
            | {
                "label": results.label(row["method"]),
                "patients": condition.scenario.n_patients,
                "physicians": condition.scenario.n_physicians,
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def size_grid(results: Results, canvas: Canvas) -> Chart:
    """Plot the mean delta against the number of patients, one panel per number of physicians."""
    rows = grid_rows(results)
    numbers = sorted(rows["physicians"].unique().to_list())
    columns = min(len(numbers), 2 if canvas.narrow else 5)
    width = (canvas.width - 50) // columns - (42 if canvas.narrow else 34)
    there = set(rows["method"].to_list())
    shown = [method for method in results.rate_methods if method in there]
    ends = [
        value for name in ("value", "low", "high") for value in rows[name].drop_nulls().to_list()
    ] + [0.0]
    domain = [min(ends), max(ends)]
    parts = [
        _panel(results, canvas, rows, number, shown, width, domain, position % columns == 0)
        for position, number in enumerate(numbers)
    ]
    return alt.concat(*parts, columns=columns, spacing=18).resolve_scale(y="shared", x="shared")


def _panel(
    results: Results,
    canvas: Canvas,
    rows: pl.DataFrame,
    physicians: int,
    shown: list[str],
    width: int,
    domain: list[float],
    first: bool,
) -> Chart:
    here = rows.filter(pl.col("physicians") == physicians)
    sizes = sorted(rows["patients"].unique().to_list())
    base = alt.Chart(canvas.data(here)).encode(
        x=alt.X(
            "patients:O",
            title="Patients (thousands)",
            scale=alt.Scale(domain=sizes, padding=0.3),
            axis=alt.Axis(labelAngle=0, labelExpr="datum.value / 1000", grid=False),
        ),
        color=method_colour(results, canvas, shown, legend=True),
    )
    axis = alt.Axis(labelExpr=SIGNED, labels=first, ticks=first, tickCount=6)
    y = alt.Y(
        "value:Q",
        title="Mean delta (score minus oracle)" if first else None,
        scale=alt.Scale(domain=domain),
        axis=axis,
    )
    lines = base.mark_line(strokeWidth=1, opacity=0.7).encode(y=y)
    bars = base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q", title=None), y2="high:Q")
    points = base.mark_point(filled=True, size=40, opacity=1).encode(
        y=y,
        shape=method_shape(results, canvas, shown, legend=True),
        tooltip=[
            alt.Tooltip("label:N", title="Method"),
            alt.Tooltip("patients:Q", title="Patients", format=",d"),
            alt.Tooltip("physicians:Q", title="Physicians"),
            alt.Tooltip("value:Q", title="Mean delta", format="+.3f"),
            alt.Tooltip("low:Q", title="95 % from", format="+.3f"),
            alt.Tooltip("high:Q", title="to", format="+.3f"),
            alt.Tooltip("draws:Q", title="Cohorts"),
        ],
    )
    return alt.layer(zero_line(canvas, "y"), lines, bars, points).properties(
        width=width, height=230, title=alt.TitleParams(f"{physicians} physicians")
    )
