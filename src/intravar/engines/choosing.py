"""Where units are worked on: processes of this machine, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from intravar.engines.dask_engine import DaskEngine
from intravar.engines.local_engine import LocalEngine
from intravar.engines.workers import Work
from intravar.errors import InputError


class Engine(Protocol):
    """Works through tasks and yields results as they are ready, in any order."""

    def check(self) -> None:
        """Refuse what cannot work, before anything is done."""
        ...

    def run(self, work: Work, tasks: Iterable[Any]) -> Iterator[Any]:
        """Yield ``work(task)`` for every task."""
        ...


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
