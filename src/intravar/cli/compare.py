"""The command `compare`: two stored measurements set side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import intravar
from intravar import cli, publication
from intravar.cli.options import Json

if TYPE_CHECKING:
    from rich.console import Console

    from intravar.publication.compare import Comparison

#: Physicians that are printed, those who changed most first; all are in the JSON.
MOST_PRINTED = 20


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("compare")(compare)


def compare(
    first: Annotated[Path, typer.Argument(metavar="DIR1", help="An earlier measurement.")],
    second: Annotated[Path, typer.Argument(metavar="DIR2", help="A later one.")],
    as_json: Json = False,
) -> None:
    """Compare two stored measurements: what changed from the first to the second.

    Physicians are matched by the names in both private folders. Where these are not at hand they
    meet by pseudonym: measure the second time with --key and the key.json of the first. Several
    decisions are compared one after the other.
    """
    found = {
        name: intravar.compare(first, second, decision=name)
        for name in publication.decisions_in_both(first, second)
    }
    if as_json:
        told = {name: _plain(change) for name, change in found.items()}
        typer.echo(json.dumps(told.get(None, told), indent=1))
        return
    console = cli.Console(highlight=False)
    for name, change in found.items():
        if name is not None:
            console.print(cli.Text(f"{name}:", style="bold"))
        _print(console, change)


def _plain(found: Comparison) -> dict[str, Any]:
    return {
        "group": found.group,
        "noise": found.noise.to_dicts(),
        "physicians": found.physicians.to_dicts(),
        "notes": list(found.notes),
    }


def _print(console: Console, found: Comparison) -> None:
    for line in found.lines():
        console.print(cli.Text(line))
    if not found.physicians.height:
        return
    table = cli.Table(box=None, pad_edge=False)
    table.add_column("physician", overflow="fold", min_width=9)
    for name in ("first", "second", "change", "95 %", "probability"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = found.physicians.sort("probability", descending=True, nulls_last=True)
    for row in rows.head(MOST_PRINTED).iter_rows(named=True):
        table.add_row(
            str(row["physician"]),
            f"{row['first']:.3f}",
            f"{row['second']:.3f}",
            f"{row['change']:+.3f}",
            f"[{row['low']:+.2f}, {row['high']:+.2f}]",
            f"{row['probability']:.2f}",
        )
    console.print()
    console.print(table)
    if rows.height > MOST_PRINTED:
        console.print(cli.Text(f"... and {rows.height - MOST_PRINTED:,} more, with --json"))
