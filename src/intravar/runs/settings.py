"""Execution settings for large tables, and how much is done at a time so that memory suffices."""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product, starmap
from pathlib import Path
from typing import NamedTuple

import psutil

from intravar.errors import InputError, option, renamed
from intravar.estimators import METHODS
from intravar.estimators.base import Size
from intravar.preparation.check import Check, folder_for_now, memory_of_learning
from intravar.preparation.sample import most_read
from intravar.processes import count_workers
from intravar.writing import make_private_folder

#: Patients in a bucket where memory is no concern: enough to keep a processor busy for seconds.
BUCKET_PATIENTS = 50_000
LEAST_BUCKET = 5_000
#: Patients from whom something common can be learned.
LEAST_LEARNED = 5_000
#: Values in a bucket at the most: with many covariates buckets have fewer patients.
BUCKET_VALUES = 2_000_000
#: Memory of a process with its libraries.
PROCESS_BYTES = 350e6
#: Bytes held for a patient who is read, and for each of the values; on the way to another process
#: values wait twice.
READ_EACH, READ_VALUE, SENT_VALUE = 1_000, 90, 16
#: Of what learning took, this much is still held while others are read.
STILL_HELD = 0.8
#: Bytes below which a unit was forgotten.
LEAST_SENSIBLE = 1e6
_UNITS = ("", "K", "M", "G", "T")
_SIZE = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(i?)B?\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class RunSettings:
    """How a measurement of many patients is executed; results do not depend on it.

    Attributes
    ----------
    engine
        "local", "dask" or "dask:ADDRESS".
    n_jobs
        Processes; None and -1 stand for one per processor.
    memory
        What all of them may take, "4GB" say; by default there is no limit.
    folder
        Where what is finished is kept until all is; by default nowhere, and nothing is resumed.
    """

    engine: str = "local"
    n_jobs: int | None = None
    memory: str | float | None = None
    folder: str | os.PathLike[str] | None = None

    @property
    def kept_in(self) -> Path | None:
        """The folder of what is finished."""
        return None if self.folder is None else Path(self.folder)

    def spool(self) -> Path:
        """Return a folder for what a database hands over."""
        if self.kept_in is None:
            return folder_for_now()
        return make_private_folder(self.kept_in / "rows")

    def check(self) -> None:
        """Refuse what cannot be, before anything is done."""
        parse_memory(self.memory)
        count_workers(self.n_jobs)
        if self.engine != "local":
            # Loaded where it is asked for: this machine is there.
            from intravar.runs.engines import make_engine

            make_engine(self.engine, self.n_jobs).check()

    def clear_unfinished(self) -> None:
        """Remove what was kept of a measurement that is finished now."""
        if self.kept_in is not None and self.kept_in.is_dir():
            # Loaded where it is asked for: of a table that fits nothing is kept.
            from intravar.runs.buckets import Parts

            parts = Parts(self.kept_in, {})
            parts.open()
            parts.close(finished=True)


# The old name of the number of processes is taken with a warning.
RunSettings.__init__ = renamed(workers="n_jobs")(RunSettings.__init__)  # type: ignore[method-assign]


class Limits(NamedTuple):
    """How many work at a time, and on how many patients."""

    workers: int
    bucket_patients: int


@dataclass(frozen=True)
class Load:
    """What is to be held.

    `n_sampled` patients with `n_values` columns are learned from, which takes `fixed` bytes and
    `each` for every patient; `largest` is the largest panel that is read beyond the sample, 0 if
    none is.
    """

    n_sampled: int
    n_values: int
    fixed: float
    each: float
    largest: int = 0

    @property
    def learner(self) -> float:
        """Bytes that learning takes."""
        return self.fixed + self.each * self.n_sampled

    def reader(self, patients: int) -> float:
        """Bytes that reading a bucket of so many patients takes, beside the process itself."""
        return max(patients, self.largest) * (READ_EACH + READ_VALUE * self.n_values)

    def reading(self, workers: int, patients: int) -> float:
        """Bytes of all processes while buckets of so many patients are read."""
        held = self.fixed + STILL_HELD * (self.learner - self.fixed)
        if workers == 1:
            # In the process that learned.
            return held + self.reader(patients)
        sent = 2 * SENT_VALUE * max(patients, self.largest) * self.n_values
        return held + workers * (PROCESS_BYTES + self.reader(patients) + sent)

    def least(self) -> float:
        """Bytes without which it cannot be done."""
        reading = self.reading(1, LEAST_BUCKET) if self.largest else 0.0
        return max(self.learner, reading)


def parse_memory(text: str | float | None) -> float | None:
    """Return a size of memory in bytes; None for no limit.

    Examples
    --------
    >>> parse_memory("4GB"), parse_memory("512 MiB")
    (4000000000.0, 536870912.0)
    >>> parse_memory("much")
    Traceback (most recent call last):
    intravar.errors.InputError: memory is 'much'; give a size such as '4GB'
    """
    if text is None:
        return None
    written = _SIZE.match(str(text))
    size = 0.0
    if written is not None:
        step = 1024.0 if written[3] else 1000.0
        size = float(round(float(written[1]) * step ** _UNITS.index(written[2].upper())))
    if size < LEAST_SENSIBLE:
        raise InputError(f"{option('memory')} is {str(text)!r}; give a size such as '4GB'")
    return size


def within(
    memory: float | None, load: Load, workers: int | None, available: float = math.inf
) -> Limits:
    """Return how much may be done at a time; refuse a limit that cannot be kept.

    `memory` is what all processes may take, in bytes; None for no limit. No more processes are
    started than fit into what is `available`.
    """
    asked = count_workers(workers)
    usual = min(BUCKET_PATIENTS, max(LEAST_BUCKET, BUCKET_VALUES // max(load.n_values, 1)))
    if memory is None:
        each = PROCESS_BYTES + load.reader(usual)
        return Limits(max(1, int(min(asked, available / each))), usual)
    if load.least() > memory:
        raise InputError(_refused(memory, load))
    sizes = usual, max(usual // 2, LEAST_BUCKET), LEAST_BUCKET
    choices = starmap(Limits, product(range(asked, 0, -1), sizes))
    fitting = (each for each in choices if load.reading(*each) <= memory)
    return next(fitting, Limits(1, LEAST_BUCKET))


def _refused(memory: float, load: Load) -> str:
    """Say which limit would do, or with which sample this one would."""
    enough = math.ceil(load.least() / 1e8) / 10
    read = f", and to read a panel of {load.largest:,}," if load.largest > LEAST_BUCKET else ""
    said = (
        f"{option('memory')} is {memory / 1e9:.2f} GB; to learn from {load.n_sampled:,} rows with "
        f"{load.n_values} columns{read} takes {enough:.1f} GB: allow "
        f"{option('memory', f'{enough:.1f}GB')}"
    )
    fewer = int((memory - load.fixed) / load.each) // 1000 * 1000
    smaller = replace(load, n_sampled=fewer)
    if load.largest and fewer >= LEAST_LEARNED and smaller.least() <= memory:
        said += f", or learn from fewer with {option('sample', str(fewer))}"
    return said


def limits_of(checks: Mapping[str, Check], settings: RunSettings) -> Limits:
    """Return how much may be done at a time; refuse a limit of memory that cannot be kept."""
    each = [_load(check) for check in checks.values()]
    largest = max(each, key=lambda load: load.learner)
    # What was learned of one decision is held while the next is learned.
    held = sum(8.0 * load.n_sampled * load.n_values for load in each if load is not largest)
    free = float(psutil.virtual_memory().available)
    load = replace(largest, fixed=largest.fixed + held)
    return within(parse_memory(settings.memory), load, settings.n_jobs, free)


def _load(check: Check) -> Load:
    size = Size.of(check.prepared.observed)
    named = (check.method, *check.request.methods)
    fixed, each = memory_of_learning(size, [METHODS[name] for name in named if name in METHODS])
    largest = 0
    if check.beyond is not None:
        sizes = check.beyond.census.n_patients[check.beyond.unread]
        largest = min(int(sizes.max(initial=1)), most_read(size.n_covariates))
    return Load(size.n_patients, size.n_covariates, fixed, each, largest)
