"""The pictures of a measurement, from what is published alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from intravar.pages.measurement.plot import BOTTOM, TOP, Plot
from intravar.publication.outputs import Outputs

#: Two-sided 95 % and 99.8 %, the customary limits of a funnel plot.
LIMITS = {"limit": 1.96, "outer": 3.09}
ROW = 22
LABELS = 190


def figures(outputs: Outputs) -> dict[str, Markup]:
    """Return the pictures that there are data for, by name."""
    reportable = outputs.physicians.filter(pl.col("reportable"))
    found, rule = outputs.diagnostics, outputs.summary["rule"]
    drawn = {
        "physicians": _physicians(reportable) if reportable.height else None,
        "funnel": _funnel(reportable) if reportable.height else None,
        "importance": _importance(rule["importance"]),
        "love": _love(found["love"]),
        "attrition": _attrition(found["attrition"]),
        "distances": _distances(found["distances"]),
        "sweep": _sweep(found["sweep"]),
        "agreement": _agreement(found["agreement"]),
        "balance": _balance(found["balance"]),
        "calibration": _calibration(found["calibration"]),
        "overlap": _overlap(found["overlap"]),
    }
    drawn |= {
        f"dependence {row['covariate']}": _dependence(rule, row["covariate"])
        for row in rule["importance"][:4]
    }
    return {name: picture for name, picture in drawn.items() if picture is not None}


def _physicians(table: pl.DataFrame) -> Markup:
    rows = table.sort("shrunken", "physician").to_dicts()
    top = max(row["high"] for row in rows)
    drawing = Plot(
        "Discordance of every physician",
        f"{len(rows)} physicians from the most to the least consistent, each with the estimate, "
        "its 95 % interval and the shrunken value. The table holds the numbers.",
        (0, len(rows) + 1),
        (0, min(1.0, top * 1.05)),
    )
    drawing.axes("physicians, most consistent first", "discordance", count=len(rows))
    for position, row in enumerate(rows, 1):
        drawing.line([(position, row["low"]), (position, row["high"])], "interval")
    for position, row in enumerate(rows, 1):
        hint = (
            f"{row['physician']}: {row['discordance']:.3f} "
            f"[{row['low']:.3f}, {row['high']:.3f}], shrunken {row['shrunken']:.3f}"
        )
        drawing.point(position, row["shrunken"], hint, "soft")
        drawing.point(position, row["discordance"], hint)
    return drawing.svg()


def _funnel(table: pl.DataFrame) -> Markup:
    with_pairs = table["n_pairs"].null_count() == 0
    by = "n_pairs" if with_pairs else "n_patients"
    rows = table.drop_nulls(by).to_dicts()
    if not rows:
        return Markup("")
    middle = float(np.median(table["discordance"].to_numpy()))
    largest = max(row[by] for row in rows)
    drawing = Plot(
        "Funnel plot",
        f"Discordance against the number of {by[2:]}; "
        + (
            f"the lines show how far physicians with the median discordance of {middle:.2f} would "
            "scatter by chance (95 % and 99.8 %)."
            if with_pairs
            else f"each with its 95 % interval; the line is the median, {middle:.2f}."
        ),
        (0, largest * 1.05),
        (
            0,
            min(
                1.0, max(row["discordance" if with_pairs else "high"] for row in rows) * 1.1 + 0.05
            ),
        ),
    )
    drawing.axes(by[2:], "discordance")
    sizes = np.linspace(max(4.0, largest / 50), largest * 1.05, 60)
    # Chance is known where a discordance is a share of pairs; elsewhere the intervals tell it.
    for kind, z in LIMITS.items() if with_pairs else ():
        spread = z * np.sqrt(middle * (1 - middle) / sizes)
        for sign in (-1, 1):
            edge = np.clip(middle + sign * spread, 0, drawing.y[1])
            drawing.line(list(zip(sizes.tolist(), edge.tolist(), strict=True)), kind)
    drawing.line([(0, middle), (largest * 1.05, middle)], "line")
    for row in () if with_pairs else rows:
        drawing.line([(row[by], row["low"]), (row[by], row["high"])], "interval")
    for row in rows:
        hint = f"{row['physician']}: {row['discordance']:.3f}, {row[by]:,} {by[2:]}"
        drawing.point(row[by], row["discordance"], hint)
    return drawing.svg()


def _bars(title: str, words: str, axis: str, rows: list[tuple[str, float]]) -> Markup:
    top = max((value for _, value in rows), default=0) or 1.0
    drawing = Plot(
        title,
        words,
        (0, top),
        (len(rows) + 0.5, 0.5),
        height=ROW * len(rows) + TOP + BOTTOM,
        left=LABELS,
    )
    drawing.axes(axis, y_ticks=False)
    for position, (name, value) in enumerate(rows, 1):
        drawing.label(position, name)
        drawing.bar(
            (0, max(value, 0.0)),
            (position + 0.35, position - 0.35),
            f"{name}: {value:.3g}",
            "bar",
        )
    return drawing.svg()


def _importance(rows: list[dict[str, Any]]) -> Markup | None:
    if not rows:
        return None
    return _bars(
        "What the decisions depend on",
        "Loss of AUC when the values of a covariate are shuffled, the most important first.",
        "loss of AUC when shuffled",
        [(row["covariate"], row["importance"]) for row in rows[:12]],
    )


def _love(rows: list[dict[str, Any]]) -> Markup | None:
    rows = [row for row in rows if row["within_pairs"] is not None]
    if not rows:
        return None
    top = max(max(row["within_pairs"], row["at_random"] or 0) for row in rows) * 1.05
    drawing = Plot(
        "Love plot",
        "Standardised difference of each covariate within pairs (filled) and between two patients "
        "of the same physician at random (hollow); the closer to zero, the more comparable.",
        (0, top or 1.0),
        (len(rows) + 0.5, 0.5),
        height=ROW * len(rows) + TOP + BOTTOM,
        left=LABELS,
    )
    drawing.axes("standardised difference (root mean square)", y_ticks=False)
    for position, row in enumerate(rows, 1):
        drawing.label(position, row["covariate"])
        drawing.line([(row["within_pairs"], position), (row["at_random"], position)], "interval")
        at_random = f"{row['covariate']}: {row['at_random']:.3f} at random"
        within = f"{row['covariate']}: {row['within_pairs']:.3f} within pairs"
        drawing.point(row["at_random"], position, at_random, "soft")
        drawing.point(row["within_pairs"], position, within)
    return drawing.svg()


def _attrition(rows: list[dict[str, Any]]) -> Markup | None:
    if not rows:
        return None
    parts = [name for name in rows[0] if name != "physician"]
    kinds = ("bar", "second", "third", "fourth")
    ordered = sorted(rows, key=lambda row: -row["paired"] / max(1, sum(row[p] for p in parts)))
    drawing = Plot(
        "What became of the patients",
        "Share of each physician's patients that were paired, lay outside the caliper, or were "
        "lost in a longer cycle of the assignment. Physicians with small counts are left out.",
        (0, len(rows)),
        (0, 1),
    )
    drawing.axes("physicians", "share of patients", count=0)
    for position, row in enumerate(ordered):
        total, below = sum(row[part] for part in parts) or 1, 0.0
        for part, kind in zip(parts, kinds, strict=False):
            share = row[part] / total
            hint = f"{row['physician']}: {row[part]:,} {part.replace('_', ' ')}"
            if share:
                drawing.bar((position + 0.08, position + 0.92), (below, below + share), hint, kind)
            below += share
    return drawing.svg()


def _distances(rows: list[dict[str, Any]]) -> Markup | None:
    if not rows:
        return None
    drawing = Plot(
        "Distances of the pairs",
        "Share of pairs per tenth of the caliper; 1 is the caliper.",
        (0, 1),
        (0, max(row["share"] / (row["to"] - row["from"]) for row in rows) * 0.1),
    )
    drawing.axes("distance / caliper", "share of pairs per 0.1")
    for row in rows:
        height = row["share"] / (row["to"] - row["from"]) * 0.1
        hint = f"{row['from']:.2f} to {row['to']:.2f}: {100 * row['share']:.1f} % of pairs"
        drawing.bar((row["from"], row["to"]), (0, height), hint, "bar")
    return drawing.svg()


def _sweep(rows: list[dict[str, Any]]) -> Markup | None:
    rows = [row for row in rows if row["mean_discordance"] is not None]
    if not rows:
        return None
    drawing = Plot(
        "Another caliper",
        "Mean discordance (line) and share of patients in pairs (dashed) as the caliper changes; 1 "
        "is the caliper used.",
        (0, max(1.0, *(row["fraction"] for row in rows))),
        (0, 1),
    )
    drawing.axes("caliper, as a multiple of the one used", "share")
    for name, kind in (("mean_discordance", "line"), ("share_paired", "limit")):
        drawing.line([(row["fraction"], row[name]) for row in rows], kind)
        for row in rows:
            words = name.replace("_", " ")
            hint = f"{row['fraction']:g} of the caliper: {words} {row[name]:.2f}"
            point = "point" if kind == "line" else "soft"
            drawing.point(row["fraction"], row[name], hint, point)
    return drawing.svg()


def _agreement(rows: list[dict[str, Any]]) -> Markup | None:
    names = list(dict.fromkeys(row["method"] for row in rows))
    if len(names) < 2:
        return None
    drawing = Plot(
        "Agreement between methods",
        "Rank correlation of every two methods over the physicians.",
        (0, len(names)),
        (len(names) + 0.5, 0.5),
        height=34 * len(names) + TOP + BOTTOM,
        left=LABELS,
    )
    for position, name in enumerate(names, 1):
        drawing.label(position, f"{position} {name}")
        a, _ = drawing.place(position - 0.5, 1)
        drawing.add(
            '<text class="tick" x="{a}" y="{b}" text-anchor="middle">{n}</text>',
            a=a,
            b=drawing.height - BOTTOM + 16,
            n=position,
        )
    for row in rows:
        x, y = names.index(row["other"]), names.index(row["method"]) + 1
        value = row["spearman"]
        strength = 0.0 if value is None else abs(value)
        a, b = drawing.place(x + 0.5, y)
        text = "–" if value is None else f"{value:.2f}"
        hint = f"{row['method']} and {row['other']}: {text}"
        drawing.bar(
            (x + 0.04, x + 0.96), (y + 0.45, y - 0.45), hint, f"cell c{round(strength * 4)}"
        )
        drawing.add(
            '<text class="cell-text" x="{a}" y="{b}" text-anchor="middle" '
            'dominant-baseline="middle">{text}</text>',
            a=a,
            b=b,
            text=text,
        )
    return drawing.svg()


def _balance(rows: list[dict[str, Any]]) -> Markup | None:
    if not rows:
        return None
    ordered = sorted(rows, key=lambda row: -row["between_physicians"])[:15]
    return _bars(
        "Are patients alike across physicians?",
        "Share of each covariate's variance that lies between physicians; near zero where "
        "patients were dealt out as if at random.",
        "share of variance between physicians",
        [(row["covariate"], row["between_physicians"]) for row in ordered],
    )


def _calibration(rows: list[dict[str, Any]]) -> Markup | None:
    if len(rows) < 2:
        return None
    drawing = Plot(
        "Calibration",
        "Predicted against observed share of positive decisions in patients held out; on the line "
        "where the model is right on average.",
        (0, 1),
        (0, 1),
    )
    drawing.axes("predicted share", "observed share")
    drawing.line([(0, 0), (1, 1)], "limit")
    for row in rows:
        hint = f"predicted {row['predicted']:.2f}, observed {row['observed']:.2f}"
        drawing.point(row["predicted"], row["observed"], hint)
    return drawing.svg()


def _overlap(rows: list[dict[str, Any]]) -> Markup | None:
    if not rows:
        return None
    ordered = sorted(rows, key=lambda row: (row["overlap"], row["physician"]))
    drawing = Plot(
        "Overlap",
        "How far each physician's patients cover the range of all patients; 1 where the panel is "
        "like the whole.",
        (0, len(ordered) + 1),
        (0, 1),
    )
    drawing.axes("physicians, least overlap first", "overlap", count=len(ordered))
    for position, row in enumerate(ordered, 1):
        drawing.point(position, row["overlap"], f"{row['physician']}: {row['overlap']:.2f}")
    return drawing.svg()


def _dependence(rule: dict[str, Any], covariate: str) -> Markup | None:
    rows = [row for row in rule["dependence"] if row["covariate"] == covariate]
    if len(rows) < 2:
        return None
    values = [row["value"] for row in rows]
    drawing = Plot(
        f"How decisions depend on {covariate}",
        f"Mean predicted share of positive decisions from {rows[0]['share']:.2f} at {values[0]:g} "
        f"to {rows[-1]['share']:.2f} at {values[-1]:g}.",
        (min(values), max(values)),
        (0, 1),
        height=220,
    )
    drawing.axes(covariate[:60], "predicted share")
    drawing.line([(row["value"], row["share"]) for row in rows])
    for row in rows:
        drawing.point(row["value"], row["share"], f"{row['value']:g}: {row['share']:.2f}")
    return drawing.svg()
