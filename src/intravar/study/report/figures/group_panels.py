"""The four panels of a condition with physician groups: SCORE2 and its two variants."""

from __future__ import annotations

import altair as alt
import polars as pl

from intravar.study.benchmark.units import ORACLE
from intravar.study.report.canvas import Canvas, Chart
from intravar.study.report.figures.marks import (
    IS_PICKED,
    group_colour,
    lit,
    method_colour,
    method_shape,
    physician_tooltip,
    picked,
    zero_line,
)
from intravar.study.report.stored_results import Results
from intravar.study.report.table_grids import number_text
from intravar.study.tables import correlations_of

#: Height of a row of a method in pixels.
_ROW = 27


def panels(results: Results, canvas: Canvas, condition: str) -> Chart:
    """Plot model scores, discordance, deltas and rank correlations of a condition."""
    half = canvas.width - 172 if canvas.narrow else canvas.width // 2 - 158
    parts: list[Chart] = [
        model_scores(results, canvas, condition, method, half)
        for method in results.other_methods
        if results.of(condition, [method]).height
    ]
    parts += [
        discordance(results, canvas, condition, half),
        deltas(results, canvas, condition, half),
        correlations(results, canvas, condition, half),
    ]
    return (
        alt.concat(*parts, columns=1 if canvas.narrow else 2)
        .resolve_scale(color="independent", shape="independent")
        .resolve_legend(color="independent")
        .add_params(picked())
    )


def _shown(results: Results, condition: str, methods: list[str]) -> list[str]:
    there = set(results.of(condition, methods)["method"].to_list())
    return [method for method in methods if method in there]


def _extent(scores: pl.Series) -> list[float]:
    found = [float(score) for score in scores.drop_nulls().to_list()]
    return [min([0.0, *found]), max([0.5, *found])]


def _groups(rows: pl.DataFrame) -> list[int]:
    return sorted(int(group) for group in rows["group"].drop_nulls().unique().to_list())


def model_scores(
    results: Results, canvas: Canvas, condition: str, method: str, width: int
) -> Chart:
    """Plot the score per physician of a method that only ranks."""
    rows = results.of(condition, [method])
    base = alt.Chart(canvas.data(rows)).encode(
        x=alt.X(
            "physician:N",
            title="Physician",
            axis=alt.Axis(labelAngle=-90, labelLimit=60, labelOverlap=True, grid=False),
        ),
        color=group_colour(canvas, _groups(rows)),
        opacity=lit(),
        tooltip=physician_tooltip("Overdispersion"),
    )
    y = alt.Y("score:Q", title="Mean squared Pearson residual")
    points = base.mark_point(filled=True, size=70).encode(
        y=y, shape=method_shape(results, canvas, [method])
    )
    bars = base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", title=None), y2="high:Q")
    layers = [bars, points] if rows["low"].count() else [points]
    return alt.layer(*layers).properties(
        width=width, height=_ROW * 8, title=_title(canvas, f"{results.label(method)} score")
    )


def _title(canvas: Canvas, text: str) -> alt.TitleParams:
    # On a narrow canvas the labels of an axis leave too little room above the plot alone.
    return alt.TitleParams(text, limit=330, frame="bounds" if canvas.narrow else "group")


def discordance(results: Results, canvas: Canvas, condition: str, width: int) -> Chart:
    """Plot the discordance that every method finds, coloured by physician group."""
    shown = _shown(results, condition, [ORACLE, *results.rate_methods])
    rows = results.of(condition, shown)
    base = alt.Chart(canvas.data(rows)).encode(
        x=alt.X(
            "score:Q",
            title="Discordance (share of pairs that differ)",
            # Named, because nothing is left to take it from while nobody is picked.
            scale=alt.Scale(domain=_extent(rows["score"]), nice=True),
            axis=alt.Axis(tickCount=6),
        ),
        y=alt.Y("label:N", title=None, sort=results.labels(shown), axis=alt.Axis(grid=False)),
    )
    points = base.mark_point(filled=True, size=60).encode(
        color=group_colour(canvas, _groups(rows)),
        shape=method_shape(results, canvas, shown),
        opacity=lit(),
        tooltip=physician_tooltip("Discordance"),
    )
    path = base.mark_line(color=canvas.ink("ink"), strokeWidth=1, opacity=0.7).encode(
        order=alt.Order("row:Q")
    )
    path = path.transform_filter(IS_PICKED).transform_window(row="row_number()")
    # Intervals of everyone would hide the marks; those of the picked physician are what is asked.
    bars = (
        base.transform_filter(IS_PICKED)
        .mark_rule(color=canvas.ink("ink"), strokeWidth=1.5, clip=True)
        .encode(x=alt.X("low:Q"), x2="high:Q")
    )
    return alt.layer(path, bars, points).properties(
        width=width, height=_ROW * len(shown), title=_title(canvas, "Discordance by method")
    )


def deltas(results: Results, canvas: Canvas, condition: str, width: int) -> Chart:
    """Plot score minus oracle per physician, with the mean in the label of the method."""
    shown = _shown(results, condition, results.rate_methods)
    rows = results.of(condition, shown)
    means = first_mean_deltas(results, condition)
    known = dict(means.select("label", "first").iter_rows())
    text = {label: _with_mean(label, known.get(label)) for label in results.labels(shown)}
    labelled = rows.with_columns(_row_of(text))
    order = list(text.values())
    y = alt.Y("row:N", title=None, sort=order, axis=alt.Axis(grid=False))
    x = alt.X("delta:Q", title="Delta (score minus oracle)", axis=alt.Axis(tickCount=6))
    points = (
        alt.Chart(canvas.data(labelled))
        .mark_point(filled=True, size=42)
        .encode(
            x=x,
            y=y,
            color=method_colour(results, canvas, shown),
            shape=method_shape(results, canvas, shown),
            opacity=lit(full=0.6),
            tooltip=[
                *physician_tooltip("Discordance"),
                alt.Tooltip("delta:Q", title="Delta", format="+.3f"),
            ],
        )
    )
    ticks = (
        alt.Chart(canvas.data(means.select("first", _row_of(text))))
        .mark_tick(thickness=2, size=_ROW - 7, color=canvas.ink("ink"))
        .encode(x=alt.X("first:Q"), y=y)
    )
    return alt.layer(zero_line(canvas), points, ticks).properties(
        width=width,
        height=_ROW * len(shown),
        title=_title(canvas, "Delta per physician (mean in brackets)"),
    )


def first_mean_deltas(results: Results, condition: str) -> pl.DataFrame:
    """Return every method's mean delta in the first draw of a condition, as stored."""
    return results.cells(f"{condition}_groups", "mean_delta", results.rate_methods)


def _row_of(text: dict[str, str]) -> pl.Expr:
    return pl.col("label").replace_strict(text, return_dtype=pl.String).alias("row")


def _with_mean(label: str, mean: float | None) -> str:
    return label if mean is None else f"{label} ({number_text(mean, signed=True)})"


def correlations(results: Results, canvas: Canvas, condition: str, width: int) -> Chart:
    """Plot the rank correlation of every two methods, the oracle among them."""
    shown = _shown(results, condition, [ORACLE, *results.methods])
    rows = _correlations(results, condition, shown).with_columns(
        pl.col("rho")
        .map_elements(lambda rho: f"{rho:.2f}".removeprefix("0"), return_dtype=pl.String)
        .alias("text")
    )
    order = results.labels(shown)
    base = alt.Chart(canvas.data(rows)).encode(
        x=alt.X(
            "second:N",
            sort=order,
            title=None,
            axis=alt.Axis(labelAngle=-90, domain=False, ticks=False, grid=False),
        ),
        y=alt.Y(
            "first:N",
            sort=order,
            title=None,
            axis=alt.Axis(domain=False, ticks=False, grid=False),
        ),
        tooltip=[
            alt.Tooltip("first:N", title="Method"),
            alt.Tooltip("second:N", title="with"),
            alt.Tooltip("rho:Q", title="Spearman", format=".3f"),
        ],
    )
    lowest = rows["rho"].drop_nulls().min()
    floor = min(0.9, float(lowest)) if isinstance(lowest, float) else 0.9
    cells = base.mark_rect().encode(
        color=alt.Color(
            "rho:Q",
            scale=alt.Scale(domain=[floor, 1], range=["#eef4f8", "#0b5c8f"]),
            legend=None,
        )
    )
    numbers = base.mark_text(fontSize=8 if canvas.narrow else 10).encode(
        text="text:N",
        color=alt.condition(
            f"datum.rho > {floor + 0.6 * (1 - floor)}", alt.value("#ffffff"), alt.value("#10222e")
        ),
    )
    side = min(width, 30 * len(shown))
    return alt.layer(cells, numbers).properties(
        width=side, height=side, title=_title(canvas, "Rank correlation (Spearman)")
    )


def _correlations(results: Results, condition: str, shown: list[str]) -> pl.DataFrame:
    """Return the stored rank correlation of every two methods in the first draw."""
    names = {method: results.label(method) for method in shown}
    there = pl.col("method").is_in(shown) & pl.col("column").is_in(shown)
    return (
        results.tables[correlations_of(condition)]
        .filter(there)
        .select(
            pl.col("method").replace_strict(names, return_dtype=pl.String).alias("first"),
            pl.col("column").replace_strict(names, return_dtype=pl.String).alias("second"),
            pl.col("first").alias("rho"),
        )
    )
