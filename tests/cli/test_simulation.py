import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import intravar
from intravar import Cohort
from intravar.study import Scenario
from intravar.study.simulation import (
    Normal,
    ThresholdRule,
    WindowRecipe,
    conditions_of,
)
from intravar.study.simulation import (
    conditions as simulation_conditions,
)
from own_tables import Outcome, Run

SMALL = ["--patients", "1000", "--physicians", "10"]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with one file that must survive."""
    (tmp_path / "mine.parquet").write_text("precious")
    yield tmp_path
    assert (tmp_path / "mine.parquet").read_text() == "precious"


def assert_refused(outcome: Outcome, *parts: str) -> None:
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("intravar: ")
    assert outcome.err.count("\n") == 1
    for part in parts:
        assert part in outcome.err


# --- what it does ---


def test_version_and_help(run: Run) -> None:
    assert run("--version") == (0, f"intravar {intravar.__version__}\n", "")
    outcome = run("--help")
    assert outcome.code == 0
    for command in ("conditions", "simulate", "oracle"):
        assert command in outcome.out
        assert run(command, "-h").code == 0


def test_conditions_lists_all(run: Run) -> None:
    outcome = run("conditions")
    assert (outcome.code, outcome.err) == (0, "")
    for name in conditions_of("paper"):
        assert name in outcome.out


def test_conditions_as_json(run: Run) -> None:
    rows = json.loads(run("conditions", "--json").out)
    assert [row["condition"] for row in rows] == list(conditions_of("paper"))
    by_name = {row["condition"]: row for row in rows}
    score2, window = by_name["score2"], by_name["pass2-w3-p2"]
    assert score2["target_share"] is None
    assert score2["seed"] == conditions_of("paper")["score2"].seed
    assert score2["rule"].startswith("SCORE2/SCORE2-OP risk (low region)")
    assert (window["pass"], window["width"], window["position"]) == (2, 3, 2)
    assert 0.2 <= window["target_share"] <= 0.8
    assert window["rule"].startswith("hba1c <= ")
    assert by_name["continuous"]["physician_model"].startswith("continuum")


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_simulate_writes_what_python_gives(run: Run, folder: Path, suffix: str) -> None:
    file = folder / f"a.{suffix}"
    outcome = run("simulate", "score2", *SMALL, "--seed", "7", "--out", str(file))
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.endswith(f"written to {file}\n")
    assert "1,000 patients of 10 physicians" in outcome.out
    made = intravar.simulate("score2", random_state=7, n_patients=1000, n_physicians=10)
    read = Cohort.read(file).to_polars(truth=True)
    assert read.columns == made.to_polars(truth=True).columns
    assert read.equals(made.to_polars(truth=True))


def test_simulate_without_truth(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    assert run("simulate", "score2", *SMALL, "--no-truth", "--out", str(file)).code == 0
    assert pl.read_parquet(file).columns == [
        *["age", "hba1c", "non_hdl", "hdl", "ldl", "sbp", "egfr", "smoker", "male"],
        *["physician", "decision"],
    ]


def test_simulate_says_that_panels_are_small(run: Run, tmp_path: Path) -> None:
    small = ["--patients", "200", "--physicians", "10"]
    outcome = run("simulate", "score2", *small, "--out", str(tmp_path / "a.csv"))
    assert "every physician is assured 20 instead" in outcome.out


def test_oracle_beside_the_paper(run: Run) -> None:
    outcome = run("oracle")
    assert (outcome.code, outcome.err) == (0, "")
    rows = [line.split() for line in outcome.out.splitlines() if line.strip()[:1].isdigit()]
    table = {row[0]: row for row in rows if len(row) == 7}
    assert [table[group][4] for group in "12345"] == ["0.000", "0.180", "0.320", "0.420", "0.500"]
    assert [table[group][6] for group in "12345"] == ["0.000", "0.174", "0.295", "0.420", "0.502"]


def test_oracle_without_groups(run: Run) -> None:
    outcome = run("oracle", "continuous")
    assert outcome.code == 0
    row = next(line for line in outcome.out.splitlines() if line.split()[:1] == ["all"])
    assert row.split()[1] == "50"
    assert row.split()[-1] == "-"


def test_oracle_as_json(run: Run) -> None:
    rows = json.loads(run("oracle", "score2", *SMALL, "--seed", "1", "--json").out)
    assert len(rows) == 10
    assert rows[0]["physician"] == "P01"
    assert rows[0]["oracle"] == 0.0


def test_oracle_says_what_is_undefined(run: Run) -> None:
    tiny = ["--patients", "20", "--physicians", "10", "--seed", "1"]
    outcome = run("oracle", "score2", *tiny)
    assert outcome.code == 0
    assert "undefined, fewer than two eligible patients" in outcome.out


# --- bad input: one line, exit code 2, nothing written ---


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["scor2"], ["unknown condition 'scor2'", "did you mean 'score2'?"]),
        (["score2", "--patients", "30"], ["30 patients are too few for 20 physicians", "40"]),
        (["score2", "--patients", "-1"], ["-1 patients are too few"]),
        (["score2", "--physicians", "3"], ["3 physicians cannot form 5 groups"]),
        (["score2", "--physicians", "0"], ["0 physicians make no cohort"]),
        (["score2", "--seed", "-1"], ["--seed is -1; give a whole number"]),
    ],
)
def test_bad_requests(run: Run, folder: Path, arguments: list[str], parts: list[str]) -> None:
    before = sorted(folder.iterdir())
    assert_refused(run("simulate", *arguments, "--out", str(folder / "a.parquet")), *parts)
    assert_refused(run("oracle", *arguments), *parts)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("absent/a.parquet", ["folder", "does not exist"]),
        ("mine.parquet/a.parquet", ["folder", "does not exist"]),
        ("a.xlsx", ["unknown format '.xlsx'", "end the name in .parquet or .csv"]),
        ("a", ["unknown format 'a'"]),
        ("taken.csv", ["is a folder"]),
    ],
)
def test_bad_outputs(run: Run, folder: Path, name: str, parts: list[str]) -> None:
    (folder / "taken.csv").mkdir()
    before = sorted(folder.rglob("*"))
    assert_refused(run("simulate", "score2", *SMALL, "--out", str(folder / name)), *parts)
    assert sorted(folder.rglob("*")) == before


def test_unwritable_file(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: object, target: object) -> None:
        raise PermissionError(13, "Permission denied")

    before = sorted(folder.iterdir())
    monkeypatch.setattr(os, "replace", refuse)
    for name in ("mine.parquet", "new.csv"):
        outcome = run("simulate", "score2", *SMALL, "--out", str(folder / name))
        assert_refused(outcome, f"cannot write '{folder / name}': Permission denied")
    assert sorted(folder.iterdir()) == before


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs the proc file system")
def test_file_system_that_takes_no_files(run: Run) -> None:
    outcome = run("simulate", "score2", *SMALL, "--out", "/proc/intravar.csv")
    assert_refused(outcome, "cannot write '/proc/intravar.csv'")


BAD_SCENARIOS = {
    "absent": (Scenario("bad", rule=ThresholdRule({"weight": 80})), "unknown covariate 'weight'"),
    "window": (Scenario("bad", rule=WindowRecipe(9, 2)), "does not fit into 9 covariates"),
}


@pytest.mark.parametrize("kind", BAD_SCENARIOS)
def test_bad_rules(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    scenario, message = BAD_SCENARIOS[kind]
    bad = {"bad": scenario}
    monkeypatch.setattr(simulation_conditions, "all_conditions", lambda: bad)
    before = sorted(folder.iterdir())
    assert_refused(run("simulate", "bad", "--out", str(folder / "a.csv")), message)
    assert sorted(folder.iterdir()) == before


def test_impossible_quantile(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(WindowRecipe):
        def realise(self, model: object, random: object) -> ThresholdRule:
            return ThresholdRule({"age": Normal(60, 12, 40, 90).quantile(1.2)})

    bad = {"bad": Scenario("bad", rule=Wrong(1, 1))}
    monkeypatch.setattr(simulation_conditions, "all_conditions", lambda: bad)
    outcome = run("simulate", "bad", "--out", str(folder / "a.csv"))
    assert_refused(outcome, "quantile 1.2 is impossible")


def test_usage_errors_leave_with_2(run: Run) -> None:
    assert run("simulate", "score2").code == 2
    assert run("simulate", "score2", "--patients", "many", "--out", "a.csv").code == 2
    assert run("nonsense").code == 2


# --- what is not the user's fault ---


def test_interruption_leaves_with_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(intravar, "simulate", interrupt)
    outcome = run("oracle")
    assert outcome.code == 130
    assert "Traceback" not in outcome.err


def test_a_defect_says_so_and_keeps_a_log(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(intravar, "simulate", fail)
    outcome = run("oracle")
    assert outcome.code == 1
    assert "a defect of intravar, not of your input: ZeroDivisionError: oops" in outcome.err
    log = Path(outcome.err.split()[-1])
    assert "ZeroDivisionError: oops" in log.read_text()
    log.unlink()


# --- as a program of its own ---


def test_as_a_program(folder: Path) -> None:
    """The same refusal, and the same exit code, through a real process."""
    before = sorted(folder.iterdir())
    ended = subprocess.run(
        [sys.executable, "-m", "intravar", "simulate", "scor2", "--out", str(folder / "a.csv")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert_refused(Outcome(ended.returncode, ended.stdout, ended.stderr), "'score2'")
    assert sorted(folder.iterdir()) == before
