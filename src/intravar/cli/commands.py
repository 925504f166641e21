"""The command `intravar` as a whole, put together from its commands."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from intravar.cli import (
    app_command,
    benchmark,
    check,
    endings,
    measure,
    omop,
    review,
    simulation,
    stored,
)
from intravar.version import __version__


class _Commands(TyperGroup):
    """Keeps typer from ending a command on its own where we have better words for it."""

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
_COMMANDS: dict[str, Callable[..., None]] = {
    "conditions": simulation.conditions,
    "simulate": simulation.simulate,
    "oracle": simulation.oracle,
    "methods": benchmark.methods,
    "benchmark": benchmark.benchmark,
    "check": check.check,
    "measure": measure.measure,
    "explain": stored.explain,
    "compare": stored.compare,
    "omop": omop.omop,
    "report": stored.report,
    "sheet": stored.sheet,
    "app": app_command.run,
}
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)
app.add_typer(review.group, name="review")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"intravar {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and leave.", callback=_print_version),
    ] = False,
) -> None:
    pass
