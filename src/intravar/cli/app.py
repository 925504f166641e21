"""The command `intravar` as a whole: its commands, its exit codes, and what a defect leaves."""

from __future__ import annotations

import sys
import tempfile
import traceback
from typing import Annotated, NoReturn

import typer

from intravar import sources
from intravar.cli import benchmark, check, explain, measure, omop, report, simulation
from intravar.errors import InputError
from intravar.version import __version__

app = typer.Typer(
    name="intravar",
    help="Given two comparable patients, how often would this physician decide differently?",
    epilog="Every command explains itself: intravar COMMAND --help",
    no_args_is_help=True,
    # Plain help: the decorated one loads a Markdown parser first and takes twice as long.
    rich_markup_mode=None,
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
    words = sys.argv[1:] if arguments is None else arguments
    if words == ["--version"]:
        # Before typer, which loads a validation library to learn that this is a switch.
        print(f"intravar {__version__}")
        sys.exit(0)
    try:
        # typer words its own usage errors and leaves with 2; what it does not know comes here.
        app(args=words, prog_name="intravar")
    except InputError as error:
        typer.echo(f"intravar: {error.on_command_line}", err=True)
        sys.exit(2)
    except Exception as error:
        typer.echo(_report_defect(error), err=True)
        sys.exit(1)
    sys.exit(0)


def _report_defect(error: Exception) -> str:
    called = " ".join(sources.without_password(argument) for argument in sys.argv)
    told = sources.scrubbed(str(error), *sys.argv)
    with tempfile.NamedTemporaryFile(
        "w", prefix="intravar-", suffix=".log", delete=False, encoding="utf-8"
    ) as log:
        log.write(f"intravar {__version__}, Python {sys.version}\n{called}\n\n")
        log.write(sources.scrubbed("".join(traceback.format_exception(error)), *sys.argv))
    return (
        f"intravar: this is a defect of intravar, not of your input: "
        f"{type(error).__name__}: {told}\nintravar: please report it with {log.name}"
    )
