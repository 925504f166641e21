"""How much memory a process has taken, on every system."""

from __future__ import annotations

import sys

import psutil


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
