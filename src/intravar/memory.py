"""How much memory there is and how much a process has taken, on every system."""

from __future__ import annotations

import sys

import psutil

from intravar.errors import InputError


def peak_memory_mb() -> float:
    """Return the most memory that this process has held so far, in MB.

    Examples
    --------
    >>> peak_memory_mb() > 1
    True
    """
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
