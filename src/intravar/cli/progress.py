"""How a study goes on, shown in a terminal or in plain lines."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

if TYPE_CHECKING:
    from intravar.study.benchmark.units import Unit, UnitResult

#: Seconds between two plain lines.
PLAIN_EVERY = 15.0


class StudyProgress:
    """Shows what is running, done and failed, and the time left.

    Parameters
    ----------
    console
        Where to show it; a terminal gets a bar, anything else plain lines.
    workers
        How many units are worked on at a time.
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
