"""Several decisions on a page, in a document and in a workbook: from what is published alone."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import intravar
from documents.made_several import made_several
from intravar.cli import main
from intravar.documents.blocks import Figure, tables, text_lines, walk
from intravar.documents.html import as_html
from intravar.documents.measurement.handover import MEASUREMENT_FORMATS, write_files, write_sheets
from intravar.documents.measurement.report import report
from intravar.documents.sheet import sheet
from intravar.errors import InputError
from intravar.publication import read_published
from intravar.publication.disclosure import without_figures
from intravar.publication.results import Figure as Share
from intravar.publication.results import Published
from read_files import text_of

pytestmark = pytest.mark.usefixtures("learned_once")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cohort = intravar.simulate("multi-interacting", n_patients=480, n_physicians=4, random_state=3)
    measured = intravar.measure(
        cohort.to_polars(),
        physician="physician",
        decision="decision,decision_2",
        exclude=["decision_3"],
        min_reliability=0.0,
        decider_word="team,teams",
    )
    out = tmp_path_factory.mktemp("joint") / "out"
    intravar.write_measurement(measured, out)
    return out


def test_the_page_escapes_names_and_every_figure_has_words() -> None:
    document = report(made_several())
    page = as_html(document)
    assert "<inhibitor>" not in page
    assert "ace &lt;inhibitor&gt;" in page
    assert "at most 45 differ in at least one of 3 decisions (estimate of the limit: 40)" in page
    (together,) = [each for each in tables(document) if each.name == "Together"]
    headings = [column.heading for column in together.columns]
    end = headings.index("in at least one, at most")
    assert headings[end + 1] == "estimate"
    cells = [tuple(cell.text for cell in row.cells[end : end + 2]) for row in together.rows]
    assert ("–", "20 to 45") in cells
    for word in ("across", "given", "apart", "steadiness", "Steadiness"):
        assert not re.search(rf"<th[^>]*>{word}|{word}:", page)
    # A caption may be a paragraph: it is not bold.
    assert not re.search(r"caption \{[^}]*font-weight: 600", page)
    assert re.search(
        r'<a href="#decision-1">.*<details class="annex" id="decision-1">', page, re.DOTALL
    )
    figures = [each for each in walk(document.blocks) if isinstance(each, Figure)]
    names = [figure.name for figure in figures]
    assert names[:3] == ["hundred-pairs", "order", "pairs-picture"]
    assert len(set(names)) == len(names)
    for figure in figures:
        assert all(re.search(r"<title>[^<]+</title><desc>[^<]+</desc>", s) for s in figure.svgs)


def test_decisions_that_go_together_less_lie_left_of_zero() -> None:
    published = made_several()
    joint = published.joint
    assert joint is not None
    pairs = tuple(replace(row, correlation=Share(-0.3, -0.5, -0.1)) for row in joint.pairs)
    document = report(replace(published, joint=replace(joint, pairs=pairs)))
    figures = {each.name: each for each in walk(document.blocks) if isinstance(each, Figure)}
    svg = figures["pairs-picture"].svgs[0]
    zero = re.search(r'x="([\d.]+)"[^>]*>0</text>', svg)
    assert zero is not None
    marks = re.findall(r'<circle[^>]* cx="([\d.]+)"', svg)
    assert marks
    assert all(float(mark) < float(zero[1]) for mark in marks)


def told(published: Published) -> str:
    return " ".join(text for _, text in text_lines(report(published).blocks))


def test_what_to_do_next_begins_with_the_decision_that_differs_most() -> None:
    published = made_several()
    first, second, third = published.decisions
    joint = published.joint
    assert joint is not None
    every = tuple(
        replace(each, discordance=0.393) if each.decision == second.decision else each
        for each in joint.decisions
    )
    published = replace(published, joint=replace(joint, decisions=every))
    estimate = "estimate of the limit: " if first.claim == "at most" else ""
    why = f"comparable patients differ most often in it ({estimate}39 of 100)"
    assert f"Take ace <inhibitor> first: {why}." in told(published)
    unread = without_figures(replace(third, verdict="not interpretable"))
    text = told(replace(published, decisions=(first, second, unread)))
    assert "Take metformin first: it is not interpretable." in text


def test_that_nobody_has_a_joint_figure_is_said() -> None:
    published = made_several()
    joint = published.joint
    assert joint is not None
    said = "No physician has a joint figure: few decisions"
    assert said not in told(published)
    assert said in told(replace(published, joint=replace(joint, n_reportable=0, n_banded=0)))


def test_a_decision_has_one_figure_of_all(folder: Path) -> None:
    published = read_published(folder)
    assert published.joint is not None
    for row, each in zip(published.joint.decisions, published.decisions, strict=True):
        assert each.group is not None
        assert row.discordance == each.group.discordance.value


def test_many_in_each_decision_are_not_printed() -> None:
    for n, printed in ((30, True), (100, False)):
        listed = {table.name: table for table in tables(report(made_several(n)))}
        assert bool(listed["Each decision"].on("paper").columns) is printed
        assert listed["Each decision"].on("page").columns


def test_a_sheet_of_several_decisions() -> None:
    outputs = made_several()
    for who, figure in (("P-0000", "at most 40 of 100"), ("P-0001", "estimate 40 to 88 of 100")):
        document = sheet(outputs, who, called="Ada")
        text = "\n".join(f"{aside} {told}" for aside, told in text_lines(document.blocks))
        assert figure in text
        assert "Each of your decisions" in text
        assert "P-0002" not in as_html(document)
    statin = replace(outputs.first, verdict="group only")
    unordered = replace(outputs, decisions=(statin, *outputs.decisions[1:]))
    document = sheet(unordered, "P-0000", called="Ada")
    assert "they cannot be compared with yours" in as_html(document)


def test_the_report_and_sheets_are_made_in_every_format(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "report.html").read_bytes()
    with pytest.raises(SystemExit) as left:
        main(["report", str(folder), "--format", ",".join(MEASUREMENT_FORMATS), "--json"])
    assert left.value.code == 0
    written = [Path(path).name for path in json.loads(capsys.readouterr().out)]
    assert written == ["report.html", "physicians.html", "report.pdf", "report.xlsx", "report.docx"]
    assert (folder / "report.html").read_bytes() == before
    for name in (name for name in written if name.startswith("report.")):
        text = re.sub(r"[\s\u200b]+", " ", text_of(folder / name))
        assert "in at least one of 2 decisions" in text, name
        assert "team" in text, name
        assert pl.read_parquet(folder / "joint.parquet")["physician"][0] in text, name
        assert "P01" not in text
    for table in ("Together", "Each decision", "Pairs"):
        assert f'name="{table}"' in text_of(folder / "report.xlsx")
    sheets = write_sheets(folder, tmp_path / "sheets")
    assert sheets.files[-1].name == "sheets.csv"
    surprising = write_sheets(folder, tmp_path / "cases", cases=True)
    assert surprising.private
    shown = [text_of(path) for path in surprising.files if path.suffix == ".html"]
    assert len(shown) == len(sheets.files) - 1
    assert any("Decisions of yours that surprised" in text for text in shown)


def test_exact_sheets_of_several_decisions_hold_what_is_kept_in_private(folder: Path) -> None:
    private = folder.with_name("out-private")
    key = json.loads((private / "key.json").read_text("utf-8"))["physicians"]
    shown = next(iter(key))
    one = write_sheets(folder, physician=shown, exact=True)
    assert one.private
    assert one.files[0].is_relative_to(private)
    text = re.sub(r"\s+", " ", text_of(one.files[0]))
    kept = pl.read_parquet(private / "joint.parquet").filter(physician=key[shown])
    assert f"at most {math.ceil(100 * kept['differ_high'][0])} of 100" in text
    for name in ("figures.parquet", "figures-2.parquet"):
        alone = pl.read_parquet(private / name).filter(physician=key[shown])
        high, estimate = math.ceil(100 * alone["high"][0]), round(100 * alone["discordance"][0])
        assert f"you at most {high} (estimate of the limit: {estimate})" in text


def test_a_damaged_folder_is_said_to_be(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "joint.parquet").write_bytes(b"no table")
    with pytest.raises(InputError, match="joint.parquet' cannot be read"):
        write_files(copy, ["html"])
