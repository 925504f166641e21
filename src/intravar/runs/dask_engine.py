"""Units on a Dask cluster, one that is running or one that is started for the run."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent import futures
from contextlib import contextmanager
from itertools import islice
from typing import Any

from intravar.errors import InputError
from intravar.processes import (
    Work,
    WorkLostError,
    count_workers,
    interrupts_for_the_owner,
    single_threaded,
)
from intravar.runs.store import fingerprint

#: Tasks that wait for every thread of a cluster, and threads that are counted on at the least.
TASKS_PER_THREAD, FEWEST_THREADS = 2, 4
_LOST = "finished units are kept, and the same command goes on"


class DaskEngine:
    """A Dask cluster: one that is running, by its address, or one started here for the run."""

    #: Seconds to wait for a scheduler to answer.
    patience = 10.0
    #: Seconds to wait for a worker where there is none: a queue or a cloud takes its time.
    worker_patience = 300.0

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self.address = address
        self.workers = count_workers(workers)

    def run(self, work: Work, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield results as they come; a unit whose worker dies is done again elsewhere.

        Tasks are sent a few at a time: one may hold the patients of many physicians.
        """
        with self._client() as client:
            from distributed import as_completed

            expected, left = fingerprint(), iter(tasks)

            def submitted(most: int) -> list[Any]:
                return [
                    client.submit(_checked, expected, work, task, pure=False)
                    for task in islice(left, most)
                ]

            waiting = as_completed(submitted(_at_a_time(client)))
            watch = _ClusterWatch(client, self.patience, self.worker_patience)
            while not waiting.is_empty():
                if waiting.has_ready():
                    # First the result: without a scheduler there is nobody to send more to.
                    result = _result(next(waiting), watch)
                    waiting.update(submitted(1 + max(0, _at_a_time(client) - waiting.count() - 1)))
                    yield result
                else:
                    watch.look()
                    time.sleep(0.05)

    def check(self) -> None:
        """Refuse an address at which nobody answers, before anything is done."""
        if self.address is not None:
            with self._client():
                pass

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """Open a client, and a cluster for it where there is none."""
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise InputError(
                "the Dask engine needs Dask; install it with: pip install 'intravar[dask]'"
            ) from error
        if self.address is None:
            with interrupts_for_the_owner():
                cluster = LocalCluster(
                    n_workers=self.workers, threads_per_worker=1, dashboard_address=None
                )
            with cluster, Client(cluster) as client:
                yield client
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                client = Client(self.address, timeout=self.patience)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"no Dask scheduler answers at '{self.address}' within {self.patience:g} seconds; "
                "check the address and that it is running"
            ) from error
        with client:
            yield client


def _at_a_time(client: Any) -> int:
    """Return how many tasks are sent before one is finished: some for every thread there is."""
    workers = client.scheduler_info().get("workers", {})
    threads = sum(worker["nthreads"] for worker in workers.values())
    return TASKS_PER_THREAD * max(int(threads), FEWEST_THREADS)


class _ClusterWatch:
    """Says so when a cluster has nobody left to wait for, instead of waiting for ever."""

    def __init__(self, client: Any, patience: float, worker_patience: float) -> None:
        self._client = client
        self._patience = patience
        self._worker_patience = worker_patience
        self._answered = self._had_workers = time.monotonic()

    def look(self) -> None:
        """Raise if scheduler or workers have been gone for longer than there is patience."""
        now = time.monotonic()
        if self._client.status == "running":
            self._answered = now
            if self._client.scheduler_info().get("workers"):
                self._had_workers = now
        if now - self._answered > self._patience:
            raise WorkLostError(f"the Dask scheduler is gone; {_LOST}")
        if now - self._had_workers > self._worker_patience:
            raise WorkLostError(
                f"the Dask scheduler has had no workers for {self._worker_patience:g} seconds; "
                f"start some; {_LOST}"
            )


def _result(future: Any, watch: _ClusterWatch) -> Any:
    from distributed import KilledWorker

    try:
        while True:
            try:
                return future.result(timeout=1)
            except TimeoutError:
                # Finished, but lost with its worker before it came here: it is done once more.
                watch.look()
    except KilledWorker as error:
        raise WorkLostError(
            "several Dask workers died on one unit, most likely because their memory ran out; "
            f"give them more; {_LOST}"
        ) from error
    except (asyncio.CancelledError, futures.CancelledError, OSError) as error:
        raise WorkLostError(f"the Dask scheduler is gone; {_LOST}") from error
    except (ImportError, AttributeError, RuntimeError) as error:
        # A worker with another intravar, or without one, cannot even read the task.
        raise InputError(
            f"a Dask worker could not do a unit ({type(error).__name__}: {error}); make sure that "
            f"the same intravar is installed there; {_LOST}"
        ) from error


def _checked(expected: dict[str, str], work: Work, task: Any) -> Any:
    """Work on a task where the software is the same as where it was sent from, else refuse."""
    installed = fingerprint()
    for name, value in expected.items():
        if installed.get(name) != value:
            raise InputError(
                f"a Dask worker has {name} {installed.get(name)}, this is {value}; results would "
                "not be the same; install the same on both"
            )
    return single_threaded(work, task)
