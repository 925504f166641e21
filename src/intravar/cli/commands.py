"""The command `intravar`: commands made of functions, how it begins and how it ends.

Exit codes: 0 all went well; 2 the input or the machine, with what to do about it; 3 a study in
which some methods failed; 4 a measurement in which nobody can be reported one by one; 1 a defect of
intravar; 128 and the number of a signal that ended it, as is usual.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import signal
import sys
import threading
import webbrowser
from collections import UserDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import Field, fields
from importlib import import_module
from inspect import Parameter
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias, get_args

import typer
from typer.core import TyperGroup
from typer.main import get_command

import intravar
from intravar.errors import InputError, flag_of, machine_fault, printable
from intravar.request import Request, requested
from intravar.wording import declared_in
from intravar.writing import privacy_words

if TYPE_CHECKING:
    from intravar.app.places import Places

#: What a command with `--json` yields: its answer, which ends it there. Without, it goes on to
#: print the same for people.
Answer: TypeAlias = Iterator[object]
#: What --help says about options, by command and by parameter; and what commands print.
TEXTS = declared_in(__package__, "options")
PRINTED: dict[str, str] = TEXTS["printed"]
_HEAD = re.compile(r"^(--[\w/ -]+|[A-Z]+\d?): ")
_KEYWORD = Parameter.KEYWORD_ONLY
BAD_INPUT, DEFECT = 2, 1
NOBODY_REPORTABLE = 4
INTERRUPTED = 130
CLOSED_PIPE = 141
#: Signals that ask a program to end; Windows has not all of them.
_ENDING = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
]
#: Every command, and the module and function behind it; a group of commands is a `Typer`.
_COMMANDS = {
    "conditions": "study.conditions",
    "simulate": "study.simulate",
    "oracle": "study.oracle",
    "methods": "study.methods",
    "benchmark": "study.benchmark",
    "check": "measure.check",
    "measure": "measure.measure",
    "explain": "stored.explain",
    "compare": "stored.compare",
    "omop": "measure.omop",
    "report": "stored.report",
    "sheet": "stored.sheet",
    "app": "commands.app_in_browser",
    "review": "stored.review_group",
}


def as_command(function: Callable[..., object]) -> Callable[..., None]:
    """Return a function as typer makes a command of it.

    What options mean stands in `options.toml`. A request becomes an option per field, but those
    that its annotation lists; a function that yields has `--json`.
    """
    texts = TEXTS["shared"] | TEXTS.get(function.__name__, {})
    own = dict(inspect.signature(function, eval_str=True).parameters)
    yields = inspect.isgeneratorfunction(function)
    asked: dict[str, Field[Any]] = {}
    options: list[Parameter] = []
    if "request" in own:
        left_out = get_args(own.pop("request").annotation)[1:]
        asked = {each.name: each for each in fields(Request) if each.name not in left_out}
        words = Parameter("words", _KEYWORD, default=None, annotation=Path | None)
        options = [*map(_field_option, asked.values()), _option(words, texts)]
    if yields:
        own["as_json"] = Parameter("as_json", _KEYWORD, default=False, annotation=bool)
    declared = [_option(each, texts) for each in own.values()]

    def command(**given: Any) -> None:
        as_json = given.pop("as_json") if yields else False
        if asked:
            values = {name: (each, given.pop(name)) for name, each in asked.items()}
            chosen = {
                name: tuple(listed(value)) if str(each.type).startswith("tuple") else value
                for name, (each, value) in values.items()
                if value not in (None, [])
            }
            chosen["words"] = given.pop("words")
            given["source"], given["request"] = requested(given["source"], None, chosen)
        answers: Any = function(**given)
        for answer in answers or ():
            if as_json:
                typer.echo(json.dumps(answer, indent=1, default=str))
                return

    parameters = [*declared[: bool(asked)], *options, *declared[bool(asked) :]]
    command.__doc__, command.__name__ = function.__doc__, function.__name__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


def _option(own: Parameter, texts: Mapping[str, str]) -> Parameter:
    """Make an option of a parameter, or an argument if its text calls it so."""
    text = texts[own.name]
    head = _HEAD.match(text)
    text = text[head.end() :] if head else text
    if head and not head[1].startswith("--"):
        declared = typer.Argument(metavar=head[1], help=text, show_default=False)
    else:
        flags = head[1].split() if head else [flag_of(own.name)]
        declared = typer.Option(*flags, help=text or None, hidden=not text)
    return own.replace(kind=_KEYWORD, annotation=Annotated[own.annotation, declared])


def _field_option(asked: Field[Any]) -> Parameter:
    """Make an option of a request's field; what is not given stays None."""
    kind, words = str(asked.type), asked.metadata["words"]
    python: Any = int if kind.startswith("int") else float if kind.startswith("float") else str
    if kind == "Labels":
        python = list[str]
    if kind.startswith("tuple"):
        words = words.replace(".", ", with commas between.", 1)
    if asked.default not in (None, "", ()):
        words = f"{words} Default: {asked.default}."
    declared = typer.Option(flag_of(asked.name), help=words, show_default=False)
    return Parameter(
        asked.name, _KEYWORD, default=None, annotation=Annotated[python | None, declared]
    )


def listed(names: str | None) -> list[str]:
    """Split names given with commas between.

    Examples
    --------
    >>> listed("age, sex,")
    ['age', 'sex']
    """
    return [name.strip() for name in (names or "").split(",") if name.strip()]


class _WhenAskedFor(UserDict[str, Any]):
    """Commands by name, each loaded when it is asked for."""

    def __getitem__(self, name: str) -> Any:
        module, _, function = super().__getitem__(name).partition(".")
        loaded = getattr(import_module(f"intravar.cli.{module}"), function)
        if not isinstance(loaded, typer.Typer):
            command, loaded = loaded, typer.Typer(add_completion=False, rich_markup_mode=None)
            loaded.command(name)(as_command(command))
        click_command = get_command(loaded)
        click_command.name = name
        return click_command


class _Commands(TyperGroup):
    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _WhenAskedFor(_COMMANDS)


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
        raise InputError(PRINTED["without_extra"]) from error

    def ready(address: str, places: Places) -> None:
        say(f"open: {address}")
        say(f"folders: {', '.join(map(str, places.folders))}; results: {places.results}")
        if words := privacy_words(places.results):
            say(words, err=True)
        say("Ctrl-C ends the app; a measurement that runs then ends with it")
        if browser:
            webbrowser.open(address)

    serve(folders or [Path.cwd()], results=results, port=port or 0, demo=demo, ready=ready)


def say(text: object, *, err: bool = False) -> None:
    """Print a line that holds text from others, with nothing in it that a terminal obeys."""
    print(printable(str(text)), file=sys.stderr if err else sys.stdout, flush=True)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line."""
    words = sys.argv[1:] if arguments is None else arguments
    sys.exit(run(lambda: app(args=words, prog_name="intravar")))


class Stopped(BaseException):
    """A signal asked us to end; as an exception it lets everybody tidy up on the way."""


def run(command: Callable[[], object]) -> int:
    """Run a command and return the exit code; errors are said, not raised."""
    _open_closed_streams()
    try:
        with _signals() as interrupted:
            try:
                try:
                    command()
                    code = 0
                except SystemExit as left:
                    # typer words errors of usage; what else it ends on its own is told by us.
                    reason = left.__context__ and (left.__context__.__cause__ or left.__context__)
                    if isinstance(reason, BrokenPipeError | KeyboardInterrupt):
                        raise reason from None
                    code = left.code if isinstance(left.code, int) else int(left.code is not None)
                sys.stdout.flush()
            except BaseException as error:
                code, words = _ending(error, interrupted.is_set())
                with suppress(OSError):
                    if words:
                        say(f"intravar: {words}", err=True)
            return code
    finally:
        # What could not be printed is dropped; Python would try, and fail, once more at the end.
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                with suppress(OSError, ValueError, AttributeError):
                    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _ending(error: BaseException, interrupted: bool) -> tuple[int, str]:
    """Return the exit code of an error, and what is said about it."""
    if isinstance(error, BrokenPipeError):
        return CLOSED_PIPE, ""  # without a word, as programs in a pipe do
    if isinstance(error, Stopped):
        (number,) = error.args
        return 128 + number, f"ended by {signal.Signals(number).name}"
    # What was being loaded when Ctrl-C came may have turned it into an error of its own.
    if interrupted or isinstance(error, KeyboardInterrupt):
        return INTERRUPTED, "interrupted"
    if isinstance(error, InputError):
        return BAD_INPUT, error.on_command_line
    if words := machine_fault(error):
        return BAD_INPUT, words
    # Loaded where it is asked for: once nothing else helps.
    from intravar.sources.paths import defect_lines

    return DEFECT, "\nintravar: ".join(defect_lines(error))


def _open_closed_streams() -> None:
    """Let streams that were closed by whoever started us lead nowhere.

    Otherwise Python has no stream to print to, and the next file to be opened would take its place.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """Turn signals into exceptions; yield what tells whether Ctrl-C was among them."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if number != signal.SIGINT:
            raise Stopped(number)
        if interrupted.is_set():
            os._exit(INTERRUPTED)  # asked twice: at once, without tidying up
        interrupted.set()
        raise KeyboardInterrupt

    # What is ignored stays so: that is what nohup does.
    before: dict[int, Any] = {
        number: signal.signal(number, stop)
        for number in (signal.SIGINT, *_ENDING)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
