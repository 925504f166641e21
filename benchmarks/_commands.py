"""Commands as processes of their own, and what they and their workers took."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

#: Seconds between two looks at the memory.
LOOK = 0.25


@dataclass(frozen=True)
class Run:
    """What a command took.

    Attributes
    ----------
    seconds, processor
        By the clock, and of all processors together: the same on a busy machine.
    peak_mb
        Memory of all processes together, shared pages counted once.
    ended
        Its exit code.
    said
        What it said beside its output, of an error say.
    """

    seconds: float
    processor: float
    peak_mb: float
    ended: int
    said: str = ""


def timed(arguments: Sequence[str], *, kill_after: float | None = None) -> Run:
    """Run a command; return what it took, all of its processes together."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = psutil.Popen(
            [sys.executable, "-m", "intravar", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        watched = _Watched(process)
        watching = threading.Thread(target=watched.watch, daemon=True)
        watching.start()
        if kill_after is not None:
            try:
                process.wait(kill_after)
            except psutil.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        ended = process.wait()
        watching.join()
        errors.seek(0)
        said = " ".join(errors.read().decode(errors="replace").split())
    seconds = time.perf_counter() - begin
    return Run(seconds, sum(watched.processor.values()), watched.peak_mb, ended, said)


def forecast(arguments: Sequence[str]) -> tuple[float, float]:
    """Return the seconds, and the MB, that `check` says a measurement will take.

    Seconds of several decisions add up.
    """
    command = [sys.executable, "-m", "intravar", "check", *arguments, "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    each = [found] if "estimated_seconds" in found else list(found.values())
    seconds = sum(float(one["estimated_seconds"]) for one in each)
    return seconds, max(float(one["estimated_memory_mb"]) for one in each)


class _Watched:
    """A process and its workers, looked at again and again."""

    def __init__(self, process: psutil.Popen) -> None:
        self.process = process
        self.peak_mb = 0.0
        self.processor: dict[int, float] = {}

    def watch(self) -> None:
        while self.process.is_running() and self.process.status() != psutil.STATUS_ZOMBIE:
            try:
                every = [self.process, *self.process.children(recursive=True)]
            except psutil.Error:
                return
            held = sum(self._look(each) for each in every)
            self.peak_mb = max(self.peak_mb, held / 1e6)
            time.sleep(LOOK)

    def _look(self, process: psutil.Process) -> float:
        """Take note of the time of a process; return the memory it holds, shared pages in part."""
        try:
            times = process.cpu_times()
            self.processor[process.pid] = times.user + times.system
            return float(process.memory_full_info().pss)
        except psutil.Error:
            return 0.0
