"""The command line: it parses, calls and prints; the work is done elsewhere."""

from __future__ import annotations

import sys
import tempfile
import traceback
from typing import Annotated, NoReturn

import typer

from intravar import __version__
from intravar.cli import benchmark, check, explain, measure, omop, report, simulation
from intravar.errors import InputError
from intravar.sources.urls import scrubbed, without_password

app = typer.Typer(
    name="intravar",
    help="Given two comparable patients, how often would this physician decide differently?",
    epilog="Every command explains itself: intravar COMMAND --help",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
simulation.register(app)
benchmark.register(app)
check.register(app)
measure.register(app)
explain.register(app)
omop.register(app)
report.register(app)


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


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; exit code 2 for bad input, 1 for a defect of intravar."""
    try:
        # typer words its own usage errors and leaves with 2; what it does not know comes here.
        app(args=arguments, prog_name="intravar")
    except InputError as error:
        typer.echo(f"intravar: {error.on_command_line}", err=True)
        sys.exit(2)
    except Exception as error:
        typer.echo(_report_defect(error), err=True)
        sys.exit(1)
    sys.exit(0)


def _report_defect(error: Exception) -> str:
    with tempfile.NamedTemporaryFile(
        "w", prefix="intravar-", suffix=".log", delete=False, encoding="utf-8"
    ) as log:
        called = " ".join(without_password(argument) for argument in sys.argv)
        log.write(f"intravar {__version__}, Python {sys.version}\n{called}\n\n")
        log.write(scrubbed("".join(traceback.format_exception(error)), *sys.argv))
    return (
        f"intravar: this is a defect of intravar, not of your input: "
        f"{type(error).__name__}: {scrubbed(str(error), *sys.argv)}\n"
        f"intravar: please report it with {log.name}"
    )
