"""The command `measure` with several decisions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import intravar
from intravar import cli, pages, publication, sources
from intravar.cli import endings
from intravar.request import Request

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from intravar.publication import SeveralOutputs

#: Physicians that are printed; all are in the files.
MOST_PRINTED = 24


def measure_together(
    source: str,
    request: Request,
    out: Path,
    written: dict[str, Any],
    *,
    quiet: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Measure several decisions, write their folders and print what they say together."""
    folders = pages.decision_folders(out, request.decisions)
    place = sources.without_password(source)
    for name, alone in request.of_each().items():
        publication.checked_out(folders[name], alone, place, replace=written["replace"])
    errors = cli.Console(stderr=True, highlight=False, quiet=quiet)
    with cli.StepProgress(errors, every=verbose) as progress:
        found = intravar.measure_several(source, request, progress=progress)
        progress.step("writing the reports")
        outputs = intravar.write_several(found, out, **written)
    if as_json:
        tables = {
            "joint": outputs.joint.to_dicts(),
            "by_decision": outputs.decisions.to_dicts(),
            "by_pair": outputs.pairs.to_dicts(),
        }
        typer.echo(json.dumps(outputs.summary | tables, default=str))
    else:
        _print(cli.Console(highlight=False, quiet=quiet), outputs, out, folders)
    if not outputs.summary["n_reportable"]:
        raise typer.Exit(endings.NOBODY_REPORTABLE)


def _print(console: Console, outputs: SeveralOutputs, out: Path, folders: dict[str, Path]) -> None:
    for line in publication.joint_lines(outputs.summary):
        console.print(cli.Text(line))
    console.print()
    if outputs.summary["n_reportable"]:
        console.print(_table(outputs))
        console.print()
    hidden = outputs.joint.height - outputs.summary["n_reportable"]
    if hidden:
        why = outputs.joint["reason"].drop_nulls()[0]
        plural = "physician" if hidden == 1 else "physicians"
        console.print(cli.Text(f"without joint figures: {hidden:,} {plural}: {why}"))
        console.print()
    console.print(cli.Text(f"report: {out / 'report.html'}"), soft_wrap=True)
    for name, folder in folders.items():
        console.print(cli.Text(f"{name}: {folder / 'report.html'}"), soft_wrap=True)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _table(outputs: SeveralOutputs) -> Table:
    table = cli.Table(box=None, pad_edge=False)
    table.add_column("physician", overflow="fold", min_width=9)
    decisions = outputs.summary["decisions"]
    for name in (*decisions, "differ in any", "95 %", "differences"):
        table.add_column(name, justify="right", no_wrap=True)
    rows = outputs.joint.filter(outputs.joint["reportable"])
    each = {
        (row["physician"], row["decision"]): row["discordance"]
        for row in outputs.decisions.iter_rows(named=True)
    }
    for row in rows.head(MOST_PRINTED).iter_rows(named=True):
        table.add_row(
            cli.Text(row["physician"]),
            *(_number(each.get((row["physician"], name))) for name in decisions),
            f"{row['differ']:.2f}",
            f"{row['differ_low']:.2f}–{row['differ_high']:.2f}",
            f"{row['n_differences']:.2f}",
        )
    if rows.height > MOST_PRINTED:
        table.add_row(f"... {rows.height - MOST_PRINTED:,} more")
    return table
