"""The command about reports."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from intravar.cli.simulation import Json
from intravar.errors import InputError
from intravar.pages.measurement.handover import rebuild_page
from intravar.pages.study import FORMATS, parse_formats, write_report
from intravar.publication.folders import read_summary


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
        typer.Option("--format", help=f"Some of {', '.join(FORMATS)}, with commas between."),
    ] = "html",
    as_json: Json = False,
) -> None:
    """Make figures, tables and the page again from stored results; nothing is run.

    Of a measurement there is the page alone.
    """
    asked = parse_formats(formats)
    if read_summary(folder) is not None:
        if asked != ["html"]:
            raise InputError(f"'{folder}' holds a measurement, which has a page only; use html")
        written = [rebuild_page(folder)]
    else:
        written = write_report(folder, asked)
    if as_json:
        typer.echo(json.dumps([str(path) for path in written]))
    else:
        for path in written:
            typer.echo(path)
    if open_it:
        pages = [path for path in written if path.suffix == ".html"]
        for path in pages:
            webbrowser.open(path.resolve().as_uri())
