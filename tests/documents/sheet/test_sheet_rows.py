"""Subgroups, periods and several decisions on the sheet of one physician."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import intravar
from documents.measurement.made_several import DECISIONS, made_several
from documents.measurement.many_physicians import many_physicians
from intravar.documents.files.measurement_document import measurement_document
from intravar.documents.files.parts import FramedPicture, PlainTable, SectionHeading
from intravar.documents.sheet.several_sheet import several_sheet
from intravar.documents.sheet.sheet_content import sheet_of
from intravar.documents.sheet.sheet_files import sheet_html, sheet_pdf, write_sheets
from intravar.documents.sheet.sheet_pictures import Own, SheetRow, rows_picture
from intravar.documents.sheet.sheet_rows import MOST_ROWS, strata_parts
from intravar.errors import InputError
from intravar.publication.explain import measurement_folders
from intravar.publication.outputs import Outputs


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    cohort = intravar.simulate("score2", n_patients=1200, n_physicians=6, seed=5)
    found = intravar.measure(
        cohort.to_polars(), physician="physician", decision="decision", method="euclidean"
    )
    return intravar.write_measurement(found, tmp_path_factory.mktemp("measured") / "out")


def with_strata(measured: Outputs, n_periods: int = 3) -> Outputs:
    """A measurement by sex and over time; the second physician's strata are hidden."""
    outputs = many_physicians(measured, 12)
    first = outputs.physicians["physician"][0]
    periods = [f"20{at:02d}" for at in range(n_periods)]
    strata = [("by", "F"), ("by", "M"), *(("period", name) for name in periods)]
    cells = pl.DataFrame(
        [
            {
                "dealt_by": dealt,
                "physician": first,
                "stratum": name,
                "n_patients": 80,
                "discordance": 0.2,
                "low": 0.1,
                "high": 0.3,
            }
            for dealt, name in strata
        ]
    )
    changes = pl.DataFrame({"dealt_by": ["period"], "physician": [first]}).with_columns(
        change=pl.lit(0.04),
        low=pl.lit(-0.09),
        high=pl.lit(0.17),
        shrunken=pl.lit(0.08),
        probability=pl.lit(0.96),
    )

    def told(names: list[str]) -> dict[str, object]:
        rows = [
            {
                "stratum": name,
                **dict.fromkeys(("rate", "discordance", "low", "high"), 0.25),
                **dict.fromkeys(("alike", "alike_low", "alike_high"), 0.26),
            }
            for name in names
        ]
        return {"strata": rows, "lines": ["By it they differ."]}

    request = outputs.summary["request"]
    columns = request["columns"] | {"by": "sex", "date": "visit"}
    summary = outputs.summary | {
        "by": told(["F", "M"]),
        "course": told(periods),
        "request": request | {"columns": columns},
    }
    return replace(outputs, summary=summary, strata=cells, changes=changes)


def test_a_physician_by_sex_and_over_time(measured: Outputs) -> None:
    outputs = with_strata(measured)
    first, second = outputs.physicians["physician"].to_list()[:2]
    by, course = strata_parts(outputs, first)
    assert (by.heading, course.heading) == ("You by sex", "You over time")
    assert "F: you 20 [10, 30], all 25" in by.pictures[0]
    assert "+4 [-9, +17] of 100" in course.line
    assert "+8" in course.line
    assert "96 % probable" in course.line
    hidden = strata_parts(outputs, second)
    assert all(not part.pictures and "not shown" in part.line for part in hidden)
    sheet = sheet_of(outputs, first)
    assert "You over time" in sheet_html(sheet)
    assert sheet_pdf(sheet).startswith(b"%PDF")


def test_without_subgroups_nothing_is_added(measured: Outputs) -> None:
    outputs = many_physicians(measured, 12)
    assert strata_parts(outputs, outputs.physicians["physician"][0]) == []


def test_of_many_periods_the_last_are_shown(measured: Outputs) -> None:
    outputs = with_strata(measured, 20)
    course = strata_parts(outputs, outputs.physicians["physician"][0])[1]
    assert course.pictures[0].count('class="own"') == MOST_ROWS
    assert "2019" in course.pictures[0]
    assert ">2000<" not in course.pictures[0]
    assert "The last 8 of 20." in course.line


def test_the_document_has_subgroups_and_periods(measured: Outputs) -> None:
    parts = list(measurement_document(with_strata(measured)).parts)
    at = parts.index(SectionHeading("Which patients, and when"))
    following = parts[at + 1 : at + 7]
    assert sum(isinstance(part, FramedPicture) for part in following) == 2
    tables = [part for part in following if isinstance(part, PlainTable)]
    assert [table.heads[0] for table in tables] == ["sex", "visit"]
    assert tables[0].rows[0] == ["F", "25 %", "0.25", "0.25–0.25", "0.26", "0.26–0.26"]
    plain = measurement_document(many_physicians(measured, 12)).parts
    assert SectionHeading("Which patients, and when") not in plain


def test_labels_give_way_to_figures() -> None:
    row = SheetRow("a very long name of a level " * 4, Own(20, 10, 30), 25)
    for kind in ("wide", "narrow"):
        svg = rows_picture([row], "of 100", "Rows", "words", kind)
        assert "…</text>" in svg
        assert "you 20 [10, 30], all 25" in svg


def test_a_sheet_of_several_decisions() -> None:
    outputs = made_several()
    names = outputs.joint["physician"].to_list()
    numbers, band, nothing = (several_sheet(outputs, name) for name in names[:3])
    assert numbers.figure == "at most about 30 of 100"
    assert "the 95 % interval goes from 20 to 40" in numbers.sentence
    assert numbers.strip
    assert ("the figure of all together", "40 of 100") in numbers.facts
    assert band.figure == "0.40 or more"
    assert not band.strip
    assert nothing.figure == "not reported"
    for sheet in (numbers, band, nothing):
        (each,) = sheet.parts
        assert each.pictures[0].count('class="all"') == len(DECISIONS)
        page = sheet_html(sheet)
        assert "<inhibitor>" not in page
        others = set(names) - {sheet.called}
        assert not [name for name in others if name in page]


def stored(path: Path) -> Path:
    outputs = made_several()
    path.mkdir()
    for name in ("joint", "decisions", "pairs"):
        getattr(outputs, name).write_parquet(path / f"{name}.parquet")
    summary = outputs.summary | {"n_reportable": 10}
    (path / "several.json").write_text(json.dumps(summary))
    return path


def test_sheets_are_written_from_the_folder_of_several(tmp_path: Path) -> None:
    folder = stored(tmp_path / "out")
    found = write_sheets(folder, tmp_path / "sheets", formats=["html", "pdf"])
    assert len(found.files) == 60
    assert all(path.stat().st_size > 1000 for path in found.files)
    with pytest.raises(InputError, match=re.escape("of the folder of one decision")):
        write_sheets(folder, tmp_path / "more", cases=True)
    with pytest.raises(InputError, match="unknown physician"):
        write_sheets(folder, tmp_path / "more", physician="nobody")
    assert not (tmp_path / "more").exists()
    with pytest.raises(InputError, match="holds several decisions together; name one of"):
        measurement_folders(folder)
