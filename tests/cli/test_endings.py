"""How commands end: a full disk, a closed pipe, signals, and what a defect leaves behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

import intravar
from intravar.cli import commands
from own_tables import Run

SRC = str(Path(intravar.__file__).parents[1])
#: Output is kept back until the end, as it is for users, whatever the tests were started with.
ENVIRONMENT = {**os.environ, "PYTHONPATH": SRC, "PYTHONUNBUFFERED": ""}
posix = pytest.mark.skipif(os.name != "posix", reason="signals, pipes and limits of POSIX")
STUDY = ["benchmark", "score2", "--methods", "glmm", "--replicates", "500", "--workers", "2"]


def heed_signals() -> None:
    """Hear what a terminal sends, even where whoever started the tests hears it no more."""
    for name in ("SIGHUP", "SIGINT"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def start(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    if os.name == "posix":
        options["preexec_fn"] = heed_signals
    return subprocess.Popen(
        [sys.executable, "-m", "intravar", *arguments],
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
        **{"stdout": subprocess.PIPE, **options},
    )


@contextmanager
def study(out: Path, *, parts: int) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A study with workers that is under way, in a process group of its own; and its workers."""
    process = start(*STUDY, "--out", str(out), start_new_session=True)
    try:
        deadline = time.monotonic() + 90
        while len(list((out / "parts").glob("*.json"))) < parts and time.monotonic() < deadline:
            time.sleep(0.05)
        yield process, psutil.Process(process.pid).children(recursive=True)
    finally:
        process.kill()
        process.wait()


def assert_gone(workers: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_signal_leaves_no_workers_behind(name: str, tmp_path: Path) -> None:
    number = getattr(signal, name)
    with study(tmp_path / "o", parts=1) as (process, workers):
        assert workers
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert_gone(workers)
    assert "Traceback" not in err
    if name == "SIGKILL":
        assert process.returncode == -number
    else:
        assert process.returncode == 128 + number
        assert err.splitlines()[-1] == f"intravar: ended by {name}"


@posix
def test_workers_that_wait_for_a_first_task_end_with_their_owner() -> None:
    """More workers than tasks: who was never given one must notice all the same."""
    code = (
        "import time\n"
        "from intravar.runs.engines import Engine\n"
        "for _ in Engine(3).run(time.sleep, [0, 60]): print('one is done', flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "one is done\n"
        workers = psutil.Process(process.pid).children(recursive=True)
        assert len(workers) >= 3
    finally:
        process.kill()
        process.wait()
    assert_gone(workers)


@posix
@pytest.mark.parametrize("seconds", [0.3, 0.8, 1.5, 2.5])
def test_ctrl_c_in_the_first_seconds(seconds: float, tmp_path: Path) -> None:
    """A terminal sends it to the workers as well."""
    process = start(*STUDY, "--out", str(tmp_path / "o"), start_new_session=True)
    time.sleep(seconds)
    workers = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)
    if process.returncode == 130:
        assert "Traceback" not in err
        assert err.startswith("intravar: interrupted")
    assert_gone(workers)


@posix
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["conditions", "--all"]])
def test_a_closed_pipe_ends_without_a_word(arguments: list[str]) -> None:
    process = start(*arguments)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait() == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["conditions"], ["methods"]])
def test_a_full_disk_behind_standard_output(
    arguments: list[str], unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "PYTHONUNBUFFERED", unbuffered)
    with open("/dev/full", "w") as full:
        process = start(*arguments, stdout=full)
    said = process.communicate()[1].splitlines()
    assert said == ["intravar: no space is left on the disk; make room or write elsewhere"]
    assert process.returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_an_error_that_cannot_be_said_keeps_its_exit_code() -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "intravar", "simulate", "no-such-condition"],
            env=ENVIRONMENT,
            stdout=full,
            stderr=full,
            check=False,
        )
    assert ended.returncode == 2


@posix
@pytest.mark.parametrize("arguments", [["--version"], ["conditions"]])
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_lead_nowhere(arguments: list[str], closed: str) -> None:
    """Somebody who closes standard output wants to read nothing; that is no defect of intravar."""
    command = " ".join([f"'{sys.executable}' -m intravar", *arguments, closed])
    ended = subprocess.run(
        ["sh", "-c", command], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0
    assert ended.stderr == ""
    assert (ended.stdout != "") == (closed == "2>&-")


@posix
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_that_cannot_be_finished_leaves_nothing(suffix: str, tmp_path: Path) -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "from intravar.cli import main\n"
        f"main(['simulate', 'score2', '--patients', '50000', '--out', 'a.{suffix}'])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env=ENVIRONMENT,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"intravar: cannot write 'a.{suffix}': ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("patients", ["1000000000000", "9" * 30])
def test_more_patients_than_fit(run: Run, patients: str, here: Path) -> None:
    outcome = run("simulate", "score2", "--patients", patients, "--out", "a.csv")
    assert outcome.code == 2
    assert "of memory" in outcome.err
    assert list(here.iterdir()) == []


SECRET = "p@ss/w?o#rd"


@pytest.mark.parametrize(
    "word",
    [f"postgresql://ada:{SECRET}@host/db", "host=h user=u password=p@ss/w?o#rd dbname=d"],
)
def test_a_crash_log_holds_no_password(
    run: Run, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError(f"while at {word}")

    monkeypatch.setattr(sys, "argv", ["intravar", "check", word])
    monkeypatch.setattr(intravar, "simulate", fail)
    outcome = run("oracle")
    log = Path(outcome.err.split()[-1])
    assert outcome.code == 1
    assert SECRET not in outcome.err + log.read_text()
    assert "…" in outcome.err
    log.unlink()


def test_a_defect_on_a_full_disk_is_still_told(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(intravar, "simulate", fail)
    monkeypatch.setattr("tempfile.NamedTemporaryFile", full)
    outcome = run("oracle")
    assert outcome.code == 1
    assert "defect of intravar" in outcome.err
    assert "Traceback" in outcome.err


def test_names_cannot_command_the_terminal(
    run: Run, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe"
    outcome = run("simulate", evil, "--out", "a.csv")
    assert outcome.code == 2
    for character in "\x1b\x07\u202e":
        assert character not in outcome.err
    assert "\\x1b[2J" in outcome.err


def test_an_error_while_interrupted_is_an_interruption() -> None:
    """What is being imported when Ctrl-C comes may fail in its own way."""

    def broken() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("half of it is missing") from None

    # Whoever started the tests may have left it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert commands.run(broken) == 130
    finally:
        signal.signal(signal.SIGINT, before)


def test_signals_are_as_before_in_the_end() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert commands.run(lambda: None) == 0
    assert before == (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))
