"""The rule that the data suggest: what decisions depend on, and how."""

from __future__ import annotations

from collections.abc import Mapping

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
        text = (
            f"What {words.deciders} did on the whole, learned from all decisions together (AUC "
            f"{rule.auc:.2f} in {words.cases} held out). It describes; it does not prescribe."
        )
        blocks.append(Paragraph(text))
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
    reading = "How much worse decisions are predicted when a column is shuffled, the longest first."
    weights = ", ".join(f"{name} {value:.3f}" for name, value in rows)
    in_order = f"{reading} Loss of AUC, in this order: {weights}."
    plot = bar_plot("loss of AUC", rows)(NARROW)
    return charted("importance", title, in_order, plot, reading=reading)


def dependences(decision: Decision, words: Words) -> list[Figure]:
    """Return how the share decided for goes with each of the most important covariates."""
    listed, figures = list(decision.rule.importance.items())[:MOST_DEPENDENCE], []
    kinds = {row.column: row.kind for row in decision.check.columns}
    for place, (covariate, weight) in enumerate(listed, 1):
        levels, kind = _levels(decision, covariate, kinds), kinds.get(covariate)
        worth = place == 1 or weight >= WORTH_SHOWING * listed[0][1]
        if len(levels) < 2 or not worth:
            continue
        called, axis = words.label(covariate), f"% {words.decided_for}"
        values = [value for _, value, _ in levels]
        if len(values) <= 3 or values[0] == values[-1]:
            shares = ", ".join(f"{share:.0f} % at {name}" for name, _, share in levels)
            bars = [(name, share) for name, _, share in levels]
            plot = bar_plot(axis, bars, most=100.0, unit=" %")(NARROW)
        else:
            (first, _, low), *_, (last, _, high) = levels
            shares = f"from {low:.0f} % at {first} to {high:.0f} % at {last}"
            plot = Plot(NARROW, 220, x=(min(values), max(values)), y=(0, 100))
            ticks = round_ticks(*plot.x, 3 if kind == "date" else 6)
            plot.axes("", axis, x_ticks=[(at, _at(at, kind)) for at in ticks])
            plot.line([(value, share) for _, value, share in levels])
            for name, value, share in levels:
                plot.point((value, share), f"{name}: {share:.0f} %")
        shares = f"Predicted share {words.decided_for}: {shares}."
        figures.append(charted(f"dependence-{place}", called, shares, plot, reading=""))
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
