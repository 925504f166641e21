"""Processes that work for another: how many, on how many threads, and for how long."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any

import joblib
import psutil
from joblib.externals.loky.backend import resource_tracker as loky_tracker
from threadpoolctl import threadpool_limits

from intravar.errors import InputError

Work = Callable[[Any], Any]


class WorkLostError(InputError):
    """Those who worked are gone; what they finished is kept, and the same command goes on."""


def count_workers(asked: int | None = None) -> int:
    """Return how many workers to start: as many as asked for, or one per processor (None, -1).

    Examples
    --------
    >>> count_workers(3)
    3
    """
    if asked is None or asked == -1:
        return int(joblib.cpu_count())
    if asked < 1:
        raise InputError(f"{asked} workers cannot work; ask for at least one")
    return asked


def single_threaded(work: Work, task: Any) -> Any:
    """Work on a task with one thread: a process per processor is what keeps the processors busy."""
    with threadpool_limits(1):
        return work(task)


@contextmanager
def interrupts_for_the_owner() -> Iterator[None]:
    """Start processes that leave Ctrl-C to the process that started them.

    A terminal sends it to all of them at once. What is blocked here is blocked in the processes
    started meanwhile; for us it only waits until the end of the block.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Started before: whoever starts them lets interrupts through again, to workers half begun.
    resource_tracker.ensure_running()
    loky_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


#: Seconds between two looks of a worker at whether its owner is still there.
_LOOK_EVERY = 1.0
_watching = threading.Event()


def end_with(owner: int) -> None:
    """Make this worker end soon after its owner, however that one ended."""
    if not _watching.is_set():
        _watching.set()
        threading.Thread(target=_watch, args=(owner,), daemon=True).start()


def _watch(owner: int) -> None:
    # Also right where the number of a dead owner is given to another process.
    process = psutil.Process(owner) if psutil.pid_exists(owner) else None
    while process is not None and _runs(process):
        time.sleep(_LOOK_EVERY)
    os._exit(1)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
