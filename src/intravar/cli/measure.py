"""The command `measure`: every physician of a user's own table, in one decision or several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import intravar
from intravar import cli, measurement, publication, runs, sources
from intravar.cli import endings, options
from intravar.cli.check import print_leaks, print_left_out, print_request
from intravar.cli.options import Json
from intravar.prediction.compile_ahead import compile_beside
from intravar.request import Request
from intravar.writing import privacy_words

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

    from intravar.cli.progress import StepLines, StepProgress
    from intravar.measurement.result import Measurement
    from intravar.publication import Decision, DecisionRow, Joint, JointRow, Published
    from intravar.wording import Words

#: Physicians that are printed; all are in the files.
MOST_PRINTED = 24
KEPT = "what is finished is kept, with patients, in {folder}; the same command goes on from there"
NOT_RANKED = "Not for comparing {deciders} with each other: see the verdict."


@options.of_request()
def measure(
    source: options.Input,
    request: Request,
    out: Annotated[Path, typer.Option("--out", help="Folder of the results.")] = Path(
        "intravar-measurement"
    ),
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite the result of another request.")
    ] = False,
    show_names: options.ShowNames = False,
    key: options.Key = None,
    pairs_in_report: Annotated[
        bool,
        typer.Option("--pairs-in-report", help="Embed discordant pairs (patient-level!)."),
    ] = False,
    memory: options.Memory = None,
    workers: options.Workers = None,
    engine: options.Engine = "local",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    piped: options.Piped = False,
    as_json: Json = False,
) -> None:
    """Measure how consistently each physician in your own table decides.

    Results for others to read go to the folder of --out, under pseudonyms and without small
    counts. What must stay with you (the key, the pairs) goes to a private folder beside it.
    Exit code 4: nobody can be reported one by one; all files are written.
    Several decisions are measured each by itself and all together.
    Interrupted on a large table, the same command goes on where it was.
    """
    publication.checked_out(out, request, sources.without_password(source), replace=replace)
    if key is not None:
        publication.read_key(key)
    compile_beside()
    with steps_shown(quiet=quiet, verbose=verbose, piped=piped) as progress:
        settings = runs.RunSettings(engine, workers, memory, publication.unfinished_folder(out))
        kept = [settings, *(settings.of(name) for name in request.decisions)]
        try:
            found = intravar.measure(source, request, progress=progress, settings=settings)
        except KeyboardInterrupt:
            for each in kept:
                if each.kept_in is not None and each.kept_in.is_dir():
                    progress.note(KEPT.format(folder=each.kept_in))
            raise
        progress.step("writing the report")
        published = intravar.write_measurement(
            found,
            out,
            show_names=show_names,
            key=key,
            pairs_in_report=pairs_in_report,
            replace=replace,
        )
        for each in kept:
            runs.clear_unfinished(each)
    if as_json:
        tables = {name: rows.to_dicts() for name, rows in publication.tables_of(published).items()}
        typer.echo(json.dumps(publication.plain(published) | tables, default=str))
    else:
        console = cli.Console(highlight=False, quiet=quiet)
        _print_all(console, found, published, out)
        if verbose:
            print_request(console, request, found.seconds)
    if not any(each.n_reportable + each.n_banded for each in published.decisions):
        raise typer.Exit(endings.NOBODY_REPORTABLE)


def steps_shown(*, quiet: bool, verbose: bool, piped: bool) -> StepProgress | StepLines:
    """Return what shows how it goes on, to a reader or to a program that started this."""
    if piped:
        return cli.StepLines()
    return cli.StepProgress(cli.Console(stderr=True, highlight=False, quiet=quiet), every=verbose)


def _print_all(console: Console, found: Measurement, published: Published, out: Path) -> None:
    words, joint = published.words, published.joint
    if joint is not None:
        print_joint(console, joint, words)
    for each in published.decisions:
        if joint is not None:
            console.print()
            console.print(cli.Text(f"{words.label(each.decision)} by itself", style="bold"))
        _print_results(console, each, words)
    for name, measured in found.decisions.items():
        leaks = measured.check.leak_lines()
        named = [f"{words.label(name)}: {line}" for line in leaks] if joint is not None else leaks
        print_leaks(console, named, words)
    for warning in dict.fromkeys(line for each in published.decisions for line in each.warnings):
        console.print(cli.Text(f"warning: {warning}"))
    console.print()
    console.print(cli.Text(f"report: {out / 'report.html'}"), soft_wrap=True)
    if told := privacy_words(publication.private_folder(out)):
        console.print(cli.Text(f"warning: {told}"))
    console.print(
        cli.Text(f"kept for you alone (key, pairs): {publication.private_folder(out)}"),
        soft_wrap=True,
    )


def _print_results(console: Console, decision: Decision, words: Words) -> None:
    table = decision.physicians
    verdict = cli.Text(decision.verdict.upper(), style="bold")
    console.print(verdict.append(f": {'; '.join(decision.verdict_reasons)}", style="not bold"))
    console.print()
    ranked = decision.n_ranked > 0
    told = _in_order(table.filter(table["reportable"] | table["band"].is_not_null()))
    if told.height:
        every = _headings(told, ranked=ranked)
        shown = _fitting(every, console.width)
        console.print(_result_table(told, shown, words))
        left_out = [_head(name, words) for name in every if name not in shown]
        print_left_out(console, left_out, "physicians.csv has them")
        console.print()
        if not ranked:
            console.print(cli.Text(words.fill(NOT_RANKED)))
        first = told.row(0, named=True)
        line = measurement.in_words(first, decision.claim, words, decision.compared)
        console.print(cli.Text(f"{first['physician']}: {line}"))
        if decision.banded is not None:
            console.print(cli.Text(f"{decision.banded}."))
    _print_reasons(console, table, words)
    console.print()
    for line in publication.group_lines(
        decision.group, decision.n_physicians, decision.claim, words, decision.compared
    ):
        console.print(cli.Text(line))
    for line in publication.location_lines(decision.location, words):
        console.print(cli.Text(line))
    if decision.unrecorded is not None:
        console.print(cli.Text(decision.unrecorded.words))
    for part in (decision.by, decision.course):
        for line in () if part is None else part.lines:
            console.print(cli.Text(line))
    if not told.height:
        nobody = words.fill("No {decider} is reportable.")
        console.print(cli.Text(f"{nobody} {_bars(table['reason'].to_list())}"))


def _print_reasons(console: Console, table: pl.DataFrame, words: Words) -> None:
    """Say why some have no rank, a range or nothing."""
    for kind, rows in {
        "reported": table.filter(table["reportable"]).drop_nulls("reason"),
        "not reportable": table.filter(~table["reportable"] & table["band"].is_null()),
    }.items():
        for reason, count in rows["reason"].value_counts(sort=True).iter_rows():
            console.print(cli.Text(f"{kind}: {words.counted(count)}: {reason}"))


def _bars(reasons: list[str | None]) -> str:
    """Name the settings that decide, for the reasons that there are."""
    told = {"--min-panel": "fewer than", "--smallest-cell": "too few to publish"}
    found = [
        option for option, words in told.items() if any(words in (each or "") for each in reasons)
    ]
    return f"The bar is set by {' and '.join(found)}." if found else ""


def _headings(rows: pl.DataFrame, *, ranked: bool) -> list[str]:
    """Return the columns that there is something for, the physician's name apart."""
    rate = rows["rate"].null_count() < rows.height
    names = ["patients", *(["rate"] * rate), "discordance", "95 %", "shrunken"]
    return [*names, *(["rank"] * ranked), "reliability"]


def _fitting(names: list[str], width: int) -> list[str]:
    """Return the columns that a terminal has room for."""
    if width < 70:
        return ["discordance", "95 %"]
    if width >= 90 or len(names) <= 5:
        return names
    return [name for name in names if name != "reliability"]


def _in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """Put whoever is ranked first, then those with a value or a range, then those with a band."""
    order = ["rank", "reportable", "physician"]
    return rows.sort(order, descending=[False, True, False], nulls_last=True)


def _result_table(rows: pl.DataFrame, shown: list[str], words: Words) -> Table:
    table = cli.Table(box=None, pad_edge=False)
    table.add_column(cli.Text(words.decider), overflow="fold", min_width=9)
    for name in shown:
        table.add_column(cli.Text(_head(name, words)), justify="right", no_wrap=True)
    for position, row in enumerate(rows.iter_rows(named=True)):
        if rows.height > MOST_PRINTED and position == MOST_PRINTED // 2:
            between = rows.height - MOST_PRINTED
            table.add_row(f"... {between:,} more")
        if rows.height <= MOST_PRINTED or not (
            MOST_PRINTED // 2 <= position < rows.height - MOST_PRINTED // 2
        ):
            cells = _cells(row)
            table.add_row(cli.Text(row["physician"]), *(cells[name] for name in shown))
    return table


def _head(name: str, words: Words) -> str:
    return words.cases if name == "patients" else name


def _cells(row: dict[str, Any]) -> dict[str, str]:
    shown = {name: measurement.by_name(name).text(value) for name, value in row.items()}
    ranked, known = row["rank"] is not None, row["low"] is not None
    return {
        "patients": "hidden" if row["n_patients"] is None else shown["n_patients"],
        "rate": shown["rate"],
        "discordance": _told(row, shown),
        "95 %": f"{row['low']:.2f}–{row['high']:.2f}" if known else "–",
        "shrunken": shown["shrunken"],
        "reliability": shown["reliability"],
        "rank": f"{shown['rank']} ({row['rank_low']}–{row['rank_high']})" if ranked else "–",
    }


def _told(row: dict[str, Any], shown: dict[str, str]) -> str:
    """Write a number, the range that stands for it, or the band."""
    if row["discordance"] is not None or row["identified_low"] is None:
        return row["band"] or shown["discordance"]
    return f"{row['identified_low']:.2f}–{row['identified_high']:.2f}"


#: Physicians that are printed; all are in the files.
MOST_JOINT = 24
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
        console.print(_joint_table(joint, told, names, words))
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


def _one_figure(row: DecisionRow | None) -> str:
    return "–" if row is None else row.band or _number(row.discordance)


def _joint_table(joint: Joint, rows: list[JointRow], decisions: list[str], words: Words) -> Table:
    table = cli.Table(box=None, pad_edge=False)
    table.add_column(cli.Text(words.decider), overflow="fold", min_width=9)
    for name in [*(words.label(name) for name in decisions), *_TOGETHER]:
        table.add_column(cli.Text(name), justify="right", no_wrap=True)
    listed = publication.rows_of(joint.by_physician, publication.DecisionRow)
    each = {(row.physician, row.decision): row for row in listed}
    for row in rows[:MOST_JOINT]:
        known = row.reportable
        table.add_row(
            cli.Text(row.physician),
            *(_one_figure(each.get((row.physician, name))) for name in decisions),
            _number(row.differ) if known else row.band,
            f"{_number(row.differ_low)}–{_number(row.differ_high)}" if known else "–",
            _number(row.n_differences),
        )
    if len(rows) > MOST_JOINT:
        table.add_row(f"... {len(rows) - MOST_JOINT:,} more")
    return table
