"""The command about reports."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from intravar import cli, documents, publication
from intravar.cli.options import Json
from intravar.study import report as study_report


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("report")(report)


def report(
    folder: Annotated[
        Path, typer.Argument(help="Folder that `benchmark` or `measure` wrote.", metavar="DIR")
    ],
    open_it: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
    formats: Annotated[
        str,
        typer.Option(
            "--format",
            help="With commas between: html, svg, png, pdf, latex of a study; html, pdf, xlsx, "
            "docx of a measurement.",
        ),
    ] = "html",
    paper: Annotated[
        str, typer.Option("--paper", help="Of a measurement's PDF: a4 or letter.")
    ] = "a4",
    as_json: Json = False,
) -> None:
    """Make the report again from stored results, as page or as files; nothing is run.

    Of a measurement it reads what was published, never the private folder.
    """
    if publication.is_published(folder):
        written = documents.write_files(folder, formats, paper)
    else:
        written = study_report.write_report(folder, formats)
    if as_json:
        typer.echo(json.dumps([str(path) for path in written]))
    else:
        for path in written:
            cli.say(path)
    if open_it:
        for path in (path for path in written if path.name == "report.html"):
            webbrowser.open(path.resolve().as_uri())
