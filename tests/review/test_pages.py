"""A review on the page, in the PDF, the workbook and on the sheets."""

from dataclasses import replace
from pathlib import Path

import openpyxl

from intravar import documents, review
from intravar.documents.sheet import facts
from intravar.publication.results import Figure, Review
from intravar.publication.sentences import review_lines, review_sentence
from intravar.request import Request
from intravar.review.store import read_stored, write_stored
from made_published import made_published
from read_files import text_of
from review_folders import stored_world

TOLD = Review(Figure(0.13, 0.09, 0.18), 120, 0.21, 0.01)


def test_the_first_sentence() -> None:
    assert review_sentence(TOLD) == (
        "Of 100 pairs of patients that reviewers found comparable, 13 [9, 18] were decided "
        "differently; of all pairs alike in the record, 21 were."
    )
    above = review_sentence(replace(TOLD, record=0.1))
    assert above.endswith("differently; of all pairs alike in the record, 10 were.")


def test_rounding_is_explained_where_it_is_coarse() -> None:
    assert not any("rounded" in line for line in review_lines(TOLD))
    lines = review_lines(replace(TOLD, step=0.05, n_left=40))
    assert any("rounded to 5 of 100, because" in line for line in lines)
    assert "40 are left" in lines[0]


def test_a_review_reaches_every_document(tmp_path: Path) -> None:
    world = stored_world(tmp_path, n_physicians=10, n_each=80)
    documents.write_files(world.out, ["html", "pdf", "xlsx"])
    given = {}
    for pair in review.draw(world.out, pairs=120):
        same = world.comparable(pair.a.patient, pair.b.patient)
        given[pair.pair] = review.Answer("comparable" if same else "different")
    stored = replace(read_stored(world.private), answers={"R1": given})
    write_stored(world.private, stored)
    assert review.read(world.out).published
    page = (world.out / "report.html").read_text("utf-8")
    sentence = "pairs of patients that reviewers found comparable"
    assert sentence in page
    assert sentence in text_of(world.out / "report.pdf").replace("\n", " ")
    book = openpyxl.load_workbook(world.out / "report.xlsx")
    cells = [str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row]
    assert any(sentence in cell for cell in cells)


def test_a_sheet_tells_the_own_figure_only_where_it_is_published() -> None:
    decision = made_published(["P-1"], Request(physician="a", decision="b")).first
    row, words = decision.physicians[0], Request(physician="a", decision="b").words

    def told(review: Review | None) -> list[str]:
        every = facts(row, replace(decision, review=review), words)
        return [value for name, value in every if "reviewers" in name]

    assert told(None) == []
    assert told(TOLD) == ["13 of 100"]
    own = replace(TOLD, physicians={"P-1": Figure(0.2, 0.1, 0.3)})
    assert told(own) == ["20 of 100"]
