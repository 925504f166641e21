"""Figures with a mark per physician: the panels of conditions with groups, and the continuum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from intravar.documents.charts import Drawing, Plot, text_width
from intravar.study.benchmark.units import ORACLE
from intravar.study.report.figures import marks
from intravar.study.report.figures.marks import (
    Rows,
    panels,
)
from intravar.study.results import Study
from intravar.study.tables import correlations_of
from intravar.study.tables.grids import number_text

#: Shades of a rank correlation, from the lowest to 1.
_SHADES = 5


def panel_rows(results: Study, condition: str) -> Rows:
    """Return every method's mean delta in the first draw of a condition, as stored."""
    methods = results.rate_methods
    cells = results.cells(f"{condition}_groups", ["mean_delta"], methods, value="first")
    return cells.to_dicts()


def group_panels(results: Study, width: int, rows: Rows, condition: str) -> Drawing:
    """Plot model scores, discordance, deltas and rank correlations of a condition."""
    columns = 1 if width == marks.NARROW else 2
    side = width // columns
    parts: dict[str, Drawing] = {
        f"{results.label(method)} score": _model_scores(results, condition, method, side)
        for method in results.methods
        if method not in results.rate_methods and results.of(condition, [method]).height
    }
    parts["Discordance by method"] = _discordance(results, condition, side)
    parts["Delta per physician (mean in brackets)"] = _deltas(results, condition, side, rows)
    parts["Rank correlation (Spearman)"] = _correlations(results, condition, side)
    return panels(list(parts.values()), columns, list(parts))


def _mark_all(
    plot: Plot,
    results: Study,
    rows: Rows,
    place: Callable[[Mapping[str, Any]], float],
    *,
    by_group: bool = False,
    **look: Any,
) -> None:
    """Mark every physician at a place; the page knows each by a number."""
    for row in rows:
        title = "discordance" if results.scale(row["method"]) == "discordance" else "overdispersion"
        parts = [f"{row['physician']}, {row['label']}: {title} {number_text(row['score'])}"]
        if row["low"] is not None:
            parts.append(f"95 % {number_text(row['low'])} to {number_text(row['high'])}")
        for name, words in (("oracle", "oracle"), ("d_star", "D*"), ("delta", "delta")):
            if row[name] is not None:
                parts.append(f"{words} {number_text(row[name], signed=name == 'delta')}")
        counts = {"group": "group {}", "n_patients": "{:,} patients", "n_pairs": "{:,} pairs"}
        parts += [words.format(row[n]) for n, words in counts.items() if row[n] is not None]
        own: dict[str, Any] = {"value": "score", "who": row["number"], **look}
        if by_group:
            own["colour"] = marks.group_colour(row["group"])
        marks.mark_row(plot, results, row, place(row), "; ".join(parts), **own)


def _rows(results: Study, condition: str, methods: list[str], *needed: str) -> Rows:
    """Return the physicians of the first draw for whom some numbers are defined.

    `number` is the one under which the page knows a physician: the position among all names.
    """
    rows = results.of(condition, [ORACLE, *results.methods])
    rows = rows.with_columns(number=pl.col("physician").rank("dense").cast(pl.Int64) - 1)
    rows = rows.filter(pl.col("method").is_in(methods)).with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )
    return rows.drop_nulls(needed).to_dicts()


def _model_scores(results: Study, condition: str, method: str, width: int) -> Drawing:
    """Plot the score per physician of a method that only ranks."""
    rows = _rows(results, condition, [method], "score")
    ends = marks.extent([row[name] for row in rows for name in ("score", "low", "high")])
    last = max((row["number"] for row in rows), default=0)
    plot = Plot(width, marks.ROW * 8 + 40, x=(-0.5, last + 0.5), y=ends)
    plot.axes("Physicians, in the order of their names", "Mean squared residual", x_ticks=())
    _mark_all(plot, results, rows, lambda row: row["number"], upright=True, by_group=True)
    return marks.with_groups(plot, rows)


def _discordance(results: Study, condition: str, width: int) -> Drawing:
    """Plot the discordance that every method finds, coloured by physician group."""
    rows = _rows(results, condition, [ORACLE, *results.rate_methods], "score")
    methods = marks.present([ORACLE, *results.rate_methods], rows)
    height = {method: number for number, method in enumerate(methods, 1)}
    ends = marks.extent([row["score"] for row in rows], 0.0, 0.5)
    plot = marks.labelled_rows(results.labels(methods), ends, width, "Discordance")
    # Shown of a physician once picked: a line through all methods, and intervals.
    traces: dict[int, list[tuple[float, int]]] = {}
    for row in rows:
        at = height[row["method"]]
        traces.setdefault(row["number"], []).append((row["score"], at))
        if row["low"] is not None:
            _trace(plot, row["number"], [(row["low"], at), (row["high"], at)])
    for number, line in traces.items():
        _trace(plot, number, line)
    _mark_all(plot, results, rows, lambda row: height[row["method"]], ends=False, by_group=True)
    return marks.with_groups(plot, rows)


def _trace(plot: Plot, number: int, line: list[tuple[float, int]]) -> None:
    points = " ".join("{},{}".format(*plot.place(*at)) for at in line)
    plot.add('<polyline class="trace" data-p="{n}" points="{p}"/>', n=number, p=points)


def _deltas(results: Study, condition: str, width: int, means: Rows) -> Plot:
    """Plot score minus oracle per physician, with the mean in the label of the method."""
    rows = _rows(results, condition, results.rate_methods, "delta", "score")
    methods = marks.present(results.rate_methods, rows)
    mean = {row["method"]: row["value"] for row in means}
    means_text = {method: f" ({number_text(value, signed=True)})" for method, value in mean.items()}
    labels = [results.label(method) + means_text.get(method, "") for method in methods]
    ends = marks.extent([row["delta"] for row in rows] + [mean.get(m) for m in methods], 0.0)
    plot = marks.labelled_rows(labels, ends, width, "Delta (score minus oracle)", signs=True)
    look: dict[str, Any] = {"value": "delta", "ends": False, "radius": 3.5}
    _mark_all(plot, results, rows, lambda row: methods.index(row["method"]) + 1, **look)
    for number, method in enumerate(methods, 1):
        if method in mean:
            marks.short_tick(plot, mean[method], number)
    return plot


def _correlations(results: Study, condition: str, width: int) -> Drawing:
    """Plot the rank correlation of every two methods, the oracle among them."""
    known = [ORACLE, *results.methods]
    rows = results.cells(correlations_of(condition), known, known, value="first").to_dicts()
    methods = marks.present(known, rows)
    labels = results.labels(methods)
    floor = min([0.9, *(row["value"] for row in rows)])
    room = max(text_width(label) for label in labels) + 8
    side = min((width - room - 8) / len(methods), 30.0)
    drawing = Drawing(width, round(side * len(methods) + room + 16))
    upright = (
        '<text class="tick" text-anchor="end" transform="translate({} {}) rotate(-90)">{}</text>'
    )
    for number, label in enumerate(labels):
        drawing.write(label, (room - 6, side * (number + 0.5) + 4), "tick", "end")
        x, y = room + side * (number + 0.5) + 4, side * len(methods) + 12
        drawing.add(upright, round(x, 1), round(y, 1), label)
    for row in rows:
        across, down = methods.index(row["column"]), methods.index(row["method"])
        rho = row["value"]
        shade = min(int(_SHADES * (rho - floor) / ((1 - floor) or 1)), _SHADES - 1)
        corner = (room + side * across, side * down + 4)
        hint = f"{labels[down]} with {labels[across]}: {number_text(rho)}"
        drawing.box(corner, (side - 1, side - 1), hint, f"cell c{shade}", "accent")
        middle = (corner[0] + side / 2, corner[1] + side / 2)
        drawing.write(f"{rho:.2f}".removeprefix("0"), middle, "tiny")
    return drawing


def continuum_rows(results: Study, _: str) -> Rows:
    """Return every method's rank correlation with D* in the first draw, as stored."""
    return results.cells(
        "continuum", ["spearman_d_star"], results.methods, value="first"
    ).to_dicts()


def continuum(results: Study, width: int, rows: Rows, condition: str) -> Drawing:
    """Plot every method's score against D*, with the diagonal and the rank correlation."""
    known = {row["method"]: row["value"] for row in rows}
    patients = _rows(results, condition, results.methods, "score", "d_star")
    methods = marks.present(results.methods, patients)
    columns = 2 if width == marks.NARROW else 4
    side = width // columns
    # One end of scale for all methods, so that panels can be compared.
    rates = [row["score"] for row in patients if row["method"] in results.rate_methods]
    plots = []
    for method in methods:
        own = [row for row in patients if row["method"] == method]
        rate = method in results.rate_methods
        ends = marks.extent([row["score"] for row in own], 0.0)
        plot = Plot(side, side, x=(0, 0.5), y=(0.0, max([0.5, *rates])) if rate else ends, left=44)
        ticks = [(0.0, "0"), (0.25, "0.25"), (0.5, "0.5")]
        name = "Estimated discordance" if rate else "overdispersion"
        plot.axes("True discordance D*", name, x_ticks=ticks)
        correlation = f"ρ = {known[method]:.3f}" if method in known else "ρ undefined"
        plot.write(correlation, (plot.left + 4, plot.top + 2), "label", "start")
        if rate:
            plot.line([(0, 0), (0.5, 0.5)], "limit", "soft")
        look: dict[str, Any] = {"upright": True, "ends": False, "radius": 2.8}
        _mark_all(plot, results, own, lambda row: row["d_star"], **look)
        plots.append(plot)
    return panels(plots, columns, results.labels(methods))
