"""Where units are worked on: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, Protocol

import joblib
from threadpoolctl import threadpool_limits

from intravar.errors import InputError

Work = Callable[[Any], Any]


class Engine(Protocol):
    """Works through tasks and yields results as they are ready, in any order."""

    def run(self, work: Work, tasks: Sequence[Any]) -> Iterator[Any]:
        """Yield ``work(task)`` for every task."""
        ...


def count_workers(asked: int | None = None) -> int:
    """Return how many workers to start: as many as asked for, or one per core.

    Examples
    --------
    >>> count_workers(3)
    3
    """
    if asked is not None and asked < 1:
        raise InputError(f"{asked} workers cannot work; ask for at least one")
    return asked or int(joblib.cpu_count())


def _single_threaded(work: Work, task: Any) -> Any:
    # One process per core is what keeps the cores busy; threads of BLAS would only compete.
    with threadpool_limits(1):
        return work(task)


class LocalEngine:
    """Processes on this machine.

    Parameters
    ----------
    workers
        Number of processes; by default one per core.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = count_workers(workers)

    def run(self, work: Work, tasks: Sequence[Any]) -> Iterator[Any]:
        """See :class:`Engine`."""
        if self.workers == 1 or len(tasks) == 1:
            yield from (_single_threaded(work, task) for task in tasks)
            return
        parallel = joblib.Parallel(
            n_jobs=self.workers,
            return_as="generator_unordered",
            # One unit at a time: a batch would keep finished units from being stored.
            batch_size=1,
            pre_dispatch="2*n_jobs",
        )
        with closing(
            parallel(joblib.delayed(_single_threaded)(work, task) for task in tasks)
        ) as results:
            yield from results


class DaskEngine:
    """A Dask cluster: one that is running, by its address, or one started here for the run.

    Parameters
    ----------
    address
        Address of the scheduler, such as ``tcp://10.0.0.1:8786``; without one, workers are
        started on this machine.
    workers
        Number of workers to start where no address is given.
    """

    #: Seconds to wait for a scheduler to answer.
    patience = 10

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self.address = address
        self.workers = count_workers(workers)

    def run(self, work: Work, tasks: Sequence[Any]) -> Iterator[Any]:
        """See :class:`Engine`; a unit whose worker dies is done again elsewhere."""
        with self._client() as client:
            from distributed import as_completed

            futures = [client.submit(_single_threaded, work, task, pure=False) for task in tasks]
            waiting = as_completed(futures)
            del futures  # a result is dropped by the cluster as soon as it was kept here
            for future in waiting:
                yield future.result()

    def _client(self) -> Any:
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise InputError(
                "the Dask engine needs Dask; install it with: pip install 'intravar[dask]'"
            ) from error
        if self.address is None:
            cluster = LocalCluster(
                n_workers=self.workers, threads_per_worker=1, dashboard_address=None
            )
            return _OwnCluster(Client(cluster), cluster)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return Client(self.address, timeout=self.patience)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(
                f"no Dask scheduler answers at '{self.address}' within {self.patience} seconds; "
                "check the address and that it is running"
            ) from error


class _OwnCluster:
    """A client that takes its cluster along when it closes."""

    def __init__(self, client: Any, cluster: Any) -> None:
        self._client = client
        self._cluster = cluster

    def __enter__(self) -> Any:
        return self._client

    def __exit__(self, *error: object) -> None:
        self._client.close()
        self._cluster.close()


def make_engine(name: str, workers: int | None = None) -> Engine:
    """Return the engine of a name: ``local``, ``dask`` or ``dask:ADDRESS``.

    Examples
    --------
    >>> make_engine("local", workers=2).workers
    2
    """
    kind, _, address = name.partition(":")
    if kind == "local" and not address:
        return LocalEngine(workers)
    if kind == "dask":
        return DaskEngine(address or None, workers)
    raise InputError(f"unknown engine '{name}'; use local, dask or dask:ADDRESS")
