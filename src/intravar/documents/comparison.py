"""Two measurements side by side: all together, and the surest changes one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from intravar.documents.blocks import Block, Bullets, Heading, Paragraph
from intravar.publication.compare import Changed, ChangedGroup, Comparison
from intravar.request import MATTERS
from intravar.tables import Table, hundred, table_of
from intravar.wording import capital

#: Deciders whose change is listed, the surest first.
MOST_CHANGES = 24
#: What stands in place of a change that rounding may have made.
NONE = "none"


def comparison_blocks(found: Mapping[str, Comparison]) -> list[Block]:
    """Return what changed from one measurement to another, for each decision by its name."""
    blocks: list[Block] = []
    for name, each in found.items():
        if name:
            blocks.append(Heading(capital(each.words.label(name))))
        blocks += [_group(each)] if each.group else []
        blocks += [Bullets(each.lines()), *_physicians(each)]
    return blocks


def _group(found: Comparison) -> Table:
    def change(row: ChangedGroup) -> str:
        return NONE if row.within_rounding and _change(row) != "0" else _change(row)

    caption = (
        f"All together, over all {found.words.cases}: how many of 100 are decided differently."
    )
    if any(change(row) == NONE for row in found.group):
        caption += f" {capital(NONE)}: the difference is within the rounding of both figures."
    columns = [("of 100", 3, lambda row: row.of), *_FIGURES, ("change", 1, change)]
    columns += [] if found.same_patients else [_INTERVAL]
    return table_of("All together", caption, found.group, columns)


def _physicians(found: Comparison) -> list[Block]:
    rows, words = found.rows(), found.words
    if not rows:
        return []
    caption = (
        f"Changes one by one, of 100 pairs of comparable {words.cases}, the surest first. How sure:"
        f" the probability of a true change by more than {hundred(MATTERS)} in the likelier "
        f"direction. It also uses how much all changed: {words.cases} of one {words.decider} tell "
        "little alone."
    )
    if found.same_patients:
        caption = f"One by one, of 100 pairs of comparable {words.cases}."
    who = (words.decider, 1.5, lambda row: row.physician)
    sure = ("how sure", 1, lambda row: f"{hundred(row.probability)} %")
    columns = [who, *_FIGURES, ("change", 1, _change)]
    columns += [] if found.same_patients else [_INTERVAL, sure]
    table = table_of("Changes", caption, rows[:MOST_CHANGES], columns)
    more = len(rows) - MOST_CHANGES
    rest = [Paragraph(f"And {words.counted(more)} more.", quiet=True)] if more > 0 else []
    return [table, *rest]


def _change(row: Changed | ChangedGroup) -> str:
    """Write a change so that the line adds up: of the figures as they are shown."""
    return _signed(round(100 * row.second) - round(100 * row.first))


def _interval(row: Changed | ChangedGroup) -> str:
    if row.low is None or row.high is None:
        return "–"
    return f"{_signed(round(100 * row.low))} to {_signed(round(100 * row.high))}"


def _signed(number: int) -> str:
    return f"{number:+d}" if number else "0"


#: Columns that both tables have: heading, width and cell.
_FIGURES: list[tuple[str, float, Callable[[Any], str]]] = [
    ("first", 1, lambda row: hundred(row.first)),
    ("second", 1, lambda row: hundred(row.second)),
]
_INTERVAL = ("95 % interval", 1.2, _interval)
