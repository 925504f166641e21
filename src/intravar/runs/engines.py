"""Where tasks are worked on: processes of this machine, or a Dask cluster."""

import asyncio
import gc
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Sized
from concurrent import futures
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any

import joblib
from joblib.externals.loky.process_executor import BrokenProcessPool

from intravar.errors import InputError
from intravar.processes import (
    Work,
    WorkLostError,
    count_workers,
    end_with,
    interrupts_for_the_owner,
    single_threaded,
)
from intravar.runs.store import fingerprint

#: Tasks that wait for every thread of a cluster, and threads that are counted on at the least.
TASKS_PER_THREAD, FEWEST_THREADS = 2, 4
_LOST = "finished units are kept, and the same command goes on"
_GONE = f"the Dask scheduler is gone; {_LOST}"


class Engine:
    """Works through tasks in processes on this machine, by default one per processor."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = count_workers(workers)

    def check(self) -> None:
        """Refuse what cannot work, before anything is done."""

    def run(self, work: Work, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield ``work(task)`` for every task as it is ready, in any order."""
        if self.workers == 1 or (isinstance(tasks, Sized) and len(tasks) == 1):
            yield from (single_threaded(work, task) for task in tasks)
            return
        parallel = joblib.Parallel(
            n_jobs=self.workers,
            return_as="generator_unordered",
            # One unit at a time: a batch would keep finished units from being stored.
            batch_size=1,
            pre_dispatch="2*n_jobs",
            # As soon as it is there: whoever waits for a first task must end with us as well.
            initializer=end_with,
            initargs=(os.getpid(),),
        )
        with interrupts_for_the_owner():
            results = parallel(joblib.delayed(single_threaded)(work, task) for task in tasks)
        try:
            with closing(results):
                yield from results
        except BrokenProcessPool as error:
            raise WorkLostError(
                "a worker was killed, most likely because the memory ran out; finished units are "
                f"kept, run the same command again with fewer --workers than {self.workers}"
            ) from error


class DaskEngine(Engine):
    """A Dask cluster: one that is running, by its address, or one started here for the run."""

    #: Seconds to wait for a scheduler to answer.
    patience = 10.0
    #: Seconds to wait for a worker where there is none: a queue or a cloud takes its time.
    worker_patience = 300.0

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        super().__init__(workers)
        self.address = address

    def check(self) -> None:
        """Refuse an address at which nobody answers, before anything is done."""
        if self.address is not None:
            with self._client():
                pass

    def run(self, work: Work, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield results as they come; a unit whose worker dies is done again elsewhere.

        Tasks are sent a few at a time: one may hold the patients of many physicians.
        """
        with self._client() as client:
            from distributed import as_completed

            expected, left = fingerprint(), iter(tasks)
            self._answered = self._had_workers = time.monotonic()

            def submitted(waiting: int) -> list[Any]:
                # Some tasks for every thread there is, and one at the least.
                workers = client.scheduler_info().get("workers", {}).values()
                threads = int(sum(worker["nthreads"] for worker in workers))
                most = TASKS_PER_THREAD * max(threads, FEWEST_THREADS) - waiting
                return [
                    client.submit(_checked, expected, work, task, pure=False)
                    for task in islice(left, max(most, 1))
                ]

            waiting = as_completed(submitted(0))
            while not waiting.is_empty():
                if waiting.has_ready():
                    # First the result: without a scheduler there is nobody to send more to.
                    result = self._result(next(waiting), client)
                    waiting.update(submitted(waiting.count()))
                    yield result
                else:
                    self._watch(client)
                    time.sleep(0.05)

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """Open a client, and a cluster for it where there is none."""
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise InputError(
                "the Dask engine needs Dask; install it with: pip install 'intravar[dask]'"
            ) from error
        # A client that could not be opened closes itself when it is collected. Were that while
        # another one starts, both would wait for one lock for ever.
        gc.collect()
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

    def _watch(self, client: Any) -> None:
        """Raise if scheduler or workers have been gone for longer than there is patience."""
        now = time.monotonic()
        if client.status == "running":
            self._answered = now
            if client.scheduler_info().get("workers"):
                self._had_workers = now
        if now - self._answered > self.patience:
            raise WorkLostError(_GONE)
        if now - self._had_workers > self.worker_patience:
            raise WorkLostError(
                f"the Dask scheduler has had no workers for {self.worker_patience:g} seconds; "
                f"start some; {_LOST}"
            )

    def _result(self, future: Any, client: Any) -> Any:
        from distributed import KilledWorker

        try:
            while True:
                try:
                    return future.result(timeout=1)
                except TimeoutError:
                    # Finished, but lost with its worker before it came here: it is done once more.
                    self._watch(client)
        except KilledWorker as error:
            raise WorkLostError(
                "several Dask workers died on one unit, most likely because their memory ran out; "
                f"give them more; {_LOST}"
            ) from error
        except (asyncio.CancelledError, futures.CancelledError, OSError) as error:
            raise WorkLostError(_GONE) from error
        except (ImportError, AttributeError, RuntimeError) as error:
            # A worker with another intravar, or without one, cannot even read the task.
            raise InputError(
                f"a Dask worker could not do a unit ({type(error).__name__}: {error}); make sure "
                f"that the same intravar is installed there; {_LOST}"
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


def make_engine(name: str, workers: int | None = None) -> Engine:
    """Return the engine of a name: ``local``, ``dask`` or ``dask:ADDRESS``."""
    kind, _, address = name.partition(":")
    if kind == "local" and not address:
        return Engine(workers)
    if kind == "dask":
        return DaskEngine(address or None, workers)
    raise InputError(f"unknown engine '{name}'; use local, dask or dask:ADDRESS")
