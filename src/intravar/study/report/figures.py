"""Every figure of the report, for the page and for paper; figures.toml declares them.

What makes a chart is given the study and what the figure is of, a condition or a table; it returns
none where the study has nothing to show.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from intravar.documents.charts import Drawing, Plot, label_lines
from intravar.study.grids import number_text
from intravar.study.report import marks
from intravar.study.report.marks import Chart, continuum, group_panels, panels
from intravar.study.results import Study
from intravar.study.simulation.conditions import conditions_of
from intravar.study.tables import HEADINGS
from intravar.study.units import ORACLE
from intravar.wording import declared_in

#: The declared figures in their order.
FIGURES: dict[str, dict[str, Any]] = declared_in(__package__, "figures")
_DELTA = "Mean delta (score minus oracle)"
#: What is across in figures by column, by table.
_ACROSS = {"window_size": "Rule", "passes": "Pass", "grid": "Patients (thousands)"}
#: What a mark says after the value there, where it is known.
_HINTS = {"low": "95 % {low} to {high}", "published": "paper {published}"}
_HINTS |= {"several": "{several} draws"}
#: Steps of this share of a turn fall evenly: a figure plotted twice is the same figure.
_GOLDEN = 0.6180339887
_GLMM = "glmm"
#: Pixels of the overview: height of the little sketches, between cards, from line to line.
_GLYPH, _GAP, _LINE = 62, 26, 15
Point = tuple[float, float]


@dataclass(frozen=True)
class Figure:
    """A figure of a report; its name is that of its file and its anchor in the page.

    `alternative` says in words what it shows.
    """

    name: str
    title: str
    reading: str
    chart: Chart
    alternative: str
    tables: tuple[str, ...] = ()
    condition: str | None = None
    first_draw: bool = False

    def svg(self, width: int) -> Markup:
        """Return the figure for a width, with what it shows in words."""
        drawing = self.chart.draw(width)
        drawing.width = width
        return drawing.svg(self.title, self.alternative)


def figures_of(results: Study) -> list[Figure]:
    """Return the figures for which a study has results."""
    figures = []
    first = FIGURES["score2-panels"]  # the panels of other conditions are read alike
    for name, own in FIGURES.items():
        declared = {"reading": first["reading"], "words": first["words"], "tables": (), **own}
        of = declared.get("condition") or "".join(declared["tables"][:1])
        if chart := _CHARTS[declared.pop("chart")](results, of):
            words = f"{declared.pop('words')}: {chart.words}"
            figures.append(Figure(name, chart=chart, alternative=words, **declared))
    return figures


# --- deltas across conditions, and by the columns of a table: window size, pass, cohort size ---


def _cross_deltas(results: Study, _: str) -> Chart | None:
    """Plot how the mean delta of every method is spread over SCORE2 and the window rules."""
    cells = results.cells("condition_deltas", ["mean_delta"], results.rate_methods, value="first")
    cells = cells.filter(pl.col("condition").is_in(results.main_conditions))
    rows = cells.to_dicts() if cells["condition"].n_unique() > 1 else []
    methods = marks.present(results.rate_methods, rows)

    def draw(width: int) -> Plot:
        ends = marks.extent([row["value"] for row in rows], 0.0)
        plot = marks.labelled_rows(
            [*map(results.label, methods)], ends, width, _DELTA, signs=True, row=32
        )
        for number, method in enumerate(methods, 1):
            own = [row for row in rows if row["method"] == method]
            for turn, row in enumerate(own):
                value = number_text(row["value"], signed=True)
                row["hint"] = f"{row['condition']}, {row['label']}: {value}"
                at = number - 0.28 + 0.56 * (turn * _GOLDEN % 1)
                marks.mark_row(plot, results, row, at, ends=False, radius=2.4)
            low, middle, high = np.quantile([row["value"] for row in own], [0.25, 0.5, 0.75])
            plot.bar((low, high), (number + 0.36, number - 0.36), "middle half", "outline")
            marks.short_tick(plot, float(middle), number, 0.42)
        return plot

    return marks.chart_of(rows, draw)


def _by_column(results: Study, table: str) -> Chart | None:
    """Plot the mean delta of every method with its interval, column by column."""
    numbers = ("value", "low", "high", "published")
    rows = results.cells(table, HEADINGS, results.rate_methods).to_dicts()
    for row in rows:
        row["where"] = row["place"] = HEADINGS[row["column"]]
        row |= {"panel": "", "several": row["draws"] if row["draws"] > 1 else None}
        if table == "grid":
            sizes = conditions_of("grid")[row["condition"]]
            n, k = sizes.n_patients, sizes.n_physicians
            row |= {"where": f"{n:,} patients of {k}", "place": f"{n / 1000:g}"}
            row["panel"] = f"{k} physicians"
        row["hint"] = marks.hint("{label}, {where}: {value}", row, _HINTS, *numbers)
    methods = marks.present(results.rate_methods, rows)

    def draw(width: int) -> Drawing:
        ends = marks.extent([row[name] for row in rows for name in numbers], 0.0)
        parts = {panel: list(own) for panel, own in groupby(rows, key=lambda row: row["panel"])}
        columns = min(len(parts), 2 if width == marks.NARROW else 5)
        step = 0.76 / len(methods)
        plots = []
        for own in parts.values():
            places = list(dict.fromkeys(row["place"] for row in own))
            plot = Plot(width // columns, 280, x=(0.5, len(places) + 0.5), y=ends)
            ticks = list(enumerate(places, 1)), marks.signed_ticks(*ends)
            name = _DELTA if columns == 1 else ""
            plot.axes(_ACROSS[table], name, x_ticks=ticks[0], y_ticks=ticks[1])
            plot.line([(plot.x[0], 0), (plot.x[1], 0)], "limit", "ink")
            look: dict[str, Any] = {"upright": True, "dash": step / 2, "radius": 4 - columns / 4}
            for number, method in enumerate(methods):
                beside = 1 + step * (number - (len(methods) - 1) / 2)
                at = [(places.index(r["place"]) + beside, r) for r in own if r["method"] == method]
                if table == "grid":
                    line = [(place, row["value"]) for place, row in at]
                    plot.line(line, "line", marks.colour_of(results, method))
                for place, row in at:
                    marks.mark_row(plot, results, row, place, **look)
            plots.append(plot)
        whole = panels(plots, columns, list(parts) if len(parts) > 1 else [])
        return marks.with_methods(whole, results, methods)

    return marks.chart_of(rows, draw)


def _recovery(results: Study, _: str) -> Chart | None:
    """Plot the rank correlation with D* of every method under every departure."""
    cells = results.cells("recovery_spearman", ["spearman_d_star"], [ORACLE, *results.methods])
    where = pl.col("condition").str.replace("^stress-", "").alias("where")
    rows = cells.with_columns(where).to_dicts() if results.methods else []
    conditions = list(dict.fromkeys(row["where"] for row in rows))

    def draw(width: int) -> Drawing:
        ends = min([0.0, *(row["value"] for row in rows)]), 1.0
        axis = "Rank correlation with the true discordance"
        plot = marks.labelled_rows(conditions, ends, width, axis)
        for row in rows:
            at, value = conditions.index(row["where"]) + 1, number_text(row["value"])
            if row["method"] == ORACLE:
                marks.short_tick(plot, row["value"], at)
            else:
                row["hint"] = f"{row['where']}, {row['label']}: {value}; {row['draws']} draws"
                marks.mark_row(plot, results, row, at, ends=False)
        return marks.with_methods(plot, results, marks.present(results.methods, rows))

    return marks.chart_of(rows, draw)


# --- how well the mixed model fits ---


def _residuals(results: Study, _: str) -> Chart | None:
    """Plot the distribution of the Pearson residuals on SCORE2."""
    stored = results.method_details("score2", _GLMM).get("residuals")
    if not stored or not stored["counts"]:
        return None
    edges, counts = stored["edges"], stored["counts"]
    bins = list(zip(edges[:-1], edges[1:], counts, strict=True))
    near = sum(count for low, high, count in bins if low >= -2 and high <= 2)
    share = f"{100 * near / max(sum(counts), 1):.1f} %"

    def draw(width: int) -> Plot:
        plot = Plot(min(width, 720), 280, x=(edges[0], edges[-1]), y=(0, max(counts) or 1))
        plot.axes("Pearson residual (standard deviations)", "Patients")
        for low, high, count in bins:
            hint = f"{low:.2f} to {high:.2f}: {count:,} patients"
            plot.bar((low, high), (0, count), hint, "fill", marks.colour_of(results, _GLMM))
        return plot

    return Chart(draw, f"{sum(counts):,} patients; {share} lie between -2 and 2.")


def _calibration(results: Study, _: str) -> Chart | None:
    """Plot observed against fitted probabilities, with the patients of every bin below."""
    bins = results.method_details("score2", _GLMM).get("calibration")
    if not bins:
        return None
    colour = marks.colour_of(results, _GLMM)
    worst = max(bins, key=lambda row: abs(row["observed"] - row["fitted"]))
    gap = number_text(worst["observed"] - worst["fitted"], signed=True)

    def draw(width: int) -> Drawing:
        side = min(width, 540)
        curve = Plot(side, round(side * 0.75))
        curve.axes("Fitted probability of deciding for", "Observed share decided for")
        curve.line([(0, 0), (1, 1)], "limit", "soft")
        curve.line([(row["fitted"], row["observed"]) for row in bins], "line", colour)
        counts = Plot(side, 120, y=(0, max(row["n_patients"] for row in bins)))
        counts.axes("Fitted probability of deciding for", "Patients")
        for row in bins:
            text = "fitted {fitted:.3f}, observed {observed:.3f}, {n_patients:,} patients"
            at, text = row["fitted"], text.format(**row)
            curve.point((at, row["observed"]), text, colour=colour)
            counts.bar((at - 0.035, at + 0.035), (0, row["n_patients"]), text, "fill", colour)
        return panels([curve, counts], 1)

    where = "a fitted probability of {fitted:.2f} with {n_patients:,} patients".format(**worst)
    return Chart(draw, f"{len(bins)} bins; the largest gap is {gap}, at {where}.")


# --- how a cohort is made and what the methods are given of it ---


def _overview(results: Study, _: str) -> Chart:
    """Plot the five steps from patients to scores, with the numbers of the first condition."""
    condition = results.conditions[0]
    physicians = results.of(condition, [ORACLE]).sort("d_star", "physician")
    cohort = results.method_details(condition, "cohort")
    eligible, decided_for = (cohort.get(f"share_{what}") for what in ("eligible", "decided_for"))
    levels = physicians["d_star"].drop_nulls().to_list()
    spread = f"D* from {levels[0]:.2f} to {levels[-1]:.2f}" if levels else "each with their own D*"
    who = f": {100 * eligible:.0f} % are." if eligible is not None else "."
    share = f"; {100 * decided_for:.0f} % decided for." if decided_for is not None else "."
    n_patients = f"{physicians['n_patients'].sum():,}"
    steps = {
        "Patients": f"{n_patients} simulated patients, each with clinical covariates.",
        "Rule": f"A rule on the covariates says who is eligible{who}",
        "Physicians": f"{physicians.height:,} physicians, from steady to coin-flip: {spread}.",
        "Decisions": f"A biased coin decides each case{share}",
        "Scores": "The oracle knows who is eligible. Methods do not: most pair patients who look "
        "alike.",
    }

    def draw(width: int) -> Drawing:
        narrow = width == marks.NARROW
        columns = 1 if narrow else len(steps)
        wide = width // columns - _GAP
        texts = [label_lines(text, wide - 20) for text in steps.values()]
        pins = physicians["d_star"].fill_null(0.0).to_list()
        sketches = _sketches(wide - 24, eligible or 0.5, decided_for or 0.5, pins)
        cards: list[Drawing] = []
        for heading, lines, sketch in zip(steps, texts, sketches, strict=True):
            number = len(cards) + 1
            height = _GLYPH + 52 + _LINE * (len(lines) if narrow else max(map(len, texts)))
            card = Drawing(width // columns, height + (_GAP if narrow else 2))
            card.box((1, 1), (wide, height), heading, "drawn-card")
            card.add('<g transform="translate(13 13)">{}</g>', Markup("").join(sketch.parts))
            card.write(f"{number}  {heading}", (13, _GLYPH + 33), "panel-title", "start")
            for line, text in enumerate(lines):
                card.write(text, (13, _GLYPH + 53 + _LINE * line), "tick", "start")
            if number < len(steps):
                beside = (wide + _GAP / 2, height / 2)
                place = (wide / 2, height + _GAP / 2) if narrow else beside
                card.write("↓" if narrow else "→", place, "panel-title")
            cards.append(card)
        return panels(cards, columns)

    listed = (f"{number}. {name}: {text}" for number, (name, text) in enumerate(steps.items(), 1))
    return Chart(draw, " ".join(listed))


def _sketch(
    lines: Iterable[list[Point]], dots: Iterable[tuple[float, float, float, bool]] = ()
) -> Drawing:
    """Draw lines, and dots with their radius that are full or not."""
    drawing = Drawing()
    for line in lines:
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
        drawing.add('<polyline class="sketch" points="{}"/>', text)
    for x, y, radius, full in dots:
        kind = "point" if full else "hollow"
        drawing.mark((round(x, 1), round(y, 1)), "", kind, radius=radius, colour="accent")
    return drawing


def _sketches(
    width: float, eligible: float, decided_for: float, levels: list[float]
) -> Iterator[Drawing]:
    """Yield the sketches of the five steps, each _GLYPH pixels high."""
    bells = []
    for number in range(9):
        row, column = divmod(number, 3)
        centre, base = width * (column + 0.5) / 3, (row + 1) * _GLYPH / 3 - 2
        across, skew = [step / 8 - 1 for step in range(17)], (number % 4 - 1.5) / 8
        bell = [(t, 15 * math.exp(-4 * (t - skew) ** 2)) for t in across]
        bells.append([(centre + width / 7.5 * t, base - y) for t, y in bell])
    yield _sketch(bells)
    columns = max(8, int(width // 11))
    places = [(5 + 11 * column, 6 + 12 * row) for column in range(columns) for row in range(5)]
    # That share of the dots is full: the first columns, or here and there.
    limit = eligible * len(places)
    yield _sketch([], [(x, y, 3.2, at < limit) for at, (x, y) in enumerate(places)])
    tops = [_GLYPH - 4 - (_GLYPH - 10) * min(level / 0.5, 1) for level in levels]
    pins = [(width * (at + 0.5) / len(tops), y) for at, y in enumerate(tops)]
    stems: list[list[Point]] = [[(x, _GLYPH), (x, y)] for x, y in pins]
    yield _sketch([[(0, _GLYPH), (width, _GLYPH)], *stems], [(x, y, 2.6, True) for x, y in pins])
    some = [(x, y, 3.2, at * _GOLDEN % 1 < decided_for) for at, (x, y) in enumerate(places)]
    yield _sketch([], some)
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


_MAKERS = (_overview, group_panels, continuum, _cross_deltas, _by_column, _recovery)
_CHARTS = {each.__name__.strip("_"): each for each in (*_MAKERS, _residuals, _calibration)}
