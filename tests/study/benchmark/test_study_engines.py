"""A real Dask scheduler with two workers, one of which dies."""

import shutil
import signal
import time
from pathlib import Path

import pytest
from polars.testing import assert_frame_equal
from threadpoolctl import threadpool_limits

import intravar
from intravar.errors import InputError
from intravar.runs import engines, store
from intravar.runs.engines import DaskEngine, Engine, make_engine
from study.benchmark.small import CONTINUUM, METHODS, SMALL, WINDOW

pytest.importorskip("distributed")


class KillAWorker:
    """Kills a worker once the first unit is done."""

    def __init__(self, workers):
        self.worker = workers[0]
        self.notes = []

    def step(self, words, seconds=None):
        pass

    def part(self, done, total, left=None, words=""):
        if self.worker.poll() is None:
            self.worker.send_signal(signal.SIGKILL)
            time.sleep(0.2)

    def note(self, words):
        pass


def test_a_cluster_gives_the_same_bits_even_when_a_worker_dies(cluster, tmp_path):
    address, workers = cluster.running(2), cluster.workers
    conditions = [SMALL, WINDOW, CONTINUUM]
    expected = intravar.benchmark(conditions, METHODS, out=tmp_path / "a", replicates=3, n_jobs=1)
    found = intravar.benchmark(
        conditions,
        METHODS,
        out=tmp_path / "b",
        replicates=3,
        engine=f"dask:{address}",
        progress=KillAWorker(workers),
    )
    assert workers[0].poll() is not None
    assert_frame_equal(found.scores, expected.scores)


def test_a_cluster_that_cannot_be_reached(tmp_path, monkeypatch):
    monkeypatch.setattr(DaskEngine, "patience", 1)
    with pytest.raises(InputError, match="no Dask scheduler answers at 'tcp://127.0.0.1:1'"):
        intravar.benchmark(SMALL, "glmm", out=tmp_path / "o", engine="dask:tcp://127.0.0.1:1")
    with pytest.raises(InputError, match="no Dask scheduler answers"):
        intravar.benchmark(SMALL, "glmm", out=tmp_path / "o", engine="dask:nonsense")


def test_a_cluster_of_our_own(tmp_path):
    found = intravar.benchmark(SMALL, METHODS, out=tmp_path / "b", engine="dask", n_jobs=1)
    expected = intravar.benchmark(SMALL, METHODS, out=tmp_path / "a", n_jobs=1)
    assert_frame_equal(found.scores, expected.scores)


def test_names_of_engines():
    assert type(make_engine("local", 3)) is Engine
    dask = make_engine("dask:tcp://1.2.3.4:5")
    assert isinstance(dask, DaskEngine)
    assert dask.address == "tcp://1.2.3.4:5"
    with pytest.raises(InputError, match="unknown engine 'local:x'"):
        make_engine("local:x")


def threads_of_blas(_):
    from threadpoolctl import threadpool_info

    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


@pytest.mark.parametrize("workers", [1, 2])
def test_no_oversubscription(workers):
    with threadpool_limits(2):
        assert set(Engine(workers).run(threads_of_blas, [0, 1])) == {1}


@pytest.mark.parametrize("engine", ["local", "dask", "dask:tcp://1.2.3.4:5"])
@pytest.mark.parametrize("workers", [0, -3])
def test_fewer_workers_than_one(engine: str, workers: int) -> None:
    with pytest.raises(InputError, match=f"{workers} workers cannot work"):
        make_engine(engine, workers)


def test_a_worker_with_other_software_is_refused(cluster, tmp_path, monkeypatch):
    """The same for another version of a package and for altered code under the same version."""
    address = cluster.running(1)
    for name in ("numpy", "code of intravar"):
        here = {**store.fingerprint(), name: "other"}
        monkeypatch.setattr(engines, "fingerprint", lambda here=here: here)
        with pytest.raises(InputError, match=f"a Dask worker has {name} .*, this is other"):
            intravar.benchmark(SMALL, "glmm", out=tmp_path / "o", engine=f"dask:{address}")
        monkeypatch.undo()


@pytest.mark.parametrize("name", ["oracle.py", "study/simulation/conditions.toml"])
def test_code_that_was_altered_has_another_fingerprint(tmp_path, monkeypatch, name):
    before = store.fingerprint()
    copy = tmp_path / "intravar"
    shutil.copytree(Path(intravar.__file__).parent, copy)
    with (copy / name).open("a") as file:
        file.write("# altered\n")
    monkeypatch.setattr(store, "files", lambda _: copy)
    assert store.fingerprint.__wrapped__() != before


class Meanwhile(KillAWorker):
    """Kills processes once the first unit is done."""

    def __init__(self, *processes):
        self.processes = processes

    def part(self, done, total, left=None, words=""):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(DaskEngine, "patience", 2.0)
    monkeypatch.setattr(DaskEngine, "worker_patience", 2.0)


def assert_told(words, lost, address, folder):
    """A cluster that loses processes after the first unit is said, and what is done is kept."""
    with pytest.raises(InputError, match=f"{words}.*the same command goes on"):
        intravar.benchmark(
            [SMALL, WINDOW, CONTINUUM],
            METHODS,
            out=folder,
            replicates=20,
            engine=f"dask:{address}",
            progress=Meanwhile(*lost),
        )
    assert list((folder / "parts").glob("*.json"))


# In this order a worker is started once: the first test takes the one of the tests before, the
# second needs none.


@pytest.mark.usefixtures("impatient")
def test_a_cluster_that_loses_its_workers_is_said(cluster, tmp_path):
    address = cluster.running(1)
    assert_told("no workers for 2 seconds", cluster.workers, address, tmp_path / "o")


@pytest.mark.usefixtures("impatient")
def test_a_cluster_without_workers_is_said(cluster, tmp_path):
    address = cluster.running(0)
    with pytest.raises(InputError, match="no workers for 2 seconds"):
        intravar.benchmark(SMALL, "glmm", out=tmp_path / "o", engine=f"dask:{address}")


@pytest.mark.usefixtures("impatient")
def test_a_cluster_that_loses_its_scheduler_is_said(cluster, tmp_path):
    address = cluster.running(1)
    assert_told("scheduler is gone", [cluster.scheduler], address, tmp_path / "o")
