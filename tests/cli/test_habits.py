"""The command line's habits: quiet, verbose, narrow, without colours, and its exit codes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.cli import commands
from own_tables import COLUMNS, FAST, GOOD, Run

pytestmark = pytest.mark.usefixtures("here")
MEASURE = ["measure", "t.csv", *COLUMNS, *FAST, "--smallest-cell", "1", "--out", "o"]


def test_nobody_reportable_has_an_exit_code_of_its_own(run: Run) -> None:
    Path("t.csv").write_text(GOOD)
    outcome = run(*MEASURE, "--min-panel", "100")
    assert outcome.code == commands.NOBODY_REPORTABLE == 4
    assert "No physician has a figure" in outcome.out
    assert Path("o", "report.html").is_file()
    assert run(*MEASURE, "--min-panel", "100", "--replace", "--json").code == 4


def test_quiet_and_verbose(run: Run) -> None:
    Path("t.csv").write_text(GOOD)
    asked = [*MEASURE, "--min-reliability", "0"]
    said = {flag: run(*asked, "--replace", *([flag] if flag else [])) for flag in ("-q", "", "-v")}
    assert {outcome.code for outcome in said.values()} == {0}
    assert (said["-q"].out, said["-q"].err) == ("", "")
    assert said["-v"].out.startswith(said[""].out.rstrip())
    assert "total: " in said["-v"].out
    assert 'decision = "decision"' in said["-v"].out
    assert "assessing the physicians" in said["-v"].err
    assert run("check", "t.csv", *COLUMNS, "-q") == (0, "", "")
    assert "min_panel = 30" in run("check", "t.csv", *COLUMNS, "-v").out


@pytest.mark.parametrize("width", ["40", "80", "120"])
def test_nothing_is_left_out_silently(
    run: Run, width: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("t.csv").write_text(GOOD)
    monkeypatch.setenv("COLUMNS", width)
    said = run(*MEASURE, "--min-reliability", "0").out
    for name in ("patients", "of 100 pairs", "95 % interval", "reliability"):
        assert name in said
    checked = run("check", "t.csv", *COLUMNS).out
    for name in ("column", "use", "kind", "missing", "note"):
        assert name in checked
    assert (f"' not shown in {width} columns" in checked) == (width == "40")
    assert max(len(line) for line in checked.splitlines()) <= int(width)


def test_the_rank_that_rows_are_ordered_by_is_shown(
    run: Run, table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    asked = ["--min-reliability", "0", "--out", "o"]
    said = run("measure", "patients.csv", *COLUMNS, *asked).out
    (heads,) = (line for line in said.splitlines() if "of 100 pairs, at most  " in line)
    assert heads.split()[-1] == "rank"
    first = next(line for line in said.splitlines() if line.startswith("P-"))
    assert f"The most consistent by rank, {first.split()[0]}: " in said


def test_where_nobody_is_ranked_no_single_one_is_said_not_to_be(run: Run) -> None:
    Path("t.csv").write_text(GOOD)
    said = run(*MEASURE, "--min-reliability", "0.9").out
    assert said.startswith("GROUP ONLY")
    assert "cannot be ranked" not in said
    assert "Rows are in the order of names" in " ".join(said.split())


def test_no_color_is_respected() -> None:
    code = (
        "from intravar import cli; "
        "cli.Console(force_terminal=True).print(cli.Text('leak', style='red'))"
    )
    source = str(Path(intravar.__file__).parents[1])
    told = {
        value: subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": source, "TERM": "xterm-256color", "NO_COLOR": value},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for value in ("", "1")
    }
    assert "\x1b[31m" in told[""]
    assert told["1"] == "leak\n"


def test_a_case_is_called_a_case_and_equal_panels_one_size(run: Run) -> None:
    case = np.tile(np.arange(50), 3)
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "physician": np.repeat(["a", "b", "c"], 50),
            "decision": rng.integers(0, 2, 150),
            "age": rng.normal(60, 9, 50)[case],
            "seen": case,
        }
    )
    pl.concat([table, table.head(20)]).write_csv("t.csv")
    said = run("check", "t.csv", *COLUMNS, "--case", "seen").out
    assert "not chosen" not in said
    assert "the same case is in another row of the physician" in said
    assert "panels of about 50 patients" in said
    assert "50 to 50" not in said
