"""Figures in words, from the numbers that they show: for those who cannot see them."""

from __future__ import annotations

import polars as pl

from intravar.study.report.figures.continuum import continuum_correlation
from intravar.study.report.figures.deltas import PASSES, WINDOWS, condition_deltas, grid_rows
from intravar.study.report.figures.groups import first_mean_deltas
from intravar.study.report.figures.model_fit import calibration_rows, residual_rows
from intravar.study.report.figures.overview import overview_cards
from intravar.study.report.stored_results import Results
from intravar.study.tables.grids import number_text


def overview_in_words(results: Results) -> str:
    """Return the steps of the overview."""
    condition = "score2" if results.has("score2") else results.conditions[0]
    cards = overview_cards(results, condition)
    return "Diagram of five steps. " + " ".join(
        f"{number}. {card.heading}: {card.text}" for number, card in enumerate(cards, 1)
    )


def panels_in_words(results: Results, condition: str) -> str:
    """Return the mean delta of every method on a condition."""
    means = first_mean_deltas(results, condition)
    listed = "; ".join(
        f"{row['label']} {_signed(row['first'])}"
        for row in means.iter_rows(named=True)
        if row["first"] is not None
    )
    n = results.of(condition, results.rate_methods)["physician"].n_unique()
    return (
        f"Four panels for {n} physicians: model score, discordance by method and group, delta by "
        f"method, and rank correlations between methods. Mean delta: {listed}. The tables below "
        "hold the numbers."
    )


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


def cross_in_words(results: Results) -> str:
    """Return median and range of every method's deltas."""
    rows = condition_deltas(results)
    found = (
        rows.filter(pl.col("first").is_not_null())
        .group_by("label", maintain_order=True)
        .agg(
            pl.col("first").median().alias("median"),
            pl.col("first").min().alias("low"),
            pl.col("first").max().alias("high"),
        )
    )
    listed = "; ".join(
        f"{row['label']} {_signed(row['median'])} ({_signed(row['low'])} to {_signed(row['high'])})"
        for row in found.iter_rows(named=True)
    )
    number = rows["condition"].n_unique()
    return f"Distribution of mean deltas over {number} conditions, median and range: {listed}."


def cells_in_words(results: Results, table: str) -> str:
    """Return the mean delta per method and column of a table."""
    columns = WINDOWS if table == "window_size" else PASSES
    listed = []
    for method in results.rate_methods:
        rows = results.tables[table].filter(pl.col("method") == method)
        cells = {row["column"]: row["value"] for row in rows.iter_rows(named=True)}
        texts = [
            f"{heading} {_signed(cells[column])}"
            for column, heading in columns.items()
            if cells.get(column) is not None
        ]
        if texts:
            listed.append(f"{results.label(method)}: {', '.join(texts)}")
    what = "by window size" if table == "window_size" else "by pass"
    return f"Mean delta {what}, with intervals. {'; '.join(listed)}."


def grid_in_words(results: Results) -> str:
    """Return the range of every method's deltas over the grid."""
    rows = grid_rows(results).filter(pl.col("value").is_not_null())
    found = rows.group_by("label", maintain_order=True).agg(
        pl.col("value").min().alias("low"), pl.col("value").max().alias("high")
    )
    listed = "; ".join(
        f"{row['label']} from {_signed(row['low'])} to {_signed(row['high'])}"
        for row in found.iter_rows(named=True)
    )
    cells = rows["condition"].n_unique()
    return f"Curves of mean delta over {cells} sizes of cohort. Range per method: {listed}."


def residuals_in_words(results: Results) -> str:
    """Return where most residuals lie."""
    rows = residual_rows(results)
    total = int(rows["patients"].sum())
    near = rows.filter((pl.col("from") >= -2) & (pl.col("to") <= 2))["patients"].sum()
    share = 100 * near / total if total else 0.0
    return (
        f"Histogram of the Pearson residuals of {total:,} patients; {share:.1f} % lie between -2 "
        "and 2."
    )


def calibration_in_words(results: Results) -> str:
    """Return the largest gap between fitted and observed."""
    rows = calibration_rows(results).with_columns(
        (pl.col("observed") - pl.col("fitted")).alias("gap")
    )
    worst = rows.sort(pl.col("gap").abs(), descending=True).row(0, named=True)
    return (
        f"Calibration curve in {rows.height} bins. The largest gap is {_signed(worst['gap'])}, "
        f"at a fitted probability of {worst['fitted']:.2f} with {worst['n_patients']:,} patients."
    )


def _signed(number: float) -> str:
    return number_text(number, signed=True)
