"""How much is done at a time, so that a limit of memory is kept."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from intravar.engines.workers import count_workers
from intravar.errors import InputError, option

#: Patients in a bucket where memory is no concern: enough to keep a processor busy for seconds.
BUCKET_PATIENTS = 50_000
LEAST_BUCKET = 5_000
#: Patients from whom something common can be learned.
LEAST_LEARNED = 5_000
#: Values in a bucket at the most: with many covariates buckets have fewer patients.
BUCKET_VALUES = 2_000_000
#: Memory of a process with its libraries, and of the one that learns beside its sample.
PROCESS_BYTES = 420e6
LEARNER_BYTES = 700e6
#: Bytes held for every value of a patient who is learned from, and of one who is read.
LEARNED_VALUE = 8 * 36
READ_VALUE = 8 * 30
_UNITS = ("", "K", "M", "G", "T")
_SIZE = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(i?)B?\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Limits:
    """How many work at a time, and on how many patients."""

    workers: int
    bucket_patients: int


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
    found = _SIZE.match(str(text))
    if found is None or float(found[1]) <= 0:
        raise InputError(f"{option('memory')} is {str(text)!r}; give a size such as '4GB'")
    step = 1024.0 if found[3] else 1000.0
    return float(found[1]) * step ** _UNITS.index(found[2].upper())


def within(
    memory: float | None,
    n_sampled: int,
    n_values: int,
    workers: int | None,
    available: float = math.inf,
) -> Limits:
    """Return how much may be done at a time.

    Parameters
    ----------
    memory
        Bytes that all processes together may take; None for no limit.
    n_sampled
        Patients who are learned from.
    n_values
        Covariates of a patient.
    workers
        Processes that are asked for; by default one per processor.
    available
        Bytes that are free, which no more processes are started than fit into.
    """
    asked = count_workers(workers)
    usual = min(BUCKET_PATIENTS, max(LEAST_BUCKET, BUCKET_VALUES // max(n_values, 1)))
    if memory is None:
        each = PROCESS_BYTES + READ_VALUE * usual * n_values
        return Limits(max(1, int(min(asked, available / each))), usual)
    learner = LEARNER_BYTES + LEARNED_VALUE * n_sampled * n_values
    least = learner + READ_VALUE * LEAST_BUCKET * n_values
    values = LEARNED_VALUE * LEAST_LEARNED + READ_VALUE * LEAST_BUCKET
    needed = LEARNER_BYTES + values * n_values
    if memory < needed:
        raise InputError(
            f"{option('memory')} is {memory / 1e9:.2g} GB; measuring with {n_values} covariates "
            f"takes at least {needed / 1e9:.1f} GB: allow more"
        )
    if least > memory:
        smaller = max(1_000, int(n_sampled * (memory - LEARNER_BYTES) / max(least, 1) * 0.8))
        raise InputError(
            f"{option('memory')} is {memory / 1e9:.1f} GB; to learn from {n_sampled:,} patients "
            f"takes about {least / 1e9:.1f} GB: allow more, or learn from fewer with "
            f"{option('sample', str(smaller))}"
        )
    for n_workers in range(asked, 0, -1):
        # A single worker works in the process that learned.
        processes = 0.0 if n_workers == 1 else n_workers * PROCESS_BYTES
        room = memory - LEARNER_BYTES - LEARNED_VALUE * n_sampled * n_values / 4 - processes
        patients = int(room / n_workers / (READ_VALUE * n_values))
        if patients >= LEAST_BUCKET:
            return Limits(n_workers, min(patients, usual))
    return Limits(1, LEAST_BUCKET)
