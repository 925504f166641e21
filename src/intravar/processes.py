"""Threads and processes that work for another: how many, for how long, and what Ctrl-C does.

Whoever waits is told how it goes on, in one way for measuring and for studies. And how much memory
there is and a process has taken, on every system.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from types import FrameType
from typing import Any, TypeVar

import joblib
import psutil
from joblib.externals.loky.backend import resource_tracker as loky_tracker
from threadpoolctl import threadpool_limits

from intravar.errors import InputError

Work = Callable[[Any], Any]
Result = TypeVar("Result")

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


class Listener:
    """Whoever wants to know how work goes on; this one takes no note."""

    def step(self, words: str, seconds: float | None = None) -> None:
        """Take note that a step begins, and how many seconds it may take if that is known."""

    def part(self, done: int, total: int, left: float | None = None, words: str = "") -> None:
        """Take note how many parts of the step are done.

        `left` are the seconds that are left, where more is known than what parts have taken so far;
        `words` say what is worked on, or what went wrong.
        """

    def note(self, words: str) -> None:
        """Say something."""


class WorkLostError(InputError):
    """Those who worked are gone; what they finished is kept, and the same command goes on."""


def count_workers(asked: int | None = None) -> int:
    """Return how many workers to start: as many as asked for, or one per processor (None, -1)."""
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


def end_with(owner: int) -> None:
    """Make this worker end soon after its owner, however that one ended."""
    threading.Thread(target=_watch, args=(owner,), daemon=True).start()


def _watch(owner: int) -> None:
    with suppress(psutil.Error):  # it is gone
        # Also right where the number of a dead owner is given to another process.
        process = psutil.Process(owner)
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(1.0)
    os._exit(1)


def in_threads(jobs: Sequence[Callable[[], Result]], n_threads: int) -> list[Result]:
    """Return what the jobs return, in their order."""
    if n_threads == 1:
        return [job() for job in jobs]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(lambda job: job(), jobs))


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Let signals that Python handles wait until the block ends; then they are handled.

    Compiled code that returns several arrays, or takes a random generator, asks Python for their
    parts. A signal that has arrived by then and is turned into an exception leaves them half made:
    the process ends without a word, or with a SystemError.
    """
    if threading.current_thread() is not threading.main_thread():
        # Signals are handled in the main thread alone.
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    before: dict[int, Any] = {}
    try:
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, lambda *given: came.append(given))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number, frame in came:
            before[number](number, frame)


def peak_memory_mb() -> float:
    """Return the most memory that this process has held so far, in MB."""
    try:
        # Only POSIX has it; psutil knows the peak on Windows alone.
        import resource
    except ImportError:
        held = psutil.Process().memory_info()
        return float(getattr(held, "peak_wset", held.rss)) / 1024**2
    # macOS counts bytes where Linux counts kilobytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1024**2


def check_memory(needed: int, what: str, remedy: str) -> None:
    """Refuse what cannot fit into memory before the system has to kill somebody for it.

    Examples
    --------
    >>> check_memory(10**18, "a billion billion patients", "ask for fewer")
    Traceback (most recent call last):
    ...
    intravar.errors.InputError: a billion billion patients would take about 1,000,000,000 GB of
    memory, ... GB are free; ask for fewer
    """
    free = psutil.virtual_memory().available
    if needed > free:
        raise InputError(
            f"{what} would take about {needed / 1e9:,.0f} GB of memory, {free / 1e9:,.1f} GB are "
            f"free; {remedy}"
        )
