"""Predictions that tests learn are kept on disk: many files measure the same cohorts.

Kept beside the other caches of pytest, for this state of the source and these versions alone, and
shared between the processes of a run. A test that puts something of its own into the learners gets
what it asked for: nothing is taken from the disk then.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import intravar

LEARNERS = ("intravar.prediction", "intravar.learning", "intravar.panels")


@contextmanager
def kept(folder: Path) -> Iterator[None]:
    """Keep held-out predictions, of all patients and of halves, below a folder."""
    from intravar.prediction import held_out

    here = folder / _state()
    for other in folder.glob("*"):
        if other != here:
            shutil.rmtree(other, ignore_errors=True)
    here.mkdir(parents=True, exist_ok=True)
    pristine = {module.__name__: dict(vars(module)) for module in _learners()}

    def key_of_patients(observed: Any, n_folds: int, seed: int, n_threads: int) -> str:
        patients = observed.covariates, observed.decision, observed.code, observed.names
        return _digest(*patients, n_folds, seed, n_threads)

    def key_of_halves(found: Any, n_threads: int) -> str:
        task = found.task
        panels = task.panels
        return _digest(panels.X, panels.y, panels.code, task.fold, task.part, task.seed, n_threads)

    with pytest.MonkeyPatch.context() as patch:
        for module, name, key in (
            (held_out, "_held_out", key_of_patients),
            (held_out, "_half_predictions", key_of_halves),
        ):
            remembering = _remembering(getattr(module, name), key, here, pristine)
            patch.setattr(module, name, remembering)
            pristine[module.__name__][name] = remembering
        yield


def _remembering(
    learner: Callable[..., Any],
    key: Callable[..., str],
    folder: Path,
    pristine: dict[str, dict[str, Any]],
) -> Callable[..., Any]:
    def learned(*given: Any) -> Any:
        if not _untouched(pristine):
            return learner(*given)
        path = folder / f"{learner.__name__}-{key(*given)}"
        with suppress(OSError, EOFError, pickle.UnpicklingError):
            return pickle.loads(path.read_bytes())
        found = learner(*given)
        part = path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):  # a run of another state may have cleared the folder
            part.write_bytes(pickle.dumps(found))
            part.replace(path)
        return found

    return learned


def _learners() -> list[ModuleType]:
    return [module for name, module in sys.modules.items() if name.startswith(LEARNERS)]


def _untouched(pristine: dict[str, dict[str, Any]]) -> bool:
    """Whether the learners are as they were when the tests began."""
    return all(
        vars(module).get(name) is value
        for module in _learners()
        for name, value in pristine.get(module.__name__, {}).items()
    )


def _state() -> str:
    """Return what learned predictions depend on: the source, and the libraries' versions."""
    source = Path(intravar.__file__).parent
    found = hashlib.sha256(f"{sys.version}{np.__version__}".encode())
    for path in sorted(source.rglob("*.py")):
        found.update(path.relative_to(source).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:16]


def _digest(*parts: Any) -> str:
    found = hashlib.sha256()
    for part in parts:
        array = np.ascontiguousarray(part)
        found.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return found.hexdigest()[:32]
