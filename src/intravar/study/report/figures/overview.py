"""How a cohort is made and what the methods are given of it, from what was stored."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from markupsafe import Markup

from intravar.documents.charts import Drawing, label_lines
from intravar.study.benchmark.units import ORACLE
from intravar.study.report.figures.marks import (
    NARROW,
    Rows,
    panels,
)
from intravar.study.results import Study

#: Pixels: height of the little sketches, between cards, from line to line.
_GLYPH, _GAP, _LINE = 62, 26, 15

Point = tuple[float, float]


def overview(results: Study, width: int, rows: Rows, _: str) -> Drawing:
    """Plot the five steps from patients to scores."""
    narrow = width == NARROW
    columns = 1 if narrow else len(rows)
    wide = width // columns - _GAP
    texts = [label_lines(row["text"], wide - 20) for row in rows]
    cards = []
    sketches = _sketches(results, wide - 24)
    for number, (row, lines, sketch) in enumerate(zip(rows, texts, sketches, strict=True), 1):
        height = _GLYPH + 52 + _LINE * (len(lines) if narrow else max(map(len, texts)))
        card = Drawing(width // columns, height + (_GAP if narrow else 2))
        card.box((1, 1), (wide, height), row["heading"], "drawn-card")
        inner = Markup("").join(sketch.parts)
        card.add('<g transform="translate(13 13)">{}</g>', inner)
        card.write(f"{number}  {row['heading']}", (13, _GLYPH + 33), "panel-title", "start")
        for line, text in enumerate(lines):
            card.write(text, (13, _GLYPH + 53 + _LINE * line), "tick", "start")
        if number < len(rows):
            beside = (wide + _GAP / 2, height / 2)
            place = (wide / 2, height + _GAP / 2) if narrow else beside
            card.write("↓" if narrow else "→", place, "panel-title")
        cards.append(card)
    return panels(cards, columns)


def _condition(results: Study) -> str:
    return "score2" if results.has("score2") else results.conditions[0]


def steps(results: Study, _: str) -> Rows:
    """Return heading and text of every step, with the numbers of a condition."""
    rows = results.of(_condition(results), [ORACLE])
    cohort = results.method_details(_condition(results), "cohort")
    eligible, decided_for = (cohort.get(f"share_{what}") for what in ("eligible", "decided_for"))
    levels = sorted(rows["d_star"].drop_nulls().to_list())
    spread = f"D* from {levels[0]:.2f} to {levels[-1]:.2f}" if levels else "each with their own D*"
    who = f": {100 * eligible:.0f} % are." if eligible is not None else "."
    share = f"; {100 * decided_for:.0f} % decided for." if decided_for is not None else "."
    patients = f"{rows['n_patients'].sum():,} simulated patients, each with clinical covariates."
    scores = "The oracle knows who is eligible. Methods do not: most pair patients who look alike."
    texts = {
        "Patients": patients,
        "Rule": f"A rule on the covariates says who is eligible{who}",
        "Physicians": f"{rows.height:,} physicians, from steady to coin-flip: {spread}.",
        "Decisions": f"A biased coin decides each case{share}",
        "Scores": scores,
    }
    return [{"heading": heading, "text": text} for heading, text in texts.items()]


def steps_in_words(rows: Rows) -> str:
    """Return the steps of the overview."""
    steps = enumerate(rows, 1)
    return " ".join(f"{number}. {row['heading']}: {row['text']}" for number, row in steps)


def _sketch(
    lines: Iterable[list[Point]], dots: Iterable[tuple[float, float, float, bool]] = ()
) -> Drawing:
    """Draw lines, and dots with their radius that are full or not."""
    drawing = Drawing()
    for line in lines:
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
        drawing.add('<polyline class="sketch" points="{text}"/>', text=text)
    for x, y, radius, full in dots:
        kind = "point" if full else "hollow"
        drawing.mark((round(x, 1), round(y, 1)), "", kind, radius=radius, colour="accent")
    return drawing


def _sketches(results: Study, width: float) -> Iterator[Drawing]:
    """Yield the sketches of the five steps, each _GLYPH pixels high."""
    bells = []
    for number in range(9):
        row, column = divmod(number, 3)
        centre, base = width * (column + 0.5) / 3, (row + 1) * _GLYPH / 3 - 2
        across, skew = [step / 8 - 1 for step in range(17)], (number % 4 - 1.5) / 8
        bell = [(t, 15 * math.exp(-4 * (t - skew) ** 2)) for t in across]
        bells.append([(centre + width / 7.5 * t, base - y) for t, y in bell])
    yield _sketch(bells)
    condition = _condition(results)
    cohort = results.method_details(condition, "cohort")
    columns = max(8, int(width // 11))
    places = [(5 + 11 * column, 6 + 12 * row) for column in range(columns) for row in range(5)]
    # That share of the dots is full: the first columns, or here and there.
    share = float(cohort.get("share_eligible") or 0.5)
    yield _sketch([], [(x, y, 3.2, at < share * len(places)) for at, (x, y) in enumerate(places)])
    levels = results.of(condition, [ORACLE]).sort("d_star", "physician")["d_star"].fill_null(0.0)
    tops = [_GLYPH - 4 - (_GLYPH - 10) * min(level / 0.5, 1) for level in levels]
    pins = [(width * (at + 0.5) / len(tops), y) for at, y in enumerate(tops)]
    stems: list[list[Point]] = [[(x, _GLYPH), (x, y)] for x, y in pins]
    yield _sketch([[(0, _GLYPH), (width, _GLYPH)], *stems], [(x, y, 2.6, True) for x, y in pins])
    share = float(cohort.get("share_decided_for") or 0.5)
    full = [(index * 0.6180339887) % 1 < share for index in range(len(places))]
    yield _sketch([], [(x, y, 3.2, f) for (x, y), f in zip(places, full, strict=True)])
    pairs = {0.5: (True, True), 1.5: (True, False), 2.5: (False, False), 3.5: (True, False)}
    dots = [
        (width * at / 4, y, 5.0, full)
        for at, pair in pairs.items()
        for y, full in zip((10, _GLYPH - 6), pair, strict=True)
    ]
    last = _sketch([[(width * at / 4, 16), (width * at / 4, _GLYPH - 12)] for at in pairs], dots)
    for at, (one, other) in pairs.items():
        if one != other:
            last.write("≠", (width * at / 4 + 6, _GLYPH / 2), "panel-title", "start")
    yield last
