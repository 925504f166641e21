"""A measurement as PDF, workbook and text: complete, typed, harmless, and the same every time."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from pathlib import Path

import docx
import openpyxl
import polars as pl
import pypdf
import pytest
from intravar.documents.files.measurement_document import measurement_document
from intravar.documents.files.measurement_files import MEASUREMENT_FORMATS, write_measurement_files
from intravar.documents.files.paper import style_on_paper
from intravar.documents.files.parts import FramedPicture, PlainTable

from intravar.documents.files import extra_packages
from intravar.documents.measurement.handover import stored_outputs
from intravar.errors import InputError
from read_files import pages_of, text_of

FILES = ["report.pdf", "report.xlsx", "report.docx"]


@pytest.fixture(scope="module")
def made(hostile: Path) -> Path:
    written = write_measurement_files(hostile, list(MEASUREMENT_FORMATS))
    assert [path.name for path in written] == ["report.html", "physicians.html", *FILES]
    return hostile


def test_the_same_measurement_gives_the_same_files(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "copy")
    for name in FILES:
        (tmp_path / "copy" / name).unlink()
    write_measurement_files(tmp_path / "copy", ["pdf", "xlsx", "docx"])
    for name in FILES:
        assert (tmp_path / "copy" / name).read_bytes() == (made / name).read_bytes(), name


def test_measuring_again_may_replace_them(made: Path) -> None:
    listed = json.loads((made / "intravar.json").read_text("utf-8"))["files"]
    assert set(FILES) <= set(listed)


def test_the_workbook_holds_the_published_table_with_its_types(made: Path) -> None:
    book = openpyxl.load_workbook(made / "report.xlsx")
    assert book.sheetnames == [
        "Summary", "Hospitals", "Methods", "Rule", "Data", "Notes", "Request",
    ]  # fmt: skip
    sheet = book["Hospitals"]
    rows = list(sheet.iter_rows())
    stored = pl.read_parquet(made / "physicians.parquet")
    filled = [name for name in stored.columns if stored[name].null_count() < stored.height]
    assert [[cell.value for cell in row] for row in rows[1:]] == [
        list(row) for row in stored.select(filled).rows()
    ]
    assert sheet.freeze_panes == "B2"
    assert sheet.auto_filter.ref is not None
    assert rows[0][0].value == "hospital"
    assert "95 %" in str(rows[0][3].comment.text if rows[0][3].comment else "")


def test_nothing_in_the_workbook_is_a_formula_or_a_link(made: Path) -> None:
    book = openpyxl.load_workbook(made / "report.xlsx")
    kinds = {cell.data_type for sheet in book for row in sheet.iter_rows() for cell in row}
    assert kinds <= {"s", "n", "b"}
    assert "=cmd|' /C calc'!A0" in {cell.value for cell in book["Hospitals"]["A"]}
    with zipfile.ZipFile(made / "report.xlsx") as archive:
        sheets = [archive.read(name) for name in archive.namelist() if "worksheets/s" in name]
    assert not any(b"<f>" in each or b"hyperlink" in each for each in sheets)


def test_the_request_has_a_sheet_of_its_own(made: Path) -> None:
    sheet = openpyxl.load_workbook(made / "report.xlsx")["Request"]
    asked = {row[1].value: row[2].value for row in sheet.iter_rows()}
    assert asked["method used"] == "euclidean"
    assert asked["labels"] == "sbp==blood pressure"
    assert asked["smallest_cell"] == "11"


def test_the_text_has_styles_tables_and_pictures_with_words(made: Path) -> None:
    text = docx.Document(str(made / "report.docx"))
    headings = [each.text for each in text.paragraphs if each.style.name == "Heading 1"]
    assert headings[:3] == ["What was found", "What the number does not mean", "The hospitals"]
    first = text.tables[0]
    assert first.rows[0].cells[0].text == "hospital"
    assert len(first.rows) == 9
    described = [shape._inline.docPr.get("descr") for shape in text.inline_shapes]
    assert len(described) > 5
    assert all(described)


def test_the_pdf_has_every_physician_its_words_and_alternative_texts(made: Path) -> None:
    told = " ".join(pages_of(made / "report.pdf"))
    for words in ("Statins & more", "What was found", "All 8 hospitals together", "@SUM(A1)"):
        assert words in told
    assert "physician" not in told
    assert "<script>alert(1)</script>" in told.replace(" ", "")
    reader = pypdf.PdfReader(made / "report.pdf")
    assert reader.metadata is not None
    assert reader.metadata.title == "Statins & more"
    assert "/StructTreeRoot" in reader.root_object  # tagged for readers of screens


def test_every_part_is_in_their_words(hostile: Path) -> None:
    document = measurement_document(stored_outputs(hostile))
    told = [
        text
        for part in document.parts
        for value in vars(part).values()
        for text in (value if isinstance(value, list | tuple) else [value])
        if isinstance(text, str) and not isinstance(part, FramedPicture)
    ]
    assert not [text for text in told if "physician" in text.lower()]
    tables = [part for part in document.parts if isinstance(part, PlainTable)]
    for table in tables:
        assert all(len(row) == len(table.heads) == len(table.shares) for row in table.rows)
    (columns,) = [table for table in tables if table.heads[0] == "column"]
    assert "=blood pressure" in [row[0] for row in columns.rows]


def test_many_physicians_are_an_annex(hostile: Path) -> None:
    outputs = stored_outputs(hostile)
    many = pl.concat([outputs.physicians] * 5)
    document = measurement_document(
        type(outputs)(many, outputs.methods, outputs.summary, outputs.checks, outputs.diagnostics)
    )
    (table,) = document.parts[-1:]
    assert isinstance(table, PlainTable)
    assert len(table.rows) == 40


@pytest.mark.parametrize("form", ["pdf", "xlsx", "docx"])
def test_without_the_extra_nothing_is_written(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    shutil.copytree(hostile, tmp_path / "copy")
    before = {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()}
    monkeypatch.setattr(extra_packages, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r'get it with: pip install "intravar\[files\]"'):
        write_measurement_files(tmp_path / "copy", ["html", form])
    after = {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()}
    assert after == before


def test_a_damaged_measurement_and_a_file_of_ones_own_are_refused(
    hostile: Path, tmp_path: Path
) -> None:
    shutil.copytree(hostile, tmp_path / "copy")
    (tmp_path / "copy" / "report.docx").write_text("mine")
    with pytest.raises(InputError, match="was changed or is not of intravar"):
        write_measurement_files(tmp_path / "copy", ["xlsx", "docx"])
    (tmp_path / "copy" / "checks.json").write_text("{}")
    for form in ("pdf", "xlsx", "docx"):
        with pytest.raises(InputError, match=r"checks.json' does not fit: field 'schema'"):
            write_measurement_files(tmp_path / "copy", [form])
    with pytest.raises(InputError, match="unknown paper 'a5'"):
        write_measurement_files(tmp_path / "copy", ["pdf"], "a5")


def test_a_dark_page_is_light_on_paper() -> None:
    assert style_on_paper("/* a */ .x { fill: var(--nothing); }", {}) == ".x{fill: currentColor;}"


def test_text_of_reads_what_is_packed(made: Path) -> None:
    """The tests on privacy rest on this: cells, notes and alternative texts are all read."""
    for name, told in (
        ("report.xlsx", "upper end of its 95 % interval"),
        ("report.docx", "What was found"),
        ("report.pdf", "What was found"),
    ):
        assert told in text_of(made / name), name
    assert zipfile.is_zipfile(io.BytesIO((made / "report.xlsx").read_bytes()))
