"""The four panels of a condition with physician groups: SCORE2 and its two variants."""

from __future__ import annotations

from typing import Any

import polars as pl

from intravar.documents.charts import Drawing, Plot, panels, text_width
from intravar.study.benchmark.units import ORACLE
from intravar.study.report.figures import marks
from intravar.study.results import Study
from intravar.study.tables import correlations_of
from intravar.study.tables.grids import number_text

#: Shades of a rank correlation, from the lowest to 1.
_SHADES = 5


def group_panels(results: Study, width: int, condition: str) -> Drawing:
    """Plot model scores, discordance, deltas and rank correlations of a condition."""
    columns = 1 if width == marks.NARROW else 2
    side = width // columns
    parts: dict[str, Drawing] = {
        f"{results.label(method)} score": _model_scores(results, condition, method, side)
        for method in results.methods
        if method not in results.rate_methods and results.of(condition, [method]).height
    }
    parts["Discordance by method"] = _discordance(results, condition, side)
    parts["Delta per physician (mean in brackets)"] = _deltas(results, condition, side)
    parts["Rank correlation (Spearman)"] = _correlations(results, condition, side)
    return panels(list(parts.values()), columns, list(parts))


def _rows(
    results: Study, condition: str, methods: list[str], *columns: str
) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the methods that were run, and their rows with these columns defined."""
    rows = results.of(condition, methods)
    return marks.present(methods, rows.iter_rows(named=True)), marks.defined(rows, *columns)


def _model_scores(results: Study, condition: str, method: str, width: int) -> Plot:
    """Plot the score per physician of a method that only ranks."""
    _, rows = _rows(results, condition, [method], "score")
    who = marks.positions(results, condition)
    ends = [row[name] for row in rows for name in ("score", "low", "high")]
    plot = Plot(width, marks.ROW * 8 + 60, x=(-0.5, len(who) - 0.5), y=marks.extent(ends), top=34)
    plot.axes("Physicians, in the order of their names", "Mean squared residual", x_ticks=())
    plot.legend(marks.group_legend(rows))
    for row in rows:
        at, colour = who[row["physician"]], marks.group_colour(row["group"])
        hint = marks.physician_hint(row, "overdispersion")
        look: dict[str, Any] = {"value": "score", "upright": True, "colour": colour}
        marks.mark_row(plot, results, row, at, hint, who=at, **look)
    return plot


def _discordance(results: Study, condition: str, width: int) -> Plot:
    """Plot the discordance that every method finds, coloured by physician group."""
    shown, rows = _rows(results, condition, [ORACLE, *results.rate_methods], "score")
    who = marks.positions(results, condition)
    ends = marks.extent([row["score"] for row in rows], 0.0, 0.5)
    labels, legend = results.labels(shown), marks.group_legend(rows)
    plot = marks.labelled_rows(labels, ends, width, "Discordance", legend=legend)
    height = {method: number for number, method in enumerate(shown, 1)}
    for name, number in who.items():
        _trace(plot, [row for row in rows if row["physician"] == name], number, height)
    for row in rows:
        at, hint = height[row["method"]], marks.physician_hint(row, "discordance")
        look: dict[str, Any] = {"colour": marks.group_colour(row["group"]), "ends": False}
        number = who[row["physician"]]
        marks.mark_row(plot, results, row, at, hint, value="score", who=number, **look)
    return plot


def _trace(plot: Plot, own: list[dict[str, Any]], number: int, height: dict[str, int]) -> None:
    """Add what is shown of a physician once picked: a line through all methods, and intervals."""
    lines = [[(row["score"], height[row["method"]]) for row in own]]
    lines += [
        [(row[end], height[row["method"]]) for end in ("low", "high")]
        for row in own
        if row["low"] is not None
    ]
    for line in lines:
        points = " ".join("{},{}".format(*plot.place(*at)) for at in line)
        plot.add('<polyline class="trace" data-p="{n}" points="{p}"/>', n=number, p=points)


def _mean_deltas(results: Study, condition: str) -> dict[str, float]:
    """Return every method's mean delta in the first draw of a condition, as stored."""
    found = results.cells(f"{condition}_groups", ["mean_delta"], results.rate_methods)
    return dict(found.drop_nulls("first").select("method", "first").iter_rows())


def _deltas(results: Study, condition: str, width: int) -> Plot:
    """Plot score minus oracle per physician, with the mean in the label of the method."""
    shown, rows = _rows(results, condition, results.rate_methods, "delta", "score")
    means = _mean_deltas(results, condition)
    who = marks.positions(results, condition)
    told = {method: f" ({marks.signed(mean)})" for method, mean in means.items()}
    labels = [results.label(method) + told.get(method, "") for method in shown]
    ends = [row["delta"] for row in rows] + [means.get(method) for method in shown]
    plot = marks.labelled_rows(
        labels, marks.extent(ends, 0.0), width, "Delta (score minus oracle)", signs=True
    )
    for row in rows:
        at, hint = shown.index(row["method"]) + 1, marks.physician_hint(row, "discordance")
        look: dict[str, Any] = {"value": "delta", "ends": False, "radius": 3.5}
        marks.mark_row(plot, results, row, at, hint, who=who[row["physician"]], **look)
    for number, method in enumerate(shown, 1):
        if method in means:
            marks.short_tick(plot, means[method], number)
    return plot


def _correlations(results: Study, condition: str, width: int) -> Drawing:
    """Plot the rank correlation of every two methods, the oracle among them."""
    shown, _ = _rows(results, condition, [ORACLE, *results.methods])
    labels = results.labels(shown)
    there = pl.col("method").is_in(shown) & pl.col("column").is_in(shown)
    rows = marks.defined(results.tables[correlations_of(condition)].filter(there), "first")
    floor = min([0.9, *(row["first"] for row in rows)])
    room = max(text_width(label) for label in labels) + 8
    side = min((width - room - 8) / len(shown), 30.0)
    drawing = Drawing(width, round(side * len(shown) + room + 16))
    for number, label in enumerate(labels):
        drawing.write(label, (room - 6, side * (number + 0.5) + 4), "tick", "end")
        x, y = room + side * (number + 0.5) + 4, side * len(shown) + 12
        drawing.add(
            '<text class="tick" text-anchor="end" transform="translate({x} {y}) rotate(-90)">'
            "{label}</text>",
            x=round(x, 1),
            y=round(y, 1),
            label=label,
        )
    for row in rows:
        across, down = shown.index(row["column"]), shown.index(row["method"])
        rho = row["first"]
        shade = min(int(_SHADES * (rho - floor) / ((1 - floor) or 1)), _SHADES - 1)
        corner = (room + side * across, side * down + 4)
        hint = f"{labels[down]} with {labels[across]}: {number_text(rho)}"
        drawing.box(corner, (side - 1, side - 1), hint, f"cell c{shade}", "accent")
        middle = (corner[0] + side / 2, corner[1] + side / 2)
        drawing.write(f"{rho:.2f}".removeprefix("0"), middle, "tiny")
    return drawing


def panels_in_words(results: Study, condition: str) -> str:
    """Return the mean delta of every method on a condition."""
    means = _mean_deltas(results, condition)
    listed = "; ".join(f"{results.label(m)} {marks.signed(mean)}" for m, mean in means.items())
    n = results.of(condition, results.rate_methods)["physician"].n_unique()
    return (
        f"Four panels for {n} physicians: model score, discordance by method and group, delta by "
        f"method, and rank correlations between methods. Mean delta: {listed}. The tables below "
        "hold the numbers."
    )
