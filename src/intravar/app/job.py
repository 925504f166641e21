"""The measurement that runs: the command `intravar measure` in a process of its own.

It goes on when the tab is closed and ends with the app. It writes how it goes on to a log, which
the screen is made from. Its standard input is held open; closing it asks the command to end as
Ctrl-C does, so that finished parts of a large table are kept.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from intravar.publication.files import unfinished_folder
from intravar.writing import make_private_folder

State = Literal["running", "stopping", "done", "stopped", "refused", "failed"]
#: Seconds that a measurement has to tidy up once it was asked to end.
GRACE = 20.0
#: By so much it steps back behind other processes.
NICENESS = 5
#: Exit codes of the command, see `intravar.cli.commands`.
_STATES: dict[int, State] = {0: "done", 4: "done", 2: "refused", 130: "stopped"}
KILLED = (
    "the measurement was ended by the system, most likely because there was not enough memory; "
    "close other programs and start it again"
)
KEPT = "What is finished is kept; the same measurement goes on from there when you start it again."


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

    def start(self) -> None:
        """Start the process."""
        make_private_folder(self.log.parent)
        with self.log.open("ab") as log:
            self._log_begins = log.tell()
            self._begun, self._asked_to_stop = time.time(), False
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "intravar", *self.command, "--quiet", "--piped"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the app, which ends the measurement
            )
        if hasattr(os, "setpriority"):  # screens and other programs come first
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, NICENESS)

    @property
    def state(self) -> State:
        """How it stands."""
        code = self._process.poll()
        if code is None:
            return "stopping" if self._asked_to_stop else "running"
        ended = _STATES.get(code, "failed")
        return "stopped" if self._asked_to_stop and ended != "done" else ended

    @property
    def running(self) -> bool:
        """Whether it has not come to an end."""
        return self.state in ("running", "stopping")

    def stop(self) -> None:
        """Ask it to end; what does not end in time is ended."""
        if not self.running:
            return
        self._asked_to_stop = True
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        insist = threading.Timer(GRACE, self._process.kill)
        insist.daemon = True
        insist.start()

    def wait(self) -> None:
        """Wait for the end."""
        self._process.wait()

    def progress(self) -> dict[str, Any]:
        """Return how far it is: share from 0 to 1, seconds left, steps, notes."""
        state = self.state  # before the log is read: what has ended writes no more
        running = state in ("running", "stopping")
        with self.log.open("rb") as log:
            log.seek(self._log_begins)
            lines = [_line(text) for text in log.read().decode("utf-8", "replace").splitlines()]
        times = [line["at"] for line in lines if "at" in line]
        now = time.time() if running else max(times, default=self._begun)
        so_far = now - self._begun
        steps = [line for line in lines if "step" in line]
        # What was said last about the time that is left, of a step or of its parts.
        last: dict[str, Any] = next((line for line in reversed(lines) if "left" in line), {})
        # What has taken longer than expected will go on a little longer.
        left = max(self.expected - so_far, so_far / 10)
        if last.get("left") is not None:
            left = max(left, last["at"] + last["left"] - now)
        ends = [*(line["at"] for line in steps[1:]), None if running else now]
        notes = [line["note"] for line in lines if "note" in line]
        if state == "stopped":
            notes = [KEPT] if unfinished_folder(self.out).is_dir() else []
        elif state == "failed" and self._process.returncode < 0:
            notes.append(KILLED)
        return {
            "state": state,
            "share": 1.0 if state == "done" else min(so_far / max(so_far + left, 1e-9), 0.99),
            "left": time_words(left),
            "so_far": time_words(so_far),
            "parts": "{done} of {total} parts".format_map(last) if "done" in last else "",
            "steps": [
                {"words": line["step"], "took": end and time_words(end - line["at"])}
                for line, end in zip(steps, ends, strict=False)
            ],
            "notes": notes,
        }


def _line(text: str) -> dict[str, Any]:
    """Read a line of the log: JSON tells how it goes on, what the command says is a note."""
    with suppress(ValueError):
        line = json.loads(text)
        if isinstance(line, dict):
            return line
    return {"note": text.removeprefix("intravar: ")} if text.startswith("intravar: ") else {}


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
