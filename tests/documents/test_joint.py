"""Several decisions on a page, in a document and in a workbook: from what is published alone."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from documents.measurement.made_several import made_several
from intravar.documents.files.measurement_files import MEASUREMENT_FORMATS, write_measurement_files
from intravar.documents.measurement.joint_register import JOINT_PICTURES
from intravar.documents.measurement.picture_register import pictures_of
from intravar.documents.measurement.several_handover import render_several
from intravar.documents.sheet.several_sheet import several_sheet

import intravar
from intravar.cli import main
from intravar.errors import InputError
from intravar.publication.fields import FIELDS
from read_files import text_of

pytestmark = pytest.mark.usefixtures("learned_once")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cohort = intravar.simulate("multi-interacting", n_patients=480, n_physicians=4, seed=3)
    found = intravar.measure_several(
        cohort.to_polars(),
        physician="physician",
        decision="decision,decision_2",
        exclude=["decision_3"],
        min_reliability=0.0,
        decider_word="team,teams",
    )
    out = tmp_path_factory.mktemp("joint") / "out"
    intravar.write_several(found, out)
    return out


def test_every_picture_has_words_a_caption_and_reads_known_fields() -> None:
    shown = [each for part in pictures_of(made_several(), JOINT_PICTURES).values() for each in part]
    assert [picture.name for picture in shown] == [
        *("differ", "decision-1", "decision-2", "decision-3", "order", "square")
    ]
    for picture in shown:
        assert picture.key
        for svg in picture.svgs:
            assert re.search(r"<title>[^<]+</title><desc>[^<]+</desc>", svg)
    for entry in JOINT_PICTURES:
        for field in entry.reads:
            file, _, name = field.partition(".")
            listed = FIELDS.get(file) or FIELDS[f"{file}.json"]
            assert any(
                re.match(rf"(decisions\[\]\.)?{re.escape(name)}(\W|$)", path) for path in listed
            ), field


def test_pictures_show_the_numbers() -> None:
    outputs = made_several()
    pictures = {
        each.name: each for part in pictures_of(outputs, JOINT_PICTURES).values() for each in part
    }
    differ = str(pictures["differ"].svgs[0])
    assert differ.count('class="point"') == outputs.summary["n_reportable"]
    assert differ.count('class="range"') == outputs.summary["n_banded"]
    assert "10 of whom nothing can be told are not in it." in pictures["differ"].reading
    square = str(pictures["square"].svgs[0])
    assert square.count(">-0.30<") == 2
    assert square.count("against") == 2
    assert "given" in str(pictures["decision-2"].key)
    assert "given" not in str(pictures["decision-1"].key)


def test_the_page_escapes_names_and_links_to_each_decision() -> None:
    page = render_several(made_several())
    assert "<inhibitor>" not in page
    assert "ace &lt;inhibitor&gt;" in page
    for at in range(3):
        assert f"../out-{at}/report.html" in page
    assert "[35, 45]" in page
    assert "0.20 to 0.45" in page


def test_the_report_is_made_again_in_every_format(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "report.html").read_bytes()
    with pytest.raises(SystemExit) as left:
        main(["report", str(folder), "--format", ",".join(MEASUREMENT_FORMATS), "--json"])
    assert left.value.code == 0
    written = [Path(path).name for path in json.loads(capsys.readouterr().out)]
    assert written == ["report.html", "report.pdf", "report.xlsx", "report.docx"]
    assert (folder / "report.html").read_bytes() == before
    stored = json.loads((folder / "several.json").read_text("utf-8"))
    for name in written:
        text = re.sub(r"[\s\u200b]+", " ", text_of(folder / name))
        assert "in at least one of 2 decisions" in text, name
        assert "team" in text, name
        assert pl.read_parquet(folder / "joint.parquet")["physician"][0] in text, name
        assert "P01" not in text
    for sheet in ("Together", "Decisions", "Which go together", "Pairs", "Request"):
        assert f'name="{sheet}"' in text_of(folder / "report.xlsx")
    assert len(stored["pairs"]) == 1


def test_a_damaged_folder_is_said_to_be(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "joint.parquet").write_bytes(b"no table")
    with pytest.raises(InputError, match="damaged"):
        write_measurement_files(copy, ["html"])
    stored = json.loads((copy / "several.json").read_text("utf-8"))
    shutil.copy(folder / "joint.parquet", copy)
    (copy / "several.json").write_text(json.dumps({"what": "several", "pairs": stored}))
    with pytest.raises(InputError, match="damaged"):
        write_measurement_files(copy, ["html"])


def test_what_bears_no_order_is_in_none() -> None:
    outputs = made_several()
    verdicts = outputs.summary["verdicts"] | {"statin": "group only"}
    unordered = replace(outputs, summary=outputs.summary | {"verdicts": verdicts})
    for each, words in ((outputs, "lowest first"), (unordered, "in no order")):
        (picture,) = pictures_of(each, JOINT_PICTURES)["together"]
        assert f"physicians, {words}" in picture.svgs[0]
    assert not several_sheet(unordered, outputs.joint["physician"][0]).strip
