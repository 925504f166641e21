"""Work in threads: compiled loops let go of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def in_threads(jobs: Sequence[Callable[[], Result]], n_threads: int) -> list[Result]:
    """Return what the jobs return, in their order.

    Examples
    --------
    >>> in_threads([lambda: 1, lambda: 2], 2)
    [1, 2]
    """
    if n_threads == 1:
        return [job() for job in jobs]
    with ThreadPoolExecutor(n_threads) as pool:
        return [future.result() for future in [pool.submit(job) for job in jobs]]
