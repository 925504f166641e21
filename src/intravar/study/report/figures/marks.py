"""What several figures share: looks of methods and groups, rows of methods, ticks, hints."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import cycle
from typing import Any

import polars as pl

from intravar.documents.charts import LegendEntry, Plot, round_ticks, text_width
from intravar.documents.colours import Look
from intravar.study.results import Study
from intravar.study.tables.grids import number_text

#: Widths of a figure in pixels: on a desk and on paper, and on a telephone.
WIDE, NARROW = 840, 350
#: Height of a row of a method in pixels.
ROW = 27
_TOLD = tomllib.loads(files(__package__).joinpath("looks.toml").read_text("utf-8"))


def _look(light: str, dark: str, shape: str = "circle") -> Look:
    return Look(light, dark, _TOLD["outlines"].get(shape, shape))


LOOKS = {name: _look(*told) for name, told in _TOLD["methods"].items()}
SPARE = [_look(*told) for told in _TOLD["spare"]]
GROUPS = [_look(*told) for told in _TOLD["groups"]]


def colour_of(results: Study, method: str) -> str:
    """Return the name of a method's colour in the page; it holds no text from the data."""
    known = results.methods
    return f"method-{known.index(method) + 1}" if method in known else method


def looks_of_study(results: Study) -> dict[str, Look]:
    """Return the looks of groups and methods under the names that figures use.

    Methods without a look of their own take the spare ones in turn.
    """
    looks = {f"group-{number}": look for number, look in enumerate(GROUPS, 1)}
    spare = cycle(SPARE)
    for method in results.methods:
        looks[colour_of(results, method)] = LOOKS.get(method) or next(spare)
    return looks | {name: LOOKS[name] for name in ("oracle", "constant")}


def method_look(results: Study, method: str) -> dict[str, str]:
    """Return colour and outline of a method's mark."""
    colour = colour_of(results, method)
    return {"colour": colour, "shape": looks_of_study(results)[colour].shape}


def group_colour(group: int | None) -> str:
    """Return the name of the colour of a group of physicians."""
    return "soft" if group is None else f"group-{(int(group) - 1) % len(GROUPS) + 1}"


def method_legend(results: Study, shown: Sequence[str]) -> list[LegendEntry]:
    """Return what the marks of methods look like."""
    return [LegendEntry(results.label(m), "point", **method_look(results, m)) for m in shown]


def group_legend(rows: Sequence[Mapping[str, Any]]) -> list[LegendEntry]:
    """Return what the colours of the groups mean that physicians in these rows have."""
    words = {1: "group 1, steady", 5: "5, coin-flip"}
    groups = sorted({int(row["group"]) for row in rows if row["group"] is not None})
    return [LegendEntry(words.get(g, str(g)), "point", group_colour(g)) for g in groups]


def legend_room(entries: Sequence[LegendEntry], width: int, left: int) -> int:
    """Return the pixels that a legend takes above a plot."""
    lines, at = 1, float(left)
    for entry in entries:
        room = text_width(entry.words) + 34
        if at > left and at + room > width:
            lines, at = lines + 1, float(left)
        at += room
    return 18 * lines + 10


def signed(number: float) -> str:
    """Return a number with its sign."""
    return number_text(number, signed=True)


def signed_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return round numbers with their signs, and a bare zero."""
    ticks = round_ticks(low, high, most)
    return [(tick, number_text(tick, 2, signed=True) if tick else "0") for tick in ticks]


def labelled_rows(
    labels: Sequence[str],
    x: tuple[float, float],
    width: int,
    axis: str,
    *,
    signs: bool = False,
    row: int = ROW,
    legend: Sequence[LegendEntry] = (),
) -> Plot:
    """Return a plot with one labelled row below the other; the first is 1.

    Where numbers have signs, a dashed line says where a score equals the oracle's.
    """
    left = round(max((text_width(label) for label in labels), default=0)) + 12
    top = legend_room(legend, width, left) if legend else 14
    plot = Plot(width, x=x, y=(len(labels) + 0.5, 0.5), left=left, top=top)
    plot.height = row * len(labels) + top + plot.bottom
    most = max(4, (width - left) // 60)
    plot.axes(
        axis,
        x_ticks=signed_ticks(*x, most) if signs else None,
        y_ticks=[(number, label) for number, label in enumerate(labels, 1)],
    )
    plot.legend(legend)
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
    hint: str,
    *,
    value: str = "value",
    upright: bool = False,
    ends: bool = True,
    dash: float = 0.0,
    **look: Any,
) -> None:
    """Add what a row of a table says of a method: the paper's figure as a dash, interval, mark.

    `at` is the place on the axis that does not show the value; `dash` is half the length of the
    paper's dash; without `ends` the interval is left out.
    """
    look = method_look(results, row["method"]) | look
    if (paper := row.get("published")) is not None:
        plot.interval(paper, at - dash, at + dash, upright=not upright, kind="line", colour="soft")
    if ends and row["low"] is not None:
        plot.interval(at, row["low"], row["high"], upright=upright, colour=look["colour"])
    plot.point((at, row[value]) if upright else (row[value], at), hint, **look)


def extent(values: Iterable[float | None], *always: float) -> tuple[float, float]:
    """Return a range that holds all values, with a little room."""
    held = [float(value) for value in values if value is not None] + list(always)
    low, high = min(held), max(held)
    room = 0.04 * ((high - low) or 1.0)
    return (low if low in always else low - room, high if high in always else high + room)


def physician_hint(row: Mapping[str, Any], title: str) -> str:
    """Return what pointing at a physician shows."""
    parts = [f"{row['physician']}, {row['label']}: {title} {number_text(row['score'])}"]
    if row["low"] is not None:
        parts.append(f"95 % {number_text(row['low'])} to {number_text(row['high'])}")
    for name, words in (("oracle", "oracle"), ("d_star", "D*"), ("delta", "delta")):
        if row[name] is not None:
            parts.append(f"{words} {number_text(row[name], signed=name == 'delta')}")
    counts = {"group": "group {}", "n_patients": "{:,} patients", "n_pairs": "{:,} pairs"}
    parts += [words.format(row[name]) for name, words in counts.items() if row[name] is not None]
    return "; ".join(parts)


def positions(results: Study, condition: str) -> dict[str, int]:
    """Return the number under which the page knows every physician of a condition."""
    names = results.physicians(condition)["physician"]
    return {name: position for position, name in enumerate(names)}


def defined(rows: pl.DataFrame, *columns: str) -> list[dict[str, Any]]:
    """Return the rows in which all of these numbers are defined; NaN counts as undefined."""
    floats = [name for name, kind in rows.schema.items() if kind.is_float()]
    return rows.with_columns(pl.col(floats).fill_nan(None)).drop_nulls(columns).to_dicts()


def present(methods: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the methods that have a row, in their order."""
    there = {row["method"] for row in rows}
    return [method for method in methods if method in there]
