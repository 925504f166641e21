"""Buckets on a real scheduler with two workers, one of which is killed: the same bits."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import intravar
from intravar.buckets.going_through import read_others
from intravar.buckets.means import Means
from intravar.preparation.check import checked
from intravar.request import Request

distributed = pytest.importorskip("distributed")


def _start(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler, and its two worker processes."""
    file = ["--scheduler-file", str(tmp_path / "scheduler.json")]
    here = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    settings = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
    folder = ["--local-directory", str(tmp_path)]
    processes = [_start("dask_scheduler", *file, *here)]
    workers = [_start("dask_worker", *file, *settings, *folder) for _ in range(2)]
    client = distributed.Client(scheduler_file=file[1], timeout=60)
    client.wait_for_workers(2, timeout=60)
    address = client.scheduler.address
    client.close()
    yield address, workers
    for process in (*workers, *processes):
        process.kill()
        process.wait()


def test_a_lost_worker_changes_no_bit(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], monkeypatch: pytest.MonkeyPatch
):
    address, workers = cluster
    monkeypatch.setattr("intravar.buckets.limits.BUCKET_PATIENTS", 150)
    cohort = intravar.simulate("continuous", n_patients=3_000, n_physicians=40, seed=3)
    request = Request(physician="physician", decision="decision", method="latent-rule", sample=1000)
    found = checked(cohort.to_polars(), request)
    assert found.beyond is not None
    models: dict[str, Any] = {
        "latent-rule": intravar.LatentRule().fit_observed(found.prepared.observed)
    }

    def no_cases(*_: Any) -> tuple[pl.DataFrame, pl.DataFrame]:
        return pl.DataFrame(), pl.DataFrame()

    expected = read_others(found, found.beyond, models, no_cases, Means(workers=1), print)

    def kill_one(done: int, total: int) -> None:
        if done and workers[0].poll() is None:
            workers[0].send_signal(signal.SIGKILL)
            time.sleep(0.2)

    means = Means(engine=f"dask:{address}")
    read = read_others(found, found.beyond, models, no_cases, means, kill_one)
    assert workers[0].poll() is not None
    assert read.panels.sort("code").equals(expected.panels.sort("code"))
