"""The command `explain`: the pairs behind a physician, and the rule that the data suggest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from intravar.cli.simulation import Json
from intravar.publication.explain import WARNING, measurement_folders
from intravar.publication.explain import explain as find_pairs
from intravar.publication.exports import safe_csv
from intravar.publication.folders import read_summary, write_private
from intravar.writing import checked_target, whole_file


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("explain")(explain)


def explain(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="What 'intravar measure --out' wrote.")
    ],
    physician: Annotated[
        str | None,
        typer.Option("--physician", help="Pseudonym, or name. Default: the rule of all."),
    ] = None,
    most: Annotated[int, typer.Option("--pairs", help="Pairs to show, the closest first.")] = 5,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the pairs to this CSV file instead.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the discordant pairs behind a physician side by side, or the rule the data suggest.

    Pairs are patient-level data: they are read from the private folder beside DIR and are never
    part of the report unless it was asked for.
    """
    path, _ = measurement_folders(folder)
    if out is not None:
        checked_target(out)
    summary = read_summary(path) or {}
    console = Console(highlight=False)
    if physician is None:
        if as_json:
            typer.echo(json.dumps(summary["rule"], indent=1))
        else:
            _print_rule(console, summary)
        return
    table = find_pairs(folder, physician, most=most)
    if out is not None:
        with whole_file(out) as beside:
            write_private(beside, f"# {WARNING}\n{safe_csv(table)}".encode())
        typer.echo(f"{WARNING}\n{out}", err=True)
    elif as_json:
        typer.echo(json.dumps({"warning": WARNING, "pairs": table.to_dicts()}, indent=1))
    else:
        _print_pairs(console, table, summary)


def _print_rule(console: Console, summary: dict[str, Any]) -> None:
    rule = summary["rule"]
    positive = summary["request"]["columns"]["decision"]
    console.print("What the decisions depend on (loss of AUC when shuffled):")
    for row in rule["importance"][:8]:
        bar = "█" * round(20 * max(0.0, row["importance"]) / _largest(rule["importance"]))
        console.print(Text(f"  {row['importance']:6.3f} {bar} {row['covariate']}"))
    console.print()
    console.print(Text(f"A short tree, by the share of '{positive}':"))
    leaves = Table.grid(padding=(0, 2))
    leaves.add_column(justify="right", no_wrap=True)
    leaves.add_column(overflow="fold")
    for leaf in rule["tree"]:
        leaves.add_row(leaf["words"], Text(leaf["when"]))
    console.print(leaves)
    console.print()
    console.print("It describes what the physicians did on the whole, not what is right.")


def _largest(rows: list[dict[str, Any]]) -> float:
    return max((row["importance"] for row in rows), default=0) or 1.0


def _print_pairs(console: Console, table: pl.DataFrame, summary: dict[str, Any]) -> None:
    console.print(WARNING, style="bold red")
    if not table.height:
        console.print("No discordant pair: comparable patients got the same decision.")
        return
    decision = summary["request"]["columns"]["decision"]
    for (number,), rows in table.group_by("pair", maintain_order=True):
        first = rows.row(0, named=True)
        console.print()
        console.print(
            Text(
                f"pair {number}: data rows {first['row_for']:,} and {first['row_against']:,}, "
                f"distance {first['distance']:.3g}"
            )
        )
        shown = Table(box=None, pad_edge=False)
        headings = ("", f"{decision}: yes", f"{decision}: no", "difference")
        for heading in headings:
            shown.add_column(Text(heading), overflow="fold")
        for row in rows.iter_rows(named=True):
            style = "dim" if row["difference"] == "same" else ""
            cells = (row[name] for name in ("covariate", "decided_for", "decided_against"))
            shown.add_row(*(Text(cell) for cell in cells), Text(row["difference"]), style=style)
        console.print(shown)
