"""What commands print with, and how work goes on: a bar in a terminal, plain lines elsewhere.

Nothing that is printed can command the terminal.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from rich import console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text as Text

from intravar.errors import InputError, printable

if TYPE_CHECKING:
    from intravar.request import Request
    from intravar.wording import Words


def table(
    heads: Iterable[str],
    rows: Iterable[Iterable[str]],
    *,
    right: Collection[str] = (),
    unbroken: Collection[str] = (),
    title: str | None = None,
    gap: int = 2,
) -> Table:
    """Return a table of text from others, without lines; columns on the right go by their heads."""
    left = (0, 0, 0, gap)
    grid = Table(box=None, pad_edge=False, padding=left, title=title, title_justify="left")
    for head in heads:
        side: Literal["left", "right"] = "right" if head in right else "left"
        grid.add_column(Text(head), justify=side, no_wrap=head in unbroken, overflow="fold")
    for row in rows:
        grid.add_row(*map(Text, row))
    return grid


class Console(console.Console):
    r"""A console that shows what a terminal would obey, and says when nobody reads any more.

    Examples
    --------
    >>> Console(highlight=False).print("Ada\x1b[2J", markup=False)
    Ada\x1b[2J
    """

    def render(
        self,
        renderable: console.RenderableType,
        options: console.ConsoleOptions | None = None,
    ) -> Iterable[Segment]:
        """Render as usual; text of others loses its control characters, our own codes stay."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)

    def say(self, *lines: str, style: str = "") -> None:
        """Print lines that hold text of others."""
        for line in lines:
            self.print(Text(line, style=style))

    def on_broken_pipe(self) -> NoReturn:
        """Leave the ending to :mod:`intravar.cli.endings`."""
        raise BrokenPipeError


class _TimeLeft:
    """Tells how long a step will go on, from what its parts have taken so far."""

    _first: tuple[int, float] | None = None

    def _left(self, done: int, total: int, expected: float | None) -> float | None:
        """Return the seconds that are left: as expected by whoever knows more, or by the parts."""
        first, since = self._first = self._first or (done, time.monotonic())
        if expected is not None or done <= first:
            return expected
        return (time.monotonic() - since) * (total - done) / (done - first)


class StepLines(_TimeLeft):
    """Tells the program that started this how it goes on; ends when that program does.

    Every line on standard error is a JSON object. When standard input closes, this is as Ctrl-C:
    whoever holds the other end asks for the end, or is gone.
    """

    def __enter__(self) -> StepLines:
        threading.Thread(target=_interrupt_when_closed, daemon=True).start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, where: object) -> None:
        _line(ended=True)
        if isinstance(error, InputError):
            # That program is the app, whose screens call options by their fields.
            from intravar.app.draft import on_screen

            raise InputError(error.naming(on_screen)) from error

    def step(self, words: str, seconds: float | None = None) -> None:
        """See :class:`intravar.processes.Listener`."""
        self._first = None
        _line(step=words, seconds=seconds)

    def part(self, done: int, total: int, left: float | None = None, words: str = "") -> None:
        """See :class:`intravar.processes.Listener`."""
        _line(done=done, total=total, left=self._left(done, total, left))

    def note(self, words: str) -> None:
        """See :class:`intravar.processes.Listener`."""
        _line(note=words)


def _line(**message: Any) -> None:
    print(json.dumps(message | {"at": time.time()}), file=sys.stderr, flush=True)


def _interrupt_when_closed() -> None:
    # Below Python's own buffer, whose lock a thread must not hold when the process ends.
    while os.read(0, 1024):
        pass
    signal.raise_signal(signal.SIGINT)


class StepProgress(_TimeLeft):
    """Shows the step that runs, how long it has taken and how long it should.

    Parameters
    ----------
    console
        Where to show it; a terminal gets a line that moves, anything else one line per step.
    every
        Whether short steps make a plain line too.
    """

    def __init__(self, console: Console, *, every: bool = False) -> None:
        self._console = console
        self._every = every
        columns = SpinnerColumn(), TimeElapsedColumn(), "{task.description} {task.fields[more]}"
        self._live = Progress(*columns, console=console, transient=True, refresh_per_second=4)

    def __enter__(self) -> StepProgress:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()
        if self._console.is_terminal:
            self._live.stop()

    def step(self, words: str, seconds: float | None = None) -> None:
        """See :class:`intravar.processes.Listener`.

        Short steps, whose time nobody estimates, make no plain line: an error is then the only one.
        """
        self._finish()
        self._first = None
        about = f"(about {_time(seconds)})" if seconds and seconds >= 10 else ""
        self._live.add_task(escape(words), more=about)
        if not self._console.is_terminal and (seconds is not None or self._every):
            self._console.print(f"{words} {about}".strip(), "...", markup=False, highlight=False)

    def part(self, done: int, total: int, left: float | None = None, words: str = "") -> None:
        """See :class:`intravar.processes.Listener`.

        What parts have taken tells the time that is left better than any estimate.
        """
        left = self._left(done, total, left)
        parts = [
            f"{done} of {total} parts",
            f"about {_time(left)} left" if left is not None and done < total else "",
            words,
        ]
        line = ", ".join(each for each in parts if each)
        for task in self._live.task_ids:
            self._live.update(task, more=escape(line))
        # One line for every tenth of all parts.
        tenth = 10 * done // total > 10 * (done - 1) // total
        if not self._console.is_terminal and (self._every or done == total or tenth):
            self._console.print(f"  {line}", markup=False, highlight=False)

    def note(self, words: str) -> None:
        """See :class:`intravar.processes.Listener`."""
        self._console.print(Text(words, style="bold red"))

    def _finish(self) -> None:
        for task in self._live.tasks:
            if self._console.is_terminal:
                took = _time(task.elapsed or 0.0)
                line = Text.from_markup(f"  done: {task.description} ({took})", style="dim")
                self._console.print(line)
            self._live.remove_task(task.id)


def _time(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 100 else f"{whole // 60} min {whole % 60:02} s"


def print_request(
    console: Console, request: Request, seconds: Mapping[str, float] | None = None
) -> None:
    """Print what was asked for, and what the steps took if that is known."""
    console.print()
    console.say(request.to_toml().rstrip())
    for name, value in (seconds or {}).items():
        console.say(f"{name}: {value:.1f} s")


def print_leaks(console: Console, lines: list[str], words: Words) -> None:
    """Say loudly which columns may give the decision away."""
    if not lines:
        return
    console.print()
    console.print("POSSIBLE LEAKS: these columns may give the decision away", style="bold red")
    console.say(*(f"  {line}" for line in lines), style="red")
    advice = (
        "If a column is known only after the decision, name it with --after; "
        "compared by it, every {decider} looks consistent."
    )
    console.say(words.fill(advice))
