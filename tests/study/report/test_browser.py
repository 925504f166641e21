"""The page in a real browser: Chromium opens it from disk, offline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import browsing
from browsing import CHROMIUM, launched, leave_few_of_a_kind, serious_problems
from study.report.conftest import HOSTILE

pytest.importorskip(
    "playwright.sync_api", reason="playwright is missing: pip install 'intravar[dev]'"
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser; get one with: apt-get install chromium"
)


GROUND = "getComputedStyle(document.body).backgroundColor"
COLOURS = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 22, 26)"}
#: Marks of physicians in the picture for a desk.
MARKS = "svg.wide [data-p]:not(.trace)"


class Visit(browsing.Visit):
    """A report that is open and ready."""

    def __init__(self, browser: Any, folder: Path, width: int = 1280, **options: Any) -> None:
        super().__init__(browser, folder / "report.html", width, **options)
        self.page.wait_for_selector("html[data-ready]", timeout=30_000)

    def lit(self, figure: str) -> int:
        """Return how many marks of a figure are not faded."""
        marks = self.page.locator(f"[data-figure='{figure}'] {MARKS}")
        opacities: list[str] = marks.evaluate_all("m => m.map(p => getComputedStyle(p).opacity)")
        return sum(1 for value in opacities if float(value) > 0.5)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture
def several(browser: Any, several_folder: Path) -> Iterator[Visit]:
    with Visit(browser, several_folder) as visit:
        yield visit


@pytest.mark.parametrize("folder", ["score2_folder", "whole_folder", "hostile_folder"])
@pytest.mark.parametrize("width", [1200, 380])
def test_opens_without_complaint_and_without_network(
    browser: Any, folder: str, width: int, request: pytest.FixtureRequest
) -> None:
    visit = Visit(browser, request.getfixturevalue(folder), width)
    page = visit.page
    assert visit.complaints == []
    assert visit.requests == [visit.address]
    assert page.title() == "Intra-physician variability: benchmark"
    plots = page.locator(".plot").count()
    layout = "narrow" if width == 380 else "wide"
    assert page.locator(f".plot svg.{layout}").count() == plots
    assert page.locator(".plot svg:visible").count() == plots
    assert page.locator(f".plot svg.{layout}:visible").count() == plots
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_first_view_is_quick(browser: Any, whole_folder: Path) -> None:
    visit = Visit(browser, whole_folder)
    paint = visit.page.evaluate(
        "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    )
    assert paint < 2_000


def test_network_is_forbidden_to_scripts(several: Visit) -> None:
    refused = several.page.evaluate(
        "fetch('https://example.org').then(() => 'fetched', () => 'refused')"
    )
    assert refused == "refused"
    assert any("Content Security Policy" in text for text in several.complaints)


def test_sorting(several: Visit) -> None:
    page = several.page
    heading = page.locator("#physician-table thead th").nth(4)
    assert heading.inner_text() == "Oracle"
    heading.get_by_role("button").click()
    values = (
        "[...document.querySelectorAll('#physician-table tbody td:nth-child(5) data')]"
        ".map(d => +d.value)"
    )
    up = page.evaluate(values)
    assert up == sorted(up)
    assert heading.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    down = page.evaluate(values)
    assert down == sorted(up, reverse=True)
    assert heading.get_attribute("aria-sort") == "descending"


def test_intervals_can_be_shown(several: Visit) -> None:
    page = several.page
    cell = page.locator("#physician-table tbody tr").nth(4).locator("td").nth(4)
    assert "[" not in cell.inner_text()
    page.check("#intervals")
    assert re.fullmatch(r"0\.\d{3}\s*\[0\.\d{3}, 0\.\d{3}\]", cell.inner_text())


def test_undefined_scores_sort_last_either_way(several: Visit) -> None:
    page = several.page
    for condition in page.locator("#which option").all():
        page.select_option("#which", condition.get_attribute("value"))
        if page.locator("#physician-table tbody td", has_text="—").count():
            break
    button = page.locator("#physician-table thead th").nth(5).get_by_role("button")
    for _ in range(2):
        button.click()
        assert (
            page.locator("#physician-table tbody tr").last.locator("td").nth(4).inner_text() == "—"
        )


def test_filtering(several: Visit) -> None:
    page = several.page
    rows = page.locator("#physician-table tbody tr")
    assert rows.count() == 20
    page.select_option("#group", "3")
    assert rows.count() == 4
    page.fill("#name", "p09")
    assert rows.count() == 1
    assert page.inner_text("#count") == "1 of 20 physicians"
    page.fill("#name", "")
    page.select_option("#which", label="continuous")
    assert rows.count() == 50
    assert not page.locator("#group").is_visible()


def test_a_physician_picked_in_a_figure_is_lit_everywhere(several: Visit) -> None:
    page = several.page
    everyone = several.lit("score2-panels")
    # The first panel holds one mark per physician.
    marks = page.locator(f"[data-figure='score2-panels'] {MARKS}")
    marks.nth(4).scroll_into_view_if_needed()
    marks.nth(4).click()
    page.wait_for_selector("tr.lit")
    name = page.inner_text("tr.lit th")
    assert page.inner_text("#lit-name") == f"{name} (score2)"
    page.wait_for_timeout(200)
    assert 0 < several.lit("score2-panels") < everyone / 10
    # Another condition has other physicians, whatever they are called.
    assert several.lit("copula-panels") > everyone / 2
    page.click("#unpick")
    page.wait_for_timeout(200)
    assert several.lit("score2-panels") == everyone
    assert page.locator("tr.lit").count() == 0


def test_a_physician_can_be_picked_with_the_keyboard(several: Visit) -> None:
    page = several.page
    button = page.locator("#physician-table tbody button").nth(2)
    button.focus()
    page.keyboard.press("Enter")
    pressed = page.locator("#physician-table tbody button[aria-pressed=true]")
    assert pressed.count() == 1
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    page.wait_for_timeout(200)
    assert 0 < several.lit("score2-panels") < 30
    page.keyboard.press("Enter")
    assert pressed.count() == 0


def test_marks_say_their_numbers_when_pointed_at(several: Visit) -> None:
    mark = several.page.locator(f"[data-figure='score2-panels'] {MARKS}").nth(4)
    hint = mark.locator("title").text_content()
    assert re.match(r"P\d+, GLMM: overdispersion \d\.\d{3}; 95 %", hint or "")


def test_hostile_names_can_be_hovered_picked_and_found(browser: Any, hostile_folder: Path) -> None:
    visit = Visit(browser, hostile_folder)
    page = visit.page
    for name in list(HOSTILE.values())[:7]:
        page.fill("#name", name.strip()[:30])
        buttons = page.locator("#physician-table tbody button")
        assert buttons.count() >= 1
        buttons.first.click()
        assert page.evaluate("document.getElementById('lit-name').textContent").startswith(
            name[:20]
        )
    mark = page.locator(f"[data-figure='score2-panels'] {MARKS}").first
    mark.scroll_into_view_if_needed()
    mark.hover()
    assert page.title() == "Intra-physician variability: benchmark"
    assert visit.complaints == []
    assert page.locator("img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_follows_the_system_and_the_button(
    browser: Any, score2_folder: Path, scheme: str
) -> None:
    visit = Visit(browser, score2_folder, color_scheme=scheme)
    other = "dark" if scheme == "light" else "light"
    assert visit.page.evaluate(GROUND) == COLOURS[scheme]
    visit.page.click("#theme")
    assert visit.page.evaluate(GROUND) == COLOURS[other]
    # On paper it is light, whatever the screen shows.
    visit.page.emulate_media(media="print")
    assert visit.page.evaluate(GROUND) == COLOURS["light"]


def test_without_script_the_numbers_are_still_there(browser: Any, score2_folder: Path) -> None:
    with browsing.Visit(browser, score2_folder / "report.html", script=False) as visit:
        page = visit.page
        assert page.locator("#physician-table tbody tr").count() == 20
        assert page.locator(".findings li").count() >= 3
        assert page.locator(".filters").is_hidden()


@pytest.mark.parametrize("folder", ["score2_folder", "whole_folder"])
def test_accessible(browser: Any, folder: str, request: pytest.FixtureRequest) -> None:
    visit = Visit(browser, request.getfixturevalue(folder), color_scheme="light")
    page = visit.page
    page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    page.locator("#physician-table tbody button").first.click()
    if folder == "whole_folder":
        # The figures of the whole are those of the one, many times over.
        page.evaluate("for (const e of document.querySelectorAll('.plot svg')) e.remove()")
    leave_few_of_a_kind(page)
    assert serious_problems(page) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(GROUND) == COLOURS["dark"]
    # Dark and light differ in their colours alone.
    rules = "['color-contrast']" if folder == "whole_folder" else "undefined"
    assert serious_problems(page, rules) == []
