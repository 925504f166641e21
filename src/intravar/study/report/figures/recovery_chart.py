"""How well the true discordance is recovered: rank correlation with D* by condition."""

from __future__ import annotations

import altair as alt
import polars as pl

from intravar.study.report.canvas import Canvas, Chart
from intravar.study.report.figures.marks import method_colour, method_shape
from intravar.study.report.stored_results import Results

TABLE = "recovery_spearman"
_ROW = 26


def has_recovery(results: Results) -> bool:
    """Say whether there are methods whose recovery can be plotted."""
    return TABLE in results.tables and bool(results.methods)


def recovery_rows(results: Results) -> pl.DataFrame:
    """Return the rank correlation per condition and method; the conditions stand as rows."""
    rows = results.tables[TABLE].filter(pl.col("value").is_not_null())
    names = {method: results.label(method) for method in rows["method"].unique().to_list()}
    return rows.select(
        pl.col("condition").str.replace("^stress-", "").alias("where"),
        "method",
        pl.col("method").replace_strict(names, return_dtype=pl.String).alias("label"),
        "value",
        "draws",
    )


def recovery(results: Results, canvas: Canvas) -> Chart:
    """Plot the rank correlation with D* of every method under every departure."""
    rows = recovery_rows(results)
    shown = [method for method in results.methods if method in set(rows["method"])]
    conditions = rows["where"].unique(maintain_order=True).to_list()
    y = alt.Y("where:N", sort=conditions, title=None, axis=alt.Axis(grid=True))
    x = alt.X(
        "value:Q",
        title="Rank correlation with the true discordance",
        scale=alt.Scale(domain=[min(0.0, float(rows["value"].min() or 0.0)), 1]),  # type: ignore[arg-type]
        axis=alt.Axis(tickCount=5 if canvas.narrow else 10),
    )
    tooltip = [
        alt.Tooltip("where:N", title="Condition"),
        alt.Tooltip("label:N", title="Method"),
        alt.Tooltip("value:Q", title="Spearman", format=".3f"),
        alt.Tooltip("draws:Q", title="Draws"),
    ]
    points = (
        alt.Chart(canvas.data(rows.filter(pl.col("method").is_in(shown))))
        .mark_point(filled=True, size=64, opacity=0.85)
        .encode(
            x=x,
            y=y,
            color=method_colour(results, canvas, shown, legend=True),
            shape=method_shape(results, canvas, shown, legend=True),
            tooltip=tooltip,
        )
    )
    oracle = (
        alt.Chart(canvas.data(rows.filter(pl.col("method") == "oracle")))
        .mark_tick(orient="vertical", thickness=2, size=_ROW - 8, color=canvas.ink("ink"))
        .encode(x=x, y=y, tooltip=tooltip)
    )
    return alt.layer(oracle, points).properties(
        width=canvas.width - 230, height=_ROW * len(conditions)
    )


def recovery_in_words(results: Results) -> str:
    """Return for every condition the best method and the oracle."""
    parts = []
    for (where,), rows in recovery_rows(results).group_by("where", maintain_order=True):
        values = {row["label"]: row["value"] for row in rows.iter_rows(named=True)}
        oracle = values.pop("Oracle", None)
        if values:
            best = max(values, key=lambda label: values[label])
            beside = "" if oracle is None else f" (oracle {oracle:.2f})"
            parts.append(f"{where}: {best} {values[best]:.2f}{beside}")
    return "Best rank correlation with the true discordance by condition: " + "; ".join(parts) + "."
