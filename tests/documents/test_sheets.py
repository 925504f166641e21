"""Sheets: for one physician alone, among peers nobody can name, in words for every case."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import stat
from pathlib import Path
from typing import Any

import polars as pl
import pypdf
import pytest
from intravar.documents.sheet.sheet_cases import surprising
from intravar.documents.sheet.sheet_content import Sheet, sheet_of
from intravar.documents.sheet.sheet_files import sheet_html, sheet_pdf, write_sheets
from intravar.documents.sheet.sheet_pictures import FEWEST_PEERS, Own, strip
from intravar.publication.outputs import Outputs

import intravar
from intravar.documents.measurement.handover import stored_outputs, write_measurement
from intravar.errors import InputError
from read_files import pages_of, text_of

pytestmark = pytest.mark.usefixtures("learned_once")

RANK = {"rank": 2.0, "rank_low": 1, "rank_high": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cohort = intravar.simulate("score2", n_patients=1000, n_physicians=8, seed=4)
    table = cohort.to_polars().with_columns(
        pl.format("Dr. Secret {}", "physician").alias("physician")
    )
    found = intravar.measure(
        table, physician="physician", decision="decision", method="euclidean", min_reliability=0
    )
    out = tmp_path_factory.mktemp("measured") / "out"
    write_measurement(found, out)
    return out


def changed(outputs: Outputs, row: dict[str, Any] | None = None, **summary: Any) -> Outputs:
    """Return a publication with another first row, or another summary."""
    rows = outputs.physicians.to_dicts()
    rows[0] |= row or {}
    return Outputs(
        pl.DataFrame(rows, infer_schema_length=None),
        outputs.methods,
        outputs.summary | summary,
        outputs.checks,
        outputs.diagnostics,
    )


@pytest.fixture(scope="module")
def outputs(folder: Path) -> Outputs:
    told = [{"discordance": 0.1 + 0.02 * n, "low": 0.05, "high": 0.3} for n in range(8)]
    found = stored_outputs(folder)
    rows = [
        row | more | {"reportable": True, "reason": None, "n_patients": 120, **RANK}
        for row, more in zip(found.physicians.to_dicts(), told, strict=True)
    ]
    made = Outputs(
        pl.DataFrame(rows, infer_schema_length=None), None, found.summary, found.checks, {}
    )
    return changed(made, verdict="levels and ranks")


def first(outputs: Outputs, **options: Any) -> Sheet:
    return sheet_of(outputs, outputs.physicians["physician"][0], **options)


def test_a_figure_stands_among_unnamed_peers(outputs: Outputs) -> None:
    sheet = first(outputs)
    assert sheet.figure == "about 10 of 100"
    assert len(sheet.strip) == 2
    assert sheet.strip[0].count('class="peer"') == 7
    assert "7 other physicians" in sheet.strip_line
    others = outputs.physicians["physician"].to_list()[1:]
    for text in (sheet_html(sheet), str(sheet)):
        assert not [name for name in others if name in text]


def test_few_peers_are_not_shown(outputs: Outputs) -> None:
    few = Outputs(outputs.physicians.head(FEWEST_PEERS), None, outputs.summary, outputs.checks, {})
    sheet = first(few)
    assert sheet.strip == []
    assert "each could be told" in sheet.strip_line
    assert len(first(Outputs(outputs.physicians.head(6), None, few.summary, few.checks, {})).strip)


@pytest.mark.parametrize("verdict", ["group only", "not interpretable"])
def test_where_nobody_is_to_be_compared_there_are_no_peers_and_no_rank(
    outputs: Outputs, verdict: str
) -> None:
    sheet = first(changed(outputs, verdict=verdict))
    assert sheet.strip == []
    assert not [name for name, _ in sheet.facts if "rank" in name]


@pytest.mark.parametrize(
    ("row", "figure", "words"),
    [
        ({"band": "at most 0.10"}, "at most 0.10", "as a band"),
        ({"shrunken": 0.2}, "about 20 of 100", "drawn towards the mean"),
        ({"identified_low": 0.1, "identified_high": 0.4}, "10 to 40 of 100", "fits them equally"),
        ({"reason": "fewer than 30 patients"}, "not reported", "fewer than 30 patients"),
    ],
)
def test_without_a_number_the_sheet_says_what_is_known_and_why(
    outputs: Outputs, row: dict[str, Any], figure: str, words: str
) -> None:
    known = ("discordance", "low", "high", "shrunken", "rank", "band", "identified_low")
    sheet = first(changed(outputs, dict.fromkeys(known) | row))
    assert sheet.figure == figure
    assert words in sheet.sentence
    assert sheet.strip == []
    assert len(pages_of_pdf(sheet)) == 1


def pages_of_pdf(sheet: Sheet) -> list[str]:
    return [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(sheet_pdf(sheet))).pages]


def test_rate_rule_and_noise_are_told_in_their_words(outputs: Outputs) -> None:
    name = outputs.physicians["physician"][0]
    noise = {part: {"value": value} for part, value in
             (("level", 0.001), ("pattern", 0.05), ("occasion", 0.1))}  # fmt: skip
    told = changed(
        outputs,
        {"rate": 0.42, "gain": 0.1, "expected": 0.2},
        own_rules=[
            {"physician": name, "covariate": "sbp", "how": how}
            for how in ("more", "less", "the other way", "up", "down")
        ],
        group=(outputs.summary["group"] or {}) | {"noise": noise, "discordance": 0.2},
        request=outputs.summary["request"]
        | {"words": {"decider_word": "judge,judges", "case_word": "case,cases",
                     "labels": {"sbp": "patient risk"}, "title": "Bail"}},
    )  # fmt: skip
    sheet = first(told)
    assert sheet.title == "Bail"
    assert "You weigh patient risk more than the others." in sheet.own_rule
    assert len(sheet.own_rule) == 6
    facts = dict(sheet.facts)
    assert facts['your rate of "yes"'].startswith("42 % (all: ")
    assert facts["your cases"] == "120"
    parts = [words for _, words in sheet.noise_key]
    assert parts[0].startswith("fewer than 1: ")
    assert parts[1] == "10: they weigh cases differently"
    page = sheet_html(sheet).replace("patient risk", "").replace(told.summary["compared"], "")
    shown = page.partition("<main>")[2].partition("</main>")[0]
    assert not re.search(r"physician|patient", shown)


def test_one_printable_page(outputs: Outputs) -> None:
    sheet = first(
        changed(outputs, {"rate": 0.42, "gain": 0.1, "expected": 0.2, "contradiction": 0.1})
    )
    assert len(pages_of_pdf(sheet)) == 1
    assert sheet_pdf(sheet) == sheet_pdf(sheet)
    assert sheet_pdf(sheet, "us-letter") != sheet_pdf(sheet)


def test_many_peers_stay_within_the_picture() -> None:
    svg = strip(Own(50, 48, 50), [13.0] * 2000, "axis", "words")
    assert svg is not None
    heights = [float(found) for found in re.findall(r'class="peer" cx="[\d.]+" cy="([\d.]+)"', svg)]
    assert min(heights) >= 50


def test_every_physician_gets_a_file_named_by_pseudonym(folder: Path, tmp_path: Path) -> None:
    written = write_sheets(folder, tmp_path / "sheets", formats=["html", "pdf"])
    shown = pl.read_parquet(folder / "physicians.parquet")["physician"].to_list()
    assert not written.private
    assert {path.stem for path in written.files} == set(shown)
    assert len(written.files) == 16
    for path in written.files:
        others = [name for name in shown if name != path.stem]
        text = text_of(path)
        assert "Secret" not in text
        assert not [name for name in others if name in text], path.name
    again = write_sheets(folder, tmp_path / "sheets", formats=["html", "pdf"])
    assert again == written


def test_name_and_pseudonym_mean_the_same_physician(folder: Path, tmp_path: Path) -> None:
    names = json.loads((folder.with_name("out-private") / "key.json").read_text())["physicians"]
    pseudonym, name = next(iter(names.items()))
    one = write_sheets(folder, tmp_path / "a", physician=pseudonym)
    other = write_sheets(folder, tmp_path / "b", physician=name)
    assert one.files[0].read_bytes() == other.files[0].read_bytes()
    assert one.files[0].name == other.files[0].name == f"{pseudonym}.html"
    with pytest.raises(InputError, match="unknown physician 'Nobody'"):
        write_sheets(folder, tmp_path / "c", physician="Nobody")
    assert not (tmp_path / "c").exists()


@pytest.mark.skipif(os.name != "posix", reason="this system keeps no files to their owner")
def test_names_and_cases_are_for_the_owner_alone(folder: Path, tmp_path: Path) -> None:
    written = write_sheets(
        folder, tmp_path / "s", formats=["html", "pdf"], names=True, cases=True,
        physician="Dr. Secret P01",
    )  # fmt: skip
    assert written.private
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700
    for path in written.files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    page = written.files[0].read_text("utf-8")
    assert "Dr. Secret P01" in page
    assert "shows single patients" in page
    assert "Two patients alike, decided differently: data row" in page
    assert "Two patients alike" in pages_of(written.files[1])[1]


def test_without_the_private_folder_names_and_cases_are_refused(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "handed")
    public = write_sheets(tmp_path / "handed", tmp_path / "sheets")
    assert [path.name for path in public.files] == [
        path.name for path in write_sheets(folder, tmp_path / "own").files
    ]
    for option, words in (("names", "names lie in the private folder"), ("cases", "are kept in")):
        with pytest.raises(InputError, match=words):
            write_sheets(tmp_path / "handed", tmp_path / option, **{option: True})
        assert not (tmp_path / option).exists()


def test_a_strange_place_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is the folder of the measurement"):
        write_sheets(folder, folder)
    with pytest.raises(InputError, match="is not the folder of a measurement"):
        write_sheets(tmp_path, tmp_path / "x")
    with pytest.raises(InputError, match="unknown paper"):
        write_sheets(folder, tmp_path / "x", paper="a5")
    (tmp_path / "mine").mkdir()
    name = pl.read_parquet(folder / "physicians.parquet")["physician"][0]
    (tmp_path / "mine" / f"{name}.html").write_text("mine")
    with pytest.raises(InputError, match="would be overwritten"):
        write_sheets(folder, tmp_path / "mine")
    assert len(list((tmp_path / "mine").iterdir())) == 1


def test_a_surprise_is_told_with_what_was_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases of predictions: the patient most alike stands beside it, or nobody does."""
    rows = [
        {"case": 1, "row": 5, "pair": 1, "predicted": 0.9, "row_for": 7, "row_against": 5},
        {"case": 1, "row": 5, "pair": 2, "predicted": 0.9, "row_for": 8, "row_against": 5},
        {"case": 2, "row": 6, "pair": 3, "predicted": 0.1, "row_for": 6, "row_against": None},
    ]
    cells = {"covariate": "age", "decided_for": "70", "difference": None}
    table = pl.DataFrame([row | cells | {"decided_against": None} for row in rows])
    name = "intravar.documents.sheet.sheet_cases.explain"
    monkeypatch.setattr(name, lambda *_args, **_most: table)
    told = surprising(Path(), "P-1", {"request": {"columns": {"decision": "statin"}}})
    assert [case.line for case in told] == [
        "You decided against data row 5; a yes was expected in 90 of 100 such patients: data row 7 "
        "and row 5",
        "You decided for data row 6; a yes was expected in 10 of 100 such patients: data row 6",
    ]
    assert told[1].rows == [("age", "70", "–", "–")]


def test_whoever_has_no_rank_is_told_so_and_is_no_peer(outputs: Outputs) -> None:
    sheet = first(changed(outputs, {"rank": None, "reason": "cannot be ranked"}))
    assert sheet.sentence.endswith("You have no rank: cannot be ranked.")
    assert sheet.strip == []
    rows = outputs.physicians.to_dicts()
    rows[1]["rank"] = None
    other = Outputs(pl.DataFrame(rows), None, outputs.summary, outputs.checks, {})
    assert first(other).strip[0].count('class="peer"') == 6
