"""Two measurements side by side: all together, and the surest changes one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from intravar.documents.blocks import Block, Bullets, Heading, Paragraph
from intravar.publication.compare import Changed, Comparison
from intravar.request import MATTERS
from intravar.tables import Table, hundred, hundredths, table_of
from intravar.wording import capital

#: Deciders whose change is listed, the surest first.
MOST_CHANGES = 24
#: What stands in place of a change that rounding may have made.
NONE = "none"


def comparison_blocks(comparisons: Mapping[str, Comparison]) -> list[Block]:
    """Return what changed from one measurement to another, for each decision by its name."""
    blocks: list[Block] = []
    for name, each in comparisons.items():
        if name:
            blocks.append(Heading(capital(each.words.label(name))))
        blocks += [_group(each)] if each.group else []
        blocks += [Bullets(each.lines()), *_physicians(each)]
    return blocks


def _group(comparison: Comparison) -> Table:
    caption = f"Decided differently of 100, all together, over all {comparison.words.cases}."
    changes = [_change(row) for row in comparison.group]
    if NONE in changes:
        caption += f" {capital(NONE)}: the difference is within the rounding of both figures."
    if hundred(None) in changes:
        caption += " A dash: the exact figure is not kept."
    elif not comparison.same_patients and any(row.low is None for row in comparison.group):
        caption += " A dash: the interval is narrower than figures are rounded."
    columns = [("of 100", 3, lambda row: row.of), *_FIGURES]
    columns += [] if comparison.same_patients else [_INTERVAL]
    return table_of("All together", caption, comparison.group, columns)


def _physicians(comparison: Comparison) -> list[Block]:
    rows, words = comparison.rows(), comparison.words
    if not rows:
        return []
    caption = (
        f"Changes one by one, of 100 pairs of comparable {words.cases}, the surest first. How sure:"
        f" the probability of a true change by more than {hundred(MATTERS)} in the likelier "
        f"direction. It also uses how much all changed: {words.cases} of one {words.decider} tell "
        "little alone."
    )
    if comparison.same_patients:
        caption = f"One by one, of 100 pairs of comparable {words.cases}."
    who = (words.decider, 1.5, lambda row: row.of)
    sure = ("how sure", 1, lambda row: f"{hundred(row.probability)} %")
    columns = [who, *_FIGURES]
    columns += [] if comparison.same_patients else [_INTERVAL, sure]
    table = table_of("Changes", caption, rows[:MOST_CHANGES], columns)
    more = len(rows) - MOST_CHANGES
    rest = [Paragraph(f"And {words.counted(more)} more.", quiet=True)] if more > 0 else []
    return [table, *rest]


def _change(row: Changed) -> str:
    """Write a change so that the line adds up: of the figures as they are shown."""
    if row.first is None or row.second is None:
        return hundred(None)
    change = hundredths(row.second, row.claim) - hundredths(row.first, row.claim)
    return NONE if row.within_rounding and change else _signed(change)


def _interval(row: Changed) -> str:
    if row.low is None or row.high is None:
        return hundred(None)
    return f"{_signed(round(100 * row.low))} to {_signed(round(100 * row.high))}"


def _signed(number: int) -> str:
    return f"{number:+d}" if number else "0"


#: Columns that both tables have: heading, width and cell.
_FIGURES: list[tuple[str, float, Callable[[Any], str]]] = [
    ("first", 1, lambda row: hundred(row.first, row.claim)),
    ("second", 1, lambda row: hundred(row.second, row.claim)),
    ("change", 1, _change),
]
_INTERVAL = ("95 % interval", 1.2, _interval)
