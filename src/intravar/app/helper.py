"""A process beside the server that does what takes long, one question after the other.

It ends with the app. If it dies, the question is answered with a sentence and the next one gets a
new process.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from collections import OrderedDict
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from intravar.errors import InputError, machine_fault
from intravar.sources.defects import defect_lines

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
        self._kept: OrderedDict[str, Future[Any]] = OrderedDict()
        self._pool: ProcessPoolExecutor | None = None
        self._processes: set[multiprocessing.process.BaseProcess] = set()
        self._blamed: ProcessPoolExecutor | None = None
        self._closed = False

    def ask(self, task: str, /, *, again: bool = False, **given: Any) -> Future[Any]:
        """Return what will hold the answer; the same question is asked once, unless `again`.

        The task is a function of :mod:`intravar.app.tasks`, its arguments are fit for JSON.
        """
        key = json.dumps([task, given], sort_keys=True, default=str)
        known = self._kept.get(key)
        if known is not None and not again:
            self._kept.move_to_end(key)
            return known
        answer: Future[Any] = Future()
        self._kept[key] = answer
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        self._send(key, answer, task, given)
        return answer

    def _send(self, key: str, answer: Future[Any], task: str, given: dict[str, Any]) -> None:
        submitted, pool = self._submitted(task, given)

        def hand_over(done: Future[Any]) -> None:
            if done.cancelled() or self._closed:
                answer.cancel()
            elif (error := done.exception()) is None:
                answer.set_result(done.result())
            elif not isinstance(error, BrokenProcessPool):
                answer.set_exception(error)
            elif self._blamed is pool:  # it only waited behind the one that ended the process
                self._send(key, answer, task, given)
            else:
                self._blamed = pool
                self._kept.pop(key, None)
                answer.set_exception(InputError(DIED.format(log=self._log)))

        submitted.add_done_callback(hand_over)

    def _submitted(
        self, task: str, given: dict[str, Any]
    ) -> tuple[Future[Any], ProcessPoolExecutor]:
        if self._pool is None:
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, spawn, _begin, (str(self._log),))
        others = set(multiprocessing.active_children())
        try:
            submitted = self._pool.submit(_answer, task, given)
        except BrokenProcessPool:
            self._pool = None
            return self._submitted(task, given)
        self._processes |= set(multiprocessing.active_children()) - others
        return submitted, self._pool

    def start(self) -> None:
        """Start the process before anything is asked, so that the first answer comes soon."""
        self.ask("ready")

    def close(self) -> None:
        """End the process; what was asked and not answered is cancelled."""
        self._closed = True
        for process in self._processes:
            process.kill()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _begin(log: str) -> None:
    """Settle in the new process: print to the log, leave Ctrl-C to the app, and end with it."""
    with open(log, "ab") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_app, daemon=True).start()


def _end_with_the_app() -> None:
    app = multiprocessing.parent_process()
    if app is not None:
        app.join()
    os._exit(0)


def _answer(task: str, given: dict[str, Any]) -> Any:
    """Do a task; what goes wrong is told in words."""
    from polars.exceptions import PanicException

    from intravar.app import tasks

    try:
        return getattr(tasks, task)(**given)
    except InputError:
        raise
    except (Exception, PanicException) as error:
        if fault := machine_fault(error):
            raise InputError(fault) from None
        raise DefectError("; ".join(defect_lines(error))) from None
