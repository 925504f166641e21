"""How a cohort is made and what the methods are given of it, from what was stored."""

from __future__ import annotations

import math
from dataclasses import dataclass

from intravar.documents.charts import Drawing, label_lines
from intravar.study.benchmark.units import ORACLE
from intravar.study.report.figures.marks import NARROW
from intravar.study.report.stored_results import Results

#: Pixels: height of the little sketches, between cards, from line to line.
_GLYPH, _GAP, _LINE = 62, 26, 15


@dataclass(frozen=True)
class Card:
    """One step: its heading, its text and the little sketch above."""

    heading: str
    text: str
    glyph: str


@dataclass(frozen=True)
class Place:
    """Where a sketch stands."""

    left: float
    top: float
    width: float


def overview(results: Results, width: int) -> Drawing:
    """Plot the five steps from patients to scores."""
    condition = "score2" if results.has("score2") else results.conditions[0]
    cards = overview_cards(results, condition)
    narrow = width == NARROW
    columns = 1 if narrow else len(cards)
    wide = (width - 2 - _GAP * (columns - 1)) / columns
    wrapped = [label_lines(card.text, wide - 20) for card in cards]
    tallest = max(len(lines) for lines in wrapped)
    drawing, top = Drawing(width, 0), 1.0
    for position, (card, lines) in enumerate(zip(cards, wrapped, strict=True)):
        left = 1 + (position % columns) * (wide + _GAP)
        height = _GLYPH + 52 + _LINE * (len(lines) if narrow else tallest)
        drawing.box((left, top), (wide, height), card.heading, "drawn-card")
        _GLYPHS[card.glyph](drawing, results, condition, Place(left + 12, top + 12, wide - 24))
        _card_words(drawing, f"{position + 1}  {card.heading}", lines, left + 12, top)
        if position + 1 < len(cards):
            _arrow(drawing, left, top, wide, height, downwards=narrow)
        drawing.height = round(top + height + 1)
        top += height + _GAP if narrow else 0
    return drawing


def overview_cards(results: Results, condition: str) -> list[Card]:
    """Return the steps in words, with the numbers of a condition."""
    rows = results.of(condition, [ORACLE])
    patients, physicians = rows["n_patients"].sum(), rows.height
    cohort = results.cohort_details(condition)
    eligible, decided_for = (cohort.get(f"share_{what}") for what in ("eligible", "decided_for"))
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


def _card_words(drawing: Drawing, heading: str, lines: list[str], left: float, top: float) -> None:
    y = top + _GLYPH + 32
    drawing.write(heading, (left, y), "panel-title", "start")
    for position, line in enumerate(lines):
        drawing.write(line, (left, y + 20 + _LINE * position), "tick", "start")


def _line(drawing: Drawing, *points: tuple[float, float]) -> None:
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    drawing.add('<polyline class="sketch" points="{text}"/>', text=text)


def _dot(drawing: Drawing, x: float, y: float, radius: float, *, full: bool) -> None:
    kind = "point" if full else "hollow"
    drawing.mark((round(x, 1), round(y, 1)), "", kind, radius=radius, colour="accent")


def _arrow(
    drawing: Drawing, left: float, top: float, width: float, height: float, *, downwards: bool
) -> None:
    if downwards:
        begin = (left + width / 2, top + height + 4)
        end = (begin[0], top + height + _GAP - 5)
    else:
        begin = (left + width + 4, top + height / 2)
        end = (left + width + _GAP - 5, begin[1])
    _line(drawing, begin, end)
    shape = "triangle-down" if downwards else "triangle-right"
    drawing.mark(end, "", radius=3.5, colour="soft", shape=shape)


def overview_in_words(results: Results) -> str:
    """Return the steps of the overview."""
    condition = "score2" if results.has("score2") else results.conditions[0]
    cards = overview_cards(results, condition)
    return "Diagram of five steps. " + " ".join(
        f"{number}. {card.heading}: {card.text}" for number, card in enumerate(cards, 1)
    )


# --- the little sketches, each _GLYPH pixels high ---


def _bells(drawing: Drawing, results: Results, condition: str, at: Place) -> None:
    for number in range(9):
        row, column = divmod(number, 3)
        centre = at.left + at.width * (column + 0.5) / 3
        base, reach = at.top + (row + 1) * _GLYPH / 3 - 2, at.width / 7.5
        skew = (number % 4 - 1.5) / 8
        steps = [step / 8 - 1 for step in range(17)]
        _line(
            drawing,
            *((centre + reach * t, base - 15 * math.exp(-4 * (t - skew) ** 2)) for t in steps),
        )


def _eligible(drawing: Drawing, results: Results, condition: str, at: Place) -> None:
    share = float(results.cohort_details(condition).get("share_eligible") or 0.5)
    _dot_field(drawing, at, share, scattered=False)


def _decisions(drawing: Drawing, results: Results, condition: str, at: Place) -> None:
    share = float(results.cohort_details(condition).get("share_decided_for") or 0.5)
    _dot_field(drawing, at, share, scattered=True)


def _dot_field(drawing: Drawing, at: Place, share: float, *, scattered: bool) -> None:
    """Fill that share of the dots: the first columns, or here and there."""
    columns, rows = max(8, int(at.width // 11)), 5
    for index in range(columns * rows):
        column, row = divmod(index, rows)
        rank = (index * 0.6180339887) % 1 if scattered else (index + 0.5) / (columns * rows)
        _dot(drawing, at.left + 5 + 11 * column, at.top + 6 + 12 * row, 3.2, full=rank < share)


def _physicians(drawing: Drawing, results: Results, condition: str, at: Place) -> None:
    rows = results.of(condition, [ORACLE]).sort("d_star", "physician")
    values = rows["d_star"].fill_null(0.0).to_list()
    ground = at.top + _GLYPH
    _line(drawing, (at.left, ground), (at.left + at.width, ground))
    for position, value in enumerate(values):
        x = at.left + at.width * (position + 0.5) / len(values)
        y = ground - 4 - (_GLYPH - 10) * min(value / 0.5, 1)
        _line(drawing, (x, ground), (x, y))
        _dot(drawing, x, y, 2.6, full=True)


def _pairs(drawing: Drawing, results: Results, condition: str, at: Place) -> None:
    pairs = ((True, True), (True, False), (False, False), (True, False))
    for position, (first, second) in enumerate(pairs):
        x = at.left + at.width * (position + 0.5) / 4
        _line(drawing, (x, at.top + 16), (x, at.top + _GLYPH - 12))
        _dot(drawing, x, at.top + 10, 5, full=first)
        _dot(drawing, x, at.top + _GLYPH - 6, 5, full=second)
        if first != second:
            drawing.write("≠", (x + 6, at.top + _GLYPH / 2), "panel-title", "start")


_GLYPHS = {
    "bells": _bells,
    "share": _eligible,
    "physicians": _physicians,
    "decisions": _decisions,
    "pairs": _pairs,
}
