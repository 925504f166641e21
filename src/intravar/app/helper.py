"""A process beside the server that does what takes long, one question after the other.

The server asks in lines of JSON and goes on answering screens. The helper ends when its standard
input closes, with the app. If it dies, the question is answered with a sentence and the next one
gets a new helper.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

from intravar.errors import InputError

#: Answers that are kept, so that a screen that is shown again need not ask again.
MOST_KEPT = 200
DIED = (
    "the process that reads tables has ended, most likely because there was not enough memory; "
    "close other programs or choose a smaller table, then try again (its log is {log})"
)


class DefectError(Exception):
    """A defect in the helper; the message says what to do, the traceback is in a log."""


class Helper:
    """Asks a process of its own, which writes what nobody expected to a log."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._asked: queue.Queue[tuple[str, dict[str, Any], Future[Any]] | None] = queue.Queue()
        self._kept: OrderedDict[str, Future[Any]] = OrderedDict()
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def ask(self, task: str, /, *, again: bool = False, **given: Any) -> Future[Any]:
        """Return what will hold the answer; the same question is asked once, unless `again`.

        The task is a function of :mod:`intravar.app.tasks`, its arguments are fit for JSON.
        """
        key = json.dumps([task, given], sort_keys=True, default=str)
        known = self._kept.get(key)
        if known is not None and not again:
            self._kept.move_to_end(key)
            return known
        future: Future[Any] = Future()
        self._kept[key] = future
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        self._asked.put((task, given, future))
        return future

    def close(self) -> None:
        """End the process."""
        self._asked.put(None)
        process = self._process
        if process is not None:
            with suppress(OSError):
                process.kill()
            process.wait()

    def _go_on(self) -> None:
        while True:
            asked = self._asked.get()
            if asked is None:
                return
            task, given, future = asked
            try:
                future.set_result(self._answer(task, given))
            except Exception as error:  # told on the screen that asked
                future.set_exception(error)

    def _answer(self, task: str, given: dict[str, Any]) -> Any:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps([task, given], default=str) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            process.wait()
            self._process = None
            raise InputError(DIED.format(log=self._log))
        kind, told = json.loads(line)
        if kind == "refused":
            raise InputError(told)
        if kind == "defect":
            raise DefectError(told)
        return told

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "intravar.app.helper"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    encoding="utf-8",
                    start_new_session=True,  # Ctrl-C is for the app, which ends its helper
                )
        return self._process

    def start(self) -> None:
        """Start the process before anything is asked, so that the first answer comes soon."""
        self.ask("ready")


def serve() -> None:
    """Answer questions from standard input until it closes."""
    from intravar.app import tasks
    from intravar.app.draft import on_screen
    from intravar.errors import machine_fault
    from intravar.sources.defects import defect_lines

    # What a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        task, given = json.loads(line)
        try:
            told = ["answer", getattr(tasks, task)(**given)]
        except InputError as error:
            told = ["refused", error.naming(on_screen)]
        except Exception as error:
            fault = machine_fault(error)
            told = ["refused", fault] if fault else ["defect", "; ".join(defect_lines(error))]
        answers.write(json.dumps(told, default=str) + "\n")
        answers.flush()


if __name__ == "__main__":
    sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    serve()
