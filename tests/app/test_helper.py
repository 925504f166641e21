"""The process that answers what takes long: it may die, and nobody else's question is lost."""

import os
import signal
import time
from concurrent.futures import CancelledError
from pathlib import Path

import polars as pl
import pytest

from app.conftest import Opened
from intravar import InputError
from intravar import review as pair_review
from intravar.app.draft import Draft
from intravar.app.helper import Helper, look, ready, review
from review_folders import stored_world


def test_questions_behind_one_that_died_are_answered(tmp_path: Path) -> None:
    table = tmp_path / "patients.csv"
    pl.DataFrame({"doctor": ["A", "B"], "drug": [0, 1]}).write_csv(table)
    helper = Helper(tmp_path / "log")
    try:
        helper.ask(ready).result(60)
        process = helper._process
        assert process is not None
        os.kill(process.pid or 0, signal.SIGSTOP)  # so that neither is answered before it dies
        first, second = (helper.ask(look, table, {}) for _ in range(2))
        os.kill(process.pid or 0, signal.SIGKILL)
        with pytest.raises(InputError, match="the process that reads tables has ended"):
            first.result(60)
        assert second.result(60)["rows"] == [["A", "0"], ["B", "1"]]
    finally:
        helper.close()


def test_what_was_corrected_is_asked_again(opened: Opened) -> None:
    """A screen that waits gets the error or the answer; the next one asks anew."""
    table = opened.folder / "twice.csv"
    draft = opened.desk.keep(Draft(table))
    for content, status, words in (
        ("doctor,doctor\nA,B\n", 400, "has two columns"),
        ("doctor,drug\nA,0\n", 200, "1 rows, 2 columns"),
    ):
        table.write_text(content)
        answer = opened.client.get(f"/table/{draft.id}")
        deadline = time.monotonic() + 60
        while answer.status_code == 202 and time.monotonic() < deadline:
            time.sleep(0.05)
            answer = opened.client.get(f"/table/{draft.id}")
        assert answer.status_code == status
        assert words in answer.text


def test_questions_that_wait_end_with_the_helper(tmp_path: Path) -> None:
    helper = Helper(tmp_path / "log")
    helper.ask(ready).result(60)
    process = helper._process
    assert process is not None
    os.kill(process.pid or 0, signal.SIGSTOP)
    asked = [helper.ask(ready) for _ in range(5)]
    helper.close()
    for each in asked:
        with pytest.raises(CancelledError):
            each.result(60)


def test_one_that_is_just_being_started_ends_too(tmp_path: Path) -> None:
    helper = Helper(tmp_path / "log")
    helper.ask(ready)
    helper.close()
    assert helper._process is None or not helper._process.is_alive()


def test_one_that_died_while_idle_fails_no_question(tmp_path: Path) -> None:
    helper = Helper(tmp_path / "log")
    try:
        helper.ask(ready).result(60)
        process = helper._process
        assert process is not None
        process.kill()
        process.join()
        helper.ask(ready).result(60)
    finally:
        helper.close()


def test_a_reviewer_without_pairs_is_refused_in_words(tmp_path: Path) -> None:
    world = stored_world(tmp_path, n_physicians=2, n_each=12, smallest=1)
    drawn = pair_review.draw(world.out, pairs=20, reviewers=20)
    assert len(drawn) < 20
    assert review(world.out, "R1", None)["n_pairs"] > 0
    with pytest.raises(InputError, match="reviewer 'R20' has no pairs"):
        review(world.out, "R20", None)
