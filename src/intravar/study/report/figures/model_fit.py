"""How well the mixed model fits: its residuals and its calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from intravar.documents.charts import Drawing, Plot, panels
from intravar.study.report.figures.marks import colour_of, signed
from intravar.study.report.stored_results import Results

GLMM = "glmm"


def fitted(results: Results, what: str) -> Mapping[str, Any] | list[Any]:
    """Return the stored residuals or calibration on SCORE2; empty if there is none."""
    stored: Mapping[str, Any] | list[Any] = results.method_details("score2", GLMM).get(what, [])
    return stored


def residual_rows(results: Results) -> pl.DataFrame:
    """Return the histogram of Pearson residuals, one row per bin."""
    stored = fitted(results, "residuals")
    edges, counts = stored["edges"], stored["counts"]  # type: ignore[call-overload]
    return pl.DataFrame({"from": edges[:-1], "to": edges[1:], "patients": counts}, strict=False)


def residuals(results: Results, width: int) -> Plot:
    """Plot the distribution of Pearson residuals."""
    rows = residual_rows(results).to_dicts()
    most = max(row["patients"] for row in rows)
    ends = (rows[0]["from"], rows[-1]["to"])
    plot = Plot(min(width, 720), 280, x=ends, y=(0, most or 1))
    plot.axes("Pearson residual (standard deviations)", "Patients")
    for row in rows:
        hint = f"{row['from']:.2f} to {row['to']:.2f}: {row['patients']:,} patients"
        across = (row["from"], row["to"])
        plot.bar(across, (0, row["patients"]), hint, "fill", colour_of(results, GLMM))
    return plot


def calibration_rows(results: Results) -> pl.DataFrame:
    """Return the bins of the calibration curve."""
    return pl.DataFrame(list(fitted(results, "calibration")))


def calibration(results: Results, width: int) -> Drawing:
    """Plot observed against fitted probabilities, with the patients of every bin below."""
    rows = calibration_rows(results).to_dicts()
    colour, side = colour_of(results, GLMM), min(width, 540)
    curve = Plot(side, round(side * 0.75))
    curve.axes("Fitted probability of deciding for", "Observed share decided for")
    curve.line([(0, 0), (1, 1)], "limit", "soft")
    curve.line([(row["fitted"], row["observed"]) for row in rows], "line", colour)
    counts = Plot(side, 120, y=(0, max(row["n_patients"] for row in rows)))
    counts.axes("Fitted probability of deciding for", "Patients")
    for row in rows:
        hint = (
            f"fitted {row['fitted']:.3f}, observed {row['observed']:.3f}, "
            f"{row['n_patients']:,} patients"
        )
        curve.point((row["fitted"], row["observed"]), hint, colour=colour)
        across = (row["fitted"] - 0.035, row["fitted"] + 0.035)
        counts.bar(across, (0, row["n_patients"]), hint, "fill", colour)
    return panels([curve, counts], 1)


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
        f"Calibration curve in {rows.height} bins. The largest gap is {signed(worst['gap'])}, "
        f"at a fitted probability of {worst['fitted']:.2f} with {worst['n_patients']:,} patients."
    )
