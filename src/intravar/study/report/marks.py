"""What figures share (charts, looks, rows of methods, marks, ticks), and figures of physicians.

Those have a mark per physician: the panels of conditions with groups, and the continuum.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from statistics import median
from typing import Any, NamedTuple

import polars as pl
from markupsafe import Markup

from intravar.documents.charts import Drawing, Plot, round_ticks, text_width
from intravar.documents.colours import Look
from intravar.study.grids import column_text, number_text
from intravar.study.results import Study
from intravar.study.tables import correlations_of
from intravar.study.units import ORACLE
from intravar.wording import declared_in

Rows = list[dict[str, Any]]
#: Widths of a figure in pixels: on a desk and on paper, and on a telephone.
WIDE, NARROW = 840, 350
#: Height of a row of a method, and of the title over a panel, in pixels.
ROW, TITLE = 27, 22
#: Values of a method up to which a figure in words lists each.
_MOST_LISTED = 6
_LOOKS = declared_in(__package__, "looks")
_WORDS_OF_GROUPS = {1: "group 1, steady", 5: "5, coin-flip"}
#: Shades of a rank correlation, from the lowest to 1.
_SHADES = 5
#: What a mark says after the score, where it is known.
_HINTS = {
    "low": "95 % {low} to {high}",
    "oracle": "oracle {oracle}",
    "d_star": "D* {d_star}",
    "delta": "delta {delta}",
    "group": "group {group}",
    "n_patients": "{n_patients:,} patients",
    "n_pairs": "{n_pairs:,} pairs",
}


class Chart(NamedTuple):
    """What draws a figure for a width in pixels, and the figure in words."""

    draw: Callable[[int], Drawing]
    words: str


def chart_of(rows: Rows, draw: Callable[[int], Drawing]) -> Chart | None:
    """Return the chart of rows of a table, none where there are no rows.

    In words it lists every method's values; median and range where there are many.
    """
    listed = []
    for label in dict.fromkeys(row["label"] for row in rows):
        own = [row for row in rows if row["label"] == label]
        words = [
            f"{row.get('where', '')} {column_text(row['value'], row['column'])}" for row in own
        ]
        if len(own) > _MOST_LISTED:
            values, column = [row["value"] for row in own], own[0]["column"]
            numbers = median(values), min(values), max(values)
            words = ["{} ({} to {})".format(*(column_text(n, column) for n in numbers))]
        listed.append(f"{label} {', '.join(map(str.strip, words))}")
    return Chart(draw, f"{'; '.join(listed)}.") if rows else None


def colour_of(results: Study, method: str) -> str:
    """Return the name of a method's colour in the page; it holds no text from the data."""
    known = results.methods
    return f"method-{known.index(method) + 1}" if method in known else method


def looks_of_study(results: Study) -> dict[str, Look]:
    """Return the looks of groups and methods under the names that figures use.

    Methods without a look of their own take the spare ones in turn.
    """
    spare, known = cycle(_LOOKS["spare"]), _LOOKS["methods"]
    looks = {f"group-{number}": look for number, look in enumerate(_LOOKS["groups"], 1)}
    for method in (*results.methods, "oracle", "constant"):
        looks[colour_of(results, method)] = known.get(method) or next(spare)
    outlines = _LOOKS["outlines"]
    return {
        name: Look(light, dark, outlines.get(*shape, "circle") if shape else "circle")
        for name, (light, dark, *shape) in looks.items()
    }


def method_look(results: Study, method: str) -> dict[str, str]:
    """Return colour and outline of a method's mark."""
    colour = colour_of(results, method)
    return {"colour": colour, "shape": looks_of_study(results)[colour].shape}


def group_colour(group: int | None) -> str:
    """Return the name of the colour of a group of physicians."""
    return "soft" if group is None else f"group-{(int(group) - 1) % len(_LOOKS['groups']) + 1}"


def panels(drawings: Sequence[Drawing], columns: int, titles: Sequence[str] = ()) -> Drawing:
    """Return one picture of several, so many in a row, each with a title or none with one."""
    whole, top = Drawing(0, 0), 0
    room = TITLE if titles else 0
    for first in range(0, len(drawings), columns):
        left = 0
        row = drawings[first : first + columns]
        for place, drawing in enumerate(row, first):
            if titles:
                whole.write(titles[place], (left + drawing.width / 2, top + 10), "panel-title")
            inner = Markup("").join(drawing.parts)
            whole.add('<g transform="translate({} {})">{}</g>', left, top + room, inner)
            left += drawing.width
        whole.width = max(whole.width, left)
        top += room + max(drawing.height for drawing in row)
    whole.height = top
    return whole


def with_legend(plot: Drawing, looks: Mapping[str, Mapping[str, Any]]) -> Drawing:
    """Return a plot below a legend: what marks look like, by what they stand for."""
    legend, at, down = Drawing(plot.width, 0), 10.0, 12.0
    for words, look in looks.items():
        room = text_width(words) + 34
        if at > 10 and at + room > plot.width:
            at, down = 10.0, down + 18
        legend.mark((at + 8, down), **look)
        legend.write(words, (at + 20, down), "label", "start")
        at += room
    legend.height = round(down) + 14
    return panels([legend, plot], 1) if looks else plot


def with_methods(plot: Drawing, results: Study, methods: Sequence[str]) -> Drawing:
    """Return a plot below a legend of methods."""
    return with_legend(plot, {results.label(m): method_look(results, m) for m in methods})


def with_groups(plot: Drawing, rows: Rows) -> Drawing:
    """Return a plot below a legend of the groups that physicians in these rows have."""
    groups = sorted({int(row["group"]) for row in rows if row["group"] is not None})
    colours = {_WORDS_OF_GROUPS.get(g, str(g)): {"colour": group_colour(g)} for g in groups}
    return with_legend(plot, colours)


def signed_ticks(low: float, high: float, most: int = 6) -> list[tuple[float, str]]:
    """Return round numbers with their signs, and a bare zero."""
    ticks = round_ticks(low, high, most)
    return [(tick, f"{tick:+g}".replace("-", "−") if tick else "0") for tick in ticks]


def labelled_rows(
    labels: Sequence[str],
    x: tuple[float, float],
    width: int,
    axis: str,
    *,
    signs: bool = False,
    row: int = ROW,
) -> Plot:
    """Return a plot with one labelled row below the other; the first is 1.

    Where numbers have signs, a dashed line says where a score equals the oracle's.
    """
    left = round(max((text_width(label) for label in labels), default=0)) + 12
    plot = Plot(width, x=x, y=(len(labels) + 0.5, 0.5), left=left)
    plot.height = row * len(labels) + plot.top + plot.bottom
    x_ticks = signed_ticks(*x, max(4, (width - left) // 60)) if signs else None
    plot.axes(axis, x_ticks=x_ticks, y_ticks=list(enumerate(labels, 1)))
    if signs:
        plot.line([(0, plot.y[0]), (0, plot.y[1])], "limit", "ink")
    return plot


def short_tick(plot: Plot, x: float, row: float, half: float = 0.33) -> None:
    """Add an upright tick in a row."""
    plot.line([(x, row - half), (x, row + half)], "line", "ink")


def mark_row(
    plot: Plot,
    results: Study,
    row: Mapping[str, Any],
    at: float,
    *,
    value: str = "value",
    upright: bool = False,
    ends: bool = True,
    dash: float = 0.0,
    **look: Any,
) -> None:
    """Add what a row of a table says of a method: the paper's figure as a dash, interval, mark.

    `at` is the place on the axis that does not show the value; `dash` is half the length of the
    paper's dash; without `ends` the interval is left out. The mark says the `hint` of the row and
    stands for `who`.
    """
    look = method_look(results, row["method"]) | {"who": row.get("who")} | look

    def place(of: str, at: float = at) -> tuple[float, float]:
        return (at, row[of]) if upright else (row[of], at)

    if dash and row["published"] is not None:
        tick = [place("published", end) for end in (at - dash, at + dash)]
        plot.line(tick, "line", "soft")
    if ends and row["low"] is not None:
        plot.line([place("low"), place("high")], "interval", look["colour"])
    plot.point(place(value), row["hint"], **look)


def hint(begin: str, row: Mapping[str, Any], words: Mapping[str, str], *signed: str) -> str:
    """Return what a mark says: how it begins, then words about each number that is known."""
    texts = {
        name: number_text(value, signed=name in signed) if isinstance(value, float) else value
        for name, value in row.items()
    }
    known = [text.format_map(texts) for name, text in words.items() if row[name] is not None]
    return "; ".join([begin.format_map(texts), *known])


def extent(values: Iterable[float | None], *always: float) -> tuple[float, float]:
    """Return a range that holds all values, with a little room."""
    held = [float(value) for value in values if value is not None] + list(always)
    low, high = min(held), max(held)
    room = 0.04 * ((high - low) or 1.0)
    return (low if low in always else low - room, high if high in always else high + room)


def present(methods: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the methods that have a row, in their order."""
    there = {row["method"] for row in rows}
    return [method for method in methods if method in there]


# --- figures with a mark per physician ---


def group_panels(results: Study, condition: str) -> Chart | None:
    """Plot model scores, discordance, deltas and rank correlations of a condition."""
    methods, table = results.rate_methods, f"{condition}_groups"
    means = results.cells(table, ["mean_delta"], methods, value="first").to_dicts()
    every, table = [ORACLE, *results.methods], correlations_of(condition)
    correlations = results.cells(table, every, every, value="first").to_dicts()
    scored = results.of(condition, [m for m in results.methods if m not in methods])
    models = scored["method"].unique(maintain_order=True).to_list()

    def draw(width: int) -> Drawing:
        columns = 1 if width == NARROW else 2
        side = width // columns
        parts: dict[str, Drawing] = {
            f"{results.label(method)} score": _model_scores(results, condition, method, side)
            for method in models
        }
        parts["Discordance by method"] = _discordance(results, condition, side)
        parts["Delta per physician (mean in brackets)"] = _deltas(results, condition, side, means)
        if correlations:
            parts["Rank correlation (Spearman)"] = _correlations(results, side, correlations)
        return panels(list(parts.values()), columns, list(parts))

    return chart_of(means, draw)


def _physicians(results: Study, condition: str, methods: list[str], *needed: str) -> Rows:
    """Return the physicians of the first draw for whom some numbers are defined.

    `who` is the number under which the page knows a physician: the position among all names.
    """
    rows = results.of(condition, [ORACLE, *results.methods]).with_columns(
        pl.col(pl.Float64).fill_nan(None),
        who=pl.col("physician").rank("dense").cast(pl.Int64) - 1,
    )
    chosen = rows.filter(pl.col("method").is_in(methods))
    physicians = chosen.drop_nulls(needed).to_dicts()
    for row in physicians:
        rate = results.scale(row["method"]) == "discordance"
        score = "discordance {score}" if rate else "overdispersion {score}"
        row["hint"] = hint(f"{{physician}}, {{label}}: {score}", row, _HINTS, "delta")
    return physicians


def _model_scores(results: Study, condition: str, method: str, width: int) -> Drawing:
    """Plot the score per physician of a method that only ranks."""
    rows = _physicians(results, condition, [method], "score")
    ends = extent([row[name] for row in rows for name in ("score", "low", "high")])
    last = max((row["who"] for row in rows), default=0)
    plot = Plot(width, ROW * 8 + 40, x=(-0.5, last + 0.5), y=ends)
    plot.axes("Physicians, in the order of their names", "Mean squared residual", x_ticks=())
    for row in rows:
        look: dict[str, Any] = {"upright": True, "colour": group_colour(row["group"])}
        mark_row(plot, results, row, row["who"], value="score", **look)
    return with_groups(plot, rows)


def _discordance(results: Study, condition: str, width: int) -> Drawing:
    """Plot the discordance that every method finds, coloured by physician group."""
    rows = _physicians(results, condition, [ORACLE, *results.rate_methods], "score")
    methods = present([ORACLE, *results.rate_methods], rows)
    ends = extent([row["score"] for row in rows], 0.0, 0.5)
    plot = labelled_rows([*map(results.label, methods)], ends, width, "Discordance")
    # Shown of a physician once picked: a line through all methods, and intervals.
    through: dict[int, list[tuple[float, int]]] = defaultdict(list)
    intervals = []
    for row in rows:
        row["at"] = at = methods.index(row["method"]) + 1
        through[row["who"]].append((row["score"], at))
        if row["low"] is not None:
            intervals.append((row["who"], [(row["low"], at), (row["high"], at)]))
    for who, line in [*intervals, *through.items()]:
        points = " ".join("{},{}".format(*plot.place(*point)) for point in line)
        plot.add('<polyline class="trace" data-p="{}" points="{}"/>', who, points)
    for row in rows:
        colour = group_colour(row["group"])
        mark_row(plot, results, row, row["at"], value="score", ends=False, colour=colour)
    return with_groups(plot, rows)


def _deltas(results: Study, condition: str, width: int, means: Rows) -> Plot:
    """Plot score minus oracle per physician, with the mean in the label of the method."""
    rows = _physicians(results, condition, results.rate_methods, "delta", "score")
    methods = present(results.rate_methods, rows)
    mean = {row["method"]: row["value"] for row in means}
    means_text = {method: f" ({number_text(value, signed=True)})" for method, value in mean.items()}
    labels = [results.label(method) + means_text.get(method, "") for method in methods]
    ends = extent([row["delta"] for row in rows] + [mean.get(m) for m in methods], 0.0)
    plot = labelled_rows(labels, ends, width, "Delta (score minus oracle)", signs=True)
    for row in rows:
        at = methods.index(row["method"]) + 1
        mark_row(plot, results, row, at, value="delta", ends=False, radius=3.5)
    for number, method in enumerate(methods, 1):
        if method in mean:
            short_tick(plot, mean[method], number)
    return plot


def _correlations(results: Study, width: int, rows: Rows) -> Drawing:
    """Plot the rank correlation of every two methods, the oracle among them."""
    methods = present([ORACLE, *results.methods], rows)
    labels = [*map(results.label, methods)]
    floor = min([0.9, *(row["value"] for row in rows)])
    room = max(text_width(label) for label in labels) + 8
    side = min((width - room - 8) / len(methods), 30.0)
    drawing = Drawing(width, round(side * len(methods) + room + 16))
    upright = (
        '<text class="tick" text-anchor="end" transform="translate({} {}) rotate(-90)">{}</text>'
    )
    for number, label in enumerate(labels):
        drawing.write(label, (room - 6, side * (number + 0.5) + 4), "tick", "end")
        x, y = room + side * (number + 0.5) + 4, side * len(methods) + 12
        drawing.add(upright, round(x, 1), round(y, 1), label)
    for row in rows:
        across, down = methods.index(row["column"]), methods.index(row["method"])
        rho, left, top = row["value"], room + side * across, side * down + 4
        shade = min(int(_SHADES * (rho - floor) / ((1 - floor) or 1)), _SHADES - 1)
        hint = f"{labels[down]} with {labels[across]}: {number_text(rho)}"
        drawing.box((left, top), (side - 1, side - 1), hint, f"cell c{shade}", "accent")
        drawing.write(f"{rho:.2f}".removeprefix("0"), (left + side / 2, top + side / 2), "tiny")
    return drawing


def continuum(results: Study, condition: str) -> Chart | None:
    """Plot every method's score against D*, with the diagonal and the rank correlation."""
    cells = results.cells("continuum", ["spearman_d_star"], results.methods, value="first")
    correlations = {row["method"]: row["value"] for row in cells.to_dicts()}

    def draw(width: int) -> Drawing:
        physicians = _physicians(results, condition, results.methods, "score", "d_star")
        methods = present(results.methods, physicians)
        columns = 2 if width == NARROW else 4
        side = width // columns
        # One end of scale for all methods, so that panels can be compared.
        rates = [row["score"] for row in physicians if row["method"] in results.rate_methods]
        plots = []
        for method in methods:
            own = [row for row in physicians if row["method"] == method]
            rate = method in results.rate_methods
            scores = extent([row["score"] for row in own], 0.0)
            ends = (0.0, max([0.5, *rates])) if rate else scores
            plot = Plot(side, side, x=(0, 0.5), y=ends, left=44)
            ticks = [(0.0, "0"), (0.25, "0.25"), (0.5, "0.5")]
            name = "Estimated discordance" if rate else "overdispersion"
            plot.axes("True discordance D*", name, x_ticks=ticks)
            rho = correlations.get(method)
            text = "ρ undefined" if rho is None else f"ρ = {rho:.3f}"
            plot.write(text, (plot.left + 4, plot.top + 2), "label", "start")
            if rate:
                plot.line([(0, 0), (0.5, 0.5)], "limit", "soft")
            for row in own:
                look: dict[str, Any] = {"upright": True, "ends": False, "radius": 2.8}
                mark_row(plot, results, row, row["d_star"], value="score", **look)
            plots.append(plot)
        return panels(plots, columns, [*map(results.label, methods)])

    return chart_of(cells.to_dicts(), draw)
