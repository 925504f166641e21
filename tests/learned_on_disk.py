"""What tests learn is kept on disk: many files measure the same cohorts, and so does the next run.

Kept beside the other caches of pytest, for this state of the source and these versions alone, and
shared between the processes of a run. Three rules keep tests as strict as without it:

- A test that puts functions of its own into the program gets what it asked for: nothing is taken
  from the disk then. Numbers of its own are a part of what is asked for. Only what is put into
  layers above those that learn cannot reach them: import-linter holds the directions of imports.
- Within one test the same is taken from the disk once. Asked for again it is computed anew, and
  everything below it: that the same comes out twice is still tested.
- Only what is intravar's own is kept; whatever else a method is made of is computed.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import sys
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date
from functools import cache, wraps
from importlib.metadata import version
from inspect import unwrap
from math import inf
from pathlib import Path
from threading import local
from typing import Any
from weakref import WeakSet

import numpy as np
import polars as pl
import pytest
from filelock import FileLock

import intravar

#: What takes fewer processor seconds, or has more bytes for each of them, is computed each time.
QUICK, MOST_BYTES = 0.02, 2e7
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "polars", "joblib")


class NotOursError(TypeError):
    """What is asked for is not all intravar's own, so that no key tells it from something else."""


@contextmanager
def kept(folder: Path, run: str = "") -> Iterator[None]:
    """Keep fits, and what else is costly in a measurement, below a folder.

    With the name of a run nothing of other runs is used.
    """
    from intravar.estimators.base import Estimator
    from intravar.measurement import measure, unrecorded
    from intravar.prediction import held_out

    here = folder / _state(run)
    for other in folder.glob("*"):
        if other != here:
            shutil.rmtree(other, ignore_errors=True)
    here.mkdir(parents=True, exist_ok=True)
    with _patches_noted():
        shelf = _Shelf(here)
        fit, of_halves = unwrap(Estimator.fit_observed), unwrap(held_out._half_predictions)

        @wraps(fit)
        def fit_observed(self: Estimator, observed: Any) -> Estimator:
            given = self.get_params(deep=False)
            if vars(self).keys() - given.keys():  # fitted before
                return fit(self, observed)

            def fitted() -> dict[str, Any]:
                fit(self, observed)
                return {name: value for name, value in vars(self).items() if name not in given}

            learned = shelf.take(fitted, type(self), type(self), given, observed)
            for name, value in learned.items():
                setattr(self, name, value)
            return self

        def remembered(work: Callable[..., Any]) -> Callable[..., Any]:
            return wraps(work)(lambda *asked: shelf.take(lambda: work(*asked), work, *asked))

        @wraps(of_halves)
        def half_predictions(whole: Any, n_threads: int) -> Any:
            # Folds follow from the patients and from how they are dealt.
            return shelf.take(
                lambda: of_halves(whole, n_threads), of_halves, *_dealt(whole.task), n_threads
            )

        own = pytest.MonkeyPatch()
        _PATCHES.discard(own)
        own.setattr(Estimator, "fit_observed", fit_observed)
        own.setattr(held_out, "_half_predictions", half_predictions)
        for module, name in (
            (held_out, "_held_out"),
            (measure, "suggest_rule"),
            (unrecorded, "losses_without"),
        ):
            own.setattr(module, name, remembered(unwrap(getattr(module, name))))
        try:
            yield
        finally:
            own.undo()


def _dealt(task: Any) -> tuple[Any, ...]:
    return task.covariates, task.y, task.code, task.fold, task.lone_half, task.seed


@dataclass
class _Shelf:
    """What was learned, by what it was learned from; and what this test has asked for."""

    folder: Path
    test: str = ""
    asked: set[str] = field(default_factory=set)
    anew: local = field(default_factory=local)

    def take(self, work: Callable[[], Any], learner: Callable[..., Any], *given: Any) -> Any:
        """Return what a learner learned of what is given; learn it where it is not there."""
        if getattr(self.anew, "now", False):
            return work()
        try:
            placed = _in_place(learner.__module__)
            key = f"{learner.__name__}-{digest(placed, *given)}"
        except NotOursError:
            return work()
        if self._asked_before(key):
            self.anew.now = True
            try:
                return work()
            finally:
                self.anew.now = False
        # Who asks for what another process is learning waits for it.
        with FileLock(self.folder / "locks" / key):
            said, learned = self._read_or_learn(self.folder / key, work)
        _warn_again(said)
        return learned

    def _read_or_learn(self, path: Path, work: Callable[[], Any]) -> tuple[list[Any], Any]:
        with suppress(OSError, EOFError, pickle.UnpicklingError):
            said, learned = pickle.loads(path.read_bytes())
            return said, learned
        begun = time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learned = work()
        said = [(each.message, each.category) for each in caught]
        self._put(path, (said, learned), time.process_time() - begun)
        return said, learned

    def _asked_before(self, key: str) -> bool:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        if test != self.test:
            self.test, self.asked = test, set()
        before = key in self.asked
        self.asked.add(key)
        return before

    def _put(self, path: Path, learned: Any, seconds: float) -> None:
        if seconds < QUICK:
            return
        # Some learners are functions of functions; another state may have cleared the folder.
        with suppress(OSError, pickle.PicklingError, AttributeError, TypeError):
            stored = pickle.dumps(learned, pickle.HIGHEST_PROTOCOL)
            if len(stored) <= seconds * MOST_BYTES:
                part = path.with_suffix(f".{os.getpid()}")
                part.write_bytes(stored)
                part.replace(path)


def _warn_again(said: list[tuple[Warning | str, type[Warning]]]) -> None:
    """Warn as the method did, in the name of whoever called `fit`."""
    for message, category in said:
        warnings.warn(message, category, stacklevel=5)


#: Whatever puts things into the program and takes them away again.
_PATCHES: WeakSet[pytest.MonkeyPatch] = WeakSet()


@contextmanager
def _patches_noted() -> Iterator[None]:
    begin = pytest.MonkeyPatch.__init__

    def begun(self: pytest.MonkeyPatch) -> None:
        begin(self)
        _PATCHES.add(self)

    pytest.MonkeyPatch.__init__ = begun  # type: ignore[method-assign]
    try:
        yield
    finally:
        pytest.MonkeyPatch.__init__ = begin  # type: ignore[method-assign]


def _in_place(learner: str) -> list[Any]:
    """Return the numbers that tests have put where a module can see them; refuse anything else."""
    placed = {}
    for patch in list(_PATCHES):
        if any(where is not os.environ for where, _, _ in patch._setitem):
            raise NotOursError
        for target, name, _ in patch._setattr:
            where = getattr(target, "__name__", None)
            if _place(getattr(target, "__module__", where)) < _place(learner):
                continue
            placed[f"{where}.{name}"] = getattr(target, name, None)
            if where is None or callable(placed[f"{where}.{name}"]):
                raise NotOursError
    return sorted(placed.items())


@cache
def _layers() -> dict[str, int]:
    """Return the place of every part of intravar, from the top, as import-linter holds them."""
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    (contract,) = (
        each for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers"
    )
    return {
        part.strip(): at for at, layer in enumerate(contract["layers"]) for part in layer.split("|")
    }


def _place(module: str | None) -> float:
    """Return the number of layers above a module; what is in none of them reaches everywhere."""
    package, _, rest = (module or "").partition(".")
    inside = _layers().get(rest.partition(".")[0]) if package == "intravar" else None
    return inf if inside is None else inside


def digest(*parts: Any) -> str:
    """Return a short name of content; refuse what is not ours or has no content to go by."""
    found = hashlib.sha256()
    for part in parts:
        _add(found, part)
    return found.hexdigest()[:32]


def _add(found: Any, value: Any) -> None:
    kind = type(value)
    found.update(f"{kind.__module__}.{kind.__qualname__}(".encode())
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        found.update(f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, pl.Series):
        _add(found, value.to_frame())
    elif isinstance(value, pl.DataFrame) and pl.Object not in value.dtypes:
        found.update(value.write_ipc(None).getbuffer())
    elif value is None or isinstance(value, int | float | str | date | np.generic):
        found.update(repr(value).encode())
    elif isinstance(value, type) and _ours(value):
        found.update(value.__qualname__.encode())
    elif isinstance(value, Mapping):
        _add(found, list(value.items()))
    elif isinstance(value, list | tuple | np.ndarray):
        for part in value:
            _add(found, part)
    elif is_dataclass(value) and _ours(kind):
        for each in fields(value):
            if each.name != "_learned":
                _add(found, getattr(value, each.name))
    else:
        raise NotOursError(kind.__qualname__)
    found.update(b")")


def _ours(kind: type) -> bool:
    return kind.__module__.startswith("intravar.")


def _state(run: str) -> str:
    """Return what learned predictions depend on: the source, and the libraries' versions."""
    source = Path(intravar.__file__).parent
    found = hashlib.sha256(f"{sys.version}{[version(name) for name in LIBRARIES]}{run}".encode())
    for path in sorted(source.rglob("*.py")):
        found.update(path.relative_to(source).as_posix().encode() + path.read_bytes())
    return found.hexdigest()[:16]
