"""The commands on stored results: explain, compare, report and sheet."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import typer

import intravar
from intravar import cli, documents, publication
from intravar.cli.check import print_blocks
from intravar.cli.options import described
from intravar.errors import InputError, errors_in
from intravar.study import report as study_report
from intravar.writing import checked_target, privacy_words, whole_file, write_private

if TYPE_CHECKING:
    import polars as pl

    from intravar.wording import Words


@described(
    physician="Pseudonym, or name. Default: the rule of all.",
    most="Cases to show, the most telling first.",
    decision="Which one, where several were measured.",
    out="Write them to this CSV file instead.",
)
def explain(
    folder: Path,
    physician: str | None = None,
    most: int = 5,
    decision: str | None = None,
    out: Path | None = None,
    as_json: bool = False,
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
    chosen = published.decisions[publication.chosen_decision(listed, decision)]
    words, console = published.words, cli.Console(highlight=False)
    if physician is None:
        if as_json:
            typer.echo(json.dumps(publication.plain(chosen.rule), indent=1))
        else:
            print_blocks(console, documents.rule_blocks(chosen, words), "see --json")
        return
    with errors_in(words):
        table = intravar.explain(folder, physician, most=most, decision=decision)
    warning = publication.WARNING
    if out is not None:
        with whole_file(out) as beside:
            write_private(beside, f"# {warning}\n{publication.safe_csv(table)}".encode())
        typer.echo("\n".join([warning, *filter(None, [privacy_words(out)]), str(out)]), err=True)
    elif as_json:
        typer.echo(json.dumps({"warning": warning, "pairs": table.to_dicts()}, indent=1))
    else:
        _print_cases(console, table, chosen.decision, words)


def _print_cases(console: cli.Console, table: pl.DataFrame, decision: str, words: Words) -> None:
    console.say(publication.WARNING, style="bold red")
    beside = 2 if console.width < 80 else 3
    cases = documents.case_blocks(table, decision, words, beside=beside)
    if not cases:
        console.say(documents.NO_CASES)
    print_blocks(console, cases, "see --json")


@described(
    first="DIR1: An earlier measurement.",
    second="DIR2: A later one.",
    exact="By exact figures of both private folders; do not hand this on.",
)
def compare(first: Path, second: Path, exact: bool = False, as_json: bool = False) -> None:
    """Compare two stored measurements: what changed from the first to the second.

    Physicians are matched by the names in both private folders. Where these are not at hand they
    meet by pseudonym: measure the second time with --key and the key.json of the first. Several
    decisions are compared together and one after the other.
    """
    compared = publication.compare_each(first, second, exact=exact)
    changes = {name: each.naming(lambda called: called.flag) for name, each in compared.items()}
    if as_json:
        answer = {name: change.as_json() for name, change in changes.items()}
        typer.echo(json.dumps(answer.get("", answer), indent=1))
        return
    console = cli.Console(highlight=False)
    print_blocks(console, documents.comparison_blocks(changes), "see --json")


@described(
    folder="DIR: Folder that `benchmark` or `measure` wrote.",
    open_it="--open: Open the page in the browser.",
    formats="--format: With commas between: html, svg, png, pdf, latex of a study; html, pdf, "
    "xlsx, docx of a measurement.",
    paper="Of a measurement's PDF: a4 or letter.",
)
def report(
    folder: Path,
    open_it: bool = False,
    formats: str = "html",
    paper: str = "a4",
    as_json: bool = False,
) -> None:
    """Make the report again from stored results, as page or as files; nothing is run.

    Of a measurement it reads what was published, never the private folder.
    """
    if publication.is_published(folder):
        written = documents.write_files(folder, formats, paper)
    else:
        written = study_report.write_report(folder, formats)
    _say_files(written, as_json)
    if open_it:
        for path in (path for path in written if path.name == "report.html"):
            webbrowser.open(path.resolve().as_uri())


WITHOUT_PDF = 'no PDF: get it with pip install "intravar[files]"'


@described(
    out="Folder for the sheets; needed unless --exact is given.",
    physician="Whose sheet: pseudonym, or name.",
    everybody="--all: A sheet for every physician with a figure.",
    formats="--format: html, pdf, or both with a comma. Default: both that can be made.",
    names="Print names, from the private folder; the sheets are then private.",
    cases="Add surprising decisions; patient-level, so the sheets are private.",
    exact="Exact figures where a range is published; into the private folder.",
)
def sheet(
    folder: Path,
    out: Path | None = None,
    physician: str | None = None,
    everybody: bool = False,
    formats: str | None = None,
    names: bool = False,
    cases: bool = False,
    exact: bool = False,
    paper: str = "a4",
    as_json: bool = False,
) -> None:
    """Write one printable page per physician, for that physician alone.

    Own figure among unnamed peers, what it does not mean, space for a comment. Files are named by
    pseudonym, or by name where names are shown; sheets.csv lists them for a mail merge, key.xlsx in
    the private folder tells who is who.
    """
    if (physician is None) == (not everybody):
        raise InputError("name one with --physician, or ask for everybody's sheet with --all")
    if formats is not None:
        asked = documents.parse_formats(formats, documents.SHEET_FORMATS)
    else:
        asked = [name for name in documents.SHEET_FORMATS if not documents.lacking([name])]
    written = documents.write_sheets(
        folder,
        out,
        physician=physician,
        formats=asked,
        names=names,
        cases=cases,
        exact=exact,
        paper=paper,
    )
    _say_files(written.files, as_json)
    if formats is None and "pdf" not in asked:
        cli.say(WITHOUT_PDF, err=True)
    if cases:
        cli.say(publication.WARNING, err=True)
    if written.private and (words := privacy_words(written.files[0].parent)):
        cli.say(words, err=True)


def _say_files(files: list[Path], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([str(path) for path in files]))
    else:
        for path in files:
            cli.say(path)
