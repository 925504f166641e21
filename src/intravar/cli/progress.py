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
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from rich import console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text as Text

from intravar import documents
from intravar.errors import InputError, printable
from intravar.processes import Listener

if TYPE_CHECKING:
    from intravar.documents.blocks import Block


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

    def say(self, *lines: str, style: str = "", soft_wrap: bool | None = None) -> None:
        """Print lines that hold text of others."""
        for line in lines:
            self.print(Text(line, style=style), soft_wrap=soft_wrap)

    def show(self, blocks: Sequence[Block], where: str) -> None:
        """Print blocks of a document; `where` holds columns that the terminal has no room for."""
        for part in documents.printed(blocks, self.width, where):
            self.print(part)

    def on_broken_pipe(self) -> NoReturn:
        """Leave the ending to :mod:`intravar.cli.commands`."""
        raise BrokenPipeError


class _Timed(Listener):
    """Tells how long a step will go on, from what its parts have taken so far."""

    _first: tuple[int, float] | None = None
    #: A note for when the first step begins that takes long: what is refused, is refused before.
    before_long = ""

    def _begin(self, seconds: float | None) -> None:
        self._first = None
        if self.before_long and seconds is not None:
            self.note(self.before_long)
            self.before_long = ""

    def _left(self, done: int, total: int, expected: float | None) -> float | None:
        """Return the seconds that are left: as expected by whoever knows more, or by the parts."""
        first, since = self._first = self._first or (done, time.monotonic())
        if expected is not None or done <= first:
            return expected
        return (time.monotonic() - since) * (total - done) / (done - first)


class StepLines(_Timed):
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
        self._begin(seconds)
        _line(step=words, left=seconds)

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


class StepProgress(_Timed):
    """Shows the step that runs, how long it has taken and how long it should.

    A terminal gets a line that moves. Anything else gets one line per step, or, for `every` short
    one, too: short steps, whose time nobody estimates, make no line, so that an error is the only
    one.
    """

    def __init__(self, console: Console, *, every: bool = False) -> None:
        self._console, self._every, self._moves = console, every, console.is_terminal
        columns = SpinnerColumn(), TimeElapsedColumn(), "{task.description} {task.fields[more]}"
        self._live = Progress(*columns, console=console, transient=True, disable=not self._moves)

    def __enter__(self) -> StepProgress:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()
        if self._moves:  # rich before 14.3 ends a bar that was never shown with an empty line
            self._live.stop()

    def step(self, words: str, seconds: float | None = None) -> None:
        """See :class:`intravar.processes.Listener`."""
        self._finish()
        self._begin(seconds)
        about = f"(about {_time(seconds)})" if seconds and seconds >= 10 else ""
        self._live.add_task(escape(words), more=about)
        if not self._moves and (seconds is not None or self._every):
            self._console.say(f"{words} {about}".strip() + " ...")

    def part(self, done: int, total: int, left: float | None = None, words: str = "") -> None:
        """See :class:`intravar.processes.Listener`."""
        # What parts have taken tells the time that is left better than any estimate.
        left = self._left(done, total, left)
        about = f"about {_time(left)} left" if left is not None and done < total else ""
        line = ", ".join(filter(None, [f"{done} of {total} parts", about, words]))
        for task in self._live.task_ids:
            self._live.update(task, more=escape(line))
        # One line for every tenth of all parts.
        tenth = 10 * done // total > 10 * (done - 1) // total
        if not self._moves and (self._every or done == total or tenth):
            self._console.say(f"  {line}")

    def note(self, words: str) -> None:
        """See :class:`intravar.processes.Listener`."""
        self._console.say(words, style="bold red")

    def _finish(self) -> None:
        for task in self._live.tasks:
            if self._moves:
                took = _time(task.elapsed or 0.0)
                self._console.print(f"  done: {task.description} ({took})", style="dim")
            self._live.remove_task(task.id)


def _time(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 100 else f"{whole // 60} min {whole % 60:02} s"
