"""The command `intravar` as a whole, put together from its commands."""

from __future__ import annotations

import signal
import webbrowser
from collections import UserDict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import intravar
from intravar import cli
from intravar.cli import endings
from intravar.cli.options import described
from intravar.errors import InputError
from intravar.writing import privacy_words

if TYPE_CHECKING:
    from intravar.app.places import Places


#: Every command, and the module and function behind it; a group of commands is a `Typer`.
_COMMANDS = {
    "conditions": "study.conditions",
    "simulate": "study.simulate",
    "oracle": "study.oracle",
    "methods": "study.methods",
    "benchmark": "study.benchmark",
    "check": "check.check",
    "measure": "measure.measure",
    "explain": "stored.explain",
    "compare": "stored.compare",
    "omop": "omop.omop",
    "report": "stored.report",
    "sheet": "stored.sheet",
    "app": "commands.app_in_browser",
    "review": "review.group",
}


class _WhenAskedFor(UserDict[str, Any]):
    """Commands by name, each loaded when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        module, _, function = super().__getitem__(name).partition(".")
        loaded = getattr(import_module(f"intravar.cli.{module}"), function)
        if not isinstance(loaded, typer.Typer):
            command, loaded = loaded, typer.Typer(add_completion=False, rich_markup_mode=None)
            loaded.command(name)(command)
        click_command = get_command(loaded)
        click_command.name = name
        return click_command


class _Commands(TyperGroup):
    """Keeps typer from ending a command on its own where we have better words for it."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _WhenAskedFor(_COMMANDS)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _own_endings():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _own_endings():
            return super().invoke(ctx)


@contextmanager
def _own_endings() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise endings.ClosedPipeError from error
    except KeyboardInterrupt as error:
        raise endings.Stopped(signal.SIGINT) from error


WITHOUT_EXTRA = (
    "the app takes an extra that is not installed: pip install 'intravar[app,files,excel]'"
)


@described(
    folders="FOLDERS: Folders that the app may open. Default: this one.",
    results="Folder for results. Default: intravar-results in the first folder.",
    port="Port on this computer. Default: any free one.",
    demo="Open with an example measured.",
    browser="--browser/--no-browser: Open the browser.",
)
def app_in_browser(
    folders: list[Path] | None = None,
    results: Path | None = None,
    port: int | None = None,
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

    serve(folders or [Path.cwd()], results=results, port=port or 0, demo=demo, ready=ready)


app = typer.Typer(
    name="intravar",
    cls=_Commands,
    help="Given two comparable patients, how often would this physician decide differently?",
    epilog="Every command explains itself: intravar COMMAND --help",
    no_args_is_help=True,
    # Plain help: the decorated one loads a Markdown parser first and takes twice as long.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"intravar {intravar.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and leave.", callback=_print_version),
    ] = False,
) -> None:
    pass
