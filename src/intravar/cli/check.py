"""The command `check`: what a table holds and what a measurement would do to it."""

from __future__ import annotations

import json

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from intravar.cli import options
from intravar.cli.simulation import Json
from intravar.measurement.checking import Check
from intravar.measurement.checking import check as run_check
from intravar.measurement.panels import MIN_PANEL
from intravar.measurement.suppression import SMALLEST_CELL, is_small

#: Physicians that cannot be measured and are named one by one.
MOST_NAMED = 10


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("check")(check)


def check(
    source: options.Input,
    physician: options.Physician,
    decision: options.Decision,
    covariates: options.Covariates = None,
    exclude: options.Exclude = None,
    after: options.After = None,
    categorical: options.Categorical = None,
    decision_positive: options.Positive = None,
    missing: options.Missing = "indicator",
    method: options.Method = None,
    min_panel: options.MinPanel = MIN_PANEL,
    smallest_cell: options.SmallestCell = SMALLEST_CELL,
    table: options.TableName = None,
    query: options.Query = None,
    separator: options.Separator = None,
    encoding: options.Encoding = None,
    sheet: options.Sheet = None,
    as_json: Json = False,
) -> None:
    """Look at your own table: its quality, panel sizes, leaks, and what measuring would take.

    Nothing is measured and nothing is written.
    """
    found = run_check(
        source,
        physician=physician,
        decision=decision,
        covariates=options.listed(covariates) if covariates is not None else None,
        exclude=options.listed(exclude),
        after=options.listed(after),
        categorical=options.listed(categorical),
        decision_positive=decision_positive,
        missing=missing,  # type: ignore[arg-type]
        method=method,
        min_panel=min_panel,
        smallest_cell=smallest_cell,
        table=table,
        query=query,
        separator=separator,
        encoding=encoding,
        sheet=sheet,
    )
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=1, default=str))
        return
    console = Console(highlight=False)
    _print_columns(console, found)
    for line in found.lines():
        console.print(line, markup=False, soft_wrap=False)
    _print_unmeasurable(console, found)
    print_leaks(console, found.leak_lines())


def _print_columns(console: Console, found: Check) -> None:
    table = Table(box=None, pad_edge=False)
    names = ["column", "use", "kind", "missing", "note"]
    if console.width < 70:
        names = ["column", "use", "missing"]
    for name in names:
        table.add_column(name, overflow="fold", justify="right" if name == "missing" else "left")
    leaking = {leak.column for leak in found.prepared.leaks}
    for row in found.column_rows():
        style = "bold red" if row["column"] in leaking else ""
        cells = [Text(str(row[name] or ("0" if name == "missing" else ""))) for name in names]
        table.add_row(*cells, style=style)
    console.print(table)
    console.print()


def _print_unmeasurable(console: Console, found: Check) -> None:
    """Say which physicians cannot be measured; it is the user's own terminal, names are real."""
    cannot = found.panels.table.filter(found.panels.table["reason"].is_not_null())
    if not cannot.height:
        return
    console.print()
    console.print("not measurable:")
    for row in cannot.head(MOST_NAMED).iter_rows(named=True):
        few = is_small(row["n_patients"], found.smallest_cell)
        size = f"1 to {found.smallest_cell - 1}" if few else f"{row['n_patients']:,}"
        line = f"  {row['physician']}: {row['reason']} ({size})"
        console.print(line, markup=False)
    if cannot.height > MOST_NAMED:
        console.print(f"  and {cannot.height - MOST_NAMED:,} more")


def print_leaks(console: Console, lines: list[str]) -> None:
    """Say loudly which columns may give the decision away."""
    if not lines:
        return
    console.print()
    console.print("POSSIBLE LEAKS: these columns may give the decision away", style="bold red")
    for line in lines:
        console.print(Text(f"  {line}", style="red"))
    console.print(
        "If a column is known only after the decision, name it with --after; compared by it, every "
        "physician looks consistent."
    )
