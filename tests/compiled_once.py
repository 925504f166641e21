"""Processes that test side by side compile each function once, and not each for itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher


@contextmanager
def compiled_once(folder: Path) -> Iterator[None]:
    """Let one process compile a function while others wait, who find it on disk afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    compile_here = Dispatcher.compile

    def compile_alone(self: Any, signature: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}.lock"
        # First the lock of this process's threads, which the compiler takes anyway.
        with global_compiler_lock, FileLock(folder / name):
            return compile_here(self, signature)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "compile", compile_alone)
        yield
