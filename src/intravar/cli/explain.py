"""The command `explain`: the cases behind a physician, and the rule that the data suggest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import intravar
from intravar import cli, publication
from intravar.cli.options import Json
from intravar.writing import checked_target, privacy_words, whole_file, write_private

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from intravar.publication import Decision
    from intravar.wording import Words


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
    most: Annotated[
        int, typer.Option("--pairs", help="Cases to show, the most telling first.")
    ] = 5,
    decision: Annotated[
        str | None, typer.Option("--decision", help="Which one, where several were measured.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write them to this CSV file instead.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the decisions behind a physician's score, or the rule the data suggest.

    The decisions that surprised most stand beside patients alike who were decided the other way.
    They are patient-level data, are read from the private folder beside DIR and are never part of
    the report unless it was asked for.
    """
    path, _ = publication.measurement_folders(folder)
    if out is not None:
        checked_target(out)
    published = publication.read_published(path)
    listed = [each.decision for each in published.decisions]
    found = published.decisions[publication.chosen_decision(listed, decision)]
    words, console = published.words, cli.Console(highlight=False)
    if physician is None:
        if as_json:
            typer.echo(json.dumps(publication.plain(found.rule), indent=1))
        else:
            _print_rule(console, found, words)
        return
    with words.in_errors():
        table = intravar.explain(folder, physician, most=most, decision=decision)
    warning = publication.WARNING
    if out is not None:
        with whole_file(out) as beside:
            write_private(beside, f"# {warning}\n{publication.safe_csv(table)}".encode())
        typer.echo("\n".join([warning, *filter(None, [privacy_words(out)]), str(out)]), err=True)
    elif as_json:
        typer.echo(json.dumps({"warning": warning, "pairs": table.to_dicts()}, indent=1))
    else:
        _print_cases(console, table, found.decision, words)


def _print_rule(console: Console, decision: Decision, words: Words) -> None:
    rule, positive = decision.rule, words.decision or decision.decision
    console.print("What the decisions depend on (loss of AUC when shuffled):")
    largest = max((row.importance for row in rule.importance), default=0.0) or 1.0
    for row in rule.importance[:8]:
        bar = "█" * round(20 * max(0.0, row.importance) / largest)
        console.print(cli.Text(f"  {row.importance:6.3f} {bar} {words.label(row.covariate)}"))
    console.print()
    console.print(cli.Text(f"A short tree, by the share of '{positive}':"))
    leaves = cli.Table.grid(padding=(0, 2))
    leaves.add_column(justify="right", no_wrap=True)
    leaves.add_column(overflow="fold")
    for leaf in rule.tree:
        leaves.add_row(leaf.words, cli.Text(leaf.when))
    console.print(leaves)
    console.print()
    told = "It describes what the {deciders} did on the whole, not what is right."
    console.print(cli.Text(words.fill(told)))


def _print_cases(console: Console, table: pl.DataFrame, decision: str, words: Words) -> None:
    console.print(cli.Text(publication.WARNING, style="bold red"))
    if not table.height:
        console.print(cli.Text(publication.NO_CASES))
    most = 2 if console.width < 80 else 3
    for case in publication.cases_shown(table, decision, words, most):
        console.print()
        console.print(cli.Text(case.heading))
        if case.alone:
            console.print(cli.Text(publication.NOBODY_ALIKE))
        shown = cli.Table(box=None, pad_edge=False)
        for head in case.heads:
            shown.add_column(cli.Text(head), overflow="fold")
        for row in case.rows:
            shown.add_row(*(cli.Text(cell) for cell in row))
        if shown.row_count:
            console.print(shown)
        if case.same:
            console.print(cli.Text(f"the same: {', '.join(case.same)}"), style="dim")
