"""Two measurements side by side: all together, and the surest changes one by one."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from intravar.documents.blocks import Block, Bullets, Heading, Paragraph, told
from intravar.publication.compare import Changed, Comparison
from intravar.request import MATTERS
from intravar.tables import hundred, hundredths, is_upper_limit, table_of
from intravar.wording import capital

#: Deciders whose change is listed, the surest first.
MOST_CHANGES = 24
#: What stands in place of a change that rounding may have made.
NONE = "none"
#: Heading, width and cell of a column.
Column: TypeAlias = tuple[str, float, Callable[[Any], str]]


def comparison_blocks(comparisons: Mapping[str, Comparison]) -> list[Block]:
    """Return what changed from one measurement to another, for each decision by its name."""
    blocks: list[Block] = []
    for name, each in comparisons.items():
        words, rows = each.words, each.rows()
        if name:
            blocks.append(Heading(capital(words.label(name))))
        if each.group:
            captions = ["changed_all"]
            changes = [_change(row) for row in each.group]
            if NONE in changes:
                captions.append("changed_none")
            if hundred(None) in changes:
                captions.append("changed_not_kept")
            elif not each.same_patients and any(row.low is None for row in each.group):
                captions.append("changed_narrow")
            caption = " ".join(told(name, words) for name in captions)
            columns = _columns(each, "of 100", 3)
            blocks.append(table_of("All together", caption, each.group, columns))
        blocks.append(Bullets(each.lines()))
        if rows:
            caption = told("changed_each", words)
            columns = _columns(each, words.decider, 1.5)
            if not each.same_patients:
                caption = told("changed_surest", words, matters=hundred(MATTERS))
                columns.append(("how sure", 1, lambda row: f"{hundred(row.probability)} %"))
            if is_upper_limit(each.claim):
                caption += f" {told('changed_limits', words)}"
            blocks.append(table_of("Changes", caption, rows[:MOST_CHANGES], columns))
        if (more := len(rows) - MOST_CHANGES) > 0:
            blocks.append(Paragraph(f"And {words.counted(more)} more.", quiet=True))
    return blocks


def _columns(comparison: Comparison, heading: str, share: float) -> list[Column]:
    columns: list[Column] = [
        (heading, share, lambda row: row.of),
        ("first", 1, lambda row: hundred(row.first)),
        ("second", 1, lambda row: hundred(row.second)),
        ("change", 1, _change),
    ]
    return columns if comparison.same_patients else [*columns, ("95 % interval", 1.2, _interval)]


def _change(row: Changed) -> str:
    """Write a change so that the line adds up: of the figures as they are shown."""
    if row.first is None or row.second is None:
        return hundred(None)
    change = hundredths(row.second) - hundredths(row.first)
    return NONE if row.within_rounding and change else _signed(change)


def _interval(row: Changed) -> str:
    if row.low is None or row.high is None:
        return hundred(None)
    return f"{_signed(round(100 * row.low))} to {_signed(round(100 * row.high))}"


def _signed(number: int) -> str:
    return f"{number:+d}" if number else "0"
