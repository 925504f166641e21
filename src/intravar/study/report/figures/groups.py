"""The four panels of a condition with physician groups: SCORE2 and its two variants."""

from __future__ import annotations

from typing import Any

import polars as pl

from intravar.documents.charts import Drawing, Plot, panels, text_width
from intravar.study.benchmark.units import ORACLE
from intravar.study.report.figures.marks import (
    NARROW,
    ROW,
    colour_of,
    defined,
    extent,
    group_colour,
    group_legend,
    labelled_rows,
    physician_hint,
    positions,
    shape_of,
    short_tick,
    signed,
    zero_line,
)
from intravar.study.report.stored_results import Results
from intravar.study.tables import correlations_of
from intravar.study.tables.grids import number_text

#: Shades of a rank correlation, from the lowest to 1.
_SHADES = 5


def group_panels(results: Results, width: int, condition: str) -> Drawing:
    """Plot model scores, discordance, deltas and rank correlations of a condition."""
    narrow = width == NARROW
    each = width if narrow else width // 2
    parts: list[tuple[str, Drawing]] = [
        (f"{results.label(method)} score", _model_scores(results, condition, method, each))
        for method in results.other_methods
        if results.of(condition, [method]).height
    ]
    parts += [
        ("Discordance by method", _discordance(results, condition, each)),
        ("Delta per physician (mean in brackets)", _deltas(results, condition, each)),
        ("Rank correlation (Spearman)", _correlations(results, condition, each)),
    ]
    titles = [title for title, _ in parts]
    return panels([drawing for _, drawing in parts], 1 if narrow else 2, titles)


def _shown(results: Results, condition: str, methods: list[str]) -> list[str]:
    there = set(results.of(condition, methods)["method"].to_list())
    return [method for method in methods if method in there]


def _groups(rows: list[dict[str, Any]]) -> list[int]:
    return sorted({int(row["group"]) for row in rows if row["group"] is not None})


def _model_scores(results: Results, condition: str, method: str, width: int) -> Plot:
    """Plot the score per physician of a method that only ranks."""
    rows = defined(results.of(condition, [method]), "score")
    who = positions(results, condition)
    ends = [row[name] for row in rows for name in ("score", "low", "high")]
    plot = Plot(width, ROW * 8 + 60, x=(-0.5, len(who) - 0.5), y=extent(ends), top=34)
    plot.axes("Physicians, in the order of their names", "Mean squared residual", x_ticks=())
    plot.legend(group_legend(_groups(rows)))
    for row in rows:
        at, colour = who[row["physician"]], group_colour(row["group"])
        if row["low"] is not None:
            plot.interval(at, row["low"], row["high"], colour=colour)
        plot.point(
            (at, row["score"]),
            physician_hint(row, "overdispersion"),
            who=at,
            colour=colour,
            shape=shape_of(results, method),
        )
    return plot


def _discordance(results: Results, condition: str, width: int) -> Plot:
    """Plot the discordance that every method finds, coloured by physician group."""
    shown = _shown(results, condition, [ORACLE, *results.rate_methods])
    rows = defined(results.of(condition, shown), "score")
    who = positions(results, condition)
    plot = labelled_rows(
        results.labels(shown),
        extent([row["score"] for row in rows], 0.0, 0.5),
        width,
        "Discordance",
        legend=group_legend(_groups(rows)),
    )
    height = {method: number for number, method in enumerate(shown, 1)}
    _traces(plot, rows, who, height)
    for row in rows:
        plot.point(
            (row["score"], height[row["method"]]),
            physician_hint(row, "discordance"),
            who=who[row["physician"]],
            colour=group_colour(row["group"]),
            shape=shape_of(results, row["method"]),
        )
    return plot


def _traces(
    plot: Plot, rows: list[dict[str, Any]], who: dict[str, int], height: dict[str, int]
) -> None:
    """Add what is shown of a physician once picked: a line through all methods, and intervals."""
    for name, number in who.items():
        own = [row for row in rows if row["physician"] == name]
        lines = [[(row["score"], height[row["method"]]) for row in own]]
        lines += [
            [(row["low"], height[row["method"]]), (row["high"], height[row["method"]])]
            for row in own
            if row["low"] is not None
        ]
        for line in lines:
            points = " ".join("{},{}".format(*plot.place(*at)) for at in line)
            plot.add('<polyline class="trace" data-p="{n}" points="{p}"/>', n=number, p=points)


def _deltas(results: Results, condition: str, width: int) -> Plot:
    """Plot score minus oracle per physician, with the mean in the label of the method."""
    shown = _shown(results, condition, results.rate_methods)
    rows = defined(results.of(condition, shown), "delta", "score")
    means = dict(first_mean_deltas(results, condition).select("method", "first").iter_rows())
    who = positions(results, condition)
    labels = [_with_mean(results.label(method), means.get(method)) for method in shown]
    ends = [row["delta"] for row in rows] + [means.get(method) for method in shown]
    plot = labelled_rows(labels, extent(ends, 0.0), width, "Delta (score minus oracle)", signs=True)
    zero_line(plot)
    for row in rows:
        plot.point(
            (row["delta"], shown.index(row["method"]) + 1),
            physician_hint(row, "discordance"),
            who=who[row["physician"]],
            radius=3.5,
            colour=colour_of(results, row["method"]),
            shape=shape_of(results, row["method"]),
        )
    for number, method in enumerate(shown, 1):
        if (mean := means.get(method)) is not None:
            short_tick(plot, mean, number)
    return plot


def first_mean_deltas(results: Results, condition: str) -> pl.DataFrame:
    """Return every method's mean delta in the first draw of a condition, as stored."""
    return results.cells(f"{condition}_groups", "mean_delta", results.rate_methods)


def _with_mean(label: str, mean: float | None) -> str:
    return label if mean is None else f"{label} ({signed(mean)})"


def _correlations(results: Results, condition: str, width: int) -> Drawing:
    """Plot the rank correlation of every two methods, the oracle among them."""
    shown = _shown(results, condition, [ORACLE, *results.methods])
    labels = results.labels(shown)
    there = pl.col("method").is_in(shown) & pl.col("column").is_in(shown)
    rows = defined(results.tables[correlations_of(condition)].filter(there), "first")
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


def panels_in_words(results: Results, condition: str) -> str:
    """Return the mean delta of every method on a condition."""
    means = first_mean_deltas(results, condition)
    listed = "; ".join(
        f"{row['label']} {signed(row['first'])}"
        for row in means.iter_rows(named=True)
        if row["first"] is not None
    )
    n = results.of(condition, results.rate_methods)["physician"].n_unique()
    return (
        f"Four panels for {n} physicians: model score, discordance by method and group, delta by "
        f"method, and rank correlations between methods. Mean delta: {listed}. The tables below "
        "hold the numbers."
    )
