"""A nation's data: `check` and `measure` on a million and on ten million patients (Parquet).

The covariates are the nine of the continuum and eleven that have nothing to do with anything;
panels have 500 patients. Every command is a process of its own; memory is the sum over it and its
workers, looked at twice a second. In the last part the command is killed in the middle with
SIGKILL and given again.

    python -m benchmarks nation                     # a million patients
    python -m benchmarks nation 10000000            # ten million, killed and resumed
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import psutil

import intravar

COVARIATES, PANEL = 20, 500
#: Patients that are simulated at a time.
BLOCK = 200_000
METHODS = ("predictability", "latent-rule")
COLUMNS = ("--physician", "physician", "--decision", "decision")
#: Patients from which on a run is killed and resumed as well.
KILLED_FROM = 5_000_000


@dataclass(frozen=True)
class Run:
    """What a command took."""

    seconds: float
    peak_mb: float
    ended: int


def run(*arguments: str) -> None:
    sizes = [int(each) for each in arguments] or [1_000_000]
    print(f"{'':46}{'seconds':>9}{'peak MB':>9}")
    for n_patients in sizes:
        with tempfile.TemporaryDirectory() as folder:
            _of_size(n_patients, Path(folder))


def _of_size(n_patients: int, folder: Path) -> None:
    table = write_patients(folder / "patients", n_patients)
    called = f"{n_patients:,} x {n_patients // PANEL:,} x {COVARIATES}"
    _line(f"{called}, check", timed(["check", str(table), *COLUMNS]))
    kills = n_patients >= KILLED_FROM
    for method in METHODS[:1] if kills else METHODS:
        out = folder / method
        asked = ["measure", str(table), *COLUMNS, "--method", method, "--out", str(out)]
        expected = forecast([str(table), *COLUMNS, "--method", method])
        whole = timed(asked)
        _line(f"{called}, {method}", whole)
        print(f"  forecast {expected:.0f} s, {whole.seconds / expected:.2f} times that", flush=True)
        if kills:
            again = folder / "again"
            asked[-1] = str(again)
            cut = timed(asked, kill_after=whole.seconds / 2)
            _line("  killed in the middle", cut)
            _line("  resumed", timed(asked))
            keyless = ["physicians.csv"]
            same = all(_scores(out / name) == _scores(again / name) for name in keyless)
            print(f"  the same bits: {'yes' if same else 'NO'}", flush=True)


def forecast(arguments: Sequence[str]) -> float:
    """Return the seconds that `check` says a measurement will take."""
    command = [sys.executable, "-m", "intravar", "check", *arguments, "--json"]
    found = subprocess.run(command, check=True, capture_output=True)
    return float(json.loads(found.stdout)["estimated_seconds"])


def _scores(path: Path) -> list[tuple[object, ...]]:
    """Return the published rows; pseudonyms have another key in every folder."""
    table = pl.read_csv(path).drop("physician")
    return sorted(table.rows(), key=str)


def _line(words: str, found: Run) -> None:
    ended = "" if found.ended == 0 else f"  (ended {found.ended})"
    print(f"{words:46}{found.seconds:>9.1f}{found.peak_mb:>9,.0f}{ended}", flush=True)


def write_patients(folder: Path, n_patients: int) -> Path:
    """Write patients in parts, so that no more than a block of them is held."""
    folder.mkdir(parents=True)
    done = 0
    while done < n_patients:
        n = min(BLOCK, n_patients - done)
        block = patients(n, n // PANEL, done // BLOCK, done // PANEL)
        block.write_parquet(folder / f"part-{done // BLOCK:05d}.parquet")
        done += n
    return folder


def patients(n: int, n_physicians: int, seed: int, first: int) -> pl.DataFrame:
    """Simulate a block of patients; its physicians are counted from `first`."""
    cohort = intravar.simulate("continuous", n_patients=n, n_physicians=n_physicians, seed=seed)
    X, y, physician = cohort.observed()
    random = np.random.default_rng(seed)
    noise = {f"other{i}": random.normal(size=n) for i in range(COVARIATES - X.width)}
    codes = physician.rank("dense").cast(pl.Int64) - 1 + first
    return X.with_columns(
        **{name: pl.Series(values) for name, values in noise.items()},
        decision=pl.Series(y),
        physician="D" + codes.cast(pl.String).str.zfill(6),
    )


def timed(arguments: Sequence[str], *, kill_after: float | None = None) -> Run:
    """Run a command; return what it took, all of its processes together."""
    begin = time.perf_counter()
    process = psutil.Popen(
        [sys.executable, "-m", "intravar", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    peak = [0.0]
    watching = threading.Thread(target=_watch, args=(process, peak), daemon=True)
    watching.start()
    if kill_after is not None:
        try:
            process.wait(kill_after)
        except psutil.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
    ended = process.wait()
    watching.join()
    return Run(time.perf_counter() - begin, peak[0], ended)


def _watch(process: psutil.Popen, peak: list[float]) -> None:
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        try:
            every = [process, *process.children(recursive=True)]
            held = sum(_held(each) for each in every)
        except psutil.Error:
            return
        peak[0] = max(peak[0], held / 1024**2)
        time.sleep(0.5)


def _held(process: psutil.Process) -> float:
    """Return the memory that a process alone holds; shared pages count for a share."""
    try:
        return float(process.memory_full_info().pss)
    except psutil.Error:
        return 0.0
