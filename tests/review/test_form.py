"""The form in a real browser: the keyboard alone, closed in the middle, nothing lost."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from browsing import CHROMIUM, launched, serious_problems
from intravar import review
from intravar.review.store import read_stored
from review_folders import stored_world

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


def test_a_review_with_the_keyboard_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr("intravar.documents.write_files", lambda *_: None)
    world = stored_world(tmp_path)
    pairs = review.draw(world.out, tmp_path / "packet", pairs=20, reviewers=2, twice=0.5)
    own = [pair for pair in pairs if "R2" in pair.reviewers]
    address = (tmp_path / "packet" / "review.html").as_uri()
    with launched() as browser:
        context = browser.new_context(offline=True, accept_downloads=True)
        page = context.new_page()
        errors: list[object] = []
        page.on("pageerror", lambda error: errors.append(error))
        page.goto(address)
        # Nobody is chosen beforehand: a reviewer says who they are.
        assert page.locator("#work").is_hidden()
        keys = page.keyboard
        keys.press("Tab")
        keys.press("Tab")
        keys.press("Enter")
        assert page.locator("#who").inner_text() == "Reviewer R2"
        assert own[0].pair in page.locator("#title").inner_text()
        keys.press("1")
        keys.press("ArrowRight")
        keys.press("2")
        keys.press("B")
        keys.press("Enter")
        keys.press("3")
        page.locator("#comment").focus()
        keys.type("2 letters in the chart, s")  # keys mean nothing else here
        page.close()
        again = context.new_page()  # the same browser, opened later
        again.goto(address)
        again.get_by_role("button", name="Reviewer R2").press("Enter")
        assert f"3 of {len(own)} answered" in again.locator("#count").inner_text()
        assert own[2].pair in again.locator("#title").inner_text()
        assert again.locator("#comment").input_value() == "2 letters in the chart, s"
        again.keyboard.press("ArrowLeft")
        assert again.locator("#reason input:checked").get_attribute("value") == review.REASONS[1]
        again.keyboard.press("N")
        assert own[3].pair in again.locator("#title").inner_text()
        again.evaluate("window.showSaveFilePicker = undefined")
        with again.expect_download() as saving:
            again.keyboard.press("s")
        saving.value.save_as(tmp_path / "answers-R2.json")
        assert serious_problems(again) == []
        assert errors == []
    stored = json.loads((tmp_path / "answers-R2.json").read_text("utf-8"))
    assert stored["reviewer"] == "R2"
    review.read(world.out, [tmp_path / "answers-R2.json"])
    kept = read_stored(world.private).answers
    assert list(kept) == ["R2"]
    told = [(given.answer, given.reason, given.comment) for given in kept["R2"].values()]
    assert told == [
        ("comparable", "", ""),
        ("different", review.REASONS[1], ""),
        ("unsure", "", "2 letters in the chart, s"),
    ]


@pytest.mark.slow
def test_a_workbook_comes_back_through_libreoffice(tmp_path: Path) -> None:
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        pytest.skip("needs LibreOffice")
    import openpyxl

    world = stored_world(tmp_path)
    review.draw(world.out, tmp_path / "packet", pairs=20)
    file = tmp_path / "packet" / "answers-R1.xlsx"
    book = openpyxl.load_workbook(file)
    for row in range(2, 22):
        book["answers"].cell(row, 2).value = "comparable"
    book.save(file)
    out = tmp_path / "office"
    command = [office, "--headless", f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"]
    command += ["--convert-to", "xlsx", "--outdir", str(out), str(file)]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    saved = openpyxl.load_workbook(out / file.name)["answers"]
    assert len(saved.data_validations.dataValidation) == 2
    from intravar.review.reading import read_answers

    found = read_answers([out / file.name], read_stored(world.private))
    assert [given.answer for given in found["R1"].values()] == ["comparable"] * 20
