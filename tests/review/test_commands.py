"""The commands of a review on a table that was measured, from the table to the page."""

import json
import os
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import intravar
from intravar import review
from intravar.cli import app
from intravar.study.simulation import simulate

pytestmark = pytest.mark.usefixtures("learned_once")


def test_a_review_from_the_table_to_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cohort = simulate("review-common", n_patients=1_000, n_physicians=6)
    cohort.to_polars().write_csv("patients.csv")
    asked = {"physician": "physician", "decision": "decision", "method": "euclidean"}
    found = intravar.measure("patients.csv", **asked)  # type: ignore[arg-type]
    intravar.write_measurement(found, "mine")

    def run(*words: str) -> str:
        outcome = CliRunner().invoke(app, ["review", *words])
        assert outcome.exit_code == 0, outcome.output
        return str(outcome.output)

    planned = run("plan", "mine")
    assert "240" in planned
    assert "as published" in planned
    drawn = json.loads(run("draw", "mine", "--out", "packet", "--pairs", "60", "--json"))
    assert drawn == {"packet": "packet", "n_pairs": 60}
    file = Path("packet/answers-R1.csv")
    table = pl.read_csv(file, infer_schema=False)
    words = pl.Series(["comparable", "comparable", "different"] * 20)
    table.with_columns(words.alias("answer")).write_csv(file)
    told = run("read", "mine", str(file))
    assert "60 pairs judged, 0 unsure, 0 left." in told
    assert "Published, rounded" in told
    assert "that reviewers found comparable" in Path("mine/report.html").read_text("utf-8")
    assert json.loads(run("read", "mine", "--json"))["n_pairs"] == 60
    refused = CliRunner().invoke(app, ["review", "draw", "mine", "--out", "again"])
    assert refused.exit_code != 0
    assert not os.path.exists("again")
    # Measuring again would lose the review.
    with pytest.raises(intravar.InputError, match="drawn for a review, which would be lost"):
        intravar.write_measurement(found, "mine")
    intravar.write_measurement(found, "mine", replace=True)
    with pytest.raises(intravar.InputError, match="no pairs were drawn yet"):
        review.read("mine")
