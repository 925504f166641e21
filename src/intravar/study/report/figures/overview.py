"""How a cohort is made and what the methods are given of it, from what was stored."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import altair as alt

from intravar.study.benchmark.units import ORACLE
from intravar.study.report.canvas import Canvas, Chart
from intravar.study.report.stored_results import Results

_GLYPH, _GAP, _LINE = 62, 26, 14
#: Average width of a letter at 11 pixels.
_LETTER = 5.6


@dataclass
class Sketch:
    """Primitives in pixels, y downwards."""

    boxes: list[dict[str, Any]] = field(default_factory=list)
    words: list[dict[str, Any]] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    dots: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Card:
    """One step: its heading, its text and the little sketch above."""

    heading: str
    text: str
    glyph: str


def overview(results: Results, canvas: Canvas) -> Chart:
    """Plot the five steps from patients to scores."""
    condition = "score2" if results.has("score2") else results.conditions[0]
    cards = overview_cards(results, condition)
    sketch = Sketch()
    columns = 1 if canvas.narrow else len(cards)
    width = (canvas.width - 16 - _GAP * (columns - 1)) / columns
    letters = int((width - 20) / _LETTER)
    wrapped = [textwrap.wrap(card.text, letters) for card in cards]
    tallest = max(len(lines) for lines in wrapped)
    top = height = 0.0
    for position, (card, lines) in enumerate(zip(cards, wrapped, strict=True)):
        left = (position % columns) * (width + _GAP)
        height = _GLYPH + 52 + _LINE * (len(lines) if canvas.narrow else tallest)
        _add_card(sketch, results, condition, card, position + 1, left, top, width, height, lines)
        if position + 1 < len(cards):
            _add_arrow(sketch, left, top, width, height, downwards=canvas.narrow)
        if canvas.narrow:
            top += height + _GAP
    return _chart(sketch, canvas, top - _GAP if canvas.narrow else height)


def overview_cards(results: Results, condition: str) -> list[Card]:
    """Return the steps in words, with the numbers of a condition."""
    rows = results.of(condition, [ORACLE])
    patients, physicians = rows["n_patients"].sum(), rows.height
    cohort = results.cohort_details(condition)
    eligible, decided_for = cohort.get("share_eligible"), decided_for_share(cohort)
    levels = sorted(rows["d_star"].drop_nulls().to_list())
    spread = f"D* from {levels[0]:.2f} to {levels[-1]:.2f}" if levels else "each with their own D*"
    return [
        Card(
            "Patients", f"{patients:,} simulated patients, each with clinical covariates.", "bells"
        ),
        Card(
            "Rule",
            "A rule on the covariates says who is eligible"
            + (f": {100 * eligible:.0f} % are." if eligible is not None else "."),
            "share",
        ),
        Card(
            "Physicians",
            f"{physicians:,} physicians, from steady to coin-flip: {spread}.",
            "physicians",
        ),
        Card(
            "Decisions",
            "A biased coin decides each case"
            + (f"; {100 * decided_for:.0f} % decided for." if decided_for is not None else "."),
            "decisions",
        ),
        Card(
            "Scores",
            "The oracle knows who is eligible. Methods do not: most pair patients who look alike.",
            "pairs",
        ),
    ]


def decided_for_share(cohort: Mapping[str, Any]) -> float | None:
    """Return the share decided for; studies of an earlier version called it otherwise."""
    share: float | None = cohort.get("share_decided_for", cohort.get("share_prescribed"))
    return share


def _add_card(
    sketch: Sketch,
    results: Results,
    condition: str,
    card: Card,
    number: int,
    left: float,
    top: float,
    width: float,
    height: float,
    lines: list[str],
) -> None:
    sketch.boxes.append(
        {"x": left, "y": top, "x2": left + width, "y2": top + height, "kind": "card"}
    )
    _GLYPHS[card.glyph](sketch, results, condition, left + 12, top + 12, width - 24)
    y = top + _GLYPH + 32
    sketch.words.append({"x": left + 12, "y": y, "text": f"{number}  {card.heading}", "kind": "b"})
    for position, line in enumerate(lines):
        sketch.words.append(
            {"x": left + 12, "y": y + 20 + _LINE * position, "text": line, "kind": "p"}
        )


def _add_arrow(
    sketch: Sketch, left: float, top: float, width: float, height: float, *, downwards: bool
) -> None:
    if downwards:
        x, y, x2, y2 = left + width / 2, top + height + 4, left + width / 2, top + height + _GAP - 5
    else:
        x, y, x2, y2 = left + width + 4, top + height / 2, left + width + _GAP - 5, top + height / 2
    sketch.lines.append({"x": x, "y": y, "x2": x2, "y2": y2})
    shape = "triangle-down" if downwards else "triangle-right"
    sketch.dots.append({"x": x2, "y": y2, "shape": shape, "kind": "arrow", "size": 40})


# --- the little sketches, each _GLYPH pixels high ---


def _bells(
    sketch: Sketch, results: Results, condition: str, left: float, top: float, width: float
) -> None:
    for row in range(3):
        for column in range(3):
            centre = left + width * (column + 0.5) / 3
            base, reach = top + (row + 1) * _GLYPH / 3 - 2, width / 7.5
            skew = ((row * 3 + column) % 4 - 1.5) / 8
            points = [
                (centre + reach * t, base - 15 * math.exp(-4 * (t - skew) ** 2))
                for t in [step / 8 - 1 for step in range(17)]
            ]
            for (x, y), (x2, y2) in pairwise(points):
                sketch.lines.append({"x": x, "y": y, "x2": x2, "y2": y2})


def _share(
    sketch: Sketch, results: Results, condition: str, left: float, top: float, width: float
) -> None:
    share = float(results.cohort_details(condition).get("share_eligible") or 0.5)
    columns = max(8, int(width // 11))
    _dot_field(sketch, left, top, columns, 5, share)


def _decisions(
    sketch: Sketch, results: Results, condition: str, left: float, top: float, width: float
) -> None:
    share = float(decided_for_share(results.cohort_details(condition)) or 0.5)
    _dot_field(sketch, left, top, max(8, int(width // 11)), 5, share, scattered=True)


def _dot_field(
    sketch: Sketch,
    left: float,
    top: float,
    columns: int,
    rows: int,
    share: float,
    *,
    scattered: bool = False,
) -> None:
    """Fill that share of the dots: the first columns, or here and there."""
    total = columns * rows
    for index in range(total):
        column, row = index // rows, index % rows
        rank = (index * 0.6180339887) % 1 if scattered else (index + 0.5) / total
        kind = "full" if rank < share else "hollow"
        sketch.dots.append(
            {"x": left + 5 + 11 * column, "y": top + 6 + 12 * row, "shape": "circle", "kind": kind}
            | {"size": 34}
        )


def _physicians(
    sketch: Sketch, results: Results, condition: str, left: float, top: float, width: float
) -> None:
    rows = results.of(condition, [ORACLE]).sort("d_star", "physician")
    values = rows["d_star"].fill_null(0.0).to_list()
    sketch.lines.append({"x": left, "y": top + _GLYPH, "x2": left + width, "y2": top + _GLYPH})
    for position, value in enumerate(values):
        x = left + width * (position + 0.5) / len(values)
        y = top + _GLYPH - 4 - (_GLYPH - 10) * min(value / 0.5, 1)
        sketch.lines.append({"x": x, "y": top + _GLYPH, "x2": x, "y2": y})
        sketch.dots.append({"x": x, "y": y, "shape": "circle", "kind": "full", "size": 22})


def _pairs(
    sketch: Sketch, results: Results, condition: str, left: float, top: float, width: float
) -> None:
    for position, (first, second) in enumerate(
        [("full", "full"), ("full", "hollow"), ("hollow", "hollow"), ("full", "hollow")]
    ):
        x = left + width * (position + 0.5) / 4
        sketch.lines.append({"x": x, "y": top + 16, "x2": x, "y2": top + _GLYPH - 12})
        for kind, y in ((first, top + 10), (second, top + _GLYPH - 6)):
            sketch.dots.append({"x": x, "y": y, "shape": "circle", "kind": kind, "size": 90})
        if first != second:
            sketch.words.append({"x": x + 7, "y": top + _GLYPH / 2 + 2, "text": "≠", "kind": "b"})


_GLYPHS = {
    "bells": _bells,
    "share": _share,
    "physicians": _physicians,
    "decisions": _decisions,
    "pairs": _pairs,
}


def _chart(sketch: Sketch, canvas: Canvas, height: float) -> Chart:
    width = canvas.width - 16
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, width], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[height, 0], nice=False))
    ink, ground, accent = canvas.ink("ink"), canvas.ink("ground"), canvas.ink("accent")
    boxes = (
        alt.Chart(canvas.rows(sketch.boxes))
        .mark_rect(cornerRadius=6, fill="transparent", stroke=canvas.ink("line"))
        .encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
    )
    lines = (
        alt.Chart(canvas.rows(sketch.lines))
        .mark_rule(color=canvas.ink("soft"), strokeWidth=1)
        .encode(x=x, y=y, x2="x2:Q", y2="y2:Q")
    )
    kinds = ["full", "hollow", "arrow"]
    dots = (
        alt.Chart(canvas.rows(sketch.dots))
        .mark_point(filled=True, opacity=1, stroke=accent, strokeWidth=1)
        .encode(
            x=x,
            y=y,
            shape=alt.Shape("shape:N", scale=None),
            size=alt.Size("size:Q", scale=None),
            fill=alt.Fill(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=[accent, ground, canvas.ink("soft")]),
                legend=None,
            ),
            stroke=alt.Stroke(
                "kind:N",
                scale=alt.Scale(domain=kinds, range=[accent, accent, canvas.ink("soft")]),
                legend=None,
            ),
        )
    )
    styles: tuple[tuple[str, int, Any, str], ...] = (
        ("b", 13, 600, ink),
        ("p", 11, 400, canvas.ink("soft")),
    )
    words = [
        alt.Chart(canvas.rows([row for row in sketch.words if row["kind"] == kind]))
        .mark_text(align="left", baseline="middle", fontSize=size, fontWeight=weight, color=colour)
        .encode(x=x, y=y, text="text:N")
        for kind, size, weight, colour in styles
    ]
    return alt.layer(boxes, lines, dots, *words).properties(width=width, height=height)
