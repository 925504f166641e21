"""Where units are worked on: processes of this machine, or a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sized
from contextlib import closing
from typing import Any, Protocol

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


class Engine(Protocol):
    """Works through tasks and yields results as they are ready, in any order."""

    def check(self) -> None:
        """Refuse what cannot work, before anything is done."""
        ...

    def run(self, work: Work, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield ``work(task)`` for every task."""
        ...


class LocalEngine:
    """Processes on this machine.

    Parameters
    ----------
    workers
        Number of processes; by default one per processor.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = count_workers(workers)

    def check(self) -> None:
        """See :class:`Engine`: this machine is there."""

    def run(self, work: Work, tasks: Iterable[Any]) -> Iterator[Any]:
        """See :class:`Engine`."""
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
        from intravar.runs.dask_engine import DaskEngine

        return DaskEngine(address or None, workers)
    raise InputError(f"unknown engine '{name}'; use local, dask or dask:ADDRESS")
