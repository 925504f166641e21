"""The command `sheet`: one page for one physician, for that physician alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from intravar import cli, documents, publication
from intravar.cli.options import Json
from intravar.errors import InputError
from intravar.writing import privacy_words

WITHOUT_PDF = 'no PDF: get it with pip install "intravar[files]"'


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("sheet")(sheet)


def sheet(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="What 'intravar measure --out' wrote.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the sheets; needed but with --exact.")
    ] = None,
    physician: Annotated[
        str | None, typer.Option("--physician", help="Whose sheet: pseudonym, or name.")
    ] = None,
    everybody: Annotated[
        bool, typer.Option("--all", help="A sheet for every physician with a figure.")
    ] = False,
    formats: Annotated[
        str | None,
        typer.Option(
            "--format", help="html, pdf, or both with a comma. Default: both that can be made."
        ),
    ] = None,
    names: Annotated[
        bool,
        typer.Option("--names", help="Print names, from the private folder; FOLDER is private."),
    ] = False,
    cases: Annotated[
        bool,
        typer.Option("--cases", help="Add surprising decisions; patient-level, FOLDER is private."),
    ] = False,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="Exact figures where a range is published; into the private folder."
        ),
    ] = False,
    paper: Annotated[str, typer.Option("--paper", help="a4 or letter.")] = "a4",
    as_json: Json = False,
) -> None:
    """Write one printable page per physician, for that physician alone.

    Own figure among unnamed peers, what it does not mean, space for a comment. Files are named by
    pseudonym, or by name where names are shown; sheets.csv lists them for a mail merge, key.xlsx in
    the private folder tells who is who.
    """
    if (physician is None) == (not everybody):
        raise InputError("name one with --physician, or ask for everybody's sheet with --all")
    asked = _formats(formats)
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
    if as_json:
        typer.echo(json.dumps([str(path) for path in written.files]))
    else:
        for path in written.files:
            cli.say(path)
    if formats is None and "pdf" not in asked:
        cli.say(WITHOUT_PDF, err=True)
    if cases:
        cli.say(publication.WARNING, err=True)
    if written.private and (words := privacy_words(written.files[0].parent)):
        cli.say(words, err=True)


def _formats(asked: str | None) -> list[str]:
    if asked is not None:
        return documents.parse_formats(asked, documents.SHEET_FORMATS)
    return [name for name in documents.SHEET_FORMATS if not documents.lacking([name])]
