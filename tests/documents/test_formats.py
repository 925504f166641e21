"""A measurement as PDF, workbook and text: complete, typed, harmless, and the same every time."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from html import unescape
from pathlib import Path

import docx
import openpyxl
import polars as pl
import pypdf
import pytest

from intravar.documents import typesetting
from intravar.documents.blocks import Document, Figure, Note, tables, text_lines, walk
from intravar.documents.colours import on_paper
from intravar.documents.measurement.handover import MEASUREMENT_FORMATS, write_files
from intravar.documents.measurement.report import report
from intravar.errors import InputError
from intravar.publication.files import read_published
from intravar.tables import Table
from read_files import pages_of, text_of

FILES = ["report.pdf", "report.xlsx", "report.docx"]


@pytest.fixture(scope="module")
def made(hostile: Path) -> Path:
    written = write_files(hostile, list(MEASUREMENT_FORMATS))
    assert [path.name for path in written] == ["report.html", "physicians.html", *FILES]
    return hostile


def test_the_same_measurement_gives_the_same_files(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "copy")
    for name in FILES:
        (tmp_path / "copy" / name).unlink()
    write_files(tmp_path / "copy", ["pdf", "xlsx", "docx"])
    for name in FILES:
        assert (tmp_path / "copy" / name).read_bytes() == (made / name).read_bytes(), name


def test_measuring_again_may_replace_them(made: Path) -> None:
    listed = json.loads((made / "intravar.json").read_text("utf-8"))["files"]
    assert set(FILES) <= set(listed)


@pytest.fixture(scope="module")
def document(hostile: Path) -> Document:
    return report(read_published(hostile))


def plain(text: str) -> str:
    """Return a text without spaces, which formats break at different places."""
    return re.sub(r"[\s\u200b\u00ad]+", "", unescape(text))


def test_the_four_formats_say_the_same(made: Path, document: Document) -> None:
    """Every sentence of the document is in every format, every cell of its tables too."""
    docx_text = plain(re.sub(r"<[^>]+>", "", text_of(made / "report.docx")))
    xlsx_text = plain(re.sub(r"<[^>]+>", "", text_of(made / "report.xlsx")))
    texts = {
        "html": plain(re.sub(r"<[^>]+>", "", (made / "report.html").read_text("utf-8"))),
        "pdf": plain(" ".join(pages_of(made / "report.pdf"))),
        "docx": docx_text,
    }
    described = {block.alternative for block in walk(document.blocks) if isinstance(block, Figure)}
    captions = {table.caption for table in tables(document)}
    for aside, text in text_lines(document.blocks):
        if text in described or any(text.startswith(each) for each in described | captions if each):
            continue
        for part in (aside, text):
            assert plain(part) in xlsx_text, part
            for name, whole in texts.items():
                assert plain(part) in whole, (name, part)
    for table in tables(document):
        for where, names in (("page", ("html",)), ("paper", ("pdf", "docx"))):
            shown = table.on(where)
            texts_of = [cell.text for row in shown.rows for cell in row.cells]
            cells = [plain(text) for text in texts_of if text.isascii()]  # read backwards else
            heads = [plain(column.heading) for column in shown.columns]
            for name in names:
                assert not [cell for cell in cells + heads if cell not in texts[name]], name


def test_the_workbook_holds_the_tables_with_their_types(made: Path, document: Document) -> None:
    book = openpyxl.load_workbook(made / "report.xlsx")
    listed: list[Table] = tables(document)
    assert book.sheetnames == ["Summary", *(table.name for table in listed), "Columns"]
    for table in listed:
        shown = table.on("workbook")
        rows = list(book[table.name].iter_rows())
        assert [cell.value for cell in rows[0]] == [column.heading for column in shown.columns]
        for row, cells in zip(shown.rows, rows[1:], strict=True):
            for cell, written in zip(row.cells, cells, strict=True):
                if isinstance(cell.value, int | float):
                    assert written.value == cell.value
                else:
                    assert (written.value or "") == ("" if cell.text == "–" else cell.text)
        assert book[table.name].freeze_panes == "B2"
        assert book[table.name].auto_filter.ref is not None
    stored = pl.read_parquet(made / "physicians.parquet")
    hospitals = book["Hospitals"]
    assert hospitals["A1"].value == "hospital"
    assert {cell.value for cell in hospitals["A"]} >= set(stored["physician"].to_list())


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
    assert asked["method"] == "euclidean"
    assert asked["labels"] == "sbp==blood pressure"
    assert asked["smallest_cell"] == "11"


def test_the_text_has_styles_tables_and_pictures_with_words(made: Path) -> None:
    text = docx.Document(str(made / "report.docx"))
    headings = [each.text for each in text.paragraphs if each.style.name.startswith("Heading")]
    assert headings[1] == "Do the hospitals differ?"
    assert "The hospitals" in headings
    first = text.tables[0]
    assert first.rows[0].cells[0].text == "hospital"
    described = [shape._inline.docPr.get("descr") for shape in text.inline_shapes]
    assert len(described) > 5
    assert all(described)
    xml = text_of(made / "report.docx")
    assert all("<w:tc>" in row for row in re.findall(r"<w:tr>.*?</w:tr>", xml, re.DOTALL))
    assert "What was asked for." not in xml


def test_the_pdf_has_names_words_and_tags(made: Path) -> None:
    told = " ".join(pages_of(made / "report.pdf"))
    for words in ("Statins & more", "Do the hospitals differ?", "@SUM(A1)"):
        assert words in told
    assert "physician" not in told
    assert "<script>alert(1)</script>" in told.replace(" ", "")
    reader = pypdf.PdfReader(made / "report.pdf")
    assert reader.metadata is not None
    assert reader.metadata.title == "Statins & more"
    assert "/StructTreeRoot" in reader.root_object  # tagged for readers of screens


@pytest.mark.parametrize("form", ["pdf", "xlsx", "docx"])
def test_without_the_extra_nothing_is_written(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    shutil.copytree(hostile, tmp_path / "copy")
    before = {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()}
    monkeypatch.setattr(typesetting, "find_spec", lambda _name: None)
    with pytest.raises(InputError, match=r'get it with: pip install "intravar\[files\]"'):
        write_files(tmp_path / "copy", ["html", form])
    after = {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()}
    assert after == before


def test_a_damaged_measurement_and_a_file_of_ones_own_are_refused(
    hostile: Path, tmp_path: Path
) -> None:
    shutil.copytree(hostile, tmp_path / "copy")
    (tmp_path / "copy" / "report.docx").write_text("mine")
    with pytest.raises(InputError, match="was changed or is not of intravar"):
        write_files(tmp_path / "copy", ["xlsx", "docx"])
    (tmp_path / "copy" / "summary.json").write_text('{"what": "measurement"}')
    for form in ("pdf", "xlsx", "docx"):
        with pytest.raises(InputError, match=r"summary.json' does not fit: field 'schema'"):
            write_files(tmp_path / "copy", [form])
    with pytest.raises(InputError, match="unknown paper 'a5'"):
        write_files(tmp_path / "copy", ["pdf"], "a5")


def test_a_dark_page_is_light_on_paper() -> None:
    picture = on_paper('<svg><g fill="var(--ground)" stroke="var(--nothing)"/></svg>', {})
    assert picture.endswith('<g fill="#ffffff" stroke="currentColor"/></svg>')
    assert "var(" not in picture
    # What a page does at some width, or under a pointer, is not for paper.
    assert not re.search(r"@media|:hover|display: none; \}\s*svg", picture)


def test_an_alarm_does_not_look_like_a_caution_on_paper() -> None:
    looks = ("good", "care", "alarm", "figure", "comment")
    made = {typesetting.as_pdf(Document("", "", [Note("Note.", "Text.", look)])) for look in looks}
    assert len(made) == len(looks)


def test_text_of_reads_what_is_packed(made: Path) -> None:
    """The tests on privacy rest on this: cells, notes and alternative texts are all read."""
    for name, told in (
        ("report.xlsx", "upper end of its 95 % interval"),
        ("report.docx", "What to do next"),
        ("report.pdf", "What to do next"),
    ):
        assert told in text_of(made / name), name
    assert zipfile.is_zipfile(io.BytesIO((made / "report.xlsx").read_bytes()))
