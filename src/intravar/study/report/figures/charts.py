"""Figures across conditions and of the mixed model: deltas, recovery of D*, fit.

Of every figure one function returns the rows that it shows, none where a study has nothing to show,
and another draws them.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import polars as pl

from intravar.documents.charts import Drawing, Plot
from intravar.study.benchmark.units import ORACLE
from intravar.study.report.figures import marks
from intravar.study.report.figures.marks import (
    Rows,
    panels,
)
from intravar.study.results import Study
from intravar.study.simulation.conditions import conditions_of
from intravar.study.tables.grids import HEADINGS, number_text

_DELTA = "Mean delta (score minus oracle)"
#: Steps of this share of a turn fall evenly: a figure plotted twice is the same figure.
_GOLDEN = 0.6180339887
_GLMM = "glmm"

# --- deltas across conditions ---


def cross_rows(results: Study, _: str) -> Rows:
    """Return the mean delta per main condition (SCORE2, window rules) and method, first draw."""
    methods = results.rate_methods
    cells = results.cells("condition_deltas", ["mean_delta"], methods, value="first")
    cells = cells.filter(pl.col("condition").is_in(results.main_conditions))
    return cells.to_dicts() if cells["condition"].n_unique() > 1 else []


def cross_deltas(results: Study, width: int, rows: Rows, _: str) -> Plot:
    """Plot how the mean delta of every method is spread over the conditions."""
    methods = marks.present(results.rate_methods, rows)
    ends = marks.extent([row["value"] for row in rows], 0.0)
    plot = marks.labelled_rows(results.labels(methods), ends, width, _DELTA, signs=True, row=32)
    for number, method in enumerate(methods, 1):
        own = [row for row in rows if row["method"] == method]
        for turn, row in enumerate(own):
            hint = f"{row['condition']}, {row['label']}: {number_text(row['value'], signed=True)}"
            at = number - 0.28 + 0.56 * (turn * _GOLDEN % 1)
            marks.mark_row(plot, results, row, at, hint, ends=False, radius=2.4)
        low, middle, high = np.quantile([row["value"] for row in own], [0.25, 0.5, 0.75])
        plot.bar((low, high), (number + 0.36, number - 0.36), "middle half", "outline")
        marks.short_tick(plot, float(middle), number, 0.42)
    return plot


# --- deltas by the columns of a table: window size, pass; by cohort size ---

#: What is across, by table.
_ACROSS = {"window_size": "Rule", "passes": "Pass", "grid": "Patients (thousands)"}


def column_rows(results: Study, table: str) -> Rows:
    """Return the cells of a table with the panel and the place across that each stands at."""
    cells = results.cells(table, HEADINGS, results.rate_methods)
    if table != "grid":
        heading = pl.col("column").replace_strict(HEADINGS, return_dtype=pl.String)
        return cells.with_columns(panel=pl.lit(""), place=heading, where=heading).to_dicts()
    rows = []
    for row in cells.to_dicts():
        sizes = conditions_of("grid")[row["condition"]]
        n, k = sizes.n_patients, sizes.n_physicians
        labels = {"where": f"{n:,} patients of {k}", "panel": f"{k} physicians"}
        rows.append(row | labels | {"place": f"{n / 1000:g}", "sizes": (k, n)})
    return sorted(rows, key=lambda row: row["sizes"])


def by_column(results: Study, width: int, rows: Rows, table: str) -> Drawing:
    """Plot the mean delta of every method with its interval, column by column."""
    methods = marks.present(results.rate_methods, rows)
    names = ("value", "low", "high", "published")
    ends = marks.extent([row[name] for row in rows for name in names], 0.0)
    parts = {panel: list(own) for panel, own in groupby(rows, key=lambda row: str(row["panel"]))}
    columns = min(len(parts), 2 if width == marks.NARROW else 5)
    step = 0.76 / len(methods)
    plots = []
    for own in parts.values():
        places = list(dict.fromkeys(row["place"] for row in own))
        plot = Plot(width // columns, 280, x=(0.5, len(places) + 0.5), y=ends)
        ticks = marks.signed_ticks(*ends)
        name = _DELTA if columns == 1 else ""
        plot.axes(_ACROSS[table], name, x_ticks=list(enumerate(places, 1)), y_ticks=ticks)
        plot.line([(plot.x[0], 0), (plot.x[1], 0)], "limit", "ink")
        for number, method in enumerate(methods):
            beside = 1 + step * (number - (len(methods) - 1) / 2)
            of_method = {row["place"]: row for row in own if row["method"] == method}
            at = {place: places.index(place) + beside for place in of_method}
            if table == "grid":
                line = [(at[place], row["value"]) for place, row in of_method.items()]
                plot.line(line, "line", marks.colour_of(results, method))
            look: dict[str, Any] = {"upright": True, "dash": step / 2, "radius": 4 - columns / 4}
            for place, row in of_method.items():
                marks.mark_row(plot, results, row, at[place], _hint(row), **look)
        plots.append(plot)
    whole = panels(plots, columns, list(parts) if len(parts) > 1 else [])
    return marks.with_methods(whole, results, methods)


def _hint(row: dict[str, Any]) -> str:
    def signed(name: str) -> str:
        return number_text(row[name], signed=True)

    parts = [f"{row['label']}, {row['where']}: {signed('value')}"]
    if row["low"] is not None:
        parts.append(f"95 % {signed('low')} to {signed('high')}")
    if row["published"] is not None:
        parts.append(f"paper {signed('published')}")
    return "; ".join([*parts, f"{row['draws']} draws"] if row["draws"] > 1 else parts)


# --- how well the true discordance is recovered ---


def recovery_rows(results: Study, _: str) -> Rows:
    """Return the rank correlation per condition and method."""
    cells = results.cells("recovery_spearman", ["spearman_d_star"], [ORACLE, *results.methods])
    where = pl.col("condition").str.replace("^stress-", "").alias("where")
    return cells.with_columns(where).to_dicts() if results.methods else []


def recovery(results: Study, width: int, rows: Rows, _: str) -> Drawing:
    """Plot the rank correlation with D* of every method under every departure."""
    methods = marks.present(results.methods, rows)
    conditions = list(dict.fromkeys(row["where"] for row in rows))
    ends = min([0.0, *(row["value"] for row in rows)]), 1.0
    axis = "Rank correlation with the true discordance"
    plot = marks.labelled_rows(conditions, ends, width, axis)
    for row in rows:
        at, value = conditions.index(row["where"]) + 1, number_text(row["value"])
        if row["method"] == ORACLE:
            marks.short_tick(plot, row["value"], at)
        else:
            hint = f"{row['where']}, {row['label']}: {value}; {row['draws']} draws"
            marks.mark_row(plot, results, row, at, hint, ends=False)
    return marks.with_methods(plot, results, methods)


# --- how well the mixed model fits ---


def residual_rows(results: Study, _: str) -> Rows:
    """Return the bins of the Pearson residuals on SCORE2."""
    stored = results.method_details("score2", _GLMM).get("residuals")
    if not stored:
        return []
    edges = stored["edges"]
    bins = zip(edges[:-1], edges[1:], stored["counts"], strict=True)
    return [{"low": low, "high": high, "count": count} for low, high, count in bins]


def residuals(results: Study, width: int, rows: Rows, _: str) -> Plot:
    """Plot the distribution of Pearson residuals."""
    most = max(row["count"] for row in rows) or 1
    plot = Plot(min(width, 720), 280, x=(rows[0]["low"], rows[-1]["high"]), y=(0, most))
    plot.axes("Pearson residual (standard deviations)", "Patients")
    for row in rows:
        hint = "{low:.2f} to {high:.2f}: {count:,} patients".format_map(row)
        ends = (row["low"], row["high"]), (0, row["count"])
        plot.bar(*ends, hint, "fill", marks.colour_of(results, _GLMM))
    return plot


def residuals_in_words(rows: Rows) -> str:
    """Return where most residuals lie."""
    total = sum(row["count"] for row in rows)
    near = sum(row["count"] for row in rows if row["low"] >= -2 and row["high"] <= 2)
    return f"{total:,} patients; {100 * near / max(total, 1):.1f} % lie between -2 and 2."


def calibration_rows(results: Study, _: str) -> Rows:
    """Return the bins of the fitted probabilities on SCORE2."""
    stored = results.method_details("score2", _GLMM).get("calibration", [])
    return list(stored)


def calibration(results: Study, width: int, rows: Rows, _: str) -> Drawing:
    """Plot observed against fitted probabilities, with the patients of every bin below."""
    colour, side = marks.colour_of(results, _GLMM), min(width, 540)
    curve = Plot(side, round(side * 0.75))
    curve.axes("Fitted probability of deciding for", "Observed share decided for")
    curve.line([(0, 0), (1, 1)], "limit", "soft")
    curve.line([(row["fitted"], row["observed"]) for row in rows], "line", colour)
    counts = Plot(side, 120, y=(0, max(row["n_patients"] for row in rows)))
    counts.axes("Fitted probability of deciding for", "Patients")
    for row in rows:
        hint = "fitted {fitted:.3f}, observed {observed:.3f}, {n_patients:,} patients"
        at, text = row["fitted"], hint.format_map(row)
        curve.point((at, row["observed"]), text, colour=colour)
        counts.bar((at - 0.035, at + 0.035), (0, row["n_patients"]), text, "fill", colour)
    return panels([curve, counts], 1)


def calibration_in_words(rows: Rows) -> str:
    """Return the largest gap between fitted and observed."""
    worst = max(rows, key=lambda row: abs(row["observed"] - row["fitted"]))
    gap = number_text(worst["observed"] - worst["fitted"], signed=True)
    return (
        f"{len(rows)} bins; the largest gap is {gap}, at a fitted probability of "
        f"{worst['fitted']:.2f} with {worst['n_patients']:,} patients."
    )
