"""Where the command begins and how it ends: in what words and with which exit code.

0 all went well; 2 the input or the machine, with what to do about it; 3 a study in which some
methods failed; 4 a measurement in which nobody can be reported one by one; 1 a defect of intravar;
128 and the number of a signal that ended it, as is usual.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

import intravar
from intravar import cli
from intravar.errors import InputError, machine_fault, printable

BAD_INPUT, DEFECT = 2, 1
NOBODY_REPORTABLE = 4
INTERRUPTED = 130
CLOSED_PIPE = 141
#: Signals that ask a program to end; Windows has not all of them.
_ENDING = [
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name)
]


class Stopped(BaseException):
    """A signal asked us to end; as an exception it lets everybody tidy up on the way."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class ClosedPipeError(Exception):
    """Nobody reads any more what is printed."""


def say(text: object, *, err: bool = False) -> None:
    """Print a line that holds text from others, with nothing in it that a terminal obeys."""
    print(printable(str(text)), file=sys.stderr if err else sys.stdout, flush=True)


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
                    code = left.code if isinstance(left.code, int) else int(left.code is not None)
                sys.stdout.flush()
            except BaseException as error:
                code, words = _ending(error, interrupted.is_set())
                _complain(words)
            return code
    finally:
        _drop_unwritten()


def _ending(error: BaseException, interrupted: bool) -> tuple[int, str]:
    """Return the exit code of an error, and what is said about it."""
    if isinstance(error, ClosedPipeError | BrokenPipeError):
        return CLOSED_PIPE, ""  # without a word, as programs in a pipe do
    if isinstance(error, Stopped) and error.number != signal.SIGINT:
        return 128 + error.number, f"ended by {signal.Signals(error.number).name}"
    # What was being loaded when Ctrl-C came may have turned it into an error of its own.
    if interrupted or isinstance(error, KeyboardInterrupt | Stopped):
        return INTERRUPTED, "interrupted"
    if isinstance(error, InputError):
        return BAD_INPUT, error.on_command_line
    if words := machine_fault(error):
        return BAD_INPUT, words
    # Loaded where it is asked for: once nothing else helps.
    from intravar.sources.defects import defect_lines

    return DEFECT, "\nintravar: ".join(defect_lines(error))


def _complain(words: str) -> None:
    """Say on standard error what ended the command; where that cannot be written, say nothing."""
    with suppress(OSError):
        if words:
            say(f"intravar: {words}", err=True)


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


def _drop_unwritten() -> None:
    """Drop what could not be printed; Python would try, and fail, once more at the end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError, AttributeError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """Turn signals into exceptions; yield what tells whether Ctrl-C was among them."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped(number)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if interrupted.is_set():
            os._exit(INTERRUPTED)  # asked twice: at once, without tidying up
        interrupted.set()
        raise KeyboardInterrupt

    # What is ignored stays so: that is what nohup does.
    wanted: dict[int, Callable[[int, FrameType | None], None]] = dict.fromkeys(_ENDING, stop)
    wanted[signal.SIGINT] = interrupt
    before: dict[int, Any] = {
        number: signal.signal(number, handler)
        for number, handler in wanted.items()
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line."""
    words = sys.argv[1:] if arguments is None else arguments
    if words == ["--version"]:
        # Before typer, which loads a validation library to learn that this is a switch.
        sys.exit(run(lambda: print(f"intravar {intravar.__version__}")))
    # typer words its own usage errors and leaves with 2; what it does not know comes to us.
    sys.exit(run(lambda: cli.app(args=words, prog_name="intravar")))
