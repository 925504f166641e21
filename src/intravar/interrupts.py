"""Ctrl-C that waits until compiled code has returned.

Compiled code that takes a random generator, or that returns named tuples, asks Python for their
parts. A signal that has arrived by then and is turned into an exception leaves them half made, and
the process ends without a word.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Let signals that Python handles wait until the block ends; then they are handled.

    Examples
    --------
    >>> with interrupts_wait():
    ...     2 + 2
    4
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
