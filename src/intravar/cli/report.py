"""The command about reports."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from intravar import cli, pages, publication
from intravar.cli.options import Json
from intravar.errors import InputError


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
        typer.Option("--format", help="Some of html, svg, png, pdf, latex, with commas between."),
    ] = "html",
    as_json: Json = False,
) -> None:
    """Make figures, tables and the page again from stored results; nothing is run.

    Of a measurement there is the page alone.
    """
    asked = pages.parse_formats(formats)
    if publication.read_summary(folder) is not None:
        if asked != ["html"]:
            raise InputError(f"'{folder}' holds a measurement, which has a page only; use html")
        written = [pages.rebuild_page(folder)]
    else:
        written = pages.write_report(folder, asked)
    if as_json:
        typer.echo(json.dumps([str(path) for path in written]))
    else:
        for path in written:
            cli.say(path)
    if open_it:
        for path in (path for path in written if path.suffix == ".html"):
            webbrowser.open(path.resolve().as_uri())
