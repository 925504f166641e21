"""Charts that tell whether to trust the result: the pairs, other methods, the cases, the model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from intravar.documents.blocks import Block, Figure, Paragraph, charted
from intravar.documents.charts.plot import NARROW, Dot, Plot
from intravar.documents.charts.rows import (
    MOST_SINGLE,
    Labelled,
    bar_plot,
    dot_plot,
    histogram,
    row_plot,
)
from intravar.publication.results import Decision
from intravar.tables import Table, number, table_of
from intravar.wording import Words, agree

#: Covariates shown at most.
MOST_BALANCE = 15
#: Share of variance between deciders below which their cases are called alike.
BALANCED = 0.03
#: Overlap above which deciders are said to see similar cases.
OVERLAPS = 0.8
#: In steps of which overlaps are drawn.
OVERLAP_STEP = 0.02
#: A caliper that moves the result by less than this share of 1 does not matter.
STEADY = 0.02
#: What became of those who were not paired.
LOST = {"outside_caliper": "lay too far apart", "lost_in_cycle": "were left over"}


def _left_out(decision: Decision, n_shown: int) -> str:
    missing = len(decision.physicians) - n_shown
    are = agree(missing, "is", "are")
    return f" {missing:,} with small numbers {are} not in it." if missing else ""


def love(decision: Decision, words: Words) -> Figure | None:
    """Return how alike the two cases of a pair are, by covariate."""
    rows = [
        Labelled(
            words.label(row.covariate),
            [
                Dot(row.at_random, f"{row.at_random:.3f} at random", "hollow"),
                Dot(row.within_pairs, f"{row.within_pairs:.3f} within pairs"),
            ],
            [("interval", row.within_pairs, row.at_random)],
        )
        for row in decision.diagnostics.love
        if row.within_pairs is not None and row.at_random is not None
    ]
    if not rows:
        return None
    description = (
        f"How much the two {words.cases} of a pair differ, and two {words.cases} of the same "
        f"{words.decider} at random. Left is better."
    )
    key = (("point", "within pairs"), ("hollow", f"two {words.cases} at random"))
    title = f"Are the two {words.cases} of a pair alike?"
    plot = row_plot(rows, "standardised difference (RMS)")(NARROW)
    return charted("love", title, description, plot, key=key)


def distances(decision: Decision, words: Words) -> Figure | None:
    """Return how far apart the cases of a pair are, over the caliper."""
    rows = decision.diagnostics.distances
    if not rows:
        return None
    heights = [0.1 * row.share / (row.upper - row.lower) for row in rows]
    plot = Plot(NARROW, 220, x=(0, 1), y=(0, max(heights)))
    plot.axes("distance / caliper", "share of pairs per 0.1")
    for row, height in zip(rows, heights, strict=True):
        hint = f"{row.lower:.2f} to {row.upper:.2f}: {100 * row.share:.1f} % of pairs"
        plot.bar((row.lower, row.upper), (0, height), hint, "fill")
    description = f"How far apart the {words.cases} of a pair are; 1 is the farthest allowed."
    return charted("distances", "Distances of the pairs", description, plot)


def attrition(decision: Decision, words: Words) -> Block | None:
    """Say what became of the cases when pairs were formed."""
    rows = decision.diagnostics.attrition
    if not rows:
        return None
    counts = np.array([list(parts.values()) for parts in rows.values()], dtype=float)
    names = list(next(iter(rows.values())))
    shares = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    lost = [
        f"{share:.0f} % {LOST[part]}"
        for part, share in zip(names, shares.mean(axis=0).tolist(), strict=True)
        if part in LOST
    ]
    paired = shares[:, names.index("paired")]
    return Paragraph(
        f"Of each {words.decider_own} {words.cases}, {paired.mean():.0f} % were paired on average, "
        f"from {paired.min():.0f} to {paired.max():.0f} %; {', '.join(lost)}."
        f"{_left_out(decision, len(rows))}"
    )


def sweep(decision: Decision, words: Words) -> Block | None:
    """Return what other calipers would have given; a sentence where they hardly matter."""
    steps = decision.diagnostics.sweep
    curve = [(s.fraction, s.mean_discordance) for s in steps if s.mean_discordance is not None]
    if not curve:
        return None
    values = [value for _, value in curve]
    description = (
        f"With pairs that may lie {curve[0][0]:g} to {curve[-1][0]:g} times as far apart, the mean "
        f"discordance lies between {100 * min(values):.0f} and {100 * max(values):.0f} of 100."
    )
    if max(values) - min(values) < STEADY:
        return Paragraph(description)
    plot = Plot(NARROW, 220, x=(0, max(1.0, *(fraction for fraction, _ in curve))), y=(0, 1))
    plot.axes("caliper, as a multiple of the one used", "share")
    plot.line(curve)
    plot.line([(s.fraction, s.share_paired) for s in steps if s.share_paired is not None], "limit")
    for fraction, value in curve:
        plot.point((fraction, value), f"{fraction:g}: mean discordance {value:.2f}")
    key = (("line", "mean discordance"), ("limit", f"{words.cases} in pairs"))
    reading = f"{description} If it changes much, pairs at the edge are not comparable."
    return charted("sweep", "Another caliper", description, plot, reading=reading, key=key)


def agreement(decision: Decision, words: Words) -> Table | None:
    """Return the rank correlation of every two methods."""
    rows = decision.diagnostics.agreement
    names = list(dict.fromkeys(row.method for row in rows))
    if len(names) < 2:
        return None
    correlation = {(row.method, row.other): row.spearman for row in rows}

    def beside(at: int) -> tuple[str, float, Callable[[int], str]]:
        return f"{at + 1}", 1, lambda row: number(correlation.get((names[row], names[at])))

    title = f"Do other methods rank the {words.deciders} alike?"
    caption = f"{title} Rank correlation of every two methods; 1 is the same order."
    first = ("method", 4, lambda row: f"{row + 1} {names[row]}")
    places = range(len(names))
    return table_of("Agreement", caption, places, [first, *map(beside, places)])


def balance(decision: Decision, words: Words) -> Block | None:
    """Return in what deciders' cases differ; a sentence where they are alike."""
    rows = [
        (words.label(name), share)
        for name, share in decision.diagnostics.balance.items()
        if share is not None
    ]
    rows = sorted(rows, key=lambda row: -row[1])[:MOST_BALANCE]
    if not rows:
        return None
    name, most = rows[0]
    if most < BALANCED:
        return Paragraph(
            f"{words.Deciders} see similar {words.cases}: of every recorded item, at most "
            f"{max(1, round(100 * most))} % of the variance lies between {words.deciders} (most: "
            f"{name})."
        )
    description = (
        f"Share of the variance between {words.deciders}. Long bars: they see different "
        f"{words.cases}."
    )
    title = f"In what do the {words.deciders_own} {words.cases} differ?"
    return charted("balance", title, description, bar_plot("share of variance", rows)(NARROW))


def overlap(decision: Decision, words: Words) -> Block | None:
    """Return how much every decider's cases are like those of all; a sentence where they are."""
    rows = sorted((value, who) for who, value in decision.diagnostics.overlap.items())
    if not rows:
        return None
    values = np.array([value for value, _ in rows], dtype=float)
    description = (
        f"How similar each {words.decider_own} {words.cases} are to those of all: 1 is the same "
        f"mix, 0 is nothing in common. The lowest is {values.min():.2f}, the median "
        f"{np.median(values):.2f}.{_left_out(decision, len(rows))}"
    )
    if values.min() >= OVERLAPS:
        return Paragraph(description)
    if len(rows) > MOST_SINGLE:
        names = "overlap", f"{words.deciders} per {OVERLAP_STEP:g}"
        plot = histogram(values, NARROW, names, words.counted, step=OVERLAP_STEP)
    else:
        place = {row.physician: at for at, row in enumerate(decision.physicians)}
        dots = [Dot(value, f"{who}: {value:.2f}", who=place.get(who)) for value, who in rows]
        plot = dot_plot(dots, NARROW, "overlap", ends=(0, 1), step=OVERLAP_STEP)
    title = f"Does each {words.decider} see {words.cases} like the others'?"
    return charted("overlap", title, description, plot)


def calibration(decision: Decision, words: Words) -> Figure | None:
    """Return observed against predicted shares decided for."""
    rows = decision.diagnostics.calibration
    if len(rows) < 2:
        return None
    plot = Plot(NARROW, 220)
    plot.axes(f"predicted share {words.decided_for}", "observed share")
    plot.line([(0, 0), (1, 1)], "limit")
    for row in rows:
        hint = f"predicted {row.predicted:.2f}, observed {row.observed:.2f}"
        plot.point((row.predicted, row.observed), hint)
    description = (
        f"Predicted against observed share in {words.cases} held out. Points on the line: the "
        "model is right on average."
    )
    return charted("calibration", "Are the predictions right on average?", description, plot)
