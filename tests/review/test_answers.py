"""Reading answers: every format, every slip, every reviewer apart."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

from intravar import InputError, review
from intravar.review.store import read_stored
from review_folders import World, stored_world


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr("intravar.documents.write_files", lambda *_: None)
    found = stored_world(tmp_path)
    review.draw(found.out, tmp_path / "packet", pairs=40)
    return found


def _fill(file: Path, rows: dict[str, tuple[str, str, str]]) -> None:
    table = pl.read_csv(file, infer_schema=False)
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(table.columns)
        for pair, *_ in table.iter_rows():
            writer.writerow([pair, *rows.get(pair, ("", "", ""))])


def _answers(world: World) -> dict[str, Any]:
    return {
        who: {pair: given.answer for pair, given in answers.items()}
        for who, answers in read_stored(world.private).answers.items()
    }


def test_partial_answers_say_what_is_left(world: World, tmp_path: Path) -> None:
    file = tmp_path / "packet" / "answers-R1.csv"
    _fill(file, {"P0001": ("comparable", "", ""), "P0002": ("Different ", "frail", "see notes")})
    found = review.read(world.out, [file])
    assert (found.n_pairs, found.n_left, found.published) == (2, 38, False)
    assert found.why_not is not None
    assert "would tell how a single pair was decided" in found.why_not
    assert _answers(world) == {"R1": {"P0001": "comparable", "P0002": "different"}}
    summary = json.loads((world.out / "summary.json").read_text("utf-8"))
    assert summary["decisions"][0]["review"] is None


def test_a_workbook_comes_back_through_openpyxl(world: World, tmp_path: Path) -> None:
    file = tmp_path / "packet" / "answers-R1.xlsx"
    book = openpyxl.load_workbook(file)
    sheet = book["answers"]
    heads = [cell.value for cell in sheet[1]]
    assert heads == ["pair", "answer", "reason", "comment", "patient A", "patient B"] + [
        f"{name} {side}" for name in ("age", "sex") for side in "AB"
    ]
    lists = {str(rule.sqref): rule.formula1 for rule in sheet.data_validations.dataValidation}
    assert lists == {"B2:B41": "lists!$A$1:$A$3", "C2:C41": "lists!$B$1:$B$7"}
    marked = [
        (row[8].value != row[9].value, row[8].fill.fgColor.rgb == "FFFFE9A8")
        for row in sheet.iter_rows(min_row=2)
    ]
    assert all(differs == yellow for differs, yellow in marked)
    assert len(set(marked)) == 2
    for row, word in ((2, "comparable"), (3, "different"), (4, "unsure")):
        sheet.cell(row, 2).value = word
    sheet.cell(3, 3).value = "contraindication"
    book.save(file)
    found = review.read(world.out, [file])
    assert (found.n_pairs, found.n_unsure, found.n_left) == (2, 1, 37)
    assert _answers(world)["R1"] == {
        "P0001": "comparable",
        "P0002": "different",
        "P0003": "unsure",
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pair,answer\nP9999,comparable\n", "pair 'P9999' .* was not drawn"),
        ("pair,answer\n2024-01-05,comparable\n", "did Excel turn it into a date"),
        ("pair,answer\nP0001,05.01.2024\n", "did Excel turn it into a date"),
        ("pair,answer\nP0001,perhaps\n", "has the answer 'perhaps'"),
        ("pair,answer\nP0001,comparable\nP0001,different\n", "is 'comparable' in .* keep one"),
        ("pair,reason\nP0001,frail\n", "no column 'answer'"),
        ("pair,answer,reason\nP0001,,frail\nP0002,unsure,\n", "but no answer"),
        ("pair,answer\n,comparable\nP0001,unsure\n", "no pair"),
    ],
)
def test_slips_are_named_and_nothing_is_kept(
    world: World, tmp_path: Path, text: str, words: str
) -> None:
    file = tmp_path / "answers-R1.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        review.read(world.out, [file])
    assert _answers(world) == {}


@pytest.mark.parametrize("text", ["null", '{"reviewer": "R1", "answers": [1]}', "[" * 100_000])
def test_a_file_that_no_form_saved_is_named(world: World, tmp_path: Path, text: str) -> None:
    file = tmp_path / "answers-R1.json"
    file.write_text(text)
    with pytest.raises(InputError, match="is not a file that the form of a review saved"):
        review.read(world.out, [file])


def test_files_of_a_german_excel_are_read(world: World, tmp_path: Path) -> None:
    file = tmp_path / "answers-R1 (2).csv"
    file.write_bytes(
        "pair;answer;reason;comment\r\nP0001;different;Gebrechlichkeit;für später\r\n".encode(
            "cp1252"
        )
    )
    review.read(world.out, [file])
    kept = read_stored(world.private).answers["R1"]["P0001"]
    assert (kept.reason, kept.comment) == ("Gebrechlichkeit", "für später")


def test_two_files_of_one_reviewer_must_not_contradict(world: World, tmp_path: Path) -> None:
    for name, word in (("answers-R1.csv", "unsure"), ("answers-R1-again.csv", "different")):
        (tmp_path / name).write_text(f"pair,answer\nP0001,{word}\n")
    with pytest.raises(InputError, match="'unsure' in .* and 'different' in"):
        review.read(world.out, [tmp_path / "answers-R1.csv", tmp_path / "answers-R1-again.csv"])


def test_answers_of_two_reviewers_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intravar.documents.write_files", lambda *_: None)
    world = stored_world(tmp_path)
    pairs = review.draw(world.out, tmp_path / "packet", pairs=20, reviewers=2, twice=1.0)
    one, two = (tmp_path / "packet" / f"answers-R{n}.csv" for n in (1, 2))
    _fill(one, {pair.pair: ("comparable", "", "") for pair in pairs})
    _fill(
        two,
        {pairs[0].pair: ("different", "tried before", ""), pairs[1].pair: ("comparable", "", "")},
    )
    review.read(world.out, [one])
    found = review.read(world.out, [two])
    assert set(_answers(world)) == {"R1", "R2"}
    assert len(_answers(world)["R1"]) == 20
    assert found.contradicted == (pairs[0].pair,)
    assert found.agreement is not None
    assert (found.n_twice, found.n_same) == (2, 1)
    shutil.copy(one, tmp_path / "copy.csv")
    shutil.copy(one, tmp_path / "answers-R3.csv")
    with pytest.raises(InputError, match="whose answers are in"):
        review.read(world.out, [tmp_path / "copy.csv"])
    with pytest.raises(InputError, match="reviewer 'R3'"):
        review.read(world.out, [tmp_path / "answers-R3.csv"])


def test_one_answer_at_a_time(world: World) -> None:
    review.answer(world.out, "P0001", "different", reason="frail")
    review.answer(world.out, "P0002", "unsure")
    review.answer(world.out, "P0002", "")
    pairs = {pair.pair: pair for pair in review.pairs(world.out)}
    assert pairs["P0001"].answers["R1"].reason == "frail"
    assert pairs["P0002"].answers == {}
    for wrong, words in (
        (("P1", "unsure"), "not drawn"),
        (("P0001", "maybe"), "'maybe' is none of"),
    ):
        with pytest.raises(InputError, match=words):
            review.answer(world.out, *wrong)
    with pytest.raises(InputError, match="not for reviewer 'R2'"):
        review.answer(world.out, "P0001", "unsure", reviewer="R2")
    assert review.results(world.out).n_pairs == 1
