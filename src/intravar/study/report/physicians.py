"""Figures with a mark per physician: the panels of conditions with groups, and the continuum."""

from collections import defaultdict
from typing import Any

import polars as pl

from intravar.documents.charts import Drawing, Plot, text_width
from intravar.study.grids import number_text
from intravar.study.report import marks
from intravar.study.report.marks import Chart, Rows
from intravar.study.results import Study
from intravar.study.tables import correlations_of
from intravar.study.units import ORACLE

#: Shades of a rank correlation, from the lowest to 1.
_SHADES = 5
#: What a mark says after the score, where it is known.
_HINTS = {
    "low": "95 % {low} to {high}",
    "oracle": "oracle {oracle}",
    "d_star": "D* {d_star}",
    "delta": "delta {delta}",
    "group": "group {group}",
    "n_patients": "{n_patients:,} patients",
    "n_pairs": "{n_pairs:,} pairs",
}


def group_panels(results: Study, condition: str) -> Chart | None:
    """Plot model scores, discordance, deltas and rank correlations of a condition."""
    methods, table = results.rate_methods, f"{condition}_groups"
    means = results.cells(table, ["mean_delta"], methods, value="first").to_dicts()
    every, table = [ORACLE, *results.methods], correlations_of(condition)
    correlations = results.cells(table, every, every, value="first").to_dicts()
    models = [
        method
        for method in results.methods
        if method not in methods and results.of(condition, [method]).height
    ]

    def draw(width: int) -> Drawing:
        columns = 1 if width == marks.NARROW else 2
        side = width // columns
        parts: dict[str, Drawing] = {
            f"{results.label(method)} score": _model_scores(results, condition, method, side)
            for method in models
        }
        parts["Discordance by method"] = _discordance(results, condition, side)
        parts["Delta per physician (mean in brackets)"] = _deltas(results, condition, side, means)
        if correlations:
            parts["Rank correlation (Spearman)"] = _correlations(results, side, correlations)
        return marks.panels(list(parts.values()), columns, list(parts))

    return marks.chart_of(means, draw)


def _physicians(results: Study, condition: str, methods: list[str], *needed: str) -> Rows:
    """Return the physicians of the first draw for whom some numbers are defined.

    `who` is the number under which the page knows a physician: the position among all names.
    """
    rows = results.of(condition, [ORACLE, *results.methods])
    rows = rows.with_columns(who=pl.col("physician").rank("dense").cast(pl.Int64) - 1)
    rows = rows.filter(pl.col("method").is_in(methods)).with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )
    physicians = rows.drop_nulls(needed).to_dicts()
    for row in physicians:
        rate = results.scale(row["method"]) == "discordance"
        score = "discordance {score}" if rate else "overdispersion {score}"
        row["hint"] = marks.hint(f"{{physician}}, {{label}}: {score}", row, _HINTS, "delta")
    return physicians


def _model_scores(results: Study, condition: str, method: str, width: int) -> Drawing:
    """Plot the score per physician of a method that only ranks."""
    rows = _physicians(results, condition, [method], "score")
    ends = marks.extent([row[name] for row in rows for name in ("score", "low", "high")])
    last = max((row["who"] for row in rows), default=0)
    plot = Plot(width, marks.ROW * 8 + 40, x=(-0.5, last + 0.5), y=ends)
    plot.axes("Physicians, in the order of their names", "Mean squared residual", x_ticks=())
    for row in rows:
        look: dict[str, Any] = {"upright": True, "colour": marks.group_colour(row["group"])}
        marks.mark_row(plot, results, row, row["who"], value="score", **look)
    return marks.with_groups(plot, rows)


def _discordance(results: Study, condition: str, width: int) -> Drawing:
    """Plot the discordance that every method finds, coloured by physician group."""
    rows = _physicians(results, condition, [ORACLE, *results.rate_methods], "score")
    methods = marks.present([ORACLE, *results.rate_methods], rows)
    ends = marks.extent([row["score"] for row in rows], 0.0, 0.5)
    plot = marks.labelled_rows([*map(results.label, methods)], ends, width, "Discordance")
    # Shown of a physician once picked: a line through all methods, and intervals.
    through: dict[int, list[tuple[float, int]]] = defaultdict(list)
    intervals = []
    for row in rows:
        row["at"] = at = methods.index(row["method"]) + 1
        through[row["who"]].append((row["score"], at))
        if row["low"] is not None:
            intervals.append((row["who"], [(row["low"], at), (row["high"], at)]))
    for who, line in [*intervals, *through.items()]:
        points = " ".join("{},{}".format(*plot.place(*point)) for point in line)
        plot.add('<polyline class="trace" data-p="{}" points="{}"/>', who, points)
    for row in rows:
        colour = marks.group_colour(row["group"])
        marks.mark_row(plot, results, row, row["at"], value="score", ends=False, colour=colour)
    return marks.with_groups(plot, rows)


def _deltas(results: Study, condition: str, width: int, means: Rows) -> Plot:
    """Plot score minus oracle per physician, with the mean in the label of the method."""
    rows = _physicians(results, condition, results.rate_methods, "delta", "score")
    methods = marks.present(results.rate_methods, rows)
    mean = {row["method"]: row["value"] for row in means}
    means_text = {method: f" ({number_text(value, signed=True)})" for method, value in mean.items()}
    labels = [results.label(method) + means_text.get(method, "") for method in methods]
    ends = marks.extent([row["delta"] for row in rows] + [mean.get(m) for m in methods], 0.0)
    plot = marks.labelled_rows(labels, ends, width, "Delta (score minus oracle)", signs=True)
    for row in rows:
        at = methods.index(row["method"]) + 1
        marks.mark_row(plot, results, row, at, value="delta", ends=False, radius=3.5)
    for number, method in enumerate(methods, 1):
        if method in mean:
            marks.short_tick(plot, mean[method], number)
    return plot


def _correlations(results: Study, width: int, rows: Rows) -> Drawing:
    """Plot the rank correlation of every two methods, the oracle among them."""
    methods = marks.present([ORACLE, *results.methods], rows)
    labels = [*map(results.label, methods)]
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


def continuum(results: Study, condition: str) -> Chart | None:
    """Plot every method's score against D*, with the diagonal and the rank correlation."""
    cells = results.cells("continuum", ["spearman_d_star"], results.methods, value="first")
    correlations = {row["method"]: row["value"] for row in cells.to_dicts()}

    def draw(width: int) -> Drawing:
        physicians = _physicians(results, condition, results.methods, "score", "d_star")
        methods = marks.present(results.methods, physicians)
        columns = 2 if width == marks.NARROW else 4
        side = width // columns
        # One end of scale for all methods, so that panels can be compared.
        rates = [row["score"] for row in physicians if row["method"] in results.rate_methods]
        plots = []
        for method in methods:
            own = [row for row in physicians if row["method"] == method]
            rate = method in results.rate_methods
            scores = marks.extent([row["score"] for row in own], 0.0)
            ends = (0.0, max([0.5, *rates])) if rate else scores
            plot = Plot(side, side, x=(0, 0.5), y=ends, left=44)
            ticks = [(0.0, "0"), (0.25, "0.25"), (0.5, "0.5")]
            name = "Estimated discordance" if rate else "overdispersion"
            plot.axes("True discordance D*", name, x_ticks=ticks)
            rho = correlations.get(method)
            text = "ρ undefined" if rho is None else f"ρ = {rho:.3f}"
            plot.write(text, (plot.left + 4, plot.top + 2), "label", "start")
            if rate:
                plot.line([(0, 0), (0.5, 0.5)], "limit", "soft")
            for row in own:
                look: dict[str, Any] = {"upright": True, "ends": False, "radius": 2.8}
                marks.mark_row(plot, results, row, row["d_star"], value="score", **look)
            plots.append(plot)
        return marks.panels(plots, columns, [*map(results.label, methods)])

    return marks.chart_of(cells.to_dicts(), draw)
