"""The continuum of physicians: score against true discordance, one panel per method."""

from __future__ import annotations

import altair as alt

from intravar.study.report.canvas import Canvas, Chart
from intravar.study.report.figures.marks import (
    lit,
    method_colour,
    method_shape,
    physician_tooltip,
    picked,
)
from intravar.study.report.stored_results import Results

CONDITION = "continuous"


def continuum(results: Results, canvas: Canvas) -> Chart:
    """Plot every method's score against D*, with the diagonal and the rank correlation."""
    shown = [m for m in results.methods if results.of(CONDITION, [m]).height]
    columns = 2 if canvas.narrow else 4
    side = (canvas.width - 20) // columns - 52
    parts = [
        _panel(results, canvas, method, side, first=position % columns == 0)
        for position, method in enumerate(shown)
    ]
    return (
        alt.concat(*parts, columns=columns)
        .resolve_scale(color="independent", shape="independent", y="independent")
        .add_params(picked())
    )


def continuum_correlation(results: Results, method: str) -> float | None:
    """Return the rank correlation of a method's scores with D* in the first draw, as stored."""
    found: list[float | None] = results.cells("continuum", "spearman_d_star", [method])[
        "first"
    ].to_list()
    return found[0] if found else None


def _panel(results: Results, canvas: Canvas, method: str, side: int, *, first: bool) -> Chart:
    rows = results.of(CONDITION, [method])
    rate = method in results.rate_methods
    title = "Estimated discordance" if rate else "Overdispersion"
    domain = [0, _top(results)] if rate else alt.Undefined
    points = (
        alt.Chart(canvas.data(rows))
        .mark_point(filled=True, size=32)
        .encode(
            x=alt.X(
                "d_star:Q",
                title="True discordance D*",
                scale=alt.Scale(domain=[0, 0.5]),
                axis=alt.Axis(values=[0, 0.25, 0.5], format=".2f"),
            ),
            y=alt.Y(
                "score:Q",
                title=title if first or not rate else None,
                scale=alt.Scale(domain=domain, zero=rate),
                axis=alt.Axis(tickCount=4),
            ),
            color=method_colour(results, canvas, [method]),
            shape=method_shape(results, canvas, [method]),
            opacity=lit(full=0.75),
            tooltip=physician_tooltip(title),
        )
    )
    rho = continuum_correlation(results, method)
    subtitle = "ρ undefined" if rho is None else f"ρ = {rho:.3f}"
    layers: list[Chart] = [_diagonal(canvas), points] if rate else [points]
    return alt.layer(*layers).properties(
        width=side,
        height=side,
        title=alt.TitleParams(results.label(method), subtitle=subtitle, limit=side + 40),
    )


def _top(results: Results) -> float:
    """Return one end of scale for all methods, so that panels can be compared."""
    highest = results.of(CONDITION, results.rate_methods)["score"].drop_nulls().max()
    return max(0.5, float(highest) if isinstance(highest, float) else 0.5)


def _diagonal(canvas: Canvas) -> Chart:
    return (
        alt.Chart(canvas.rows([{"a": 0, "b": 0}, {"a": 0.5, "b": 0.5}]))
        .mark_line(strokeDash=[4, 3], strokeWidth=1, color=canvas.ink("soft"))
        .encode(x="a:Q", y="b:Q")
    )
