"""The continuum of physicians: score against true discordance, one panel per method."""

from __future__ import annotations

from intravar.documents.charts import Drawing, Plot, panels
from intravar.study.report.figures.marks import (
    NARROW,
    colour_of,
    defined,
    extent,
    physician_hint,
    positions,
    shape_of,
)
from intravar.study.report.stored_results import Results

CONDITION = "continuous"


def continuum(results: Results, width: int) -> Drawing:
    """Plot every method's score against D*, with the diagonal and the rank correlation."""
    shown = [m for m in results.methods if results.of(CONDITION, [m]).height]
    columns = 2 if width == NARROW else 4
    side = width // columns
    titles = results.labels(shown)
    return panels([_panel(results, method, side) for method in shown], columns, titles)


def continuum_correlation(results: Results, method: str) -> float | None:
    """Return the rank correlation of a method's scores with D* in the first draw, as stored."""
    found: list[float | None] = results.cells("continuum", "spearman_d_star", [method])[
        "first"
    ].to_list()
    return found[0] if found else None


def _panel(results: Results, method: str, side: int) -> Plot:
    rows = defined(results.of(CONDITION, [method]), "score", "d_star")
    who = positions(results, CONDITION)
    rate = method in results.rate_methods
    title = "discordance" if rate else "overdispersion"
    ends = (0.0, _top(results)) if rate else extent([row["score"] for row in rows], 0.0)
    plot = Plot(side, side, x=(0, 0.5), y=ends, left=44)
    ticks = [(0.0, "0"), (0.25, "0.25"), (0.5, "0.5")]
    plot.axes("True discordance D*", f"Estimated {title}" if rate else title, x_ticks=ticks)
    rho = continuum_correlation(results, method)
    told = "ρ undefined" if rho is None else f"ρ = {rho:.3f}"
    plot.write(told, (plot.left + 4, plot.top + 2), "label", "start")
    if rate:
        plot.line([(0, 0), (0.5, 0.5)], "limit", "soft")
    for row in rows:
        plot.point(
            (row["d_star"], row["score"]),
            physician_hint(row, title),
            who=who[row["physician"]],
            radius=2.8,
            colour=colour_of(results, method),
            shape=shape_of(results, method),
        )
    return plot


def _top(results: Results) -> float:
    """Return one end of scale for all methods, so that panels can be compared."""
    highest = results.of(CONDITION, results.rate_methods)["score"].fill_nan(None).max()
    return max(0.5, float(highest) if isinstance(highest, float) else 0.5)
