"""Deltas across conditions: their distribution, by window size, by pass, by cohort size."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from intravar.documents.charts import Drawing, Plot, panels
from intravar.study.report.figures.marks import (
    NARROW,
    colour_of,
    defined,
    extent,
    labelled_rows,
    legend_room,
    method_legend,
    shape_of,
    short_tick,
    signed,
    signed_ticks,
    zero_line,
)
from intravar.study.report.stored_results import Results

_DELTA = "Mean delta (score minus oracle)"
#: Steps of this share of a turn fall evenly: a figure plotted twice is the same figure.
_GOLDEN = 0.6180339887
WINDOWS = {"w1": "1", "w2_3": "2–3", "w4_6": "4–6", "w7_9": "7–9", "score2": "SCORE2"}
PASSES = {"pass1": "pass 1", "pass2": "pass 2"}


def condition_deltas(results: Results) -> pl.DataFrame:
    """Return the mean delta per main condition (SCORE2, window rules) and method, first draw."""
    rows = results.cells("condition_deltas", "mean_delta", results.rate_methods)
    return rows.filter(pl.col("condition").is_in(results.main_conditions)).select(
        "condition", "method", "label", "first"
    )


def _rates(results: Results, rows: list[dict[str, Any]]) -> list[str]:
    there = {row["method"] for row in rows}
    return [method for method in results.rate_methods if method in there]


def cross_deltas(results: Results, width: int) -> Plot:
    """Plot how the mean delta of every method is spread over the conditions."""
    rows = defined(condition_deltas(results), "first")
    shown = _rates(results, rows)
    ends = extent([row["first"] for row in rows], 0.0)
    plot = labelled_rows(results.labels(shown), ends, width, _DELTA, signs=True, row=32)
    zero_line(plot)
    for number, method in enumerate(shown, 1):
        own = [row for row in rows if row["method"] == method]
        for turn, row in enumerate(own):
            plot.point(
                (row["first"], number - 0.28 + 0.56 * (turn * _GOLDEN % 1)),
                f"{row['condition']}, {row['label']}: {signed(row['first'])}",
                radius=2.4,
                colour=colour_of(results, method),
                shape=shape_of(results, method),
            )
        low, middle, high = np.quantile([row["first"] for row in own], [0.25, 0.5, 0.75])
        plot.bar((low, high), (number + 0.36, number - 0.36), "middle half", "outline")
        short_tick(plot, float(middle), number, 0.42)
    return plot


def by_window(results: Results, width: int) -> Plot:
    """Plot the mean delta by window size with its interval."""
    rows = _cells(results, "window_size", WINDOWS)
    shown = _rates(results, rows)
    there = [name for name in WINDOWS.values() if name in {row["where"] for row in rows}]
    legend = method_legend(results, shown)
    top = legend_room(legend, width, 56)
    plot = Plot(width, 260 + top, x=(0.5, len(there) + 0.5), y=_ends(rows), top=top)
    plot.axes(
        "Covariates in the rule (window size)",
        _DELTA,
        x_ticks=[(number, name) for number, name in enumerate(there, 1)],
        y_ticks=signed_ticks(*plot.y, 6),
    )
    plot.legend(legend)
    zero_line(plot, upright=False)
    step = 0.76 / max(len(shown), 1)
    for row in rows:
        at = (
            there.index(row["where"])
            + 1
            + step * (shown.index(row["method"]) - (len(shown) - 1) / 2)
        )
        colour = colour_of(results, row["method"])
        if row["published"] is not None:
            plot.line(
                [(at - step / 3, row["published"]), (at + step / 3, row["published"])],
                "line",
                "soft",
            )
        if row["low"] is not None:
            plot.interval(at, row["low"], row["high"], colour=colour)
        plot.point(
            (at, row["value"]), _hint(row), colour=colour, shape=shape_of(results, row["method"])
        )
    return plot


def by_pass(results: Results, width: int) -> Plot:
    """Plot the mean delta of pass 1 (filled) above pass 2 (hollow) with its interval."""
    rows = _cells(results, "passes", PASSES)
    shown = _rates(results, rows)
    plot = labelled_rows(
        results.labels(shown), _ends(rows), min(width, 700), _DELTA, signs=True, row=34
    )
    zero_line(plot)
    for row in rows:
        second = row["column"] == "pass2"
        at = shown.index(row["method"]) + (1.2 if second else 0.8)
        colour, shape = colour_of(results, row["method"]), shape_of(results, row["method"])
        if row["published"] is not None:
            short_tick(plot, row["published"], at, 0.16, "soft")
        if row["low"] is not None:
            plot.interval(at, row["low"], row["high"], upright=False, colour=colour)
        kind = "hollow" if second else "point"
        # A hollow mark's line is scaled with its outline; only a circle keeps its width.
        plot.point(
            (row["value"], at), _hint(row), kind, colour=colour, shape="circle" if second else shape
        )
    return plot


def grid_rows(results: Results) -> pl.DataFrame:
    """Return the cells of the grid with their sizes, methods that estimate a rate only."""
    rows = []
    for row in results.tables["grid"].iter_rows(named=True):
        condition = results.known_condition(str(row["condition"]))
        if condition is None or row["method"] not in results.rate_methods:
            continue
        sizes = {
            "label": results.label(row["method"]),
            "patients": condition.scenario.n_patients,
            "physicians": condition.scenario.n_physicians,
        }
        rows.append(row | sizes)
    return pl.DataFrame(rows, infer_schema_length=None)


def size_grid(results: Results, width: int) -> Drawing:
    """Plot the mean delta against the number of patients, one panel per number of physicians."""
    rows = defined(grid_rows(results), "value")
    numbers = sorted({row["physicians"] for row in rows})
    sizes = sorted({row["patients"] for row in rows})
    shown = _rates(results, rows)
    columns = min(len(numbers), 2 if width == NARROW else 5)
    parts = [
        _size_panel(
            results,
            [row for row in rows if row["physicians"] == number],
            sizes,
            shown,
            _ends(rows),
            width // columns,
        )
        for number in numbers
    ]
    whole = panels(parts, columns, [f"{number} physicians" for number in numbers])
    legend = method_legend(results, shown)
    above = Plot(width, legend_room(legend, width, 10), left=10)
    above.legend(legend)
    return panels([above, whole], 1)


def _size_panel(
    results: Results,
    rows: list[dict[str, Any]],
    sizes: list[int],
    shown: list[str],
    ends: tuple[float, float],
    width: int,
) -> Plot:
    plot = Plot(width, 260, x=(0.6, len(sizes) + 0.4), y=ends, left=48)
    plot.axes(
        "Patients (thousands)",
        x_ticks=[(number, f"{size / 1000:g}") for number, size in enumerate(sizes, 1)],
        y_ticks=signed_ticks(*ends, 6),
    )
    zero_line(plot, upright=False)
    for method in shown:
        own = sorted(
            (row for row in rows if row["method"] == method), key=lambda row: row["patients"]
        )
        colour = colour_of(results, method)
        places = [sizes.index(row["patients"]) + 1 for row in own]
        plot.line([(at, row["value"]) for at, row in zip(places, own, strict=True)], "line", colour)
        for at, row in zip(places, own, strict=True):
            if row["low"] is not None:
                plot.interval(at, row["low"], row["high"], colour=colour)
            hint = (
                f"{row['label']}, {row['patients']:,} patients of {row['physicians']} physicians: "
                f"{signed(row['value'])}; {row['draws']} cohorts"
            )
            plot.point(
                (at, row["value"]), hint, radius=3.2, colour=colour, shape=shape_of(results, method)
            )
    return plot


def _cells(results: Results, table: str, columns: dict[str, str]) -> list[dict[str, Any]]:
    rows = results.labelled(
        results.tables[table]
        .filter(pl.col("method").is_in(results.rate_methods) & pl.col("column").is_in(columns))
        .with_columns(
            pl.col("column").replace_strict(columns, return_dtype=pl.String).alias("where")
        ),
    )
    return defined(rows, "value")


def _ends(rows: list[dict[str, Any]]) -> tuple[float, float]:
    names = ("value", "low", "high", "published")
    return extent([row.get(name) for row in rows for name in names], 0.0)


def _hint(row: dict[str, Any]) -> str:
    parts = [f"{row['label']}, {row['where']}: {signed(row['value'])}"]
    if row["low"] is not None:
        parts.append(f"95 % {signed(row['low'])} to {signed(row['high'])}")
    if row["published"] is not None:
        parts.append(f"paper {signed(row['published'])}")
    return "; ".join(parts)


def cross_in_words(results: Results) -> str:
    """Return median and range of every method's deltas."""
    rows = condition_deltas(results)
    found = (
        rows.filter(pl.col("first").is_not_null())
        .group_by("label", maintain_order=True)
        .agg(
            pl.col("first").median().alias("median"),
            pl.col("first").min().alias("low"),
            pl.col("first").max().alias("high"),
        )
    )
    listed = "; ".join(
        f"{row['label']} {signed(row['median'])} ({signed(row['low'])} to {signed(row['high'])})"
        for row in found.iter_rows(named=True)
    )
    number = rows["condition"].n_unique()
    return f"Distribution of mean deltas over {number} conditions, median and range: {listed}."


def cells_in_words(results: Results, table: str) -> str:
    """Return the mean delta per method and column of a table."""
    columns = WINDOWS if table == "window_size" else PASSES
    listed = []
    for method in results.rate_methods:
        rows = results.tables[table].filter(pl.col("method") == method)
        cells = {row["column"]: row["value"] for row in rows.iter_rows(named=True)}
        texts = [
            f"{heading} {signed(cells[column])}"
            for column, heading in columns.items()
            if cells.get(column) is not None
        ]
        if texts:
            listed.append(f"{results.label(method)}: {', '.join(texts)}")
    what = "by window size" if table == "window_size" else "by pass"
    return f"Mean delta {what}, with intervals. {'; '.join(listed)}."


def grid_in_words(results: Results) -> str:
    """Return the range of every method's deltas over the grid."""
    rows = grid_rows(results).filter(pl.col("value").is_not_null())
    found = rows.group_by("label", maintain_order=True).agg(
        pl.col("value").min().alias("low"), pl.col("value").max().alias("high")
    )
    listed = "; ".join(
        f"{row['label']} from {signed(row['low'])} to {signed(row['high'])}"
        for row in found.iter_rows(named=True)
    )
    cells = rows["condition"].n_unique()
    return f"Curves of mean delta over {cells} sizes of cohort. Range per method: {listed}."
