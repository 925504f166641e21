"""Fixtures of the tests of the commands."""

from pathlib import Path

import polars as pl
import pytest

import intravar
from intravar.cli import main
from own_tables import Outcome, Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        printed = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Outcome(left.value.code, printed.out, printed.err)

    return call


@pytest.fixture(scope="module")
def cohort() -> intravar.Cohort:
    return intravar.simulate("score2", n_patients=900, n_physicians=6, random_state=11)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder; whatever fails in it leaves nothing behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def table(cohort: intravar.Cohort, here: Path) -> pl.DataFrame:
    found = cohort.to_polars()
    found.write_csv(here / "patients.csv")
    return found
