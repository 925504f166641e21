"""The command `measure` with several decisions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import intravar
from intravar import cli, documents, publication, sources
from intravar.cli import endings
from intravar.cli.check import print_left_out
from intravar.request import Request

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

    from intravar.cli.steps import StepLines, StepProgress
    from intravar.publication import SeveralOutputs

#: Physicians that are printed; all are in the files.
MOST_PRINTED = 24
_TOGETHER = ("differ in any", "95 %", "differences")


def measure_together(
    source: str,
    request: Request,
    out: Path,
    written: dict[str, Any],
    steps: StepProgress | StepLines,
    *,
    quiet: bool,
    as_json: bool,
) -> None:
    """Measure several decisions, write their folders and print what they say together."""
    folders = documents.decision_folders(out, request.decisions)
    place = sources.without_password(source)
    for name, alone in request.of_each().items():
        publication.checked_out(folders[name], alone, place, replace=written["replace"])
    with steps as progress:
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
    if not outputs.summary["n_reportable"] + outputs.summary["n_banded"]:
        raise typer.Exit(endings.NOBODY_REPORTABLE)


def _print(console: Console, outputs: SeveralOutputs, out: Path, folders: dict[str, Path]) -> None:
    summary, words = outputs.summary, outputs.words
    for line in publication.joint_lines(summary, words):
        console.print(cli.Text(line))
    console.print()
    told = outputs.joint.filter(outputs.joint["reportable"] | outputs.joint["band"].is_not_null())
    if told.height:
        shown = _headings(outputs, console.width)
        console.print(_table(outputs, told, shown))
        print_left_out(
            console,
            [] if len(shown) > len(_TOGETHER) else [words.label(name) for name in _named(outputs)],
            "decisions.csv has them",
        )
        console.print()
    if summary["n_banded"]:
        few = f"{words.counted(summary['n_banded'])} with a band: {publication.NOT_SHOWN}"
        console.print(cli.Text(words.said(few)))
    silent = outputs.joint.height - told.height
    if silent:
        console.print(cli.Text(f"without joint figures: {words.counted(silent)}"))
    console.print()
    console.print(cli.Text(f"report: {out / 'report.html'}"), soft_wrap=True)
    for name, folder in folders.items():
        console.print(cli.Text(f"{name}: {folder / 'report.html'}"), soft_wrap=True)


def _named(outputs: SeveralOutputs) -> list[str]:
    return list(outputs.summary["decisions"])


def _headings(outputs: SeveralOutputs, width: int) -> list[str]:
    """Return the columns that a terminal has room for, the physician's name apart."""
    labels = [outputs.words.label(name) for name in _named(outputs)]
    every = [*labels, *_TOGETHER]
    needed = 12 + sum(max(len(name), 5) + 1 for name in labels) + 40
    return every if needed <= width else list(_TOGETHER)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _table(outputs: SeveralOutputs, rows: pl.DataFrame, shown: list[str]) -> Table:
    table = cli.Table(box=None, pad_edge=False)
    table.add_column(cli.Text(outputs.words.decider), overflow="fold", min_width=9)
    for name in shown:
        table.add_column(cli.Text(name), justify="right", no_wrap=True)
    decisions = _named(outputs) if len(shown) > len(_TOGETHER) else []
    each = {
        (row["physician"], row["decision"]): row["band"] or _number(row["discordance"])
        for row in outputs.decisions.iter_rows(named=True)
    }
    for row in rows.head(MOST_PRINTED).iter_rows(named=True):
        known = row["reportable"]
        table.add_row(
            cli.Text(row["physician"]),
            *(each.get((row["physician"], name), "–") for name in decisions),
            f"{row['differ']:.2f}" if known else row["band"],
            f"{row['differ_low']:.2f}–{row['differ_high']:.2f}" if known else "–",
            _number(row["n_differences"]),
        )
    if rows.height > MOST_PRINTED:
        table.add_row(f"... {rows.height - MOST_PRINTED:,} more")
    return table
