"""A sheet in a real browser: offline, narrow, dark, on paper, and for readers of screens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from intravar.documents.sheet.sheet_content import CaseTable, Sheet
from intravar.documents.sheet.sheet_files import sheet_html
from intravar.documents.sheet.sheet_pictures import (
    WIDTHS,
    NoiseSlice,
    Own,
    SheetRow,
    noise_bar,
    strip,
)
from intravar.documents.sheet.sheet_rows import drawn_rows
from markupsafe import Markup

from browsing import CHROMIUM, launched, serious_problems
from intravar.wording import Words

pytest.importorskip(
    "playwright.sync_api", reason="playwright is missing: pip install 'intravar[dev]'"
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser; get one with: apt-get install chromium"
)
HOSTILE = "<script>document.title='hacked'</script> \u202eright to left " + "Very" * 30


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parts = [NoiseSlice(kind, 9.0, f"9: {kind}") for kind in ("level", "pattern", "occasion")]
    drawn: list[Markup] = []
    bars: list[Markup] = []
    for kind in WIDTHS:
        svg = strip(Own(50, 30, 50), [1.0] * 40 + [49.0] * 9, "axis", "words", kind)
        bar = noise_bar(parts, "axis", kind)
        assert svg is not None
        assert bar is not None
        drawn.append(svg)
        bars.append(bar)
    sheet = Sheet(
        "How consistently do you decide?",
        f"Decision: {HOSTILE}",
        HOSTILE,
        "This sheet names a person.",
        "at most about 50 of 100",
        "A sentence.",
        "What the data bear.",
        drawn,
        "A line.",
        [("your patients", "120"), ("a long name of a fact that goes on and on", "12 of 100")],
        [
            drawn_rows(
                [SheetRow(HOSTILE, Own(50, 30, 50), 20), SheetRow("b", None, None, "at most 0.25")],
                "You over time",
                "A line.",
                Words(),
            )
        ],
        bars,
        [(part.kind, part.words) for part in parts],
        [f"You weigh {HOSTILE} more."],
        [CaseTable("Pair 1", ("", "yes", "no", "difference"), [(HOSTILE, "1", "2", "same")])],
        ["It says nothing."],
        "intravar",
    )
    path = tmp_path_factory.mktemp("sheet") / "sheet.html"
    path.write_text(sheet_html(sheet), "utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_opens_offline_fits_and_is_accessible(
    browser: Any, page_file: Path, width: int, scheme: str
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    complaints: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(page_file.as_uri())
    assert complaints == []
    assert requests == [page_file.as_uri()]
    assert page.title().startswith("How consistently")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Of a picture in two widths one is shown, and nothing of it lies outside.
    seen = "[...document.querySelectorAll('main svg')].filter(each => each.clientWidth > 0)"
    assert page.evaluate(f"{seen}.length") == 3
    outside = (
        f"{seen}.flatMap(svg => [...svg.querySelectorAll('text,circle,rect')].filter(part => {{"
        "const a = part.getBoundingClientRect(), b = svg.getBoundingClientRect();"
        "return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 "
        "|| a.bottom > b.bottom + 1 }).map(part => part.outerHTML))"
    )
    assert page.evaluate(outside) == []
    assert serious_problems(page) == []
    context.close()
