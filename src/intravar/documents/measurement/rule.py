"""The rule that the data suggest: what decisions depend on, and how."""

from __future__ import annotations

from typing import NamedTuple

from intravar.documents.blocks import Block, Figure, Heading, Paragraph, SideBySide, charted
from intravar.documents.charts.plot import NARROW, Plot
from intravar.documents.charts.rows import bar_plot
from intravar.measurement.verdict import NOTHING
from intravar.publication.results import Decision, Dependence
from intravar.tables import table_of
from intravar.wording import Words

#: Covariates shown at most, and those whose dependence is shown.
MOST_IMPORTANT, MOST_DEPENDENCE = 12, 6
#: Share of the largest importance below which a dependence is not worth a chart.
WORTH_SHOWING = 0.05
#: Bars that differ by less than this share of the longest say no more than a sentence.
ALIKE = 0.15


def rule_section(decision: Decision, words: Words) -> list[Block]:
    """Return the rule that the data suggest; nothing where nothing may be read."""
    rule = decision.rule
    if decision.verdict == NOTHING:
        return []
    blocks: list[Block] = [Heading("The rule that the data suggest", 1, "rule", "Rule")]
    if rule.auc is not None:
        told = (
            f"What {words.deciders} did on the whole, learned from all decisions together (AUC "
            f"{rule.auc:.2f} in {words.cases} held out). It describes; it does not prescribe."
        )
        blocks.append(Paragraph(told))
    weights = importance(decision, words)
    side: list[Block] = [] if weights is None else [weights]
    if rule.tree:
        caption = f"Kinds of {words.cases} and the share {words.decided_for}."
        side.append(
            table_of(
                "Rule",
                caption,
                rule.tree,
                [
                    (f"{words.cases} with", 4, lambda leaf: leaf.when),
                    (words.decided_for, 1, lambda leaf: leaf.words),
                    (f"{words.cases}, about", 1, lambda leaf: f"{leaf.about_n_patients:,}"),
                ],
            )
        )
    blocks += [SideBySide(side)] if side else []
    if courses := dependences(decision, words):
        title = f"How the share {words.decided_for} changes with each of them"
        blocks += [Heading(title, 2), SideBySide(courses)]
    return blocks


def importance(decision: Decision, words: Words) -> Block | None:
    """Return the most important covariates; a sentence where they hardly differ."""
    rows = [
        (words.label(row.covariate), row.importance)
        for row in decision.rule.importance[:MOST_IMPORTANT]
    ]
    if not rows:
        return None
    values = [value for _, value in rows]
    listed = ", ".join(name for name, _ in rows)
    if len(rows) < 2 or max(values) - min(values) < ALIKE * max(values):
        return Paragraph(f"Decisions depend on these about equally: {listed}.")
    title = "What the decisions depend on"
    told = "How much worse decisions are predicted when a column is shuffled, the longest first."
    in_order = f"{told} In this order: {listed}."
    plot = bar_plot("loss of AUC", rows)
    return charted("importance", title, in_order, plot, reading=told, half=True)


class Course(NamedTuple):
    """How the share decided for goes with one covariate: by values, or by values with names."""

    covariate: str
    points: list[tuple[float, float]]
    named: list[tuple[str, float]]


def dependence_of(decision: Decision, place: int, words: Words) -> Course | None:
    """Return the dependence on the covariate in that place of importance, counted from 0."""
    listed = decision.rule.importance
    if place >= len(listed):
        return None
    if place and listed[place].importance < WORTH_SHOWING * listed[0].importance:
        return None
    name = listed[place].covariate
    called = words.label(name)
    rows = [row for row in decision.rule.dependence if row.covariate == name]
    if not rows:
        levels = _levels(decision.rule.dependence, name)
        return Course(called, [], levels) if len(levels) > 1 else None
    points = [(row.value, row.share) for row in rows if row.share is not None]
    kinds = {row.column: row.kind for row in decision.check.columns}
    if kinds.get(name) == "yes/no" and [value for value, _ in points] == [0, 1]:
        return Course(called, [], [("no", points[0][1]), ("yes", points[1][1])])
    if 1 < len(points) <= 3:
        return Course(called, [], [(f"{value:g}", share) for value, share in points])
    return Course(called, points, []) if points else None


def _levels(rows: tuple[Dependence, ...], name: str) -> list[tuple[str, float]]:
    """Return the levels of a category, which are columns of 0 and 1, and the share at each."""
    columns: dict[str, dict[float, float]] = {}
    for row in rows:
        if row.covariate.startswith(f"{name}=") and row.share is not None:
            level = row.covariate.removeprefix(f"{name}=")
            columns.setdefault(level, {})[row.value] = row.share
    if len(columns) == 1:  # of two levels one is a column
        level, shares = next(iter(columns.items()))
        if set(shares) == {0, 1}:
            return [(level, shares[1]), (f"not {level}", shares[0])]
    return [(level, shares[1]) for level, shares in columns.items() if 1 in shares]


def dependences(decision: Decision, words: Words) -> list[Figure]:
    """Return how the share decided for goes with each of the most important covariates."""
    made = []
    for place in range(MOST_DEPENDENCE):
        course = dependence_of(decision, place, words)
        if course is None:
            continue
        if course.named:
            told = ", ".join(f"{100 * share:.0f} % at {name}" for name, share in course.named)
        else:
            (first, low), (last, high) = course.points[0], course.points[-1]
            told = f"from {100 * low:.0f} % at {first:g} to {100 * high:.0f} % at {last:g}"
        told = f"Predicted share {words.decided_for}: {told}."
        svg = _plot(course, f"% {words.decided_for}").svg(course.covariate, told)
        name = f"dependence-{place + 1}"
        made.append(Figure(name, course.covariate, told, "", [svg], half=True))
    return made


def _plot(course: Course, axis: str) -> Plot:
    """Plot the predicted share: as bars where values have names, else as a line."""
    if course.named:
        bars = [(name, 100 * share) for name, share in course.named]
        return bar_plot(axis, bars, most=100.0, unit=" %")(NARROW)
    points = [(value, 100 * share) for value, share in course.points]
    values = [value for value, _ in points]
    plot = Plot(NARROW, 220, x=(min(values), max(values)), y=(0, 100))
    plot.axes("", axis)
    plot.line(points)
    for value, share in points:
        plot.point((value, share), f"{value:g}: {share:.0f} %")
    return plot
