"""A process beside the server that does what takes long, one question after the other.

It ends with the app. If it dies, the question is answered with a sentence and the next one gets a
new process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from polars.exceptions import PanicException

from intravar.errors import InputError, machine_fault
from intravar.sources.defects import defect_lines

Given = ParamSpec("Given")
Returned = TypeVar("Returned")
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
        #: Hands questions to the process; the others wait for this one thread.
        self._line = ThreadPoolExecutor(1)
        self._process: BaseProcess | None = None
        self._closed = False

    def ask(
        self, task: Callable[Given, Returned], /, *args: Given.args, **given: Given.kwargs
    ) -> Future[Returned]:
        """Return what will hold what a function returns there."""
        return self._line.submit(self._answered, partial(task, *args, **given))

    def _answered(self, task: Callable[[], Any]) -> Any:
        if self._closed:
            raise CancelledError
        if self._process is None or not self._process.is_alive():
            spawn = multiprocessing.get_context("spawn")
            self._pipe, theirs = spawn.Pipe()
            process = spawn.Process(target=_work, args=(theirs, str(self._log)))
            process.start()
            theirs.close()
            self._process = process
        try:
            self._pipe.send(task)
            answer = self._pipe.recv()
        except (EOFError, OSError):
            self._process = None
            if self._closed:
                raise CancelledError from None
            raise InputError(DIED.format(log=self._log)) from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """End the process; what was asked and not answered is cancelled."""
        self._closed = True
        self._line.shutdown(wait=False, cancel_futures=True)
        self._end()
        self._line.shutdown()
        self._end()  # one that was just being started

    def _end(self) -> None:
        if (process := self._process) is not None:
            process.kill()
            process.join()


def _work(questions: Connection, log: str) -> None:
    """Answer in the new process: print to the log, leave Ctrl-C to the app, and end with it."""
    with open(log, "ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):  # the app has ended
        while True:
            questions.send(_answer(questions.recv()))


def _answer(task: Callable[[], Any]) -> Any:
    """Do a task; what goes wrong is told in words."""
    try:
        return task()
    except InputError as error:
        return error
    except (Exception, PanicException) as error:
        fault = machine_fault(error)
        return InputError(fault) if fault else DefectError("; ".join(defect_lines(error)))
