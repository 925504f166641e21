"""How well the mixed model fits: its residuals and its calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from intravar.study.report.canvas import Canvas, Chart
from intravar.study.report.stored_results import Results

GLMM = "glmm"


def fitted(results: Results, what: str) -> Mapping[str, Any] | list[Any]:
    """Return the stored residuals or calibration on SCORE2; empty if there is none."""
    found: Mapping[str, Any] | list[Any] = results.method_details("score2", GLMM).get(what, [])
    return found


def residual_rows(results: Results) -> pl.DataFrame:
    """Return the histogram of Pearson residuals, one row per bin."""
    found = fitted(results, "residuals")
    edges, counts = found["edges"], found["counts"]  # type: ignore[call-overload]
    return pl.DataFrame({"from": edges[:-1], "to": edges[1:], "patients": counts}, strict=False)


def residuals(results: Results, canvas: Canvas) -> Chart:
    """Plot the distribution of Pearson residuals."""
    colour = canvas.method_colours(results.methods, [GLMM])[0]
    return (
        alt.Chart(canvas.data(residual_rows(results)))
        .mark_bar(color=colour, binSpacing=0)
        .encode(
            x=alt.X(
                "from:Q",
                bin="binned",
                title="Pearson residual (standard deviations)",
                axis=alt.Axis(tickCount=10, grid=False),
            ),
            x2="to:Q",
            y=alt.Y("patients:Q", title="Patients"),
            tooltip=[
                alt.Tooltip("from:Q", title="Residual from", format=".2f"),
                alt.Tooltip("to:Q", title="to", format=".2f"),
                alt.Tooltip("patients:Q", title="Patients", format=",d"),
            ],
        )
        .properties(width=min(canvas.width - 80, 640), height=220)
    )


def calibration_rows(results: Results) -> pl.DataFrame:
    """Return the bins of the calibration curve."""
    return pl.DataFrame(list(fitted(results, "calibration")))


def calibration(results: Results, canvas: Canvas) -> Chart:
    """Plot observed against fitted probabilities, with the patients of every bin below."""
    rows = calibration_rows(results)
    colour = canvas.method_colours(results.methods, [GLMM])[0]
    width = min(canvas.width - 80, 460)
    tooltip = [
        alt.Tooltip("fitted:Q", title="Fitted", format=".3f"),
        alt.Tooltip("observed:Q", title="Observed", format=".3f"),
        alt.Tooltip("n_patients:Q", title="Patients", format=",d"),
    ]
    unit = alt.Scale(domain=[0, 1], nice=False, padding=0)
    x = alt.X("fitted:Q", scale=unit, title=None, axis=alt.Axis(labels=False, tickCount=5))
    diagonal = (
        alt.Chart(canvas.rows([{"a": 0, "b": 0}, {"a": 1, "b": 1}]))
        .mark_line(strokeDash=[4, 3], strokeWidth=1, color=canvas.ink("soft"))
        .encode(
            x=alt.X("a:Q", scale=unit, title=None, axis=alt.Axis(labels=False, tickCount=5)),
            y=alt.Y("b:Q", scale=unit),
        )
    )
    base = alt.Chart(canvas.data(rows)).encode(
        x=x,
        y=alt.Y(
            "observed:Q",
            scale=unit,
            title="Observed share decided for",
            axis=alt.Axis(tickCount=5),
        ),
        tooltip=tooltip,
    )
    curve = alt.layer(
        diagonal,
        base.mark_line(color=colour, strokeWidth=1.5),
        base.mark_point(filled=True, size=70, color=colour, opacity=1),
    ).properties(width=width, height=round(width * 0.75))
    counts = (
        alt.Chart(canvas.data(rows))
        .mark_bar(color=colour, opacity=0.75, width=width / 14)
        .encode(
            x=alt.X(
                "fitted:Q",
                scale=unit,
                title="Fitted probability of deciding for",
                axis=alt.Axis(tickCount=5),
            ),
            y=alt.Y("n_patients:Q", title="Patients", axis=alt.Axis(tickCount=3, format="~s")),
            tooltip=tooltip,
        )
        .properties(width=width, height=64)
    )
    return alt.vconcat(curve, counts, spacing=10)
