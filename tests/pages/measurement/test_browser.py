"""The page of a measurement in a real browser: offline, harmless names, accessible, narrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import intravar
from browsing import AXE, CHROMIUM, launched, serious_problems
from intravar.pages.measurement.handover import write_measurement
from intravar.text import clean_name

pytest.importorskip(
    "playwright.sync_api", reason="playwright is missing: pip install 'intravar[dev]'"
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser; get one with: apt-get install chromium"
)

HOSTILE = [
    "<script>document.title='hacked'</script>",
    "\"double\" 'single' `back` & &amp; --> ]]>",
    "\u202eright to left\u202c \u200f",
    "Dr. " + "Very" * 49,
    "\U0001fa7a \U0001f469\u200d\u2695\ufe0f",
    "</script><img src=x onerror=\"document.title='hacked'\">",
]
COLUMNS = {
    "age": "</title><script>document.title='hacked'</script>",
    "hdl": "<b onclick=alert(1)>'own' \"column\"</b>",
    "sbp": "{{ 7 * 7 }} " + "x" * 120,
}
TITLE = "How consistently do they decide? 6 physicians measured"


@pytest.fixture(scope="module", params=["latent-rule", "euclidean"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    cohort = intravar.simulate("score2", n_patients=1500, n_physicians=6, seed=2)
    names = dict(zip([f"P0{n}" for n in range(1, 7)], HOSTILE, strict=True))
    table = cohort.to_polars().with_columns(pl.col("physician").replace_strict(names))
    found = intravar.measure(
        table.rename({name: new for name, new in COLUMNS.items() if name in table.columns}),
        physician="physician",
        decision="decision",
        method=request.param,
        methods=["mahalanobis"],
        min_reliability=0,
    )
    out = tmp_path_factory.mktemp("page") / "out"
    write_measurement(found, out, show_names=True, pairs_in_report=True)
    return out


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


class Visit:
    """A page that is open, and all that it asked for or complained of."""

    def __init__(self, browser: Any, folder: Path, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.address = (folder / "report.html").resolve().as_uri()
        self.page.goto(self.address)


@pytest.mark.parametrize("width", [1200, 380])
def test_opens_without_complaint_and_without_network(
    browser: Any, folder: Path, width: int
) -> None:
    visit = Visit(browser, folder, viewport={"width": width, "height": 800})
    assert visit.complaints == []
    assert visit.requests == [visit.address]
    assert visit.page.title() == TITLE
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.context.close()


def test_network_is_forbidden_to_scripts(browser: Any, folder: Path) -> None:
    visit = Visit(browser, folder)
    refused = visit.page.evaluate(
        "fetch('https://example.org').then(() => 'fetched', () => 'refused')"
    )
    assert refused == "refused"
    assert any("Content Security Policy" in text for text in visit.complaints)
    visit.context.close()


def test_hostile_names_stay_text(browser: Any, folder: Path) -> None:
    visit = Visit(browser, folder)
    page = visit.page
    assert page.locator("img").count() == 0
    assert page.locator("b").count() == 0
    assert page.locator("script").count() == 1
    cells = page.locator("#physicians tbody td:first-child").all_text_contents()
    # Marks that turn the direction of a text are not part of a name.
    names = [clean_name(name) for name in HOSTILE]
    assert sorted(cells) == sorted(names)
    for name in names:
        page.get_by_label("Find a physician or a reason").fill(name.strip()[:30])
        assert page.locator("#physicians tbody tr:not([hidden])").count() >= 1
    for heading in page.locator("#physicians th button").all():
        heading.click()
    assert page.title() == TITLE
    assert visit.complaints == []
    visit.context.close()


def test_without_script_the_numbers_are_still_there(browser: Any, folder: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "report.html").resolve().as_uri())
    assert page.locator("#physicians tbody tr").count() == 6
    assert page.locator(".findings li").count() >= 3
    context.close()


def labels_that_collide(page: Any) -> list[str]:
    """Return the texts of a picture that lie on each other or outside the picture."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('svg')].flatMap(svg => {
            const around = svg.getBoundingClientRect();
            const texts = [...svg.querySelectorAll('text')].map(
                t => [t, t.getBoundingClientRect(), t.firstChild.textContent]);
            const name = svg.querySelector('title').textContent;
            const problems = [];
            texts.forEach(([, a, one], i) => {
                if (a.left < around.left - 1 || a.right > around.right + 1)
                    problems.push(`${name}: '${one}' leaves the picture`);
                for (const [, b, other] of texts.slice(i + 1))
                    if (a.left < b.right - 1 && b.left < a.right - 1 &&
                        a.top < b.bottom - 3 && b.top < a.bottom - 3)
                        problems.push(`${name}: '${one}' on '${other}'`);
            });
            return problems;
        })"""
    )
    return found


def test_labels_do_not_collide(browser: Any, folder: Path) -> None:
    visit = Visit(browser, folder, viewport={"width": 1200, "height": 900})
    assert labels_that_collide(visit.page) == []
    visit.context.close()


@pytest.mark.skipif(not AXE.is_file(), reason="axe-core is missing; get it with: make browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible(browser: Any, folder: Path, scheme: str) -> None:
    visit = Visit(browser, folder, color_scheme=scheme)
    assert serious_problems(visit.page) == []
    visit.context.close()
