"""Print what several decisions say together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from intravar import cli, publication

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from intravar.publication import DecisionRow, Joint, JointRow
    from intravar.wording import Words

#: Physicians that are printed; all are in the files.
MOST_PRINTED = 24
_TOGETHER = ("differ in any", "95 %", "differences")


def print_joint(console: Console, joint: Joint, words: Words) -> None:
    """Print the joint figures of all, and a table of the physicians."""
    for line in publication.joint_lines(joint, words):
        console.print(cli.Text(line))
    console.print()
    every = publication.rows_of(joint.physicians, publication.JointRow)
    told = [row for row in every if row.reportable or row.band]
    if told:
        names = _decisions_with_room(joint, words, console.width)
        console.print(_table(joint, told, names, words))
        console.print()
    if joint.n_banded:
        few = f"{words.counted(joint.n_banded)} with a band: {publication.NOT_SHOWN}"
        console.print(cli.Text(few))
    if len(every) > len(told):
        silent = words.counted(len(every) - len(told))
        console.print(cli.Text(f"without joint figures: {silent}"))


def _decisions_with_room(joint: Joint, words: Words, width: int) -> list[str]:
    """Return the decisions, if a terminal has room for them beside what they say together."""
    names = [each.decision for each in joint.decisions]
    needed = 12 + sum(max(len(words.label(name)), 5) + 1 for name in names) + 40
    return names if needed <= width else []


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _told(row: DecisionRow | None) -> str:
    return "–" if row is None else row.band or _number(row.discordance)


def _table(joint: Joint, rows: list[JointRow], decisions: list[str], words: Words) -> Table:
    table = cli.Table(box=None, pad_edge=False)
    table.add_column(cli.Text(words.decider), overflow="fold", min_width=9)
    for name in [*(words.label(name) for name in decisions), *_TOGETHER]:
        table.add_column(cli.Text(name), justify="right", no_wrap=True)
    listed = publication.rows_of(joint.by_physician, publication.DecisionRow)
    each = {(row.physician, row.decision): row for row in listed}
    for row in rows[:MOST_PRINTED]:
        known = row.reportable
        table.add_row(
            cli.Text(row.physician),
            *(_told(each.get((row.physician, name))) for name in decisions),
            _number(row.differ) if known else row.band,
            f"{_number(row.differ_low)}–{_number(row.differ_high)}" if known else "–",
            _number(row.n_differences),
        )
    if len(rows) > MOST_PRINTED:
        table.add_row(f"... {len(rows) - MOST_PRINTED:,} more")
    return table
