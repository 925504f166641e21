"""Pictures of the physicians' results: each with its interval, and the funnel."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from intravar.errors import theirs
from intravar.pages.measurement.plot import Plot
from intravar.publication.outputs import Outputs

#: Two-sided 95 % and 99.8 %, the customary limits of a funnel plot.
LIMITS = {"limit": 1.96, "outer": 3.09}


def reported(outputs: Outputs) -> list[dict[str, Any]]:
    """Return the physicians that can be reported, the most consistent first."""
    table = outputs.physicians.filter(pl.col("reportable"))
    return table.sort("shrunken", "physician").to_dicts()


def physicians_in_words(rows: list[dict[str, Any]]) -> str:
    """Say what the picture of all physicians shows."""
    return (
        f"{len(rows)} physicians from the most to the least consistent, each with the estimate, "
        "its 95 % interval and the shrunken value. The table holds the numbers."
    )


def plot_physicians(rows: list[dict[str, Any]], width: int) -> Plot:
    """Plot estimate, interval and shrunken value of every physician."""
    top = max(row["high"] for row in rows)
    plot = Plot((0, len(rows) + 1), (0, min(1.0, top * 1.05)), width)
    plot.axes("physicians, most consistent first", "discordance", count=len(rows))
    for position, row in enumerate(rows, 1):
        plot.line([(position, row["low"]), (position, row["high"])], "interval")
    for position, row in enumerate(rows, 1):
        hint = (
            f"{theirs(row['physician'])}: {row['discordance']:.3f} "
            f"[{row['low']:.3f}, {row['high']:.3f}], shrunken {row['shrunken']:.3f}"
        )
        plot.point(position, row["shrunken"], hint, "hollow")
        plot.point(position, row["discordance"], hint)
    return plot


class Funnel(NamedTuple):
    """Physicians by how much is known of them, and the one in the middle."""

    rows: list[dict[str, Any]]
    by: str
    middle: float

    @property
    def chance_is_known(self) -> bool:
        """Whether a discordance is a share of pairs; elsewhere the intervals tell chance."""
        return self.by == "pairs"


def funnel_data(outputs: Outputs) -> Funnel | None:
    """Return what the funnel shows: pairs where all have them, patients elsewhere."""
    table = outputs.physicians.filter(pl.col("reportable"))
    by = "pairs" if table["n_pairs"].null_count() == 0 else "patients"
    rows = table.drop_nulls(f"n_{by}").to_dicts()
    if not rows:
        return None
    return Funnel(rows, by, float(np.median(table["discordance"].to_numpy())))


def funnel_reading(data: Funnel) -> str:
    """Say how to read the funnel."""
    if data.chance_is_known:
        return (
            "Funnel plot: physicians between the lines (dashed 95 %, dotted 99.8 %) differ from "
            "the middle no more than chance allows."
        )
    return (
        "Discordance with its 95 % interval against the number of patients; the line is the "
        "physician in the middle. Larger panels scatter less."
    )


def funnel_in_words(data: Funnel) -> str:
    """Say what the funnel shows."""
    about = (
        f"the lines show how far physicians with the median discordance of {data.middle:.2f} "
        "would scatter by chance (95 % and 99.8 %)"
        if data.chance_is_known
        else f"each with its 95 % interval; the line is the median, {data.middle:.2f}"
    )
    return f"Discordance of {len(data.rows)} physicians against the number of {data.by}; {about}."


def plot_funnel(data: Funnel, width: int) -> Plot:
    """Plot discordance against pairs or patients, with what chance allows."""
    size = f"n_{data.by}"
    largest = max(row[size] for row in data.rows)
    highest = max(row["discordance" if data.chance_is_known else "high"] for row in data.rows)
    plot = Plot((0, largest * 1.05), (0, min(1.0, highest * 1.1 + 0.05)), width)
    plot.axes(data.by, "discordance")
    if data.chance_is_known:
        _add_limits(plot, data.middle, largest)
    plot.line([(0, data.middle), (largest * 1.05, data.middle)], "line")
    for row in () if data.chance_is_known else data.rows:
        plot.line([(row[size], row["low"]), (row[size], row["high"])], "interval")
    for row in data.rows:
        hint = f"{theirs(row['physician'])}: {row['discordance']:.3f}, {row[size]:,} {data.by}"
        plot.point(row[size], row["discordance"], hint)
    return plot


def _add_limits(plot: Plot, middle: float, largest: float) -> None:
    sizes = np.linspace(max(4.0, largest / 50), largest * 1.05, 60)
    for kind, z in LIMITS.items():
        spread = z * np.sqrt(middle * (1 - middle) / sizes)
        for sign in (-1, 1):
            edge = np.clip(middle + sign * spread, 0, plot.y[1])
            plot.line(list(zip(sizes.tolist(), edge.tolist(), strict=True)), kind)
