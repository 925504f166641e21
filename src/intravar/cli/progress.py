"""How work goes on: a bar in a terminal, plain lines elsewhere, JSON for a program."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

if TYPE_CHECKING:
    from intravar.study.benchmark.units import Unit, UnitResult


def left_by_parts(begun: tuple[int, float], done: int, total: int) -> float | None:
    """Return the seconds that are left, from the parts done since one was first counted."""
    first, since = begun
    if done <= first or total <= first:
        return None
    return (time.monotonic() - since) * (total - done) / (done - first)


class StepLines:
    """Tells the program that started this how it goes on; ends when that program does.

    Every line on standard error is a JSON object. When standard input closes, this is as Ctrl-C:
    whoever holds the other end asks for the end, or is gone.
    """

    def __init__(self) -> None:
        self._parts: tuple[int, float] | None = None

    def __enter__(self) -> StepLines:
        threading.Thread(target=_interrupt_when_closed, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def step(self, words: str, seconds: float | None = None) -> None:
        """See :class:`intravar.measurement.measure.Listener`."""
        self._parts = None
        _line(step=words, seconds=seconds)

    def part(self, done: int, total: int) -> None:
        """See :class:`intravar.measurement.measure.Listener`."""
        self._parts = self._parts or (done, time.monotonic())
        _line(done=done, total=total, left=left_by_parts(self._parts, done, total))

    def note(self, words: str) -> None:
        """See :class:`intravar.measurement.measure.Listener`."""
        _line(note=words)


def _line(**told: Any) -> None:
    print(json.dumps(told), file=sys.stderr, flush=True)


def _interrupt_when_closed() -> None:
    # Below Python's own buffer, whose lock a thread must not hold when the process ends.
    while os.read(0, 1024):
        pass
    signal.raise_signal(signal.SIGINT)


class StepProgress:
    """Shows the step that runs, how long it has taken and how long it should.

    A terminal gets a line that moves, anything else one line per step; `every` has short ones too.
    """

    def __init__(self, console: Console, *, every: bool = False) -> None:
        self._console = console
        self._every = every
        self._words = ""
        self._started = self._begun = time.monotonic()
        self._expected: float | None = None
        self._parts: tuple[int, float] | None = None
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
        """See :class:`intravar.measurement.measure.Listener`.

        Short steps, whose time nobody estimates, make no plain line: an error is then the only one.
        """
        self._finish()
        self._words, self._expected, self._begun = words, seconds, time.monotonic()
        self._parts, self._done = None, ""
        if self._live is None and (seconds is not None or self._every):
            about = f" (about {_time(seconds)})" if seconds and seconds >= 10 else ""
            self._console.print(f"{words}{about} ...", markup=False, highlight=False)

    def part(self, done: int, total: int) -> None:
        """See :class:`intravar.measurement.measure.Listener`.

        What parts have taken tells the time that is left better than any estimate.
        """
        if self._parts is None:
            self._parts = (done, time.monotonic())
        self._done = f"{done} of {total} parts"
        if (left := left_by_parts(self._parts, done, total)) is not None:
            self._done += f", about {_time(left)} left"
        a_tenth_more = 10 * done // total > 10 * (done - 1) // total
        if self._live is None and (self._every or done == total or a_tenth_more):
            self._console.print(f"  {self._done}", markup=False, highlight=False)

    def note(self, words: str) -> None:
        """See :class:`intravar.measurement.measure.Listener`."""
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


def _time(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < 100 else f"{whole // 60} min {whole % 60:02} s"


#: Seconds between two plain lines.
PLAIN_EVERY = 15.0


class StudyProgress:
    """Shows what is running, done and failed, and the time left, with so many workers.

    A terminal gets a bar, anything else plain lines.
    """

    def __init__(self, console: Console, workers: int) -> None:
        self._console = console
        self._workers = workers
        self._pending: list[str] = []
        self._groups: Counter[str] = Counter()
        self._seconds: dict[str, list[float]] = {}
        self._done = self._failed = self._total = 0
        self._last_line = 0.0
        self._bar: Progress | None = None

    def start(self, pending: Sequence[Unit], kept: int) -> None:
        """See :class:`intravar.study.benchmark.run.Progress`."""
        self._pending = [unit.name for unit in pending]
        self._groups = Counter(unit.group for unit in pending)
        self._total = len(pending)
        if kept:
            self._console.print(f"{kept} units are there from an earlier run and are kept")
        if not pending:
            return
        if not self._console.is_terminal:
            self._console.print(f"{self._total} units to do, {self._workers} at a time")
            self._last_line = time.monotonic()
            return
        self._bar = Progress(
            TextColumn("{task.fields[failed]}"),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
            TextColumn("{task.fields[running]}", style="dim"),
            console=self._console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=self._total, failed="", left="", running="")
        self._bar.start()
        self._show()

    def finished(self, result: UnitResult) -> None:
        """See :class:`intravar.study.benchmark.run.Progress`."""
        self._pending.remove(result.unit.name)
        self._groups[result.unit.group] -= 1
        self._seconds.setdefault(result.unit.group, []).append(result.seconds)
        self._done += 1
        for run in result.runs:
            if run["error"]:
                self._failed += 1
                where = f"{run['condition']}, replicate {run['replicate']}, {run['method']}"
                self.note(f"failed: {where}: {run['error']}")
        self._show()

    def stop(self) -> None:
        """See :class:`intravar.study.benchmark.run.Progress`."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def note(self, message: str) -> None:
        """See :class:`intravar.study.benchmark.run.Progress`."""
        self._console.print(message, markup=False, highlight=False)

    def _show(self) -> None:
        failed = f"{self._failed} failed" if self._failed else ""
        left = self._time_left()
        if self._bar is not None:
            running = ", ".join(name.rsplit(".", 1)[0] for name in self._pending[: self._workers])
            self._bar.update(
                self._task, completed=self._done, failed=failed, left=left, running=running
            )
        elif time.monotonic() - self._last_line >= PLAIN_EVERY or self._done == self._total:
            self._last_line = time.monotonic()
            parts = [f"{self._done} of {self._total} units done", failed, left]
            self._console.print(", ".join(part for part in parts if part))

    def _time_left(self) -> str:
        """Say how long it will take if the units left take as long as those of their kind."""
        everything = [second for group in self._seconds.values() for second in group]
        if not everything or self._done == self._total:
            return ""
        usual = sum(everything) / len(everything)
        means = {group: sum(found) / len(found) for group, found in self._seconds.items()}
        work = sum(count * means.get(group, usual) for group, count in self._groups.items())
        seconds = work / self._workers
        return (
            f"about {seconds:.0f} s left" if seconds < 100 else f"about {seconds / 60:.0f} min left"
        )
