"""The rule that the data suggest: what decisions depend on, and how."""

from __future__ import annotations

from intravar.documents.blocks import Block, Figure, Heading, Paragraph, SideBySide, charted
from intravar.documents.charts.plot import NARROW, Plot, round_ticks
from intravar.documents.charts.rows import bar_plot
from intravar.measurement.rule import day_of
from intravar.measurement.sentences import MAY_BE_READ
from intravar.measurement.verdict import NOTHING
from intravar.publication.findings import location_lines
from intravar.publication.results import Decision
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


def rule_blocks(decision: Decision, words: Words) -> list[Block]:
    """Return the rule and where decisions do not follow it, for somebody who asks for that."""
    rule = rule_section(decision, words) or [Paragraph(words.said(MAY_BE_READ[decision.verdict]))]
    return [*rule, *map(Paragraph, location_lines(decision.location, words))]


def importance(decision: Decision, words: Words) -> Block | None:
    """Return the most important covariates; a sentence where they hardly differ."""
    listed = list(decision.rule.importance.items())[:MOST_IMPORTANT]
    rows = [(words.label(name), value) for name, value in listed]
    if not rows:
        return None
    values = [value for _, value in rows]
    if len(rows) < 2 or max(values) - min(values) < ALIKE * max(values):
        names = ", ".join(name for name, _ in rows)
        return Paragraph(f"Decisions depend on these about equally: {names}.")
    title = "What the decisions depend on"
    told = "How much worse decisions are predicted when a column is shuffled, the longest first."
    weights = ", ".join(f"{name} {value:.3f}" for name, value in rows)
    in_order = f"{told} Loss of AUC, in this order: {weights}."
    plot = bar_plot("loss of AUC", rows)
    return charted("importance", title, in_order, plot, reading=told, half=True)


def dependences(decision: Decision, words: Words) -> list[Figure]:
    """Return how the share decided for goes with each of the most important covariates."""
    listed, made = list(decision.rule.importance.items())[:MOST_DEPENDENCE], []
    dates = {row.column for row in decision.check.columns if row.kind == "date"}
    for place, (covariate, weight) in enumerate(listed, 1):
        if place > 1 and weight < WORTH_SHOWING * listed[0][1]:
            continue
        called, axis = words.label(covariate), f"% {words.decided_for}"
        date = covariate in dates
        if named := _named(decision, covariate):
            told = ", ".join(f"{share:.0f} % at {name}" for name, share in named)
            plot = bar_plot(axis, named, most=100.0, unit=" %")(NARROW)
        elif points := _points(decision, covariate):
            (first, low), (last, high) = points[0], points[-1]
            told = f"from {low:.0f} % at {_at(first, date)} to {high:.0f} % at {_at(last, date)}"
            values = [value for value, _ in points]
            plot = Plot(NARROW, 220, x=(min(values), max(values)), y=(0, 100))
            ticks = [(at, _at(at, date)) for at in round_ticks(*plot.x, 3 if date else 6)]
            plot.axes("", axis, x_ticks=ticks)
            plot.line(points)
            for value, share in points:
                plot.point((value, share), f"{_at(value, date)}: {share:.0f} %")
        else:
            continue
        told = f"Predicted share {words.decided_for}: {told}."
        svg = plot.svg(called, told)
        made.append(Figure(f"dependence-{place}", called, told, "", [svg], half=True))
    return made


def _at(value: float, date: bool) -> str:
    """Write a value of a covariate; days since 1970 as a date."""
    return day_of(value) if date else f"{value:g}"


def _points(decision: Decision, name: str) -> list[tuple[float, float]]:
    """Return the values of a covariate, and the share of 100 at each."""
    rows = [row for row in decision.rule.dependence if row.covariate == name]
    return [(row.value, 100 * row.share) for row in rows if row.share is not None]


def _named(decision: Decision, name: str) -> list[tuple[str, float]]:
    """Return the same of values with names, or of few; none where a line shows it."""
    if points := _points(decision, name):
        kind = {row.column: row.kind for row in decision.check.columns}.get(name)
        yes_no = kind == "yes/no" and [value for value, _ in points] == [0, 1]
        written = [_at(value, kind == "date") for value, _ in points]
        names = ["no", "yes"] if yes_no else written
        shares = [share for _, share in points]
        return list(zip(names, shares, strict=True)) if 1 < len(points) <= 3 else []
    # Levels of a category are columns of 0 and 1; of two levels one is a column.
    columns: dict[str, dict[float, float]] = {}
    for row in decision.rule.dependence:
        if row.covariate.startswith(f"{name}=") and row.share is not None:
            level = row.covariate.removeprefix(f"{name}=")
            columns.setdefault(level, {})[row.value] = 100 * row.share
    levels = [(level, shares[1]) for level, shares in columns.items() if 1 in shares]
    if len(columns) == 1 and set(both := next(iter(columns.values()))) == {0, 1}:
        levels.append((f"not {levels[0][0]}", both[0]))
    return levels if len(levels) > 1 else []
