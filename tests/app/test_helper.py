"""The process that answers what takes long: it may die, and nobody else's question is lost."""

import os
import signal
from concurrent.futures import CancelledError
from pathlib import Path

import polars as pl
import pytest

from intravar import InputError
from intravar.app.helper import Helper


def test_questions_behind_one_that_died_are_answered(tmp_path: Path) -> None:
    table = tmp_path / "patients.csv"
    pl.DataFrame({"doctor": ["A", "B"], "drug": [0, 1]}).write_csv(table)
    helper = Helper(tmp_path / "log")
    try:
        helper.ask("ready").result(60)
        process = helper._process
        assert process is not None
        os.kill(process.pid or 0, signal.SIGSTOP)  # so that neither is answered before it dies
        first, second = (
            helper.ask("look", source=str(table), reading={}, changed=at) for at in (0.0, 1.0)
        )
        os.kill(process.pid or 0, signal.SIGKILL)
        with pytest.raises(InputError, match="the process that reads tables has ended"):
            first.result(60)
        assert second.result(60)["rows"] == [["A", "0"], ["B", "1"]]
        again = helper.ask("look", source=str(table), reading={}, changed=0.0)
        assert again.result(60) == second.result()
    finally:
        helper.close()


def test_what_was_corrected_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "patients.csv"
    asked = {"source": str(table), "reading": {}, "changed": 0.0}
    helper = Helper(tmp_path / "log")
    try:
        table.write_text("doctor,doctor\nA,B\n")
        for _ in range(2):  # a screen that waited asks once more
            with pytest.raises(InputError, match="has two columns 'doctor'"):
                helper.ask("look", **asked).result(60)
            table.write_text("doctor,drug\nA,0\n")
        monkeypatch.setattr("intravar.app.helper.ERRORS_KEPT", 0.0)
        found = helper.ask("look", **asked).result(60)
        assert found["rows"] == [["A", "0"]]
        assert helper.ask("look", **asked).result(60) is found
    finally:
        helper.close()


def test_questions_that_wait_end_with_the_helper(tmp_path: Path) -> None:
    helper = Helper(tmp_path / "log")
    helper.ask("ready").result(60)
    process = helper._process
    assert process is not None
    os.kill(process.pid or 0, signal.SIGSTOP)
    asked = [helper.ask("ready", again=True) for _ in range(5)]
    helper.close()
    for each in asked:
        with pytest.raises(CancelledError):
            each.result(60)


def test_one_that_is_just_being_started_ends_too(tmp_path: Path) -> None:
    helper = Helper(tmp_path / "log")
    helper.start()
    helper.close()
    assert helper._process is None or not helper._process.is_alive()


def test_one_that_died_while_idle_fails_no_question(tmp_path: Path) -> None:
    helper = Helper(tmp_path / "log")
    try:
        helper.ask("ready").result(60)
        process = helper._process
        assert process is not None
        process.kill()
        process.join()
        helper.ask("ready", again=True).result(60)
    finally:
        helper.close()
