"""`intravar check` and `measure` on 200,000 patients, 400 physicians and 20 covariates (Parquet).

The covariates are the nine of the continuum and eleven that have nothing to do with anything. Each
command is a process of its own; its memory is the largest of its processes.
"""

from __future__ import annotations

import resource  # POSIX alone tells the peak of children
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import intravar

PATIENTS, PHYSICIANS, COVARIATES = 200_000, 400, 20


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "patients.parquet"
        _patients().write_parquet(table)
        columns = ["--physician", "physician", "--decision", "decision"]
        print(f"{'200,000 x 400 x 20':24}{'seconds':>10}{'peak MB':>10}")
        _timed("check", str(table), *columns)
        _timed("measure", str(table), *columns, "--out", str(Path(folder) / "results"))


def _patients() -> pl.DataFrame:
    cohort = intravar.simulate("continuous", n_patients=PATIENTS, n_physicians=PHYSICIANS, seed=1)
    X, y, physician = cohort.observed()
    random = np.random.default_rng(1)
    noise = {f"other{i}": random.normal(size=PATIENTS) for i in range(COVARIATES - X.width)}
    return X.with_columns(
        **{name: pl.Series(values) for name, values in noise.items()},
        decision=pl.Series(y),
        physician=physician.cast(pl.String),
    )


def _timed(command: str, *arguments: str) -> None:
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "intravar", command, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{'intravar ' + command:24}{seconds:>10.1f}{peak:>10,.0f}", flush=True)
