"""What a figure rests on: the rule that the data suggest, charts to trust it by, single cases."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intravar.documents import charts
from intravar.documents.blocks import (
    Block,
    Figure,
    Heading,
    Paragraph,
    SideBySide,
    block_list,
    charted,
    told,
)
from intravar.documents.charts import NARROW, Dot, Labelled, Plot
from intravar.documents.measurement.deciders import left_out
from intravar.measurement.rule import day_of
from intravar.measurement.sentences import MAY_BE_READ
from intravar.publication import explain
from intravar.publication.results import Decision, Published
from intravar.publication.sentences import location_lines
from intravar.tables import Table, number, table_of
from intravar.wording import Words

#: Covariates shown at most, and those whose dependence is shown.
MOST_IMPORTANT, MOST_DEPENDENCE = 12, 6
#: Share of the largest importance below which a dependence is not worth a chart.
WORTH_SHOWING = 0.05
#: Bars that differ by less than this share of the longest say no more than a sentence.
ALIKE = 0.15
NO_CASES = "No such decision: none goes against what comparable cases got."
NOBODY_ALIKE = "Nobody alike was decided the other way."
_SAID = {"for": "yes", "against": "no"}


def rule_section(decision: Decision, words: Words) -> list[Block]:
    """Return the rule that the data suggest; nothing where there is none."""
    rule, tree, what = decision.rule, None, None
    if rule.auc is not None:
        what = told("rule", words, auc=rule.auc)
    if rule.tree:
        columns = [
            (f"{words.cases} with", 4, lambda leaf: leaf.when),
            (words.decided_for, 1, lambda leaf: leaf.words),
            (f"{words.cases}, about", 1, lambda leaf: f"{leaf.about_n_patients:,}"),
        ]
        caption = f"Kinds of {words.cases} and the share {words.decided_for}."
        tree = table_of("Rule", caption, rule.tree, columns)
    beside = block_list(importance(decision, words), tree)
    blocks = block_list(what, SideBySide(beside) if beside else None)
    if courses := dependences(decision, words):
        title = f"How the share {words.decided_for} changes with each of them"
        blocks += [Heading(title, 2), SideBySide(courses)]
    heading = Heading("The rule that the data suggest", 1, "rule", "Rule")
    return [heading, *blocks] if blocks else []


def rule_blocks(decision: Decision, words: Words) -> list[Block]:
    """Return the rule and where decisions do not follow it, for somebody who asks for that."""
    rule = rule_section(decision, words) or [Paragraph(words.said(MAY_BE_READ[decision.verdict]))]
    return block_list(*rule, *location_lines(decision.location, words))


def importance(decision: Decision, words: Words) -> Block | None:
    """Return the most important covariates; a sentence where they hardly differ."""
    listed = list(decision.rule.importance.items())[:MOST_IMPORTANT]
    rows = [(words.label(name), value) for name, value in listed]
    values = [value for _, value in rows]
    if not rows:
        return None
    if len(rows) < 2 or max(values) - min(values) < ALIKE * max(values):
        names = ", ".join(name for name, _ in rows)
        return Paragraph(f"Decisions depend on these about equally: {names}.")
    weights = ", ".join(f"{name} {value:.3f}" for name, value in rows)
    return charted("importance", words, charts.bar_plot("loss of AUC", rows), weights=weights)


def dependences(decision: Decision, words: Words) -> list[Figure]:
    """Return how the share decided for goes with each of the most important covariates."""
    listed, figures = list(decision.rule.importance.items())[:MOST_DEPENDENCE], []
    kinds = {row.column: row.kind for row in decision.check.columns}
    for place, (covariate, weight) in enumerate(listed, 1):
        levels, kind = _levels(decision, covariate, kinds), kinds.get(covariate)
        worth = place == 1 or weight >= WORTH_SHOWING * listed[0][1]
        if len(levels) < 2 or not worth:
            continue
        axis, values = f"% {words.decided_for}", [value for _, value, _ in levels]
        if len(values) <= 3 or values[0] == values[-1]:
            shares = ", ".join(f"{share:.0f} % at {name}" for name, _, share in levels)
            bars = [(name, share) for name, _, share in levels]
            plot = charts.bar_plot(axis, bars, most=100.0, unit=" %")
        else:
            (first, _, low), *_, (last, _, high) = levels
            shares = f"from {low:.0f} % at {first} to {high:.0f} % at {last}"
            plot = Plot(NARROW, 220, x=(min(values), max(values)), y=(0, 100))
            ticks = charts.round_ticks(*plot.x, 3 if kind == "date" else 6)
            plot.axes("", axis, x_ticks=[(at, _at(at, kind)) for at in ticks])
            plot.line([(value, share) for _, value, share in levels])
            for name, value, share in levels:
                plot.point((value, share), f"{name}: {share:.0f} %")
        figure = charted("dependence", words, plot, called=words.label(covariate), shares=shares)
        figures.append(replace(figure, name=f"dependence-{place}"))
    return figures


def _at(value: float, kind: str | None) -> str:
    """Write a value of a covariate; days since 1970 as a date."""
    if kind == "yes/no" and value in (0, 1):
        return "yes" if value else "no"
    return day_of(value) if kind == "date" else f"{value:g}"


def _levels(
    decision: Decision, name: str, kinds: Mapping[str, str | None]
) -> list[tuple[str, float, float]]:
    """Return the levels of a covariate: in words, as a number, and the share of 100 at each.

    Levels of a category are columns of 0 and 1, all at 1; of two levels one is a column.
    """
    known = [(row, 100 * row.share) for row in decision.rule.dependence if row.share is not None]
    if own := [(row.value, share) for row, share in known if row.covariate == name]:
        return [(_at(value, kinds.get(name)), value, share) for value, share in own]
    levels = [
        (row.covariate.removeprefix(f"{name}="), row.value, share)
        for row, share in known
        if row.covariate.startswith(f"{name}=")
    ]
    if len({level for level, _, _ in levels}) == 1:
        return [(level if at else f"not {level}", at, share) for level, at, share in levels]
    return [each for each in levels if each[1] == 1]


#: Covariates shown at most.
MOST_BALANCE = 15
#: Share of variance between deciders below which their cases are called alike.
BALANCED = 0.03
#: Overlap above which deciders are said to see similar cases, and steps in which it is drawn.
OVERLAPS, OVERLAP_STEP = 0.8, 0.02
#: A caliper that moves the result by less than this share of 1 does not matter.
STEADY = 0.02
#: What became of those who were not paired.
LOST = {"outside_caliper": "lay too far apart", "lost_in_cycle": "were left over"}


def love(decision: Decision, words: Words) -> Figure | None:
    """Return how alike the two cases of a pair are, by covariate."""
    rows = []
    for each in decision.diagnostics.love:
        within, random = each.within_pairs, each.at_random
        if within is not None and random is not None:
            hollow = Dot(random, f"{random:.3f} at random", "hollow")
            dots = [hollow, Dot(within, f"{within:.3f} within pairs")]
            rows.append(Labelled(words.label(each.covariate), dots, within, random))
    if not rows:
        return None
    return charted("love", words, charts.row_plot(rows, "standardised difference (RMS)"))


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
    return charted("distances", words, plot)


def attrition(decision: Decision, words: Words) -> Block | None:
    """Say what became of the cases when pairs were formed."""
    rows = decision.diagnostics.attrition
    if not rows:
        return None
    counts = np.array([list(parts.values()) for parts in rows.values()], dtype=float)
    shares = 100 * counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    by_part = dict(zip(next(iter(rows.values())), shares.T, strict=True))
    lost = [f"{by_part[part].mean():.0f} % {LOST[part]}" for part in by_part if part in LOST]
    paired, missing = by_part["paired"], left_out(decision, len(rows), "with small numbers")
    ends = {"mean": paired.mean(), "least": paired.min(), "most": paired.max()}
    return Paragraph(told("paired", words, lost=", ".join(lost), missing=missing, **ends))


def sweep(decision: Decision, words: Words) -> Block | None:
    """Return what other calipers would have given; a sentence where they hardly matter."""
    steps = decision.diagnostics.sweep
    curve = [(s.fraction, s.mean_discordance) for s in steps if s.mean_discordance is not None]
    if not curve:
        return None
    values = [value for _, value in curve]
    ends = {"nearest": curve[0][0], "farthest": curve[-1][0]}
    text = told("calipers", words, low=100 * min(values), high=100 * max(values), **ends)
    if max(values) - min(values) < STEADY:
        return Paragraph(text)
    plot = Plot(NARROW, 220, x=(0, max(1.0, *(fraction for fraction, _ in curve))), y=(0, 1))
    plot.axes("caliper, as a multiple of the one used", "share")
    plot.line(curve)
    plot.line([(s.fraction, s.share_paired) for s in steps if s.share_paired is not None], "limit")
    for fraction, value in curve:
        plot.point((fraction, value), f"{fraction:g}: mean discordance {value:.2f}")
    return charted("sweep", words, plot, text=text)


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
    shares = decision.diagnostics.balance.items()
    rows = [(words.label(name), share) for name, share in shares if share is not None]
    rows = sorted(rows, key=lambda row: -row[1])[:MOST_BALANCE]
    if not rows:
        return None
    name, most = rows[0]
    if most < BALANCED:
        share = max(1, round(100 * most))
        return Paragraph(told("balanced", words, share=share, name=name))
    return charted("balance", words, charts.bar_plot("share of variance", rows))


def overlap(decision: Decision, words: Words) -> Block | None:
    """Return how much every decider's cases are like those of all; a sentence where they are."""
    rows = sorted((value, who) for who, value in decision.diagnostics.overlap.items())
    if not rows:
        return None
    values = np.array([value for value, _ in rows], dtype=float)
    lowest, median = values.min(), np.median(values)
    missing = left_out(decision, len(rows), "with small numbers")
    text = told("overlap", words, lowest=lowest, median=median, missing=missing)
    if values.min() >= OVERLAPS:
        return Paragraph(text)
    if len(rows) > charts.MOST_SINGLE:
        names = "overlap", f"{words.deciders} per {OVERLAP_STEP:g}"
        plot = charts.histogram(values, NARROW, names, words.counted, step=OVERLAP_STEP)
    else:
        place = {row.physician: at for at, row in enumerate(decision.physicians)}
        dots = [Dot(value, f"{who}: {value:.2f}", who=place.get(who)) for value, who in rows]
        plot = charts.dot_plot(dots, NARROW, "overlap", end=1, step=OVERLAP_STEP)
    return charted("overlap", words, plot, text=text)


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
    return charted("calibration", words, plot)


#: What tells whether to trust the result.
TRUST = love, distances, attrition, sweep, agreement, balance, overlap, calibration


def case_blocks(
    table: pl.DataFrame, decision: str, words: Words, *, beside: int = 1, name: str = "Case"
) -> list[Block]:
    """Return cases of :func:`intravar.explain`, each beside so many that were decided otherwise.

    A table holds what somebody differs in; a sentence tells what is the same. `name` is that of the
    tables.
    """
    parts: list[Block] = []
    for _, rows_of_case in table.group_by("case", maintain_order=True):
        groups = rows_of_case.group_by("pair", maintain_order=True)
        pairs = [pair.to_dicts() for _, pair in groups][:beside]
        first = pairs[0][0]
        yes = first["row"] == first["row_for"]
        own, other = ("for", "against") if yes else ("against", "for")
        alone = first[f"row_{other}"] is None
        heads = ["what differs", f"row {first['row']:,}: {_SAID[own]}"]
        heads += [f"row {pair[0][f'row_{other}']:,}: {_SAID[other]}" for pair in pairs if not alone]
        same, rows = [], []
        for lines in zip(*pairs, strict=True):
            label, value = words.label(lines[0]["covariate"]), lines[0][f"decided_{own}"]
            if all(line["difference"] == "same" for line in lines):
                same.append(f"{label} {value}")
            else:
                others = [] if alone else [_beside(line, other) for line in lines]
                rows.append([label, str(value), *others])
        columns = [(head, 1, itemgetter(at)) for at, head in enumerate(heads)]
        heading = _case_heading(first, words.decision or decision, words, yes=yes)
        title, every = f"{name} {first['case']}", range(len(columns))
        parts.append(table_of(title, heading, rows, columns, words=every))
        remarks = [NOBODY_ALIKE] * alone + [f"The same: {', '.join(same)}."] * bool(same)
        parts += [Paragraph(" ".join(remarks), quiet=True)] if remarks else []
    return parts


def _beside(line: Mapping[str, Any], other: str) -> str:
    """Write the value of one decided otherwise, and by how much it differs."""
    sign, far = line["difference"][0], line["difference"][1:]
    if other == "against":  # the difference is that of "for" from "against"
        sign = {"+": "-", "-": "+"}.get(sign, sign)
    return f"{line[f'decided_{other}']}{f' ({sign}{far})' if sign in '+-' else ''}"


def _case_heading(first: Mapping[str, Any], decision: str, words: Words, *, yes: bool) -> str:
    own, other = ("yes", "no") if yes else ("no", "yes")
    if first["kind"] == "pair":
        return f"pair {first['case']}: two {words.cases} alike, distance {first['distance']:.3g}"
    row = f"{first['case']}. Data row {first['row']:,}, {decision}: {own}"
    if first["kind"] == "surprise":
        likely = round(100 * (1 - first["predicted"] if yes else first["predicted"]))
        return f"{row}; predicted was {other}, with {likely} of 100."
    return f"{row}, though surely {'not ' * yes}eligible by the rule."


def cases_of_each(
    folder: Path, physician: str, published: Published, *, most: int = 5, beside: int = 1
) -> list[Block]:
    """Return the cases behind a decider in every decision; nothing where there are none."""
    parts: list[Block] = []
    for each in published.decisions:
        if physician in {row.physician for row in each.physicians}:
            label = published.words.label(each.decision)
            table = explain.explain(folder, physician, most=most, decision=each.decision)
            name = "Case" if published.joint is None else f"{label} case"
            own = case_blocks(table, label, published.words, beside=beside, name=name)
            parts += [Heading(label, 2)] if own and published.joint is not None else []
            parts += own
    return parts
