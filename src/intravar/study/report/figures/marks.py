"""What several figures share: looks of methods and groups, rows of methods, ticks, hints.

One colour and one mark per method, wherever it appears; readable in grey and colour-blind. Hues
after Okabe and Ito (Color Universal Design, 2008) and Tol (SRON technical note, 2021), made darker
on white and lighter on black until they stand out from the ground.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from intravar.documents.charts import LegendEntry, Plot, round_ticks, text_width
from intravar.documents.colours import Look
from intravar.study.report.stored_results import Results
from intravar.study.tables.grids import number_text

#: Widths of a figure in pixels: on a desk and on paper, and on a telephone.
WIDE, NARROW = 840, 350
#: Height of a row of a method in pixels.
ROW = 27
STAR = (
    "M0,-1L0.24,-0.32L0.95,-0.31L0.38,0.12L0.59,0.81L0,0.4"
    "L-0.59,0.81L-0.38,0.12L-0.95,-0.31L-0.24,-0.32Z"
)
PENTAGON = "M0,-0.95L0.9,-0.29L0.56,0.77L-0.56,0.77L-0.9,-0.29Z"
HEXAGON = "M0,-0.95L0.82,-0.47L0.82,0.47L0,0.95L-0.82,0.47L-0.82,-0.47Z"
BAR = "M-0.2,-1L0.2,-1L0.2,1L-0.2,1Z"
RING = (
    "M0,-0.9A0.9,0.9,0,1,1,0,0.9A0.9,0.9,0,1,1,0,-0.9"
    "M0,-0.4A0.4,0.4,0,1,0,0,0.4A0.4,0.4,0,1,0,0,-0.4"
)


LOOKS = {
    "oracle": Look("#1a1a1a", "#f2f2f2", BAR),
    "euclidean": Look("#0072b2", "#5db0ee", "circle"),
    "mahalanobis": Look("#3f93c4", "#9ad1f5", "square"),
    "learned-weights": Look("#d55e00", "#ff9248", "triangle-up"),
    "genetic-mahalanobis": Look("#857a12", "#d6ca58", "triangle-right"),
    "rf-proximity": Look("#b8528c", "#ee9fcb", "cross"),
    "lpa-guided": Look("#3b2f94", "#a79df5", "diamond"),
    "mutual-information": Look("#008a64", "#3fd0a4", "triangle-down"),
    "glmm": Look("#5c5c5c", "#c4c4c4", HEXAGON),
    "latent-rule": Look("#b07a00", "#f7c04a", STAR),
    "constant": Look("#8a8a8a", "#8f8f8f", RING),
}
#: For methods that have no look of their own, in turn.
SPARE = (
    Look("#117733", "#6fcf8b", PENTAGON),
    Look("#aa3377", "#f08cc0", RING),
    Look("#4477aa", "#8fbce8", "triangle-left"),
    Look("#997700", "#e5c558", "square"),
)
#: Physician groups from deterministic to coin-flip; dark to light, so that grey keeps the order.
GROUPS = (
    Look("#17256f", "#7f90ff"),
    Look("#6a2a91", "#b98aee"),
    Look("#b23a72", "#e884bb"),
    Look("#d9683f", "#ffa27d"),
    Look("#d39b12", "#ffd873"),
)


def looks_of(methods: Sequence[str]) -> dict[str, Look]:
    """Return the look of every method; those without one of their own take the spare ones.

    Examples
    --------
    >>> looks_of(["glmm", "mine", "yours"])["mine"].light
    '#117733'
    """
    unknown = [method for method in methods if method not in LOOKS]
    spare = {method: SPARE[turn % len(SPARE)] for turn, method in enumerate(unknown)}
    return {method: LOOKS.get(method) or spare[method] for method in methods}


def token(methods: Sequence[str], method: str) -> str:
    """Return the name of a method's colour in the page; it holds no text from the data."""
    return f"method-{list(methods).index(method) + 1}" if method in methods else method


def looks_of_study(results: Results) -> dict[str, Look]:
    """Return the colours of groups and methods under the names that figures use."""
    looks = {f"group-{number}": look for number, look in enumerate(GROUPS, 1)}
    looks |= {token(results.methods, m): look for m, look in looks_of(results.methods).items()}
    return looks | {name: LOOKS[name] for name in ("oracle", "constant")}


def colour_of(results: Results, method: str) -> str:
    """Return the name of a method's colour."""
    return token(results.methods, method)


def shape_of(results: Results, method: str) -> str:
    """Return the outline of a method's mark."""
    return looks_of([*results.methods, "oracle", "constant"])[method].shape or "circle"


def group_colour(group: int | None) -> str:
    """Return the name of the colour of a group of physicians."""
    return "soft" if group is None else f"group-{(int(group) - 1) % len(GROUPS) + 1}"


def method_legend(results: Results, shown: Sequence[str]) -> list[LegendEntry]:
    """Return what the marks of methods look like."""
    return [
        LegendEntry(results.label(m), "point", colour_of(results, m), shape_of(results, m))
        for m in shown
    ]


def group_legend(groups: Sequence[int]) -> list[LegendEntry]:
    """Return what the colours of groups mean."""
    words = {1: "group 1, steady", 5: "5, coin-flip"}
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
    """Return a plot with one labelled row below the other; the first is 1."""
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
    if legend:
        plot.legend(legend)
    return plot


def zero_line(plot: Plot, *, upright: bool = True) -> None:
    """Add a dashed line where the score equals the oracle's."""
    if upright:
        plot.line([(0, plot.y[0]), (0, plot.y[1])], "limit", "ink")
    else:
        plot.line([(plot.x[0], 0), (plot.x[1], 0)], "limit", "ink")


def short_tick(plot: Plot, x: float, row: float, half: float = 0.33, colour: str = "ink") -> None:
    """Add an upright tick in a row."""
    plot.line([(x, row - half), (x, row + half)], "line", colour)


def extent(values: Sequence[float | None], *always: float) -> tuple[float, float]:
    """Return a range that holds all values, with a little room."""
    held = [float(value) for value in values if value is not None] + list(always)
    low, high = min(held), max(held)
    room = 0.04 * ((high - low) or 1.0)
    return (low if low in always else low - room, high if high in always else high + room)


def physician_hint(row: Mapping[str, Any], title: str = "Discordance") -> str:
    """Return what pointing at a physician shows."""
    parts = [f"{row['physician']}, {row['label']}: {title} {number_text(row['score'])}"]
    if row["low"] is not None:
        parts.append(f"95 % {number_text(row['low'])} to {number_text(row['high'])}")
    for name, words in (("oracle", "oracle"), ("d_star", "D*"), ("delta", "delta")):
        if row.get(name) is not None:
            parts.append(f"{words} {number_text(row[name], signed=name == 'delta')}")
    if row["group"] is not None:
        parts.append(f"group {row['group']}")
    if row["n_patients"] is not None:
        parts.append(f"{row['n_patients']:,} patients")
    if row.get("n_pairs") is not None:
        parts.append(f"{row['n_pairs']:,} pairs")
    return "; ".join(parts)


def positions(results: Results, condition: str) -> dict[str, int]:
    """Return the number under which the page knows every physician of a condition."""
    names = results.physicians(condition)["physician"]
    return {name: position for position, name in enumerate(names)}


def defined(rows: pl.DataFrame, *columns: str) -> list[dict[str, Any]]:
    """Return the rows in which all of these numbers are defined; NaN counts as undefined."""
    floats = [name for name, kind in rows.schema.items() if kind.is_float()]
    return rows.with_columns(pl.col(floats).fill_nan(None)).drop_nulls(columns).to_dicts()
