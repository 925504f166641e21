"""What several figures share: data, scales of methods and groups, and what lights a physician."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from intravar.study.report.canvas import Canvas, Chart
from intravar.study.report.palette import looks_of
from intravar.study.report.stored_results import Results

#: Nobody is picked in a figure on paper; the page sets the parameter.
PICKED = "picked"
_IS_LIT = f"{PICKED} === '' || datum.physician === {PICKED}"
#: Signed labels, and a bare zero.
SIGNED = "datum.value === 0 ? '0' : format(datum.value, '+.2f')"
IS_PICKED = f"datum.physician === {PICKED}"


def picked() -> alt.Parameter:
    """Return the parameter that holds the name of the physician to light."""
    return alt.param(name=PICKED, value="")


def lit(faded: float = 0.12, full: float = 0.9) -> alt.Opacity:
    """Return an opacity that fades every physician but the picked one."""
    return alt.Opacity(
        condition={"test": _IS_LIT, "value": full},
        value=faded,
    )


def method_colour(
    results: Results, canvas: Canvas, shown: Sequence[str], *, legend: bool = False
) -> alt.Color:
    """Return the colour scale of methods by label."""
    scale = alt.Scale(
        domain=results.labels(list(shown)), range=canvas.method_colours(results.methods, shown)
    )
    return alt.Color("label:N", scale=scale, legend=_legend(canvas) if legend else None)


def method_shape(
    results: Results, canvas: Canvas, shown: Sequence[str], *, legend: bool = False
) -> alt.Shape:
    """Return the scale of marks of methods by label."""
    looks = looks_of([*results.methods, "oracle", "constant"])
    scale = alt.Scale(
        domain=results.labels(list(shown)), range=[looks[method].shape for method in shown]
    )
    return alt.Shape("label:N", scale=scale, legend=_legend(canvas) if legend else None)


def group_colour(canvas: Canvas, groups: Sequence[int]) -> alt.Color:
    """Return the colour scale of physician groups."""
    colours = canvas.group_colours()
    scale = alt.Scale(
        domain=list(groups), range=[colours[(group - 1) % len(colours)] for group in groups]
    )
    legend = alt.Legend(
        title="Group: 1 steady to 5 coin-flip",
        symbolType="circle",
        direction="horizontal",
        titleLimit=300,
    )
    return alt.Color("group:O", scale=scale, legend=legend)


def _legend(canvas: Canvas) -> alt.Legend:
    return alt.Legend(
        title=None, columns=2 if canvas.narrow else 5, symbolStrokeWidth=1.5, columnPadding=14
    )


def zero_line(canvas: Canvas, channel: str = "x") -> Chart:
    """Return a dashed line where the score equals the oracle's."""
    line = alt.Chart(canvas.rows([{"zero": 0}])).mark_rule(
        strokeDash=[4, 3], color=canvas.ink("ink"), strokeWidth=1
    )
    if channel == "x":
        return line.encode(x=alt.X("zero:Q"))
    return line.encode(y=alt.Y("zero:Q"))


def physician_tooltip(score_title: str = "Score") -> list[alt.Tooltip]:
    """Return what hovering over a physician shows."""
    return [
        alt.Tooltip("physician:N", title="Physician"),
        alt.Tooltip("label:N", title="Method"),
        alt.Tooltip("score:Q", title=score_title, format=".3f"),
        alt.Tooltip("low:Q", title="95 % from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("oracle:Q", title="Oracle", format=".3f"),
        alt.Tooltip("d_star:Q", title="D*", format=".3f"),
        alt.Tooltip("group:O", title="Group"),
        alt.Tooltip("n_patients:Q", title="Patients", format=",d"),
        alt.Tooltip("n_pairs:Q", title="Pairs", format=",d"),
    ]
