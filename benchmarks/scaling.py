"""Time and memory as cohorts, physicians and panels grow.

Every measurement is a fresh process with two threads where a method takes them; its peak memory
includes the imports. Seconds are those of the processor, both threads together, so that other work
on the machine does not count; they include what numba loads or compiles. Methods may be named.
"""

from __future__ import annotations

import json
import time

import intravar
from benchmarks._fresh import in_fresh_process
from intravar.estimators import STUDY_METHODS, make_estimator
from intravar.processes import peak_memory_mb

SIZES = ((10_000, 20), (50_000, 100), (200_000, 400))
LARGE_PANEL = (20_000, 1)
MANY_PHYSICIANS = (200_000, 5_000)
THREADS = 2


def measure(name: str, n_patients: int, n_physicians: int) -> None:
    """Print the seconds and the peak memory of one method on a cohort."""
    cohort = intravar.simulate(
        "continuous", n_patients=n_patients, n_physicians=n_physicians, random_state=1
    )
    observed = cohort.observed()
    estimator = make_estimator(name)
    if "n_jobs" in estimator.get_params():
        estimator.set_params(n_jobs=THREADS)
    begin = time.process_time()
    estimator.fit(*observed)
    print(json.dumps({"seconds": time.process_time() - begin, "peak_mb": peak_memory_mb()}))


def run(*names: str) -> None:
    columns = [
        *(f"{patients:,} x {physicians}" for patients, physicians in SIZES),
        "one panel of 20,000",
        "5,000 panels of 40",
    ]
    print(f"{'patients x physicians':22}" + "".join(f"{column:>22}" for column in columns))
    for name in names or STUDY_METHODS:
        cells = []
        for size in (*SIZES, LARGE_PANEL, MANY_PHYSICIANS):
            found = in_fresh_process("scaling", "measure", name, *size)
            cells.append(f"{found['seconds']:8.1f} s {found['peak_mb']:6,.0f} MB")
        print(f"{name:22}" + "".join(f"{cell:>22}" for cell in cells), flush=True)
