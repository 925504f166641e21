"""Processes that test side by side compile each function once, and not each for itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
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
        if "PYTEST_XDIST_WORKER" in os.environ:
            with FileLock(folder / "first.lock"):
                _compile_for_commands()
        yield


def _compile_for_commands() -> None:
    """Compile what `intravar measure` needs: tests start that command, which knows no locks."""
    from intravar import Predictability

    random = np.random.default_rng(0)
    x, who = random.normal(size=(60, 2)), np.arange(60) % 3
    Predictability(n_folds=3).fit(x, (x[:, 0] > 0).astype(int), who)
