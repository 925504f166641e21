"""How long a measurement will take and how much memory, before it is begun.

The constants are seconds of two idle processors of a server; `python -m benchmarks forecast` and
`nation` set what measurements took beside their forecasts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path

import numpy as np

from intravar.estimators.base import CommonEstimator, Estimator, Size, Work
from intravar.estimators.predictability import Predictability, n_deals
from intravar.prediction.tasks import MOST_COMMON

#: Seconds to deal a patient into a bucket, and to prepare one there, with each of their values.
SCATTER_EACH = 2e-6
READ_EACH, READ_EACH_VALUE = 1.5e-5, 1e-6
#: Patients whose halves are measured at the most, and below which that is done three times.
MOST_HALVED, FEW_PATIENTS = 60_000, 4_000
#: What half of the patients teach takes so much of what all of them take.
HALVES_MORE = 0.4
#: Seconds in which libraries are loaded, and how many more if their modules are not kept compiled.
START, UNKEPT = 2.4, 3.5
#: Memory of the interpreter and its libraries, of a process that reads, and of its values, in MB.
BASE_MB = 420.0
READER_MB, READER_VALUE_MB = 350.0, 0.5


#: Seconds of :func:`pace`'s task on an idle server, in one thread.
USUAL_PACE = 0.0138


@cache
def pace() -> float:
    """Return how many times as long this machine takes, now, as the one that was measured on.

    Two thirds of a second: sorting, small products and plain Python, as a measurement has them.
    In a shorter time a burst of other work would be taken for the pace of the machine.
    """
    random = np.random.default_rng(0)
    values, small = random.random(100_000), random.random((60, 40, 40))
    taken = []
    for _ in range(45):
        begun = time.perf_counter()
        np.sort(values)
        np.linalg.inv(small + np.eye(40))
        sum(number * number for number in range(150_000))
        np.exp(-values).sum()
        taken.append(time.perf_counter() - begun)
    return float(np.median(taken)) / USUAL_PACE


def loading() -> float:
    """Return by how many seconds libraries are loaded more slowly here than usual."""
    # Where PYTHONDONTWRITEBYTECODE is set, every command compiles them anew.
    return 0.0 if Path(cache_from_source(np.__file__)).exists() else UNKEPT


@dataclass(frozen=True)
class Cost:
    """What a measurement takes."""

    seconds: float
    memory_mb: float

    def here(self) -> Cost:
        """Return what it takes on this machine, as it is now."""
        return replace(self, seconds=(self.seconds + loading()) * pace())

    def in_words(self) -> str:
        """Say it in a line.

        Examples
        --------
        >>> Cost(130, 2300).in_words()
        'about 2 min and 2.3 GB'
        """
        if self.seconds < 90:
            time = f"{max(1, round(self.seconds))} s"
        elif self.seconds < 5400:
            time = f"{self.seconds / 60:.0f} min"
        else:
            time = f"{self.seconds / 3600:.1f} h"
        memory = f"{self.memory_mb / 1000:.1f} GB"
        return f"about {time} and {memory}"


def estimate_cost(
    size: Size, method: type[Estimator] | None, n_patients: int = 0, periods: Sequence[int] = ()
) -> Cost:
    """Estimate time and memory of a measurement with one method; None stands for mere counting.

    Of a large table `size` is that of the sample, and all `n_patients` are read by what it taught.
    If periods are compared, given by their patients in the sample, the method is fitted once more,
    with the period as a covariate, the noise of each is taken apart, and everybody is read twice.
    """
    n, p = size.n_patients, size.n_covariates
    own = time_of_fit(size, method)
    if method is Predictability:
        # Halves are read by what the whole taught, and serve noise as well.
        more = HALVES_MORE * own
    else:
        halves = 2 * time_of_fit(_of(size, min(n, MOST_HALVED) // 2), method)
        some = _of(size, min(n, MOST_COMMON)) if n_patients else size
        more = (3 if n <= FEW_PATIENTS else 1) * halves + _time_of_noise(some)
    # Loading, the rule, diagnostics, reasons not recorded and writing.
    seconds = own + more + float(START + 1.2 + 4e-5 * min(n, 30_000) * np.sqrt(p))
    if periods:
        seconds += time_of_fit(Size(n, p + 1, size.panels), method)
        seconds += sum(_time_of_noise(_of(size, count)) for count in periods)
    fixed, each = memory_of_learning(size, [] if method is None else [method])
    memory_mb = (fixed + each * n) / 1e6
    if n_patients and method is not None:
        seconds += (2 if periods else 1) * time_of_others(size, n_patients, method)
        memory_mb += (os.cpu_count() or 1) * (READER_MB + READER_VALUE_MB * p)
    return Cost(float(seconds), memory_mb)


def time_of_others(size: Size, n_patients: int, method: type[Estimator]) -> float:
    """Return the seconds that reading everybody beyond the sample takes."""
    beyond = max(n_patients - size.n_patients, 0)
    each = method.work(size).other + READ_EACH + READ_EACH_VALUE * size.n_covariates
    return float(SCATTER_EACH * n_patients + beyond * each / (os.cpu_count() or 1))


def time_of_fit(size: Size, method: type[Estimator] | None) -> float:
    """Return the seconds that one fit takes; None stands for mere counting."""
    work = Work(0.0) if method is None else method.work(size)
    return work.alone + work.shared / min(2, os.cpu_count() or 1)


def _time_of_noise(size: Size) -> float:
    """Return the seconds in which noise is taken apart: one deal of predictions, one thread."""
    work = Predictability.work(size)
    return (1 + HALVES_MORE) * (work.alone + work.shared) / n_deals(size.n_patients)


def _of(size: Size, n_patients: int) -> Size:
    """Return the size of a part of the patients."""
    share = n_patients / max(size.n_patients, 1)
    return Size(n_patients, size.n_covariates, size.panels * share)


def memory_of_learning(size: Size, methods: Sequence[type[Estimator]]) -> tuple[float, float]:
    """Return the bytes that methods take to learn one after the other, and those per patient."""
    works = [method.work(size) for method in methods] or [Work(0.0)]
    # Distances within a panel, where patients are paired.
    paired = not methods or not all(issubclass(method, CommonEstimator) for method in methods)
    panel = 3 * 8 * min(float(size.panels.max()) ** 2, 2.5e7) if paired else 0.0
    each = max(_held(size, work) for work in works)
    # Noise is taken apart by predictions, of some patients where they are many.
    some = min(1.0, MOST_COMMON / max(size.n_patients, 1))
    return 1e6 * BASE_MB + panel, max(each, some * _held(size, Predictability.work(size)))


def _held(size: Size, work: Work) -> float:
    """Return the bytes that are held for a patient."""
    return 8 * work.copies * (size.n_covariates + 4) + work.held
