"""Settings for all tests."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import joblib
import pytest
from _pytest.doctest import DoctestModule
from filelock import FileLock
from hypothesis import settings
from threadpoolctl import threadpool_limits

from compiled_once import compiled_once
from dask_cluster import Cluster
from learned_on_disk import kept

# Machines are shared and noisy: no test fails because it took long.
settings.register_profile("intravar", deadline=None)
settings.load_profile("intravar")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than processors: some tests wait for browsers, servers and signals."""
    return int(joblib.cpu_count()) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path):  # type: ignore[no-untyped-def]
    """Look for examples in the source and in helpers; files of tests have none."""
    found = yield
    if not file_path.name.startswith("test_"):
        return found
    return [each for each in found if not isinstance(each, DoctestModule)]


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over the libraries and thousands of tests, which all stay."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _compiled_once(pytestconfig: pytest.Config) -> Iterator[None]:
    """Compile what is compiled once for all processes that test."""
    with compiled_once(pytestconfig.rootpath / ".pytest_cache" / "compiling"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _key_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Leave the user's own key of rounding alone: tests have another, and so do their processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRAVAR_KEY_FILE", str(tmp_path_factory.mktemp("key") / "key.json"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _learned_on_disk(pytestconfig: pytest.Config) -> Iterator[None]:
    """Learn the same once for all files and processes, and for the next run."""
    # Lines that are counted must be run: then nothing of other runs is used.
    counted = bool(getattr(pytestconfig.option, "cov_source", None))
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid())) if counted else ""
    with kept(pytestconfig.rootpath / ".pytest_cache" / "learned", run):
        yield


@pytest.fixture(scope="session", autouse=True)
def _threads_shared(_learned_on_disk: None) -> Iterator[None]:
    """Give every process that tests its share of the processors.

    Threads of BLAS and OpenMP that outnumber them only wait for each other: small products take
    six times the processor time.
    """
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    with threadpool_limits(max(1, int(joblib.cpu_count()) // processes)):
        yield


@pytest.fixture(scope="session")
def made_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, Callable[[Path], object]], Path]:
    """Make a folder once for all processes that test; all look at it, and nobody changes it."""
    own = tmp_path_factory.getbasetemp()
    place = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, done = place / name, place / f"{name}.done"
        with FileLock(place / f"{name}.lock"):
            if not done.exists():
                make(folder)
                done.touch()
        return folder

    return made


@pytest.fixture
def methods_as_before() -> Iterator[None]:
    """Forget methods of their own that tests and examples introduce."""
    from intravar.estimators import DESCRIBED, METHODS

    tables = (METHODS, DESCRIBED)
    before = [dict(each) for each in tables]
    yield
    for known, earlier in zip(tables, before, strict=True):
        for name in set(known) - set(earlier):
            del known[name]


@pytest.fixture(scope="module")
def learned_once() -> Iterator[None]:
    """Deal patients into folds and halves once, where neither is what a module is about."""
    from intravar.estimators import predictability
    from intravar.measurement import halves

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halves, "SPLITS", 1)
        patch.setattr(predictability, "REPETITIONS", 1)
        yield


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Dask scheduler and its workers, started by whoever asks for them."""
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    yield found
    found.end()


#: Where everything is set up, a test that is skipped has not been run, and that is a failure.
NO_SKIPS = os.environ.get("INTRAVAR_NO_SKIPS", "") not in ("", "0")


def _refuse_skips(report: pytest.TestReport | pytest.CollectReport) -> None:
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"INTRAVAR_NO_SKIPS: {report.longrepr}"


@pytest.hookimpl(trylast=True, wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):  # type: ignore[no-untyped-def]
    report = yield
    _refuse_skips(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):  # type: ignore[no-untyped-def]
    report = yield
    _refuse_skips(report)
    return report
