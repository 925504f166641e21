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
from rich.live import Live
from rich.segment import Segment
from rich.table import Table as Table
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
) -> Table:
    """Return a table of text from others, without lines; columns on the right go by their heads."""
    made = Table(box=None, pad_edge=False, title=title)
    for head in heads:
        side: Literal["left", "right"] = "right" if head in right else "left"
        made.add_column(Text(head), justify=side, no_wrap=head in unbroken, overflow="fold")
    for row in rows:
        made.add_row(*map(Text, row))
    return made


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


class _Parts:
    """Knows how long the parts of a step have taken."""

    _begun_with: tuple[int, float] | None = None

    def _left(self, done: int, total: int, told: float | None) -> float | None:
        """Return the seconds that are left: as told, or from what parts have taken so far."""
        first, since = self._begun_with = self._begun_with or (done, time.monotonic())
        if told is not None or done <= first or total <= first:
            return told
        return (time.monotonic() - since) * (total - done) / (done - first)


class StepLines(_Parts):
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
        self._begun_with = None
        _line(step=words)

    def part(self, done: int, total: int, left: float | None = None, words: str = "") -> None:
        """See :class:`intravar.processes.Listener`."""
        _line(done=done, total=total, left=self._left(done, total, left))

    def note(self, words: str) -> None:
        """See :class:`intravar.processes.Listener`."""
        _line(note=words)


def _line(**told: Any) -> None:
    print(json.dumps(told | {"at": time.time()}), file=sys.stderr, flush=True)


def _interrupt_when_closed() -> None:
    # Below Python's own buffer, whose lock a thread must not hold when the process ends.
    while os.read(0, 1024):
        pass
    signal.raise_signal(signal.SIGINT)


class StepProgress(_Parts):
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
        self._words = ""
        self._started = self._begun = time.monotonic()
        self._expected: float | None = None
        self._done = ""
        self._live: Live | None = None

    def __enter__(self) -> StepProgress:
        if self._console.is_terminal:
            self._live = Live(
                get_renderable=self._line,
                console=self._console,
                refresh_per_second=4,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._finish()
        if self._live is not None:
            self._live.stop()

    def step(self, words: str, seconds: float | None = None) -> None:
        """See :class:`intravar.processes.Listener`.

        Short steps, whose time nobody estimates, make no plain line: an error is then the only one.
        """
        self._finish()
        self._words, self._expected, self._begun = words, seconds, time.monotonic()
        self._begun_with, self._done = None, ""
        if self._live is None and (seconds is not None or self._every):
            about = f" (about {_time(seconds)})" if seconds and seconds >= 10 else ""
            self._console.print(f"{words}{about} ...", markup=False, highlight=False)

    def part(self, done: int, total: int, left: float | None = None, words: str = "") -> None:
        """See :class:`intravar.processes.Listener`.

        What parts have taken tells the time that is left better than any estimate.
        """
        left = self._left(done, total, left)
        told = [
            f"{done} of {total} parts",
            f"about {_time(left)} left" if left is not None and done < total else "",
            words,
        ]
        self._done = ", ".join(each for each in told if each)
        if self._live is None and (self._every or done == total or _worth_a_line(done, total)):
            self._console.print(f"  {self._done}", markup=False, highlight=False)

    def note(self, words: str) -> None:
        """See :class:`intravar.processes.Listener`."""
        self._console.print(Text(words, style="bold red"))

    def _finish(self) -> None:
        if self._words and self._live is not None:
            took = _time(time.monotonic() - self._begun)
            self._console.print(Text(f"  done: {self._words} ({took})", style="dim"))
        self._words = ""

    def _line(self) -> Text:
        now = time.monotonic()
        so_far = now - self._begun
        spinner = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"[int(now * 8) % 10]
        text = f"{spinner} {self._words}: {_time(so_far)}"
        if self._done:
            text += f", {self._done}"
        elif self._expected and self._expected >= 5:
            share = min(so_far / self._expected, 0.99)
            filled = round(12 * share)
            text += f" of about {_time(self._expected)} {'━' * filled}{'╌' * (12 - filled)}"
        return Text(text, no_wrap=True, overflow="ellipsis")


def _worth_a_line(done: int, total: int) -> bool:
    """Tell whether a tenth of all parts more is done."""
    return 10 * done // total > 10 * (done - 1) // total


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
    told = (
        "If a column is known only after the decision, name it with --after; "
        "compared by it, every {decider} looks consistent."
    )
    console.say(words.fill(told))
