"""Pictures of the physicians' results: each with its interval, and the funnel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from intravar.arrays import FloatArray
from intravar.documents.measurement.binned_pictures import (
    MOST_MARKS,
    MOST_SINGLE,
    STEP,
    PlaneBin,
    add_plane,
    histogram,
    on_plane,
    shades_key,
)
from intravar.documents.measurement.plot import MOST_HINTS, NARROW, Plot
from intravar.documents.measurement.row_plots import row_plot
from intravar.errors import theirs
from intravar.inference.funnel import INNER, OUTER, FunnelLimits, funnel_limits
from intravar.inference.intervals import LEVEL
from intravar.measurement.verdict import UNRANKED
from intravar.publication.outputs import Outputs

#: Physicians up to which each has an interval of its own; beyond, a band shows all of them.
MOST_INTERVALS = 150
BAND_STEPS = 60
#: Physicians named at each end of the order, where not everybody has a mark.
NAMED_ENDS = 5


def with_intervals(outputs: Outputs) -> pl.DataFrame:
    """Return the physicians of whom something is known, with their row in the table as `p`."""
    return outputs.physicians.with_row_index("p").drop_nulls(["low", "high"])


class Everyone(NamedTuple):
    """The physicians from left to right, and whether that is an order."""

    rows: list[dict[str, Any]]
    ranked: bool

    @property
    def unranked(self) -> bool:
        """Whether some cannot be ranked where others can."""
        return self.ranked and any(row["rank"] is None for row in self.rows)

    @property
    def ranges(self) -> bool:
        """Whether ranges of levels stand in the place of numbers."""
        return any(row["discordance"] is None for row in self.rows)

    @property
    def binned(self) -> bool:
        """Whether there are too many for a mark each."""
        return len(self.rows) > MOST_SINGLE

    def levels(self) -> FloatArray:
        """Return the scores; the middle of the range where the level is not determined."""
        return np.array(
            [
                row["discordance"]
                if row["discordance"] is not None
                else (row["identified_low"] + row["identified_high"]) / 2
                for row in self.rows
            ],
            dtype=float,
        )

    def typical(self) -> tuple[float, float, float]:
        """Return the median score and the ends of an interval of median width around it."""
        levels = self.levels()
        low, high = (np.array([row[end] for row in self.rows]) for end in ("low", "high"))
        middle = float(np.median(levels))
        below, above = float(np.median(levels - low)), float(np.median(high - levels))
        return middle, max(middle - below, 0.0), min(middle + above, 1.0)


def everyone(outputs: Outputs) -> Everyone | None:
    """Return the physicians with a score: the most consistent first, if they can be ranked."""
    table = with_intervals(outputs)
    known = table["rank"].null_count() < table.height
    ranked = outputs.summary["verdict"] not in UNRANKED and known
    order = ["shrunken", "rank", "physician"] if ranked else ["physician"]
    rows = table.sort(order, nulls_last=True).to_dicts()
    return Everyone(rows, ranked) if rows else None


def everyone_title(data: Everyone) -> str:
    """Name the picture of all physicians."""
    return "How many have which discordance" if data.binned else "Discordance of every physician"


def everyone_in_words(data: Everyone) -> str:
    """Say what the picture of all physicians shows."""
    if data.binned:
        first, middle, third = np.quantile(data.levels(), (0.25, 0.5, 0.75)).tolist()
        _, low, high = data.typical()
        return (
            f"{len(data.rows):,} physicians counted by discordance, in steps of {STEP:g}: the "
            f"median is {middle:.2f}, half of them lie between {first:.2f} and {third:.2f}, and a "
            f"95 % interval typically spans {high - low:.2f}. The table holds the numbers."
        )
    order = "from the most to the least consistent" if data.ranked else "in no order"
    return (
        f"{len(data.rows)} physicians {order}, each with the estimate, its 95 % interval and the "
        "shrunken value. The table holds the numbers."
    )


def everyone_reading(data: Everyone) -> str:
    """Say how to read the picture of all physicians."""
    if data.binned:
        of = " (the middle of the range of levels that fit equally well)" if data.ranges else ""
        ends = "" if data.ranked else " Nobody is named: the data do not bear an order."
        return (
            f"Each bar counts the physicians with a discordance{of} in a step of {STEP:g}. The "
            "line above them is as long as their 95 % intervals typically are: single physicians "
            f"who lie closer together than that are hard to tell apart.{ends}"
        )
    if not data.ranked:
        return (
            "Each physician's discordance with its 95 % interval, in the order of their names: the "
            "data do not bear an order."
        )
    return (
        "Each physician's discordance with its 95 % interval, the most consistent first. Where "
        "intervals overlap widely, the order is a guess."
    )


def everyone_key(data: Everyone) -> tuple[tuple[str, str], ...]:
    """Say what the marks stand for."""
    if data.binned:
        return ("fill", "physicians"), ("interval", "typical 95 % interval, around the median")
    few = len(data.rows) <= MOST_INTERVALS
    interval = ("interval", "95 % interval")
    return (
        *([] if data.ranges else [("point", "estimate")]),
        *([("range", "levels that fit equally well")] if data.ranges else []),
        *([("point unranked", "estimate of who cannot be ranked")] if data.unranked else []),
        *([("hollow", "shrunken towards the mean")] if few and not data.ranges else []),
        interval if few else ("band", "95 % interval, of neighbours together"),
    )


def plot_everyone(data: Everyone, width: int) -> Plot:
    """Plot estimate, interval and shrunken value of every physician, or the range of levels."""
    if data.binned:
        return _plot_distribution(data, width)
    rows = data.rows
    top = max(row["high"] for row in rows)
    plot = Plot(width, x=(0, len(rows) + 1), y=(0, min(1.0, top * 1.05)))
    order = "most consistent first" if data.ranked else "in no order"
    plot.axes(f"physicians, {order}", "discordance", count=len(rows))
    few = len(rows) <= MOST_INTERVALS
    if not few:
        plot.band(_band(rows))
    radius = _radius(len(rows), width)
    for position, row in enumerate(rows, 1):
        if few:
            plot.line([(position, row["low"]), (position, row["high"])], "interval")
        if row["discordance"] is None:
            ends = row["identified_low"], row["identified_high"]
            plot.line([(position, end) for end in ends], "range")
            continue
        hint = _hint(row) if len(rows) <= MOST_HINTS else ""
        if few and row["shrunken"] is not None:
            plot.point((position, row["shrunken"]), hint, "hollow", who=row["p"], radius=radius)
        kind = "point unranked" if data.ranked and row["rank"] is None else "point"
        plot.point((position, row["discordance"]), hint, kind, who=row["p"], radius=radius)
    return plot


def _plot_distribution(data: Everyone, width: int) -> Plot:
    """Plot how many have which score, and how long an interval typically is."""
    axis = "discordance, middle of the range" if data.ranges else "discordance"
    middle, low, high = data.typical()
    plot = histogram(data.levels(), width, axis, reach=high)
    height = 0.95 * plot.y[1]
    hint = f"median {middle:.2f}, typical 95 % interval from {low:.2f} to {high:.2f}"
    plot.line([(low, height), (high, height)], "interval")
    plot.point((middle, height), hint)
    plot.finder("discordance", 0.05 * plot.y[1])
    return plot


def order_ends(outputs: Outputs) -> list[dict[str, Any]]:
    """Return who is at the ends of the order, where not everybody has a mark; else nobody."""
    data = everyone(outputs)
    if data is None or not data.binned or not data.ranked:
        return []
    ranked = [row for row in data.rows if row["rank"] is not None]
    return ranked[:NAMED_ENDS] + ranked[max(NAMED_ENDS, len(ranked) - NAMED_ENDS) :]


def ends_in_words(rows: list[dict[str, Any]]) -> str:
    """Say who is at the ends of the order."""
    return f"The ends of the order, the most consistent first: {'; '.join(map(_hint, rows))}."


def ends_key(rows: list[dict[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Say what the marks of the ends stand for."""
    ranges = any(row["discordance"] is None for row in rows)
    points = any(row["discordance"] is not None for row in rows)
    return (
        *([("point", "estimate")] if points else []),
        *([("range", "levels that fit equally well")] if ranges else []),
        ("interval", "95 % interval"),
    )


def plot_ends(rows: list[dict[str, Any]], width: int) -> Plot:
    """Plot a row for each of the most and the least consistent."""
    names = [str(row["physician"]) for row in rows]
    top = max(row["high"] for row in rows)
    plot = row_plot(names, min(1.0, top * 1.05), width, "discordance")
    for position, row in enumerate(rows, 1):
        at = plot.at(position)
        plot.line([(row["low"], at), (row["high"], at)], "interval")
        if row["discordance"] is None:
            ends = row["identified_low"], row["identified_high"]
            plot.line([(end, at) for end in ends], "range")
        else:
            plot.point((row["discordance"], at), _hint(row), who=row["p"])
    return plot


def _radius(marks: int, width: int) -> float:
    return max(1.5, min(4.0, 0.35 * width / max(marks, 1)))


def _hint(row: dict[str, Any]) -> str:
    if row["discordance"] is None:
        low, high = (round(100 * row[end]) for end in ("low", "high"))
        return f"{theirs(row['physician'])}: between {low} and {high} of 100"
    about, low, high = (round(100 * row[name]) for name in ("discordance", "low", "high"))
    return f"{theirs(row['physician'])}: {about} of 100 [{low}, {high}]"


def _band(rows: list[dict[str, Any]]) -> list[tuple[float, float, float]]:
    """Return the mean interval of neighbours."""
    low, high = (np.array([row[end] for row in rows]) for end in ("low", "high"))
    return [
        (float(part.mean()) + 1, float(low[part].mean()), float(high[part].mean()))
        for part in np.array_split(np.arange(len(rows)), BAND_STEPS)
    ]


class Funnel(NamedTuple):
    """Physicians by how much is known of them, and what they are held against."""

    rows: list[dict[str, Any]]
    by: str
    limits: FunnelLimits
    distance: FloatArray

    @property
    def outside(self) -> list[dict[str, Any]]:
        """Those beyond the outer limits, the farthest first."""
        order = np.argsort(-np.abs(self.distance), kind="stable")
        return [self.rows[at] for at in order if abs(self.distance[at]) > OUTER]

    @property
    def binned(self) -> bool:
        """Whether there are too many for a mark each."""
        return len(self.rows) > MOST_SINGLE

    @property
    def alone(self) -> set[int]:
        """The rows of the table that have a mark of their own among very many."""
        return {row["p"] for row in self.outside[:MOST_MARKS]}

    def bins(self) -> list[PlaneBin]:
        """Count those without a mark of their own."""
        alone = self.alone
        rest = [row for row in self.rows if row["p"] not in alone]
        sizes, scores = (
            np.array([row[name] for row in rest], dtype=float)
            for name in (f"n_{self.by}", "discordance")
        )
        return on_plane(sizes, scores)


def funnel_data(outputs: Outputs) -> Funnel | None:
    """Return what the funnel shows: pairs where all have them, patients elsewhere."""
    table = with_intervals(outputs).drop_nulls("discordance")
    by = "pairs" if table["n_pairs"].null_count() == 0 else "patients"
    table = table.filter(pl.col(f"n_{by}") > 0)
    if not table.height:
        return None
    score, size = (table[name].to_numpy().astype(float) for name in ("discordance", f"n_{by}"))
    error = (table["high"] - table["low"]).to_numpy() / (2 * INNER)
    limits = funnel_limits(score, size, None if by == "pairs" else error)
    return Funnel(table.to_dicts(), by, limits, limits.distance(score, size))


def funnel_reading(data: Funnel) -> str:
    """Say how to read the funnel."""
    n = len(data.outside)
    beyond = "nobody lies" if n == 0 else f"{n:,} {'lies' if n == 1 else 'lie'}"
    if data.binned:
        beyond += (
            f"; the {MOST_MARKS} farthest have a mark each, the others are counted in the squares"
            if n > MOST_MARKS
            else ""
            if n == 0
            else ", with a mark each; the others are counted in the squares"
        )
    return (
        "Funnel plot. The middle line is the mean of those in it, "
        f"{100 * data.limits.middle:.0f} of 100. Between the lines physicians differ from it by no "
        "more than chance and the usual spread "
        f"between physicians (about {100 * data.limits.between:.0f} of 100) allow; beyond the "
        f"outer lines, where 2 of 1,000 would lie, {beyond}."
    )


def funnel_in_words(data: Funnel) -> str:
    """Say what the funnel shows."""
    return (
        f"Discordance of {len(data.rows)} physicians against the number of {data.by}, around the "
        f"mean of {data.limits.middle:.2f}, with limits of {100 * LEVEL:.0f} % and 99.8 % that "
        f"allow for chance and a spread of {data.limits.between:.2f} between physicians; "
        f"{len(data.outside)} lie beyond the outer ones."
    )


def funnel_key(data: Funnel) -> tuple[tuple[str, str], ...]:
    """Say what the marks stand for."""
    lines = ("line", "mean"), ("limit", "95 % limits"), ("outer", "99.8 % limits")
    out = ("point out", "beyond them")
    if not data.binned:
        return (*lines, out)
    return (*lines, *([out] if data.outside else []), *shades_key(data.bins()))


def plot_funnel(data: Funnel, width: int) -> Plot:
    """Plot discordance against pairs or patients, with what chance and usual spread allow."""
    size = f"n_{data.by}"
    smallest, largest = (end(row[size] for row in data.rows) for end in (min, max))
    first = 0.0 if smallest < 0.4 * largest else 0.8 * smallest
    largest *= 1.05
    sizes = np.linspace(max(first, 4.0, 0.6 * smallest), largest, 60)
    half = data.limits.width(sizes)
    highest = max(
        *(row["discordance"] for row in data.rows), data.limits.middle + OUTER * float(half[-1])
    )
    plot = Plot(width, x=(first, largest), y=(0, min(1.0, highest * 1.15)))
    plot.axes(f"{data.by} of a physician", "discordance")
    if data.binned:
        add_plane(plot, data.bins(), data.by)
    for kind, z in (("limit", INNER), ("outer", OUTER)):
        for sign in (-1, 1):
            edge = data.limits.middle + sign * z * half
            inside = (edge >= 0) & (edge <= plot.y[1])
            plot.line(list(zip(sizes[inside], edge[inside], strict=True)), kind)
    plot.line([(first, data.limits.middle), (largest, data.limits.middle)], "line")
    radius = 4 if len(data.rows) <= MOST_INTERVALS else 2 if width == NARROW else 2.5
    alone = data.alone if data.binned else None
    for row, distance in zip(data.rows, data.distance.tolist(), strict=True):
        if alone is not None and row["p"] not in alone:
            continue
        told = len(data.rows) <= MOST_HINTS or alone is not None
        hint = f"{_hint(row)}, {row[size]:,} {data.by}" if told else ""
        kind = "point out" if abs(distance) > OUTER else "point"
        plot.point((row[size], row["discordance"]), hint, kind, who=row["p"], radius=radius)
    if data.binned:
        plot.finder(size, "discordance")
    return plot
