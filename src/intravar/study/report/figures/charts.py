"""Figures across conditions and of the mixed model: deltas, recovery of D*, fit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl

from intravar.documents.charts import Drawing, Plot, panels
from intravar.study.benchmark.units import ORACLE
from intravar.study.report.figures import marks
from intravar.study.results import Study
from intravar.study.simulation.conditions import conditions_of
from intravar.study.tables.grids import number_text

Rows = list[dict[str, Any]]
_DELTA = "Mean delta (score minus oracle)"
#: Steps of this share of a turn fall evenly: a figure plotted twice is the same figure.
_GOLDEN = 0.6180339887
#: Columns of the tables by window size and by pass, and their headings in figures.
HEADINGS = {
    "window_size": {"w1": "1", "w2_3": "2–3", "w4_6": "4–6", "w7_9": "7–9", "score2": "SCORE2"},
    "passes": {"pass1": "pass 1", "pass2": "pass 2"},
}
RECOVERY, GLMM = "recovery_spearman", "glmm"


# --- deltas: across conditions, by window size, by pass, by cohort size ---


def condition_deltas(results: Study) -> pl.DataFrame:
    """Return the mean delta per main condition (SCORE2, window rules) and method, first draw."""
    rows = results.cells("condition_deltas", ["mean_delta"], results.rate_methods)
    rows = rows.filter(pl.col("condition").is_in(results.main_conditions))
    return rows.select("condition", "method", "label", "first")


def cross_deltas(results: Study, width: int) -> Plot:
    """Plot how the mean delta of every method is spread over the conditions."""
    rows = marks.defined(condition_deltas(results), "first")
    shown = marks.present(results.rate_methods, rows)
    ends = marks.extent([row["first"] for row in rows], 0.0)
    plot = marks.labelled_rows(results.labels(shown), ends, width, _DELTA, signs=True, row=32)
    for number, method in enumerate(shown, 1):
        own = [row for row in rows if row["method"] == method]
        for turn, row in enumerate(own):
            hint = f"{row['condition']}, {row['label']}: {marks.signed(row['first'])}"
            at = number - 0.28 + 0.56 * (turn * _GOLDEN % 1)
            marks.mark_row(plot, results, row, at, hint, value="first", ends=False, radius=2.4)
        low, middle, high = np.quantile([row["first"] for row in own], [0.25, 0.5, 0.75])
        plot.bar((low, high), (number + 0.36, number - 0.36), "middle half", "outline")
        marks.short_tick(plot, float(middle), number, 0.42)
    return plot


def cross_in_words(results: Study) -> str:
    """Return median and range of every method's deltas over conditions."""
    rows = condition_deltas(results)
    number, told = rows["condition"].n_unique(), _spread_in_words(rows, pl.col("first"))
    return f"Distribution of mean deltas over {number} conditions, {told}."


def _spread_in_words(rows: pl.DataFrame, value: pl.Expr) -> str:
    """Return median and range of every method's values."""
    found = rows.group_by("label", maintain_order=True).agg(
        *(value.median().alias("middle"), value.min().alias("low"), value.max().alias("high"))
    )
    listed = []
    for label, *numbers in found.drop_nulls().iter_rows():
        listed.append("{} {} ({} to {})".format(label, *map(marks.signed, numbers)))
    return f"median and range: {'; '.join(listed)}"


def by_window(results: Study, width: int) -> Plot:
    """Plot the mean delta by window size with its interval."""
    rows = _cells(results, "window_size")
    shown = marks.present(results.rate_methods, rows)
    headings = HEADINGS["window_size"].values()
    there = [name for name in headings if name in {row["where"] for row in rows}]
    legend = marks.method_legend(results, shown)
    top = marks.legend_room(legend, width, 56)
    plot = Plot(width, 260 + top, x=(0.5, len(there) + 0.5), y=_ends(rows), top=top)
    plot.axes(
        "Covariates in the rule (window size)",
        _DELTA,
        x_ticks=[(number, name) for number, name in enumerate(there, 1)],
        y_ticks=marks.signed_ticks(*plot.y, 6),
    )
    plot.legend(legend)
    _level_line(plot)
    step = 0.76 / max(len(shown), 1)
    for row in rows:
        beside = step * (shown.index(row["method"]) - (len(shown) - 1) / 2)
        at = there.index(row["where"]) + 1 + beside
        marks.mark_row(plot, results, row, at, _hint(row), upright=True, dash=step / 3)
    return plot


def by_pass(results: Study, width: int) -> Plot:
    """Plot the mean delta of pass 1 (filled) above pass 2 (hollow) with its interval."""
    rows = _cells(results, "passes")
    shown = marks.present(results.rate_methods, rows)
    plot = marks.labelled_rows(
        results.labels(shown), _ends(rows), min(width, 700), _DELTA, signs=True, row=34
    )
    for row in rows:
        # A hollow mark's line is scaled with its outline; only a circle keeps its width.
        second: dict[str, Any] = (
            {"kind": "hollow", "shape": "circle"} if row["column"] == "pass2" else {}
        )
        at = shown.index(row["method"]) + (1.2 if second else 0.8)
        marks.mark_row(plot, results, row, at, _hint(row), dash=0.16, **second)
    return plot


def _cells_in_words(results: Study, table: str, what: str) -> str:
    """Return the mean delta per method and column of a table."""
    places = list(HEADINGS[table].values())
    listed = []
    for method in results.rate_methods:
        own = [row for row in _cells(results, table) if row["method"] == method]
        own.sort(key=lambda row: places.index(row["where"]))
        if own:
            texts = [f"{row['where']} {marks.signed(row['value'])}" for row in own]
            listed.append(f"{results.label(method)}: {', '.join(texts)}")
    return f"Mean delta {what}, with intervals. {'; '.join(listed)}."


window_in_words = partial(_cells_in_words, table="window_size", what="by window size")
pass_in_words = partial(_cells_in_words, table="passes", what="by pass")


def _cells(results: Study, table: str) -> Rows:
    headings = HEADINGS[table]
    where = pl.col("column").replace_strict(headings, return_dtype=pl.String).alias("where")
    return results.cells(table, headings, results.rate_methods).with_columns(where).to_dicts()


def _ends(rows: Rows) -> tuple[float, float]:
    names = ("value", "low", "high", "published")
    return marks.extent([row.get(name) for row in rows for name in names], 0.0)


def _level_line(plot: Plot) -> None:
    plot.line([(plot.x[0], 0), (plot.x[1], 0)], "limit", "ink")


def _hint(row: Mapping[str, Any]) -> str:
    parts = [f"{row['label']}, {row['where']}: {marks.signed(row['value'])}"]
    if row["low"] is not None:
        parts.append(f"95 % {marks.signed(row['low'])} to {marks.signed(row['high'])}")
    if row["published"] is not None:
        parts.append(f"paper {marks.signed(row['published'])}")
    return "; ".join(parts)


def _grid_cells(results: Study) -> pl.DataFrame:
    """Return the defined cells of the grid with their sizes, methods that estimate a rate only."""
    known = [each.scenario for each in conditions_of("grid").values()]
    names = {"name": "condition", "n_patients": "patients", "n_physicians": "physicians"}
    sizes = {ours: [getattr(each, name) for each in known] for name, ours in names.items()}
    cells = results.cells("grid", ["mean_delta"], results.rate_methods)
    return cells.join(pl.DataFrame(sizes), on="condition", maintain_order="left")


def size_grid(results: Study, width: int) -> Drawing:
    """Plot the mean delta against the number of patients, one panel per number of physicians."""
    rows = _grid_cells(results).to_dicts()
    numbers = sorted({row["physicians"] for row in rows})
    sizes = sorted({row["patients"] for row in rows})
    shown = marks.present(results.rate_methods, rows)
    columns = min(len(numbers), 2 if width == marks.NARROW else 5)
    parts = []
    for number in numbers:
        plot = Plot(width // columns, 260, x=(0.6, len(sizes) + 0.4), y=_ends(rows), left=48)
        thousands = [(at, f"{size / 1000:g}") for at, size in enumerate(sizes, 1)]
        ticks = marks.signed_ticks(*plot.y, 6)
        plot.axes("Patients (thousands)", x_ticks=thousands, y_ticks=ticks)
        _level_line(plot)
        for method in shown:
            own = [r for r in rows if r["physicians"] == number and r["method"] == method]
            _size_curve(plot, results, sorted(own, key=lambda row: row["patients"]), sizes, method)
        parts.append(plot)
    whole = panels(parts, columns, [f"{number} physicians" for number in numbers])
    legend = marks.method_legend(results, shown)
    above = Plot(width, marks.legend_room(legend, width, 10), left=10)
    above.legend(legend)
    return panels([above, whole], 1)


def _size_curve(plot: Plot, results: Study, own: Rows, sizes: list[int], method: str) -> None:
    places = [sizes.index(row["patients"]) + 1 for row in own]
    points = [(at, row["value"]) for at, row in zip(places, own, strict=True)]
    plot.line(points, "line", marks.colour_of(results, method))
    for at, row in zip(places, own, strict=True):
        hint = (
            f"{row['label']}, {row['patients']:,} patients of {row['physicians']} physicians: "
            f"{marks.signed(row['value'])}; {row['draws']} cohorts"
        )
        bare = row | {"published": None}
        marks.mark_row(plot, results, bare, at, hint, upright=True, radius=3.2)


def grid_in_words(results: Study) -> str:
    """Return median and range of every method's deltas over the grid."""
    rows = _grid_cells(results)
    sizes, told = rows["condition"].n_unique(), _spread_in_words(rows, pl.col("value"))
    return f"Curves of mean delta over {sizes} sizes of cohort, {told}."


# --- how well the true discordance is recovered ---


def _recovery_rows(results: Study) -> Rows:
    """Return the rank correlation per condition and method; the conditions stand as rows."""
    where = pl.col("condition").str.replace("^stress-", "").alias("where")
    rows = results.cells(RECOVERY, ["spearman_d_star"], [ORACLE, *results.methods])
    return rows.select(where, "method", "label", "value", "draws").to_dicts()


def recovery(results: Study, width: int) -> Plot:
    """Plot the rank correlation with D* of every method under every departure."""
    rows = _recovery_rows(results)
    shown = marks.present(results.methods, rows)
    conditions = list(dict.fromkeys(row["where"] for row in rows))
    plot = marks.labelled_rows(
        conditions,
        (min([0.0, *(row["value"] for row in rows)]), 1.0),
        width,
        "Rank correlation with the true discordance",
        legend=marks.method_legend(results, shown),
    )
    for row in rows:
        at, value = conditions.index(row["where"]) + 1, number_text(row["value"])
        if row["method"] == ORACLE:
            marks.short_tick(plot, row["value"], at)
        else:
            hint = f"{row['where']}, {row['label']}: {value}; {row['draws']} draws"
            marks.mark_row(plot, results, row, at, hint, ends=False)
    return plot


def recovery_in_words(results: Study) -> str:
    """Return for every condition the best method and the oracle."""
    parts = []
    for where, rows in groupby(_recovery_rows(results), key=lambda row: str(row["where"])):
        values = {row["label"]: row["value"] for row in rows}
        oracle = values.pop("Oracle", None)
        if values:
            best = max(values, key=lambda label: values[label])
            beside = "" if oracle is None else f" (oracle {oracle:.2f})"
            parts.append(f"{where}: {best} {values[best]:.2f}{beside}")
    return "Best rank correlation with the true discordance by condition: " + "; ".join(parts) + "."


def continuum(results: Study, width: int, condition: str) -> Drawing:
    """Plot every method's score against D*, with the diagonal and the rank correlation."""
    shown = [m for m in results.methods if results.of(condition, [m]).height]
    columns = 2 if width == marks.NARROW else 4
    parts = [_continuum_panel(results, method, width // columns, condition) for method in shown]
    return panels(parts, columns, results.labels(shown))


def _continuum_correlation(results: Study, method: str) -> float | None:
    """Return the rank correlation of a method's scores with D* in the first draw, as stored."""
    found = results.cells("continuum", ["spearman_d_star"], [method])["first"].to_list()
    return found[0] if found else None


def _continuum_panel(results: Study, method: str, side: int, condition: str) -> Plot:
    rows = marks.defined(results.of(condition, [method]), "score", "d_star")
    who = marks.positions(results, condition)
    rate = method in results.rate_methods
    title = "discordance" if rate else "overdispersion"
    # One end of scale for all methods, so that panels can be compared.
    highest = results.of(condition, results.rate_methods)["score"].fill_nan(None).max()
    top = max(0.5, float(highest) if isinstance(highest, float) else 0.5)
    ends = (0.0, top) if rate else marks.extent([row["score"] for row in rows], 0.0)
    plot = Plot(side, side, x=(0, 0.5), y=ends, left=44)
    ticks = [(0.0, "0"), (0.25, "0.25"), (0.5, "0.5")]
    plot.axes("True discordance D*", f"Estimated {title}" if rate else title, x_ticks=ticks)
    rho = _continuum_correlation(results, method)
    told = "ρ undefined" if rho is None else f"ρ = {rho:.3f}"
    plot.write(told, (plot.left + 4, plot.top + 2), "label", "start")
    if rate:
        plot.line([(0, 0), (0.5, 0.5)], "limit", "soft")
    for row in rows:
        hint, number = marks.physician_hint(row, title), who[row["physician"]]
        look: dict[str, Any] = {"value": "score", "upright": True, "ends": False, "radius": 2.8}
        marks.mark_row(plot, results, row, row["d_star"], hint, who=number, **look)
    return plot


def continuum_in_words(results: Study, condition: str) -> str:
    """Return the rank correlation of every method on the continuum."""
    known = {method: _continuum_correlation(results, method) for method in results.methods}
    listed = [f"{results.label(m)} {rho:.3f}" for m, rho in known.items() if rho is not None]
    return (
        "One scatter plot per method of its score against the true discordance. Rank "
        f"correlation: {'; '.join(listed)}."
    )


# --- how well the mixed model fits ---


def fitted(results: Study, what: str) -> Any:
    """Return the stored residuals or calibration on SCORE2; empty if there is none."""
    return results.method_details("score2", GLMM).get(what, [])


def _residual_bins(results: Study) -> list[tuple[float, float, int]]:
    stored = fitted(results, "residuals")
    return list(zip(stored["edges"][:-1], stored["edges"][1:], stored["counts"], strict=True))


def residuals(results: Study, width: int) -> Plot:
    """Plot the distribution of Pearson residuals."""
    bins = _residual_bins(results)
    most = max(count for *_, count in bins)
    plot = Plot(min(width, 720), 280, x=(bins[0][0], bins[-1][1]), y=(0, most or 1))
    plot.axes("Pearson residual (standard deviations)", "Patients")
    for low, high, count in bins:
        hint = f"{low:.2f} to {high:.2f}: {count:,} patients"
        plot.bar((low, high), (0, count), hint, "fill", marks.colour_of(results, GLMM))
    return plot


def residuals_in_words(results: Study) -> str:
    """Return where most residuals lie."""
    bins = _residual_bins(results)
    total = sum(count for *_, count in bins)
    near = sum(count for low, high, count in bins if low >= -2 and high <= 2)
    share = 100 * near / total if total else 0.0
    return (
        f"Histogram of the Pearson residuals of {total:,} patients; {share:.1f} % lie between -2 "
        "and 2."
    )


def calibration(results: Study, width: int) -> Drawing:
    """Plot observed against fitted probabilities, with the patients of every bin below."""
    rows = fitted(results, "calibration")
    colour, side = marks.colour_of(results, GLMM), min(width, 540)
    curve = Plot(side, round(side * 0.75))
    curve.axes("Fitted probability of deciding for", "Observed share decided for")
    curve.line([(0, 0), (1, 1)], "limit", "soft")
    curve.line([(row["fitted"], row["observed"]) for row in rows], "line", colour)
    counts = Plot(side, 120, y=(0, max(row["n_patients"] for row in rows)))
    counts.axes("Fitted probability of deciding for", "Patients")
    for row in rows:
        at, observed, n = row["fitted"], row["observed"], row["n_patients"]
        hint = f"fitted {at:.3f}, observed {observed:.3f}, {n:,} patients"
        curve.point((at, observed), hint, colour=colour)
        counts.bar((at - 0.035, at + 0.035), (0, n), hint, "fill", colour)
    return panels([curve, counts], 1)


def calibration_in_words(results: Study) -> str:
    """Return the largest gap between fitted and observed."""
    rows = fitted(results, "calibration")
    worst = max(rows, key=lambda row: abs(row["observed"] - row["fitted"]))
    return (
        f"Calibration curve in {len(rows)} bins. The largest gap is "
        f"{marks.signed(worst['observed'] - worst['fitted'])}, at a fitted probability of "
        f"{worst['fitted']:.2f} with {worst['n_patients']:,} patients."
    )
