"""PDF, workbook, text and sheets say no more than what is published beside them."""

import io
import json
import re
import shutil
from pathlib import Path

import docx
import openpyxl
import polars as pl
import pytest

import intravar
from intravar.documents.measurement.handover import write_files, write_sheets
from read_files import pages_of, text_of

pytestmark = pytest.mark.usefixtures("learned_once")

NUMBER = re.compile(r"(?<![\d.])\d\.\d{2,}(?![\d.])")
SMALL = 8  # patients of one physician, whose panel must stay hidden


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Measure seven physicians, one of whom has few patients, and make every file of it."""
    cohort = intravar.simulate(
        "score2", n_patients=1000, n_physicians=7, random_state=5
    ).to_polars()
    few = cohort.filter(pl.col("physician") == "P07").head(SMALL)
    table = pl.concat([cohort.filter(pl.col("physician") != "P07"), few]).with_columns(
        pl.format("Dr. Secret {}", "physician").alias("physician")
    )
    found = intravar.measure(
        table, physician="physician", decision="decision", method="euclidean", min_reliability=0
    )
    out = tmp_path_factory.mktemp("handed") / "out"
    intravar.write_measurement(found, out)
    write_files(out, ["html", "pdf", "xlsx", "docx"])
    write_sheets(out, out.with_name("sheets"), formats=["html", "pdf"])
    return out


def files_of(folder: Path) -> list[Path]:
    """Return everything that is handed on in a form that people use."""
    return [
        *(path for path in folder.iterdir() if path.stem == "report"),
        *(path for path in folder.with_name("sheets").iterdir() if path.suffix != ".json"),
    ]


def test_they_follow_from_what_is_published_alone(folder: Path, tmp_path: Path) -> None:
    """Whoever has the folder that is handed on could make them: no private number is in them."""
    shutil.copytree(folder, tmp_path / "out")
    for path in (tmp_path / "out").glob("report.*"):
        path.unlink()
    listing = tmp_path / "out" / "intravar.json"
    kept = json.loads(listing.read_text("utf-8"))
    kept["files"] = {name: each for name, each in kept["files"].items() if "report" not in name}
    listing.write_text(json.dumps(kept), "utf-8")
    write_files(tmp_path / "out", ["html", "pdf", "xlsx", "docx"])
    write_sheets(tmp_path / "out", tmp_path / "sheets", formats=["html", "pdf"])
    made = {path.name: path.read_bytes() for path in files_of(tmp_path / "out")}
    assert made == {path.name: path.read_bytes() for path in files_of(folder)}
    assert len(made) == 4 + 2 * 6 + 1


def test_no_name_and_no_row_of_the_source_is_in_them(folder: Path) -> None:
    for path in files_of(folder):
        assert "Secret" not in text_of(path), path.name


def published_numbers(folder: Path) -> set[str]:
    """Return every fraction that is published, as it may be written."""
    files = [path for path in folder.iterdir() if path.suffix in (".json", ".csv")]
    texts = [path.read_text("utf-8") for path in files]
    values = {float(found) for text in texts for found in re.findall(r"\d+\.\d+", text)}
    return {f"{value:.{digits}f}" for value in values for digits in (1, 2, 3)}


def test_every_fraction_in_text_and_workbook_is_a_published_one(folder: Path) -> None:
    known = published_numbers(folder)
    text = docx.Document(str(folder / "report.docx"))
    cells = [cell.text for table in text.tables for row in table.rows for cell in row.cells]
    told = "\n".join([*(paragraph.text for paragraph in text.paragraphs), *cells])
    assert set(NUMBER.findall(told)) <= known
    book = openpyxl.load_workbook(io.BytesIO((folder / "report.xlsx").read_bytes()))
    values = [cell.value for sheet in book for row in sheet.iter_rows() for cell in row]
    fractions = {f"{abs(value)}" for value in values if isinstance(value, float)}
    hundredths = {f"{round(100 * float(value), 1)}" for value in known}
    allowed = known | hundredths | {"0.0", "1.0"}
    assert {value for value in fractions if len(value) > 3} <= allowed
    drawn = set(NUMBER.findall((folder / "report.html").read_text("utf-8")))
    for page in pages_of(folder / "report.pdf"):
        assert set(NUMBER.findall(page)) <= known | drawn


def test_whoever_is_hidden_is_hidden_in_them_too(folder: Path) -> None:
    stored = pl.read_parquet(folder / "physicians.parquet")
    (hidden,) = stored.filter(pl.col("n_patients").is_null() & ~pl.col("reportable"))["physician"]
    sheet = openpyxl.load_workbook(folder / "report.xlsx")["Physicians"]
    (row,) = [each for each in sheet.iter_rows(values_only=True) if each[0] == hidden]
    assert {value for value in row[1:] if value is not None} == {
        False,
        "at most 11 decisions, too few to publish",
    }
    # Without a figure there is no sheet.
    sheets = [path.name for path in folder.with_name("sheets").iterdir()]
    assert not [name for name in sheets if hidden in name]
    assert hidden not in (folder.with_name("sheets") / "sheets.csv").read_text("utf-8")


def test_a_sheet_names_nobody_else(folder: Path) -> None:
    shown = pl.read_parquet(folder / "physicians.parquet")["physician"].to_list()
    for path in folder.with_name("sheets").glob("P-*"):
        assert [name for name in shown if name in text_of(path)] in ([path.stem], []), path.name
