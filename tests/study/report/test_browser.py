"""The page in a real browser: Chromium opens it from disk, offline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import CHROMIUM, launched, leave_rows_of_a_kind, serious_problems
from study.report.conftest import HOSTILE

pytest.importorskip(
    "playwright.sync_api", reason="playwright is missing: pip install 'intravar[dev]'"
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser; get one with: apt-get install chromium"
)


#: Marks of physicians in the picture for a desk.
MARKS = "svg.wide [data-p]:not(.trace)"


class Visit:
    """A page that is open, and all that it asked for or complained of."""

    def __init__(self, browser: Any, folder: Path, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on(
            "console", lambda m: self.complaints.append(m.text) if m.type != "log" else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.address = (folder / "report.html").resolve().as_uri()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(self.address)
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
def whole(browser: Any, whole_folder: Path) -> Iterator[Visit]:
    visit = Visit(browser, whole_folder)
    yield visit
    visit.context.close()


@pytest.mark.parametrize("folder", ["score2_folder", "whole_folder", "hostile_folder"])
@pytest.mark.parametrize("width", [1200, 380])
def test_opens_without_complaint_and_without_network(
    browser: Any, folder: str, width: int, request: pytest.FixtureRequest
) -> None:
    visit = Visit(
        browser, request.getfixturevalue(folder), viewport={"width": width, "height": 800}
    )
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
    visit.context.close()


def test_first_view_is_quick(browser: Any, whole_folder: Path) -> None:
    visit = Visit(browser, whole_folder)
    paint = visit.page.evaluate(
        "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    )
    assert paint < 2_000
    visit.context.close()


def test_network_is_forbidden_to_scripts(whole: Visit) -> None:
    refused = whole.page.evaluate(
        "fetch('https://example.org').then(() => 'fetched', () => 'refused')"
    )
    assert refused == "refused"
    assert any("Content Security Policy" in text for text in whole.complaints)


def test_sorting(whole: Visit) -> None:
    page = whole.page
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


def test_intervals_can_be_shown(whole: Visit) -> None:
    page = whole.page
    cell = page.locator("#physician-table tbody tr").nth(4).locator("td").nth(4)
    assert "[" not in cell.inner_text()
    page.check("#intervals")
    assert re.fullmatch(r"0\.\d{3}\s*\[0\.\d{3}, 0\.\d{3}\]", cell.inner_text())


def test_undefined_scores_sort_last_either_way(whole: Visit) -> None:
    page = whole.page
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


def test_filtering(whole: Visit) -> None:
    page = whole.page
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


def test_a_physician_picked_in_a_figure_is_lit_everywhere(whole: Visit) -> None:
    page = whole.page
    everyone = whole.lit("score2-panels")
    # The first panel holds one mark per physician.
    marks = page.locator(f"[data-figure='score2-panels'] {MARKS}")
    marks.nth(4).scroll_into_view_if_needed()
    marks.nth(4).click()
    page.wait_for_selector("tr.lit")
    name = page.inner_text("tr.lit th")
    assert page.inner_text("#lit-name") == f"{name} (score2)"
    page.wait_for_timeout(200)
    assert 0 < whole.lit("score2-panels") < everyone / 10
    # Another condition has other physicians, whatever they are called.
    assert whole.lit("copula-panels") > everyone / 2
    page.click("#unpick")
    page.wait_for_timeout(200)
    assert whole.lit("score2-panels") == everyone
    assert page.locator("tr.lit").count() == 0


def test_a_physician_can_be_picked_with_the_keyboard(whole: Visit) -> None:
    page = whole.page
    button = page.locator("#physician-table tbody button").nth(2)
    button.focus()
    page.keyboard.press("Enter")
    pressed = page.locator("#physician-table tbody button[aria-pressed=true]")
    assert pressed.count() == 1
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    page.wait_for_timeout(200)
    assert 0 < whole.lit("score2-panels") < 30
    page.keyboard.press("Enter")
    assert pressed.count() == 0


def test_marks_say_their_numbers_when_pointed_at(whole: Visit) -> None:
    mark = whole.page.locator(f"[data-figure='score2-panels'] {MARKS}").nth(4)
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
    visit.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_theme_follows_the_system_and_the_button(
    browser: Any, score2_folder: Path, scheme: str
) -> None:
    visit = Visit(browser, score2_folder, color_scheme=scheme)
    ground = "getComputedStyle(document.body).backgroundColor"
    colours = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 22, 26)"}
    other = "dark" if scheme == "light" else "light"
    assert visit.page.evaluate(ground) == colours[scheme]
    visit.page.click("#theme")
    assert visit.page.evaluate(ground) == colours[other]
    # On paper it is light, whatever the screen shows.
    visit.page.emulate_media(media="print")
    assert visit.page.evaluate(ground) == colours["light"]
    visit.context.close()


def test_without_script_the_numbers_are_still_there(browser: Any, score2_folder: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((score2_folder / "report.html").resolve().as_uri())
    assert page.locator("#physician-table tbody tr").count() == 20
    assert page.locator(".findings li").count() >= 3
    assert page.locator(".filters").is_hidden()
    context.close()


@pytest.mark.parametrize("folder", ["score2_folder", "whole_folder"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible(browser: Any, folder: str, scheme: str, request: pytest.FixtureRequest) -> None:
    visit = Visit(browser, request.getfixturevalue(folder), color_scheme=scheme)
    visit.page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    visit.page.locator("#physician-table tbody button").first.click()
    leave_rows_of_a_kind(visit.page)
    # The figures of the whole are those of the one, many times over.
    left_out = "[]" if folder == "score2_folder" else "[['.plot svg']]"
    # Dark and light differ in their colours alone.
    rules = "['color-contrast']" if (folder, scheme) == ("whole_folder", "dark") else "undefined"
    assert serious_problems(visit.page, left_out, rules) == []
    visit.context.close()
