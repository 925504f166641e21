"""Deltas across conditions: their distribution, by window size, by pass, by cohort size."""

from __future__ import annotations

import altair as alt
import polars as pl

from intravar.study.report.canvas import Canvas, Chart
from intravar.study.report.figures.marks import SIGNED, method_colour, method_shape, zero_line
from intravar.study.report.stored_results import Results

_ROW = 30
_DELTA = "Mean delta (score minus oracle)"
WINDOWS = {"w1": "1", "w2_3": "2–3", "w4_6": "4–6", "w7_9": "7–9", "score2": "SCORE2"}
PASSES = {"pass1": "pass 1", "pass2": "pass 2"}


def condition_deltas(results: Results) -> pl.DataFrame:
    """Return the mean delta per main condition (SCORE2, window rules) and method, first draw."""
    main = [
        name
        for name in results.conditions
        if (found := results.known_condition(name)) and found.family in ("score2", "window")
    ]
    rows = results.cells("condition_deltas", "mean_delta", results.rate_methods)
    return rows.filter(pl.col("condition").is_in(main)).select(
        "condition", "method", "label", "first"
    )


def _rates(results: Results, rows: pl.DataFrame) -> list[str]:
    there = set(rows["method"].to_list())
    return [method for method in results.rate_methods if method in there]


def cross_deltas(results: Results, canvas: Canvas) -> Chart:
    """Plot how the mean delta of every method is spread over the conditions."""
    rows = condition_deltas(results).filter(pl.col("first").is_not_null())
    # Spread evenly rather than at random, so that a figure plotted twice is the same figure.
    turn = pl.int_range(pl.len()).over("method")
    rows = rows.with_columns(((turn * 0.6180339887) % 1).alias("jitter"))
    shown = _rates(results, rows)
    y = alt.Y("label:N", sort=results.labels(shown), title=None, axis=alt.Axis(grid=False))
    ticks = 4 if canvas.narrow else 9
    x = alt.X("first:Q", title=_DELTA, axis=alt.Axis(labelExpr=SIGNED, tickCount=ticks))
    points = (
        alt.Chart(canvas.data(rows))
        .mark_point(filled=True, size=24, opacity=0.45)
        .encode(
            x=x,
            y=y,
            yOffset=alt.YOffset("jitter:Q", scale=alt.Scale(domain=[-0.3, 1.3])),
            color=method_colour(results, canvas, shown),
            shape=method_shape(results, canvas, shown),
            tooltip=[
                alt.Tooltip("condition:N", title="Condition"),
                alt.Tooltip("label:N", title="Method"),
                alt.Tooltip("first:Q", title="Mean delta", format="+.3f"),
            ],
        )
    )
    box = alt.Chart(canvas.data(rows)).encode(y=y)
    middle = box.mark_tick(thickness=2.5, size=_ROW - 10, color=canvas.ink("ink")).encode(
        x=alt.X("median(first):Q")
    )
    quarters = box.mark_bar(
        filled=False, height=_ROW - 12, stroke=canvas.ink("ink"), strokeWidth=1
    ).encode(x=alt.X("q1(first):Q"), x2="q3(first):Q")
    return alt.layer(zero_line(canvas), points, quarters, middle).properties(
        width=canvas.width - 190, height=_ROW * len(shown)
    )


def by_window(results: Results, canvas: Canvas) -> Chart:
    """Plot the mean delta by window size with its interval."""
    rows = _cells(results, "window_size", WINDOWS)
    shown = _rates(results, rows)
    there = set(rows["where"].to_list())
    base = alt.Chart(canvas.data(rows)).encode(
        x=alt.X(
            "where:N",
            sort=[name for name in WINDOWS.values() if name in there],
            title="Covariates in the rule (window size)",
            axis=alt.Axis(labelAngle=0, grid=False),
            scale=alt.Scale(paddingInner=0.25),
        ),
        xOffset=alt.XOffset("label:N", sort=results.labels(shown)),
        color=method_colour(results, canvas, shown, legend=True),
    )
    bars = base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", title=_DELTA), y2="high:Q")
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        y=alt.Y("value:Q", title=_DELTA, axis=alt.Axis(labelExpr=SIGNED)),
        shape=method_shape(results, canvas, shown, legend=True),
        tooltip=_tooltip(),
    )
    paper = (
        base.transform_filter("isValid(datum.published)")
        .mark_tick(orient="horizontal", thickness=2, size=9)
        .encode(y=alt.Y("published:Q"), color=alt.value(canvas.ink("soft")), tooltip=_tooltip())
    )
    return alt.layer(zero_line(canvas, "y"), paper, bars, points).properties(
        width=canvas.width - 80, height=260
    )


def by_pass(results: Results, canvas: Canvas) -> Chart:
    """Plot the mean delta of pass 1 (filled) above pass 2 (hollow) with its interval."""
    rows = _cells(results, "passes", PASSES)
    shown = _rates(results, rows)
    base = alt.Chart(canvas.data(rows)).encode(
        y=alt.Y("label:N", sort=results.labels(shown), title=None, axis=alt.Axis(grid=False)),
        yOffset=alt.YOffset("where:N", sort=list(PASSES.values())),
        color=method_colour(results, canvas, shown),
    )
    axis = alt.Axis(labelExpr=SIGNED, tickCount=4 if canvas.narrow else 8)
    bars = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q", title=_DELTA), x2="high:Q")
    paper = (
        base.transform_filter("isValid(datum.published)")
        .mark_tick(orient="vertical", thickness=2, size=9)
        .encode(x=alt.X("published:Q"), color=alt.value(canvas.ink("soft")), tooltip=_tooltip())
    )
    points = base.mark_point(size=60, opacity=1, strokeWidth=1.5).encode(
        x=alt.X("value:Q", title=_DELTA, axis=axis),
        shape=method_shape(results, canvas, shown),
        fill=alt.condition(
            "datum.column === 'pass2'",
            alt.value(canvas.ink("ground")),
            method_colour(results, canvas, shown),
        ),
        tooltip=_tooltip(),
    )
    return alt.layer(zero_line(canvas), paper, bars, points).properties(
        width=min(canvas.width - 190, 560), height=_ROW * len(shown)
    )


def _cells(results: Results, table: str, columns: dict[str, str]) -> pl.DataFrame:
    return results.labelled(
        results.tables[table]
        .filter(pl.col("method").is_in(results.rate_methods) & pl.col("column").is_in(columns))
        .with_columns(
            pl.col("column").replace_strict(columns, return_dtype=pl.String).alias("where")
        ),
    )


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("label:N", title="Method"),
        alt.Tooltip("where:N", title="Where"),
        alt.Tooltip("value:Q", title="Mean delta", format="+.3f"),
        alt.Tooltip("low:Q", title="95 % from", format="+.3f"),
        alt.Tooltip("high:Q", title="to", format="+.3f"),
        alt.Tooltip("published:Q", title="Paper", format="+.3f"),
    ]
