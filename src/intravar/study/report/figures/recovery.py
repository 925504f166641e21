"""How well the true discordance is recovered: on the continuum of physicians, and by condition."""

from __future__ import annotations

import polars as pl

from intravar.documents.charts import Drawing, Plot, panels
from intravar.study.benchmark.units import ORACLE
from intravar.study.report.figures.marks import (
    NARROW,
    colour_of,
    defined,
    extent,
    labelled_rows,
    method_legend,
    physician_hint,
    positions,
    shape_of,
    short_tick,
)
from intravar.study.report.stored_results import Results
from intravar.study.tables.grids import number_text

TABLE = "recovery_spearman"
CONDITION = "continuous"


def has_recovery(results: Results) -> bool:
    """Say whether there are methods whose recovery can be plotted."""
    return TABLE in results.tables and bool(results.methods)


def recovery_rows(results: Results) -> pl.DataFrame:
    """Return the rank correlation per condition and method; the conditions stand as rows."""
    rows = results.tables[TABLE].filter(pl.col("value").is_not_null())
    where = pl.col("condition").str.replace("^stress-", "").alias("where")
    return results.labelled(rows).select(where, "method", "label", "value", "draws")


def recovery(results: Results, width: int) -> Plot:
    """Plot the rank correlation with D* of every method under every departure."""
    rows = recovery_rows(results).to_dicts()
    there = {row["method"] for row in rows}
    shown = [method for method in results.methods if method in there]
    conditions = list(dict.fromkeys(row["where"] for row in rows))
    lowest = min([0.0, *(row["value"] for row in rows)])
    plot = labelled_rows(
        conditions,
        (lowest, 1.0),
        width,
        "Rank correlation with the true discordance",
        legend=method_legend(results, shown),
    )
    for row in rows:
        at = conditions.index(row["where"]) + 1
        if row["method"] == ORACLE:
            short_tick(plot, row["value"], at)
        elif row["method"] in shown:
            plot.point(
                (row["value"], at),
                f"{row['where']}, {row['label']}: {number_text(row['value'])}; "
                f"{row['draws']} draws",
                colour=colour_of(results, row["method"]),
                shape=shape_of(results, row["method"]),
            )
    return plot


def recovery_in_words(results: Results) -> str:
    """Return for every condition the best method and the oracle."""
    parts = []
    for (where,), rows in recovery_rows(results).group_by("where", maintain_order=True):
        values = {row["label"]: row["value"] for row in rows.iter_rows(named=True)}
        oracle = values.pop("Oracle", None)
        if values:
            best = max(values, key=lambda label: values[label])
            beside = "" if oracle is None else f" (oracle {oracle:.2f})"
            parts.append(f"{where}: {best} {values[best]:.2f}{beside}")
    return "Best rank correlation with the true discordance by condition: " + "; ".join(parts) + "."


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


def continuum_in_words(results: Results) -> str:
    """Return the rank correlation of every method on the continuum."""
    found = []
    for method in results.methods:
        rho = continuum_correlation(results, method)
        if rho is not None:
            found.append(f"{results.label(method)} {rho:.3f}")
    return (
        "One scatter plot per method of its score against the true discordance. Rank "
        f"correlation: {'; '.join(found)}."
    )
