"""Buckets on a real scheduler with two workers, one of which is killed: the same bits."""

import signal
import time

import pytest

import intravar
from dask_cluster import Cluster
from intravar.measurement.measure import fit_method
from intravar.measurement.result import OneDecision
from intravar.measurement.wider.beyond import read_by
from intravar.preparation.check import checked
from intravar.request import Request
from intravar.runs.buckets import read_others
from intravar.runs.settings import RunSettings

pytest.importorskip("distributed")


def test_a_lost_worker_changes_no_bit(cluster: Cluster, monkeypatch: pytest.MonkeyPatch):
    address, workers = cluster.running(2), cluster.workers
    monkeypatch.setattr("intravar.runs.settings.BUCKET_PATIENTS", 150)
    cohort = intravar.simulate("continuous", n_patients=3_000, n_physicians=40, random_state=3)
    request = Request(physician="physician", decision="decision", method="latent-rule", sample=1000)
    found = checked(cohort.to_polars(), request)
    assert found.beyond is not None
    fitted, _ = fit_method("latent-rule", found.prepared.observed, 0)
    by = {"decision": read_by(OneDecision(found, {"latent-rule": fitted}))}
    expected = read_others({"decision": found}, by, RunSettings(n_jobs=1), print)

    def kill_one(done: int, total: int) -> None:
        if done and workers[0].poll() is None:
            workers[0].send_signal(signal.SIGKILL)
            time.sleep(0.2)

    settings = RunSettings(engine=f"dask:{address}")
    read = read_others({"decision": found}, by, settings, kill_one)
    assert workers[0].poll() is not None
    panels, alike = (each["decision"].panels.sort("code") for each in (read, expected))
    assert panels.equals(alike)
