"""One million patients with truth, beside a loop over patients.

The loop is tests/reference/simulation.py, which the vectorised simulation equals value by value.
It runs on fewer patients, and its time is extrapolated: it grows in proportion to the patients.
"""

from __future__ import annotations

import json
import os
import statistics
import time

from benchmarks._fresh import in_fresh_process
from intravar.processes import peak_memory_mb

PATIENTS = 1_000_000
PATIENTS_IN_LOOP = 10_000
REPEATS = 3


def measure_vectorised() -> None:
    """Print seconds and peak memory of this very process, as JSON."""
    from intravar import simulate

    imported = peak_memory_mb()
    begin = time.perf_counter()
    simulate("score2", n_patients=PATIENTS)
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory_mb(), "imported_mb": imported}))


def measure_loop() -> None:
    """Print seconds per patient of the loop, as JSON."""
    from intravar.seeds import stream
    from intravar.study.simulation import FiveGroups
    from intravar.study.simulation.physicians import allocate
    from reference.simulation import score2_cohort

    begin = time.perf_counter()
    model = FiveGroups().draw(20, stream(1, "score2", "physicians"))
    assigned = allocate(PATIENTS_IN_LOOP, 20, 90, stream(1, "score2", "allocation"))
    score2_cohort(1, "score2", assigned.tolist(), model.p_high.tolist(), model.p_low.tolist())
    print(json.dumps({"seconds": time.perf_counter() - begin}))


def run() -> None:
    fast = [in_fresh_process("simulation", "measure_vectorised") for _ in range(REPEATS)]
    seconds = statistics.median(one["seconds"] for one in fast)
    peak = max(one["peak_mb"] for one in fast)
    loop = in_fresh_process("simulation", "measure_loop")["seconds"]
    extrapolated = loop * PATIENTS / PATIENTS_IN_LOOP
    print(f"{'':28}{'patients':>12}{'seconds':>10}{'peak memory':>14}")
    print(f"{'intravar.simulate':28}{PATIENTS:>12,}{seconds:>10.2f}{peak:>11,.0f} MB")
    print(f"{'loop over patients':28}{PATIENTS_IN_LOOP:>12,}{loop:>10.2f}")
    print(f"{'loop, extrapolated':28}{PATIENTS:>12,}{extrapolated:>10.0f}")
    print(f"\n{extrapolated / seconds:,.0f} times as fast as the loop (extrapolated).")
    print(
        f"Median of {REPEATS} fresh processes, {os.cpu_count()} processors; the peak is the whole "
        f"process, of which {fast[0]['imported_mb']:,.0f} MB are the imports."
    )
