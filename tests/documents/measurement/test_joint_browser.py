"""The page of several decisions in a real browser: offline, accessible, any width, any name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from browsing import CHROMIUM, all_problems, launched
from documents.measurement.made_several import DECISIONS, made_several
from intravar.documents.measurement.several_handover import render_several

pytest.importorskip(
    "playwright.sync_api", reason="playwright is missing: pip install 'intravar[dev]'"
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser; get one with: apt-get install chromium"
)
LONG = "a decision with a very long name about which much could be said " * 2


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = made_several()
    labels = {DECISIONS[0]: LONG, DECISIONS[2]: "</title><script>document.title='x'</script>"}
    request = made.summary["request"] | {"words": {"labels": labels}}
    hostile = pl.col("physician").replace({"P-0003": "<img src=x onerror=alert(1)>" + "x" * 90})
    outputs = replace(
        made,
        joint=made.joint.with_columns(hostile),
        decisions=made.decisions.with_columns(hostile),
        summary=made.summary | {"request": request},
    )
    file = tmp_path_factory.mktemp("joint") / "report.html"
    file.write_text(render_several(outputs), "utf-8")
    return file


@pytest.mark.parametrize("width", [1440, 800, 390])
def test_the_page_is_quiet_fits_and_is_accessible(
    browser: Any, page_file: Path, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda asked: said.append(asked.url) if "file:" not in asked.url else None)
    page.goto(page_file.as_uri())
    assert page.title().startswith("How consistently do they decide?")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    seen = page.locator("figure svg:visible")
    assert seen.count() == 6
    for at in range(6):
        labels = seen.nth(at).locator("text")
        box = seen.nth(at).bounding_box()
        for each in range(labels.count()):
            text = labels.nth(each).bounding_box()
            assert text["x"] >= box["x"] - 1, labels.nth(each).inner_html()
            assert text["x"] + text["width"] <= box["x"] + box["width"] + 1
    page.locator("#physicians tbody tr").first.locator("button").click()
    assert page.locator("circle.lit").count() >= 2
    assert said == []
    assert all_problems(page) == []
    page.close()
