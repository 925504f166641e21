"""The commands `benchmark` and `methods`, as a person meets them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from intravar.cli import Console, main, study
from intravar.estimators import METHODS
from intravar.study import TITLES
from own_tables import run_command


def test_methods_are_listed(capsys):
    code, out, _ = run_command(capsys, "methods")
    assert code == 0
    assert all(name in out for name in METHODS)
    code, out, _ = run_command(capsys, "methods", "--json")
    rows = json.loads(out)
    assert [row["method"] for row in rows] == list(METHODS)
    assert sum(row["in_paper"] for row in rows) == 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("bench") / "results"
    with pytest.raises(SystemExit) as left:
        main(
            [
                "benchmark",
                "--methods",
                "glmm,genetic-mahalanobis",
                "--workers",
                "1",
                "--out",
                str(out),
            ]
        )
    assert left.value.code == 0
    return out


@pytest.mark.parametrize("width", ["50", "80", "160"])
def test_the_group_table_stands_beside_the_paper(folder, capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    code, out, _ = run_command(
        capsys,
        "benchmark",
        "--methods",
        "glmm,genetic-mahalanobis",
        "--workers",
        "1",
        "--out",
        str(folder),
    )
    assert code == 0
    assert "0.174" in out.replace("\n", "")
    assert "Spearman" in out
    assert str(folder) in out.replace("\n", "")
    assert all(len(line) <= int(width) for line in out.splitlines()[:-1])


def test_a_narrow_terminal_shows_no_long_tables(monkeypatch):
    shown, empty = [], pl.DataFrame()
    monkeypatch.setattr(study, "_print_table", lambda _, title, table: shown.append(title))
    made = SimpleNamespace(
        tables=dict.fromkeys(TITLES, empty), undefined=empty, failures=empty, folder="out"
    )
    for width in (80, 160):
        study._print_study(Console(width=width), made)
        recovered = [title for name, title in TITLES.items() if name.startswith("recovery")]
        assert len({*recovered} & {*shown}) == (len(recovered) if width > 120 else 0)


def test_json_is_for_programs(folder, capsys):
    code, out, _ = run_command(
        capsys, "benchmark", "--methods", "glmm", "--workers", "1", "--out", str(folder), "--json"
    )
    assert code == 0
    summary = json.loads(out)
    assert summary["failures"] == []
    assert summary["undefined_scores"] == 0
    assert "score2_groups" in summary["tables"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["scor2"], "unknown condition 'scor2'; did you mean 'score2'?"),
        (["--methods", "gllm"], "unknown method 'gllm'; did you mean 'glmm'?"),
        (["--engine", "cloud"], "unknown engine 'cloud'"),
        (["--replicates", "0"], "0 replicates"),
        (["--out", "/no/such/folder"], "folder '/no/such' does not exist"),
    ],
)
def test_bad_requests_get_one_line_and_exit_2(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run_command(capsys, "benchmark", *arguments)
    assert code == 2
    assert out == ""
    assert words in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_resampling_patients_is_warned_about(capsys, tmp_path):
    code, out, _ = run_command(
        capsys,
        "benchmark",
        "grid-n5000-j100",
        "--methods",
        "glmm",
        "--replicates",
        "2",
        "--resample-patients",
        "--workers",
        "1",
        "--out",
        str(tmp_path / "o"),
    )
    assert code == 0
    assert "copies" in out


def test_failures_show_in_the_exit_code(capsys, tmp_path, monkeypatch):
    from intravar.estimators import GLMM

    def fail(self, observed):
        raise RuntimeError("no luck")

    monkeypatch.setattr(GLMM, "_fit", fail)
    code, out, _ = run_command(
        capsys,
        "benchmark",
        "--methods",
        "glmm,genetic-mahalanobis",
        "--workers",
        "1",
        "--out",
        str(tmp_path / "o"),
    )
    assert code == 3
    assert "failed: score2, replicate 0, glmm: RuntimeError: no luck" in out.replace("\n", " ")


def test_an_interrupt_keeps_what_was_finished(tmp_path):
    out = tmp_path / "o"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "intravar",
            "benchmark",
            "score2",
            "--methods",
            "glmm",
            "--replicates",
            "200",
            "--workers",
            "1",
            "--out",
            str(out),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    parts = Path(out) / "parts"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(parts.glob("*.json"))) < 3:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on" in err
    assert "Traceback" not in err
    assert len(list(parts.glob("*.json"))) >= 3
