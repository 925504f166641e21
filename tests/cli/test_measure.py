"""The commands on a user's own table: what they do."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import intravar
from intravar.measurement.columns import COLUMNS as RESULT
from intravar.preparation import check
from intravar.publication.files import files_of
from made_published import made_published
from omop_writer import DRUG, covariates_of, write_csv_folder
from own_tables import COLUMNS, FAST, Run, refused

# --- what they do ---


def test_check(run: Run, table: pl.DataFrame) -> None:
    outcome = run("check", "patients.csv", *COLUMNS)
    assert (outcome.code, outcome.err) == (0, "")
    assert "about 900 patients of 6 physicians" in outcome.out
    assert "6 of 6 physicians in the table can have a figure (30 patients or more)" in outcome.out
    assert sorted(os.listdir()) == ["patients.csv"]
    found = json.loads(run("check", "patients.csv", *COLUMNS, "--json").out)
    assert found["n_physicians_measurable"] == 6
    assert found["estimated_seconds"] > 0


def test_check_and_measure_call_the_same_panels_few(run: Run, table: pl.DataFrame) -> None:
    sizes = {"P01": 11, "P02": 12, "P03": 20, "P04": 100}
    pl.concat(
        [table.filter(pl.col("physician") == name).head(n) for name, n in sizes.items()]
    ).write_csv("small.csv")
    checked = run("check", "small.csv", *COLUMNS).out
    assert "of 3 physicians, and 1 physician with at most 11 patients" in checked
    assert "panels of 12 to 100 patients" in checked
    assert "without a figure:\n  1 physician: fewer than 30 decisions (at most 11 " in checked
    measured = run("measure", "small.csv", *COLUMNS, *FAST, "--out", "out").out
    assert "without a figure: 1 physician: at most 11 decisions, too few to publish" in measured


def test_check_names_nobody_unless_asked(run: Run, table: pl.DataFrame) -> None:
    sizes = {"P01": 4, "P02": 20, "P03": 20, "P04": 100}
    pl.concat(
        [table.filter(pl.col("physician") == name).head(n) for name, n in sizes.items()]
    ).write_csv("small.csv")
    outcome = run("check", "small.csv", *COLUMNS)
    assert outcome.code == 0, outcome.err
    assert "1 of 4 physicians in the table can have a figure" in outcome.out
    assert "1 physician: fewer than 30 decisions (at most 11 patients)" in outcome.out
    assert "2 physicians: fewer than 30 decisions (12 to 29 patients each)" in outcome.out
    assert "--show-names names them" in outcome.out
    assert "P0" not in outcome.out
    found = json.loads(run("check", "small.csv", *COLUMNS, "--json").out)["not_measurable"]
    assert [(row["n_patients"], row["n_physicians"]) for row in found] == [
        ("at most 11 patients", 1),
        ("12 to 29 patients each", 2),
    ]
    assert all("physicians" not in row for row in found)
    named = run("check", "small.csv", *COLUMNS, "--show-names")
    assert "    P02\n    P03\n" in named.out
    shown = json.loads(run("check", "small.csv", *COLUMNS, "--show-names", "--json").out)
    assert [row["physicians"] for row in shown["not_measurable"]] == [["P01"], ["P02", "P03"]]
    # Under the key of a measurement the pseudonyms are those of its report.
    run("measure", "small.csv", *COLUMNS, *FAST, "--out", "out")
    keyed = run("check", "small.csv", *COLUMNS, "--key", "out-private/key.json").out
    names = json.loads(Path("out-private/key.json").read_text())["physicians"]
    for pseudonym, name in names.items():
        assert name not in keyed
        assert (pseudonym in keyed) == (name != "P04")


def test_blank_names_and_decisions_are_missing(run: Run, table: pl.DataFrame) -> None:
    rows = pl.int_range(pl.len())
    table.with_columns(
        pl.when(rows < 15).then(pl.lit("  ")).otherwise("physician").alias("physician"),
        pl.when(rows.is_between(20, 39))
        .then(pl.lit(" "))
        .otherwise(pl.col("decision").cast(pl.String))
        .alias("decision"),
    ).write_parquet("blank.parquet")
    outcome = run("check", "blank.parquet", *COLUMNS)
    assert outcome.code == 0, outcome.err
    assert "dropped: 15 rows because the physician is missing" in outcome.out
    assert "dropped: 20 rows because the decision is missing" in outcome.out
    assert "of 6 physicians" in outcome.out


def test_measure_writes_everything(run: Run, table: pl.DataFrame) -> None:
    outcome = run("measure", "patients.csv", *COLUMNS, *FAST, "--out", "out")
    assert outcome.code == 0, outcome.err
    assert "measuring with euclidean" in outcome.err
    assert "report: out/report.html" in outcome.out
    assert sorted(os.listdir("out")) == [
        "intravar.json",
        "physicians.csv",
        "physicians.html",
        "physicians.parquet",
        "report.html",
        "request.toml",
        "summary.json",
    ]
    columns = [column.name for column in RESULT]
    written = pl.read_parquet("out/physicians.parquet")
    assert written.columns == columns
    assert pl.read_csv("out/physicians.csv").columns == columns
    summary = json.loads(Path("out/summary.json").read_text())
    assert summary["decisions"][0]["n_physicians"] == 6
    # Again into the same folder: it is replaced, and the pseudonyms stay.
    again = run("measure", "patients.csv", *COLUMNS, *FAST, "--out", "out", "--json")
    assert [row["physician"] for row in json.loads(again.out)["physicians"]] == written[
        "physician"
    ].to_list()
    assert sorted(os.listdir()) == ["out", "out-private", "patients.csv"]


def test_explain(run: Run, table: pl.DataFrame) -> None:
    run("measure", "patients.csv", *COLUMNS, *FAST, "--out", "out")
    pseudonym = pl.read_csv("out/physicians.csv")["physician"][0]
    by_pseudonym = run("explain", "out", "--physician", pseudonym, "--pairs", "2")
    assert by_pseudonym.code == 0
    assert by_pseudonym.out.startswith("CASE-LEVEL")
    names = json.loads(Path("out-private/key.json").read_text())["physicians"]
    assert run("explain", "out", "--physician", names[pseudonym], "--pairs", "2") == by_pseudonym
    pairs = json.loads(run("explain", "out", "--physician", pseudonym, "--json").out)["pairs"]
    for row in pairs:
        for side, decision in (("row_for", 1), ("row_against", 0)):
            patient = table.row(row[side] - 1, named=True)
            assert patient["decision"] == decision
            assert patient["physician"] == names[pseudonym]
    rule = run("explain", "out")
    assert "What the decisions depend on" in rule.out
    run("explain", "out", "--physician", pseudonym, "--out", "pairs.csv")
    assert Path("pairs.csv").read_text().startswith("# CASE-LEVEL")
    assert Path("pairs.csv").stat().st_mode & 0o077 == 0


def test_pairs_are_in_the_report_only_if_asked_for(run: Run, table: pl.DataFrame) -> None:
    options = [*COLUMNS, *FAST, "--out", "out", "--min-reliability", "0"]
    run("measure", "patients.csv", *options)
    assert "This page shows single patients" not in Path("out/report.html").read_text()
    run("measure", "patients.csv", *options, "--pairs-in-report")
    assert "This page shows single patients" in Path("out/report.html").read_text()


def test_report_makes_the_page_of_a_measurement_again(run: Run, table: pl.DataFrame) -> None:
    run("measure", "patients.csv", *COLUMNS, *FAST, "--methods", "mahalanobis", "--out", "out")
    page = Path("out/report.html").read_text()
    Path("out/report.html").unlink()
    assert run("report", "out").out == "out/report.html\nout/physicians.html\n"
    assert Path("out/report.html").read_text() == page
    words = refused(run, "report", "out", "--format", "svg")
    assert words == "unknown format 'svg' (there are html, pdf, xlsx, docx)"
    Path("out/summary.json").write_text('{"what": "measurement"}')
    damaged = run("report", "out")
    assert damaged.code == 2
    assert "'out/summary.json' does not fit: field 'schema' is None" in damaged.err
    assert "measure again" in damaged.err


def test_report_makes_files_and_sheet_a_page_for_each(
    run: Run, table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("measure", "patients.csv", *COLUMNS, *FAST, "--out", "out", "--decider-word", "gp,gps")
    made = run("report", "out", "--format", "xlsx,pdf", "--json")
    assert json.loads(made.out) == ["out/report.xlsx", "out/report.pdf"]
    sheets = run("sheet", "out", "--all", "--out", "sheets")
    assert (sheets.code, sheets.err) == (0, "")
    assert len(sheets.out.splitlines()) == 13  # two for each, and the list
    one = run("sheet", "out", "--physician", "P01", "--out", "one", "--cases", "--names", "--json")
    assert [Path(path).suffix for path in json.loads(one.out)] == [".html", ".pdf"]
    assert one.err.startswith("CASE-LEVEL: ")
    assert "P01" in Path(json.loads(one.out)[0]).read_text("utf-8")
    monkeypatch.setattr("intravar.documents.typesetting.find_spec", lambda _name: None)
    page = run("sheet", "out", "--physician", "P01", "--out", "page")
    assert page.out.endswith(".html\n")
    assert page.err == 'no PDF: get it with pip install "intravar[files]"\n'
    words = refused(run, "sheet", "out", "--all", "--out", "more", "--format", "pdf")
    assert words == 'pdf needs typst; get it with: pip install "intravar[files]"'
    words = refused(run, "report", "out", "--format", "docx")
    assert words.startswith("docx needs python-docx, typst; get it with: ")


def test_a_sheet_that_cannot_be_made_is_refused(run: Run, table: pl.DataFrame) -> None:
    run("measure", "patients.csv", *COLUMNS, *FAST, "--out", "out")
    for options, words in (
        ("", "name one with --physician, or ask for everybody's sheet with --all"),
        ("--all --physician P01", "name one with --physician"),
        ("--physician P99", "unknown physician 'P99'"),
        ("--all --format docx", "unknown format 'docx'"),
        ("--all --paper a5", "unknown paper 'a5'; there are a4, letter"),
    ):
        told = refused(run, "sheet", "out", "--out", "sheets", *options.split())
        assert told.startswith(words)


def test_omop(run: Run, cohort: intravar.Cohort, here: Path) -> None:
    write_csv_folder(cohort, here / "cdm")
    asked = ",".join(["age", "sex", *covariates_of(cohort)[1:3], "condition:201826"])
    outcome = run("omop", "cdm", "--drug", str(DRUG), "--covariates", asked, "--out", "p.parquet")
    assert outcome.code == 0, outcome.err
    found = pl.read_parquet("p.parquet")
    assert found.columns[:5] == ["person_id", "provider_id", "treated", "age", "sex"]
    assert found["age"].unique().to_list() == [59]  # born on 2 June 1960, seen on 1 June 2020
    assert found["sex"].to_list()[:2] == ["male", "female"]
    assert found["Type 2 diabetes"].to_list()[:2] == [1, 0]  # the second one's came afterwards
    assert Path("p.parquet").stat().st_mode & 0o077 == 0
    same_day = ["--window", "3", "--out", "q.parquet"]
    assert run("omop", "cdm", "--drug", str(DRUG), *same_day).code == 0
    assert pl.read_parquet("q.parquet")["treated"].sum() == 0


def test_narrow_terminal(run: Run, table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    for arguments in (["check"], ["measure", *FAST, "--out", "out"]):
        outcome = run(arguments[0], "patients.csv", *COLUMNS, *arguments[1:])
        wide = [line for line in outcome.out.splitlines() if len(line) > 50]
        assert all("/" in line for line in wide), wide


# --- a defect of ours ---


def test_a_defect_is_reported_as_such(
    run: Run, table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("intravar.measure", broken)
    outcome = run("measure", "patients.csv", *COLUMNS)
    assert outcome.code == 1
    assert outcome.err.startswith("intravar: this is a defect of intravar, not of your input")
    assert "Traceback" not in outcome.err
    log = Path(outcome.err.strip().split("please report it with ")[1])
    assert "ZeroDivisionError: oh" in log.read_text()
    assert not Path("intravar-measurement").exists()


def test_as_a_program(table: pl.DataFrame, here: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "intravar", "check", "patients.csv", *COLUMNS],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(intravar.__file__).parents[1])},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "can have a figure" in done.stdout


@pytest.mark.parametrize(
    "command",
    [["report"], ["sheet", "--all", "--out", "sheets"], ["explain"], ["compare", "out"]],
    ids=lambda command: command[0],
)
@pytest.mark.parametrize(("field", "value"), [("group", "x"), ("verdict", 3), ("rule", [1])])
def test_a_field_of_another_type_is_refused(
    run: Run, here: Path, command: list[str], field: str, value: object
) -> None:
    """A summary that somebody changed is refused in words; nothing is called a defect."""
    request = intravar.Request(physician="doctor", decision="statin")
    Path("out").mkdir()
    for name, content in files_of(made_published(["P-1", "P-2"], request)).items():
        (Path("out") / name).write_bytes(content)
    summary = json.loads(Path("out/summary.json").read_text("utf-8"))
    summary["decisions"][0][field] = value
    Path("out/summary.json").write_text(json.dumps(summary), "utf-8")
    words = refused(run, command[0], "out", *command[1:])
    assert "summary.json" in words
    assert field in words


def test_several_decisions_do_not_tell_how_many_miss_one(run: Run, table: pl.DataFrame) -> None:
    """Counts of one decision beside those of another give small numbers away by subtraction."""
    row = pl.int_range(pl.len())
    table.with_columns(
        other=pl.when(row >= 37).then(1 - pl.col("decision")),
        age=pl.when(row < 860).then(pl.col("age")),
    ).write_csv("two.csv")
    columns = ["--physician", "physician", "--decision", "decision,other"]
    outcome = run("check", "two.csv", *columns)
    assert (outcome.code, outcome.err) == (0, "")
    assert "some rows because" in outcome.out
    told = run("check", "two.csv", *columns, "--json").out
    for text in (outcome.out, told):
        assert not re.search(r"(?<![\d.])(37|40|863)(?![\d.])", text)
    alone = run("check", "two.csv", *columns[:3], "other").out
    assert "37 rows because" in alone


def test_the_forecast_is_that_of_this_machine(
    run: Run, table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("check", "patients.csv", *COLUMNS)
    seconds = []
    for pace in (1.0, 3.0):
        monkeypatch.setattr(check, "pace", lambda pace=pace: pace)
        seconds.append(json.loads(run(*asked, "--json").out)["estimated_seconds"])
        assert f"will take about {round(seconds[-1])} s" in run(*asked).out
    assert seconds[1] == pytest.approx(3 * seconds[0], abs=0.2)
