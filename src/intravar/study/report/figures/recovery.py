"""How well the true discordance is recovered: rank correlation with D* by condition."""

from __future__ import annotations

import polars as pl

from intravar.documents.charts import Plot
from intravar.study.benchmark.units import ORACLE
from intravar.study.report.figures.marks import (
    colour_of,
    labelled_rows,
    method_legend,
    shape_of,
    short_tick,
)
from intravar.study.report.stored_results import Results
from intravar.study.tables.grids import number_text

TABLE = "recovery_spearman"


def has_recovery(results: Results) -> bool:
    """Say whether there are methods whose recovery can be plotted."""
    return TABLE in results.tables and bool(results.methods)


def recovery_rows(results: Results) -> pl.DataFrame:
    """Return the rank correlation per condition and method; the conditions stand as rows."""
    rows = results.tables[TABLE].filter(pl.col("value").is_not_null())
    names = {method: results.label(method) for method in rows["method"].unique().to_list()}
    return rows.select(
        pl.col("condition").str.replace("^stress-", "").alias("where"),
        "method",
        pl.col("method").replace_strict(names, return_dtype=pl.String).alias("label"),
        "value",
        "draws",
    )


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
