"""The command `check`: what a table holds and what a measurement would do to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from intravar import cli, documents, publication
from intravar.cli import options
from intravar.request import Request

if TYPE_CHECKING:
    from intravar.documents.blocks import Block
    from intravar.preparation.check import Check
    from intravar.wording import Words

#: Physicians without a figure who are named for one reason; --json names all.
MOST_NAMED = 10


@options.of_request("methods", "random_state", "min_reliability")
def check(
    source: str,
    request: Request,
    show_names: bool = False,
    key: Path | None = None,
    quiet: bool = False,
    verbose: bool = False,
    as_json: bool = False,
) -> None:
    """Look at your own table: its quality, panel sizes, leaks, and what measuring would take.

    Nothing is measured and nothing is written. Physicians are counted and not named, unless asked.
    Several decisions are looked at one after the other.
    """
    from intravar.preparation.check import checked_each  # loads what reads and computes

    secret = None if key is None else publication.read_key(key)
    console = cli.Console(highlight=False, quiet=quiet)
    answers: dict[str, Any] = {}
    several = len(request.decisions) > 1
    for decision, checked in checked_each(source, request).items():
        cannot = publication.unmeasurable(checked, _names_to_print(checked, show_names, secret))
        answers[decision] = publication.plain(
            publication.published_check(checked, several=several)
        ) | {
            "not_measurable": cannot,
            "estimated_seconds": round(checked.cost.here().seconds, 1),
        }
        if not as_json:
            _print_check(console, checked, cannot, several)
            if verbose:
                cli.print_request(console, checked.request)
    if as_json:
        asked = answers if several else answers[request.decision]
        typer.echo(json.dumps(asked, indent=1, default=str))


def _print_check(
    console: cli.Console, check: Check, cannot: list[dict[str, Any]], several: bool
) -> None:
    words = check.request.words
    columns = publication.column_rows(check, several=several)
    print_blocks(console, [documents.columns_table(columns, words)], "see --json")
    console.print()
    console.say(*publication.check_lines(check, several=several))
    _print_unmeasurable(console, cannot, words)
    cli.print_leaks(console, check.leak_lines(), words)


def print_blocks(console: cli.Console, blocks: Sequence[Block], where: str) -> None:
    """Print blocks of a document; `where` holds columns that the terminal has no room for."""
    for part in documents.printed(blocks, console.width, where):
        console.print(part)


def _names_to_print(check: Check, show_names: bool, key: bytes | None) -> dict[str, str] | None:
    """Return what to call each physician; None where nobody is to be named."""
    names = [str(name) for name in check.panels.table["physician"]]
    if show_names:
        return {name: name for name in names}
    return None if key is None else publication.Pseudonyms.of(names, key).by_name


def _print_unmeasurable(console: cli.Console, rows: list[dict[str, Any]], words: Words) -> None:
    """Say how many physicians can have no figure and why; and who, if they have been named."""
    if not rows:
        return
    console.print()
    console.print("without a figure:")
    for row in rows:
        count = words.counted(row["n_physicians"])
        console.print(f"  {count}: {row['reason']} ({row['n_patients']})", markup=False)
        named = row.get("physicians", [])
        for name in named[:MOST_NAMED]:
            console.print(f"    {name}", markup=False)
        if len(named) > MOST_NAMED:
            console.print(f"    and {len(named) - MOST_NAMED:,} more")
    if "physicians" not in rows[0]:
        console.print(
            "  (--show-names names them; --key gives the pseudonyms of an earlier measurement)"
        )
