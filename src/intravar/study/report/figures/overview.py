"""How a cohort is made and what the methods are given of it, from what was stored."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from markupsafe import Markup

from intravar.documents.charts import Drawing, label_lines
from intravar.study.benchmark.units import ORACLE
from intravar.study.report.figures.marks import NARROW
from intravar.study.results import Study

#: Pixels: height of the little sketches, between cards, from line to line.
_GLYPH, _GAP, _LINE = 62, 26, 15

Point = tuple[float, float]


def overview(results: Study, width: int) -> Drawing:
    """Plot the five steps from patients to scores."""
    cards = overview_cards(results)
    narrow = width == NARROW
    columns = 1 if narrow else len(cards)
    wide = (width - 2 - _GAP * (columns - 1)) / columns
    wrapped = [label_lines(text, wide - 20) for _, text in cards]
    tallest = max(len(lines) for lines in wrapped)
    drawing, top = Drawing(width, 0), 1.0
    sketches = _sketches(results, wide - 24)
    for position, ((heading, _), lines) in enumerate(zip(cards, wrapped, strict=True)):
        left = 1 + (position % columns) * (wide + _GAP)
        height = _GLYPH + 52 + _LINE * (len(lines) if narrow else tallest)
        drawing.box((left, top), (wide, height), heading, "drawn-card")
        inner = Markup("").join(next(sketches).parts)
        place = round(left + 12, 1), round(top + 12, 1)
        drawing.add('<g transform="translate({} {})">{}</g>', *place, inner)
        y = top + _GLYPH + 32
        drawing.write(f"{position + 1}  {heading}", (left + 12, y), "panel-title", "start")
        for number, line in enumerate(lines):
            drawing.write(line, (left + 12, y + 20 + _LINE * number), "tick", "start")
        if position + 1 < len(cards):
            _arrow(drawing, left, top, wide, height, downwards=narrow)
        drawing.height = round(top + height + 1)
        top += height + _GAP if narrow else 0
    return drawing


def _condition(results: Study) -> str:
    return "score2" if results.has("score2") else results.conditions[0]


def overview_cards(results: Study) -> list[tuple[str, str]]:
    """Return heading and text of every step, with the numbers of a condition."""
    rows = results.of(_condition(results), [ORACLE])
    cohort = results.method_details(_condition(results), "cohort")
    eligible, decided_for = (cohort.get(f"share_{what}") for what in ("eligible", "decided_for"))
    levels = sorted(rows["d_star"].drop_nulls().to_list())
    spread = f"D* from {levels[0]:.2f} to {levels[-1]:.2f}" if levels else "each with their own D*"
    who = f": {100 * eligible:.0f} % are." if eligible is not None else "."
    share = f"; {100 * decided_for:.0f} % decided for." if decided_for is not None else "."
    return [
        (
            "Patients",
            f"{rows['n_patients'].sum():,} simulated patients, each with clinical covariates.",
        ),
        ("Rule", f"A rule on the covariates says who is eligible{who}"),
        ("Physicians", f"{rows.height:,} physicians, from steady to coin-flip: {spread}."),
        ("Decisions", f"A biased coin decides each case{share}"),
        (
            "Scores",
            "The oracle knows who is eligible. Methods do not: most pair patients who look alike.",
        ),
    ]


def overview_in_words(results: Study) -> str:
    """Return the steps of the overview."""
    return "Diagram of five steps. " + " ".join(
        f"{number}. {heading}: {text}"
        for number, (heading, text) in enumerate(overview_cards(results), 1)
    )


def _line(drawing: Drawing, points: list[Point]) -> None:
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    drawing.add('<polyline class="sketch" points="{text}"/>', text=text)


def _sketch(
    lines: Iterable[list[Point]],
    dots: Iterable[tuple[float, float, float, bool]] = (),
    words: Iterable[Point] = (),
) -> Drawing:
    """Draw lines, dots with their radius that are full or not, and signs that two differ."""
    drawing = Drawing()
    for line in lines:
        _line(drawing, line)
    for x, y, radius, full in dots:
        kind = "point" if full else "hollow"
        drawing.mark((round(x, 1), round(y, 1)), "", kind, radius=radius, colour="accent")
    for place in words:
        drawing.write("≠", place, "panel-title", "start")
    return drawing


def _arrow(
    drawing: Drawing, left: float, top: float, width: float, height: float, *, downwards: bool
) -> None:
    if downwards:
        begin = (left + width / 2, top + height + 4)
        end = (begin[0], top + height + _GAP - 5)
    else:
        begin = (left + width + 4, top + height / 2)
        end = (left + width + _GAP - 5, begin[1])
    _line(drawing, [begin, end])
    shape = "triangle-down" if downwards else "triangle-right"
    drawing.mark(end, "", radius=3.5, colour="soft", shape=shape)


def _sketches(results: Study, width: float) -> Iterator[Drawing]:
    """Yield the sketches of the five steps, each _GLYPH pixels high."""
    bells = []
    for number in range(9):
        row, column = divmod(number, 3)
        centre, base = width * (column + 0.5) / 3, (row + 1) * _GLYPH / 3 - 2
        steps, skew = [step / 8 - 1 for step in range(17)], (number % 4 - 1.5) / 8
        bell = [(t, 15 * math.exp(-4 * (t - skew) ** 2)) for t in steps]
        bells.append([(centre + width / 7.5 * t, base - y) for t, y in bell])
    yield _sketch(bells)
    condition = _condition(results)
    cohort = results.method_details(condition, "cohort")
    columns = max(8, int(width // 11))
    places = [(5 + 11 * column, 6 + 12 * row) for column in range(columns) for row in range(5)]
    # That share of the dots is full: the first columns, or here and there.
    share = float(cohort.get("share_eligible") or 0.5)
    full = [(index + 0.5) / len(places) < share for index in range(len(places))]
    yield _sketch([], [(x, y, 3.2, f) for (x, y), f in zip(places, full, strict=True)])
    levels = results.of(condition, [ORACLE]).sort("d_star", "physician")["d_star"].fill_null(0.0)
    tops = [_GLYPH - 4 - (_GLYPH - 10) * min(level / 0.5, 1) for level in levels]
    pins = [(width * (at + 0.5) / len(tops), y) for at, y in enumerate(tops)]
    ground: list[list[Point]] = [[(0, _GLYPH), (width, _GLYPH)]]
    stems: list[list[Point]] = [[(x, _GLYPH), (x, y)] for x, y in pins]
    yield _sketch(ground + stems, [(x, y, 2.6, True) for x, y in pins])
    share = float(cohort.get("share_decided_for") or 0.5)
    full = [(index * 0.6180339887) % 1 < share for index in range(len(places))]
    yield _sketch([], [(x, y, 3.2, f) for (x, y), f in zip(places, full, strict=True)])
    pairs = ((True, True), (True, False), (False, False), (True, False))
    across = [width * (position + 0.5) / 4 for position in range(4)]
    yield _sketch(
        [[(x, 16), (x, _GLYPH - 12)] for x in across],
        [
            dot
            for x, (a, b) in zip(across, pairs, strict=True)
            for dot in ((x, 10, 5, a), (x, _GLYPH - 6, 5, b))
        ],
        [(x + 6, _GLYPH / 2) for x, (a, b) in zip(across, pairs, strict=True) if a != b],
    )
