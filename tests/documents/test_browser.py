"""The page of a measurement in a real browser: offline, harmless names, accessible, any width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import intravar
from browsing import CHROMIUM, Visit, all_problems, launched, leave_few_of_a_kind
from documents.many_physicians import many_physicians
from intravar.documents.measurement.handover import pages, write_measurement
from intravar.publication.files import read_published
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
    "\u202eright to left\u202c \u200f\u05d0\u05d1\u05d2",
    "Dr. " + "Very" * 49,
    "\U0001fa7a \U0001f469\u200d\u2695\ufe0f",
    "</script><img src=x onerror=\"document.title='hacked'\">",
]
COLUMNS = {
    "age": "</title><script>document.title='hacked'</script>",
    "hdl": "<b onclick=alert(1)>'own' \"column\"</b>",
    "sbp": "{{ 7 * 7 }} " + "x" * 120,
}
TITLE = "How consistently do physicians decide about comparable patients?"
WIDTHS = (1440, 1280, 800, 390)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A measurement whose names and columns do what they can to break the page."""
    cohort = intravar.simulate("score2", n_patients=900, n_physicians=6, random_state=2)
    names = dict(zip([f"P0{n}" for n in range(1, 7)], HOSTILE, strict=True))
    table = cohort.to_polars().with_columns(pl.col("physician").replace_strict(names))
    found = intravar.measure(
        table.rename({name: new for name, new in COLUMNS.items() if name in table.columns}),
        physician="physician",
        decision="decision",
        method="euclidean",
        methods=["mahalanobis"],
        min_reliability=0,
    )
    out = tmp_path_factory.mktemp("page") / "out"
    write_measurement(found, out, show_names=True, pairs_in_report=True)
    return out


@pytest.fixture(scope="module")
def large(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Pages of many physicians with ordinary names."""
    published = read_published(folder)
    found = {}
    for n in (30, 500, 20_000):
        found[n] = tmp_path_factory.mktemp(f"large-{n}")
        for name, page in pages(many_physicians(published, n)).items():
            (found[n] / name).write_bytes(page)
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


def collisions(page: Any) -> list[str]:
    """Return the texts of a picture that lie on each other or outside the picture."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('svg')].flatMap(svg => {
            const around = svg.getBoundingClientRect();
            if (!around.width) return [];
            const texts = [...svg.querySelectorAll('text')].map(
                t => [t, t.getBoundingClientRect(), t.textContent]);
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


def cut(page: Any) -> list[str]:
    """Return what is wider than the place that it has."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll('main *, header *')]
            .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1
                && getComputedStyle(e).overflowX !== 'visible' && !e.closest('.hidden'))
            .map(e => `${e.tagName} ${e.id || e.getAttribute('aria-label') || e.className}`)"""
    )
    return found


@pytest.mark.parametrize("width", WIDTHS)
def test_opens_at_every_width_without_complaint_and_without_network(
    browser: Any, folder: Path, width: int
) -> None:
    with Visit(browser, folder / "report.html", width) as visit:
        assert visit.complaints == []
        assert visit.requests == [visit.address]
        assert visit.page.title() == TITLE
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        assert collisions(visit.page) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut(browser: Any, large: dict[int, Path], width: int) -> None:
    with Visit(browser, large[30] / "report.html", width) as visit:
        assert cut(visit.page) == []
        assert collisions(visit.page) == []
    with Visit(browser, large[30] / "physicians.html", width) as visit:
        assert visit.complaints == []
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width


def test_page_one_is_one_screen(browser: Any, large: dict[int, Path]) -> None:
    with Visit(browser, large[30] / "report.html") as visit:
        bottom = visit.page.evaluate(
            "document.querySelector('.cards').getBoundingClientRect().bottom"
        )
        assert bottom <= 1000


def test_network_is_forbidden_to_scripts(browser: Any, folder: Path) -> None:
    with Visit(browser, folder / "report.html") as visit:
        refused = visit.page.evaluate(
            "fetch('https://example.org').then(() => 'fetched', () => 'refused')"
        )
        assert refused == "refused"
        assert any("Content Security Policy" in text for text in visit.complaints)


@pytest.mark.parametrize("file", ["report.html", "physicians.html"])
def test_hostile_names_stay_text(browser: Any, folder: Path, file: str) -> None:
    with Visit(browser, folder / file) as visit:
        page = visit.page
        title = page.title()
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
        assert page.title() == title
        assert visit.complaints == []


def test_the_table_sorts_and_searches(browser: Any, folder: Path) -> None:
    stored = pl.read_parquet(folder / "physicians.parquet").drop_nulls("shrunken")
    with Visit(browser, folder / "report.html") as visit:
        first = "#physicians tbody tr:not([hidden]) td:first-child"
        heading = visit.page.get_by_role("button", name="shrunken")
        heading.click()
        up = visit.page.locator(first).all_text_contents()[: stored.height]
        heading.click()
        down = visit.page.locator(first).all_text_contents()[: stored.height]
        value = dict(stored.select("physician", "shrunken").iter_rows())
        assert [value[name] for name in up] == sorted(value.values())
        assert [value[name] for name in down] == sorted(value.values(), reverse=True)
        visit.page.get_by_label("Find a physician or a reason").fill("VeryVery")
        assert visit.page.locator(first).all_text_contents() == [HOSTILE[3]]
        assert visit.page.locator("#status").text_content() == "1 of 6 physicians"


def test_a_physician_is_lit_everywhere_and_hovering_tells_values(
    browser: Any, large: dict[int, Path]
) -> None:
    for n in (30, 500):
        with Visit(browser, large[n] / "report.html") as visit:
            page = visit.page
            page.locator("#physicians td button").nth(3).click()
            name = page.locator("#picked").text_content()
            assert page.locator("tr.lit td:first-child").text_content() == name
            for figure in ("physicians-picture", "funnel", "overlap"):
                assert page.locator(f"#{figure} svg:visible circle.lit").count() >= 1
            page.locator("#funnel svg.wide circle.lit").hover()
            tip = page.locator("#tip")
            assert tip.is_visible()
            assert name in (tip.text_content() or "")
            page.keyboard.press("Escape")
            assert page.locator(".lit").count() == 0
            assert visit.complaints == []


def test_without_script_everything_is_there(browser: Any, folder: Path) -> None:
    with Visit(browser, folder / "report.html", script=False) as visit:
        assert visit.page.locator("#physicians tbody tr").count() == 6
        assert visit.page.locator(".card").count() >= 3
        assert visit.page.locator("svg:visible").count() >= 8
        assert visit.page.locator(".needs-script:visible").count() == 0


def test_many_physicians_print_on_few_pages(browser: Any, large: dict[int, Path]) -> None:
    with Visit(browser, large[500] / "report.html") as visit:
        printed = visit.page.pdf(format="A4")
        assert len(re.findall(rb"/Type\s*/Page\b(?!s)", printed)) <= 6


def test_twenty_thousand_physicians_are_searched_and_sorted(
    browser: Any, large: dict[int, Path]
) -> None:
    for file in ("report.html", "physicians.html"):
        with Visit(browser, large[20_000] / file) as visit:
            page = visit.page
            names = page.locator("#physicians tbody td:first-child")
            assert names.count() == 100
            first = names.all_text_contents()
            find = page.get_by_label("Find a physician or a reason")
            find.fill("p-17123-x")
            assert names.all_text_contents() == ["P-17123-XYZ"]
            assert page.locator("#status").text_content() == "1 of 20,000 physicians"
            find.fill("")
            assert names.all_text_contents() == first
            page.get_by_role("button", name="next").click()
            assert page.locator("#place").text_content() == "101 to 200 of 20,000"
            place = page.locator("#physicians th").all_text_contents().index("of 100 pairs")
            heading = page.locator("#physicians th button").nth(place)
            cells = page.locator(f"#physicians tbody td:nth-child({place + 1})")
            lowest = []
            for _ in range(2):
                heading.click()
                shown = [float(text) for text in cells.all_text_contents()]
                lowest.append(shown[0])
                assert len(shown) == 100
                assert shown == sorted(shown, reverse=len(lowest) == 2)
            assert lowest[0] < 5 < 35 < lowest[1]
            assert visit.complaints == []


def test_among_very_many_the_farthest_are_lit(browser: Any, large: dict[int, Path]) -> None:
    with Visit(browser, large[20_000] / "report.html") as visit:
        page = visit.page
        page.locator("#funnel svg.wide circle[data-p]").last.click()
        name = page.locator("#picked").text_content()
        assert page.locator("#funnel svg.wide circle.lit").count() == 1
        page.get_by_label("Find a physician or a reason").fill(name or "")
        assert page.locator("#physicians tr.lit").count() == 1


def test_among_very_many_anybody_gets_a_mark(browser: Any, large: dict[int, Path]) -> None:
    with Visit(browser, large[20_000] / "report.html") as visit:
        page = visit.page
        page.locator("#physicians td button").nth(20).click()
        assert page.locator("#dots svg.wide circle.lit").count() == 1
        page.get_by_label("Find a physician or a reason").fill("p-17123-x")
        page.locator("#physicians td button").click()
        assert page.locator("#picked").text_content() == "P-17123-XYZ"
        for figure in ("dots", "funnel"):
            assert page.locator(f"#{figure} svg.wide circle.lit").count() == 1
        page.locator("#funnel svg.wide circle.lit").hover()
        assert "P-17123-XYZ: " in (page.locator("#tip").text_content() or "")
        row = page.locator("#physicians tr.lit td").all_text_contents()
        # The mark lies where its numbers say, by the marks that the chart itself has.
        places = page.evaluate(
            """() => [...document.querySelectorAll('#funnel svg.wide circle')].map(mark => [
                mark.cx.baseVal.value, mark.cy.baseVal.value,
                (mark.querySelector('title') || {}).textContent || ''])"""
        )
        told = r"about (\d+) .*, (\d+) pairs"
        known = [
            (x, y, *map(int, found[0]))
            for x, y, hint in places
            if (found := re.findall(told, hint))
        ]
        ((x, y),) = [(x, y) for x, y, hint in places if not hint]
        headings = page.locator("#physicians th").all_text_contents()
        pairs, score = (float(row[headings.index(name)]) for name in ("pairs", "of 100 pairs"))
        across = np.polyfit([each[3] for each in known], [each[0] for each in known], 1)
        up = np.polyfit([each[2] for each in known], [each[1] for each in known], 1)
        assert x == pytest.approx(np.polyval(across, pairs), abs=0.5)
        assert y == pytest.approx(np.polyval(up, score), abs=1.5)
        page.keyboard.press("Escape")
        assert page.locator(".lit").count() == 0
        assert page.locator(".finder circle").count() == 0
        assert visit.complaints == []


@pytest.mark.parametrize("width", [1280, 390])
def test_pictures_of_very_many_do_not_collide(
    browser: Any, large: dict[int, Path], width: int
) -> None:
    for file in ("report.html", "physicians.html"):
        with Visit(browser, large[20_000] / file, width) as visit:
            assert collisions(visit.page) == []
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width


def test_axe_finds_nothing_among_very_many(browser: Any, large: dict[int, Path]) -> None:
    with Visit(browser, large[20_000] / "report.html", color_scheme="dark") as visit:
        visit.page.get_by_role("button", name="next").click()
        leave_few_of_a_kind(visit.page)
        assert all_problems(visit.page) == []


def test_without_script_very_many_begin_and_lead_to_the_rest(
    browser: Any, large: dict[int, Path]
) -> None:
    with Visit(browser, large[20_000] / "report.html", script=False) as visit:
        assert visit.page.locator("#physicians tbody tr").count() == 100
        assert visit.page.locator("noscript a[href='physicians.csv']").is_visible()
        assert visit.page.locator(".needs-script:visible").count() == 0


def test_twenty_thousand_physicians_open_at_once(browser: Any, large: dict[int, Path]) -> None:
    """In time of the page's own processor: what else the machine does is not the page's doing."""
    report = large[20_000] / "report.html"
    assert report.stat().st_size < 3e6
    assert (large[20_000] / "physicians.html").stat().st_size < 3e6
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    watched = page.context.new_cdp_session(page)
    watched.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(report.resolve().as_uri())
    found = watched.send("Performance.getMetrics")["metrics"]
    seconds = {metric["name"]: metric["value"] for metric in found}
    page.close()
    assert 0 < seconds["TaskDuration"] < 2


@pytest.mark.parametrize(
    ("hostile", "width", "file", "scheme"),
    [
        (True, 1280, "report.html", "light"),
        (False, 1280, "report.html", "dark"),
        (False, 390, "report.html", "light"),
        (True, 1280, "physicians.html", "dark"),
    ],
)
def test_axe_finds_nothing(
    browser: Any,
    folder: Path,
    large: dict[int, Path],
    hostile: bool,
    width: int,
    file: str,
    scheme: str,
) -> None:
    place = folder if hostile else large[30]
    with Visit(browser, place / file, width, color_scheme=scheme) as visit:
        leave_few_of_a_kind(visit.page)
        assert all_problems(visit.page) == []
