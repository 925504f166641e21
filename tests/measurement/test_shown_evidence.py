"""What a measurement by predictions shows of its evidence: in memory, in files, in a terminal."""

import io
import json
from pathlib import Path

import polars as pl
import pytest

import intravar
from intravar import Measurement
from intravar.cli import Console
from intravar.cli.stored import _print_cases
from intravar.wording import USUAL

pytestmark = pytest.mark.usefixtures("learned_once")


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return intravar.simulate("score2", n_patients=400, n_physicians=5, random_state=3).to_polars()


@pytest.fixture(scope="module")
def measured(table: pl.DataFrame) -> Measurement:
    return intravar.measure(table, physician="physician", decision="decision", min_panel=5)


def test_decisions_that_surprised(measured: Measurement, table: pl.DataFrame) -> None:
    name = measured.physicians["physician"][0]
    shown = intravar.explain(measured, name, most=2)
    assert set(shown["kind"]) == {"surprise"}
    assert set(shown["covariate"]) == set(measured.check.prepared.covariates)
    assert shown["covariate"][0] == measured.rule.importance["covariate"][0]
    for row in shown.iter_rows(named=True):
        patient = table.row(row["row"] - 1, named=True)
        assert patient["physician"] == name
        assert abs(patient["decision"] - row["predicted"]) > 0.5
        assert row["row"] in (row["row_for"], row["row_against"])
        assert row["distance"] is None or row["distance"] <= 1


def test_both_are_written_where_they_belong(measured: Measurement, tmp_path: Path) -> None:
    name = measured.physicians["physician"][0]
    intravar.write_measurement(measured, tmp_path / "out", pairs_in_report=True)
    shown = intravar.explain(measured, name, most=2)
    assert intravar.explain(tmp_path / "out", name, most=2).equals(shown)
    assert measured.unrecorded is not None
    told = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))["decisions"][0][
        "unrecorded"
    ]
    assert told["words"] in (tmp_path / "out" / "report.html").read_text("utf-8")
    for reason in told["reasons"]:
        assert reason["lowered"] == round(reason["lowered"], 2)
        assert reason["covariate"] in measured.check.prepared.covariates
    assert not any("cases" in path.name for path in (tmp_path / "out").iterdir())


def test_in_sixty_columns() -> None:
    """A case with a patient beside it and one without: nothing is cut off, the warning is first."""
    line = {"kind": "surprise", "case": 1, "row": 1234, "pair": 1, "predicted": 0.931}
    line |= {"distance": 0.3, "row_for": 88, "row_against": 1234}
    beside = [
        {"covariate": "age", "decided_for": "64", "decided_against": "71", "difference": "-7"},
        {"covariate": "sex", "decided_for": "f", "decided_against": "f", "difference": "same"},
    ]
    alone = {"case": 2, "row": 9, "pair": 2, "distance": None, "row_for": 9, "row_against": None}
    alone |= {"covariate": "age", "decided_for": "30", "decided_against": None, "difference": None}
    rows = [*(line | each for each in beside), line | alone | {"predicted": 0.02}]
    out = io.StringIO()
    _print_cases(Console(file=out, width=60, highlight=False), pl.DataFrame(rows), "statin", USUAL)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("CASE-LEVEL")
    assert max(len(each) for each in lines) <= 60
    text = " ".join(out.getvalue().split())
    assert "1. Data row 1,234, statin: no; predicted was yes, with 93 of 100." in text
    assert "row 1,234: no row 88: yes age 71 64 (-7) The same: sex f." in text
    assert "2. Data row 9, statin: yes; predicted was no, with 98 of 100." in text
    assert "Nobody alike was decided the other way." in text
    nothing = io.StringIO()
    _print_cases(Console(file=nothing, width=60), pl.DataFrame(rows).clear(), "statin", USUAL)
    assert "No such decision" in nothing.getvalue()
