"""What figures share: charts, looks of methods and groups, rows of methods, marks, ticks."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import cycle
from statistics import median
from typing import Any, NamedTuple

from markupsafe import Markup

from intravar.documents.charts import Drawing, Plot, round_ticks, text_width
from intravar.documents.colours import Look
from intravar.study.grids import column_text, number_text
from intravar.study.results import Study

Rows = list[dict[str, Any]]
#: Widths of a figure in pixels: on a desk and on paper, and on a telephone.
WIDE, NARROW = 840, 350
#: Height of a row of a method, and of the title over a panel, in pixels.
ROW, TITLE = 27, 22
#: Values of a method up to which a figure in words lists each.
_MOST_LISTED = 6
_LOOKS = tomllib.loads(files(__package__).joinpath("looks.toml").read_text("utf-8"))
_WORDS_OF_GROUPS = {1: "group 1, steady", 5: "5, coin-flip"}


class Chart(NamedTuple):
    """What draws a figure for a width in pixels, and the figure in words."""

    draw: Callable[[int], Drawing]
    words: str


def chart_of(rows: Rows, draw: Callable[[int], Drawing]) -> Chart | None:
    """Return the chart of rows of a table, none where there are no rows.

    In words it lists every method's values; median and range where there are many.
    """
    by_label: dict[str, Rows] = {}
    for row in rows:
        by_label.setdefault(row["label"], []).append(row)
    listed = []
    for label, own in by_label.items():
        values, column = [row["value"] for row in own], own[0]["column"]
        if len(own) > _MOST_LISTED:
            numbers = median(values), min(values), max(values)
            words = "{} ({} to {})".format(*(column_text(n, column) for n in numbers))
        else:
            words = ", ".join(
                f"{row.get('where', '')} {column_text(row['value'], row['column'])}".strip()
                for row in own
            )
        listed.append(f"{label} {words}")
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
    plot.interval(x, row - half, row + half, kind="line", colour="ink")


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
    if dash and row["published"] is not None:
        place = row["published"], at - dash, at + dash
        plot.interval(*place, upright=not upright, kind="line", colour="soft")
    if ends and row["low"] is not None:
        plot.interval(at, row["low"], row["high"], upright=upright, colour=look["colour"])
    plot.point((at, row[value]) if upright else (row[value], at), row["hint"], **look)


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
