"""The measurement that runs: the command `intravar measure` in a process of its own.

It goes on when the tab is closed and ends with the app. Its standard input is held open; closing
it asks the command to end as Ctrl-C does, so that finished parts of a large table are kept.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from intravar.publication.folders import unfinished_folder

State = Literal["running", "stopping", "done", "stopped", "refused", "failed"]
#: Seconds that a measurement has to tidy up once it was asked to end.
GRACE = 20.0
#: By so much it steps back behind other processes.
NICENESS = 5
#: Exit codes of the command, see `intravar.cli.endings`.
_FINISHED, _REFUSED, _INTERRUPTED = (0, 4), 2, 130
KILLED = (
    "the measurement was ended by the system, most likely because there was not enough memory; "
    "close other programs and start it again"
)
KEPT = "What is finished is kept; the same measurement goes on from there when you start it again."


@dataclass
class Step:
    """A step of the measurement."""

    words: str
    begun: float
    seconds: float | None = None
    ended: float | None = None


@dataclass
class Job:
    """A measurement, from its start to its end.

    `command` is what is run after `intravar`, `expected` the seconds that the check said it would
    take, `draft` names the choices that it was made of.
    """

    command: Sequence[str]
    out: Path
    expected: float
    log: Path
    draft: str = ""
    state: State = "running"
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    parts: dict[str, Any] | None = None
    begun: float = field(default_factory=time.monotonic)
    ended: float | None = None

    def start(self) -> None:
        """Start the process."""
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "intravar", *self.command, "--quiet", "--piped"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # Ctrl-C is for the app, which ends the measurement
        )
        if hasattr(os, "setpriority"):  # screens and other programs come first
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, NICENESS)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it has not come to an end."""
        return self.state in ("running", "stopping")

    def stop(self) -> None:
        """Ask it to end; what does not end in time is ended."""
        if not self.running:
            return
        self.state = "stopping"
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        insist = threading.Timer(GRACE, self._process.kill)
        insist.daemon = True
        insist.start()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(seconds)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self.log.open("a", encoding="utf-8") as log:
            for line in self._process.stderr:
                log.write(line)
                log.flush()
                self._hear(line.strip())
        self._close(self._process.wait())

    def _hear(self, line: str) -> None:
        """Take note of a line: JSON tells how it goes on, anything else is for the user."""
        told: Any = None
        if line.startswith("{"):
            with suppress(ValueError):
                told = json.loads(line)
        if not isinstance(told, dict):
            if line.startswith("intravar: "):
                self.notes.append(line.removeprefix("intravar: "))
        elif "step" in told:
            now = time.monotonic()
            if self.steps:
                self.steps[-1].ended = now
            self.steps.append(Step(told["step"], now, told.get("seconds")))
            self.parts = None
        elif "done" in told:
            self.parts = told
        elif "note" in told:
            self.notes.append(told["note"])

    def _close(self, code: int) -> None:
        self.ended = time.monotonic()
        if self.steps:
            self.steps[-1].ended = self.ended
        if code in _FINISHED:
            self.state = "done"
        elif self.state == "stopping" or code == _INTERRUPTED:
            self.state = "stopped"
            kept = unfinished_folder(self.out).is_dir()
            self.notes = [KEPT] if kept else []
        elif code == _REFUSED:
            self.state = "refused"
        else:
            self.state = "failed"
            if code < 0:
                self.notes.append(KILLED)

    def progress(self) -> dict[str, Any]:
        """Return how far it is: share from 0 to 1, seconds left, steps, notes."""
        now = self.ended or time.monotonic()
        so_far = now - self.begun
        # What has taken longer than expected will go on a little longer.
        left = max(self.expected - so_far, so_far / 10)
        if self.steps and self.running:
            step = self.steps[-1]
            if self.parts is not None and self.parts.get("left") is not None:
                left = max(left, float(self.parts["left"]))
            elif step.seconds is not None:
                left = max(left, step.seconds - (now - step.begun))
        share = 1.0 if self.state == "done" else min(so_far / max(so_far + left, 1e-9), 0.99)
        return {
            "state": self.state,
            "share": share,
            "left": time_words(left) if self.running else "",
            "so_far": time_words(so_far),
            "parts": "{done} of {total} parts".format_map(self.parts) if self.parts else "",
            "steps": [
                {
                    "words": step.words,
                    "took": None if step.ended is None else time_words(step.ended - step.begun),
                }
                for step in self.steps
            ],
            "notes": list(self.notes),
        }


def time_words(seconds: float) -> str:
    """Write a time.

    Examples
    --------
    >>> time_words(3.4), time_words(200)
    ('3 seconds', '3 minutes')
    """
    whole = max(round(seconds), 1)
    if whole < 100:
        return f"{whole} second{'s' * (whole > 1)}"
    return f"{round(whole / 60)} minutes"
