"""The command `app`: from a file to the answer in a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from intravar import cli
from intravar.cli.options import described
from intravar.errors import InputError
from intravar.writing import privacy_words

if TYPE_CHECKING:
    from intravar.app.places import Places

WITHOUT_EXTRA = (
    "the app takes an extra that is not installed: pip install 'intravar[app,files,excel]'"
)


@described(
    folders="FOLDERS: Folders that the app may open. Default: this one.",
    results="Folder for results. Default: intravar-results in the first folder.",
    demo="Open with an example measured.",
    browser="--browser/--no-browser: Open the browser.",
)
def run(
    folders: list[Path] | None = None,
    results: Path | None = None,
    port: Annotated[
        int, typer.Option("--port", help="Port on this computer. Default: any free one.", min=0)
    ] = 0,
    demo: bool = False,
    browser: bool = True,
) -> None:
    """Choose a table, measure and read the result in your browser, without a shell.

    The app listens on this computer alone, behind a token in its address; nothing leaves the
    machine. It can open files in FOLDERS and nowhere else. Ctrl-C ends it.
    """
    try:
        from intravar.app.server import serve
    except ImportError as error:
        raise InputError(WITHOUT_EXTRA) from error

    def ready(address: str, places: Places) -> None:
        cli.say(f"open: {address}")
        cli.say(f"folders: {', '.join(map(str, places.folders))}; results: {places.results}")
        if words := privacy_words(places.results):
            cli.say(words, err=True)
        cli.say("Ctrl-C ends the app; a measurement that runs then ends with it")
        if browser:
            webbrowser.open(address)

    serve(folders or [Path.cwd()], results=results, port=port, demo=demo, ready=ready)
