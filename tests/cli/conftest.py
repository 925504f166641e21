"""Fixtures of the tests of the commands."""

from functools import partial
from pathlib import Path

import polars as pl
import pytest

import intravar
from own_tables import Run, run_command


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return partial(run_command, capsys)


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
