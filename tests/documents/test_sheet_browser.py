"""A sheet and the page of several decisions in a real browser: offline, accessible, any width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from browsing import CHROMIUM, Visit, all_problems, launched, leave_few_of_a_kind
from documents.made_several import DECISIONS, made_several
from documents.many_physicians import many_physicians
from intravar.documents.html import as_html
from intravar.documents.measurement.report import report
from intravar.documents.sheet import sheet
from intravar.publication.results import Published

pytest.importorskip(
    "playwright.sync_api", reason="playwright is missing: pip install 'intravar[dev]'"
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no browser; get one with: apt-get install chromium"
)
HOSTILE = "<script>document.title='hacked'</script> \u202eright to left " + "Very" * 30


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as opened:
        yield opened


@pytest.fixture(scope="module")
def files(published: Published, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    some = many_physicians(published, 40)
    one = sheet(some, "P-0003-XYZ", called=HOSTILE, private="This sheet names a person.")
    made = made_several()
    labels = {
        DECISIONS[0]: "a long name " * 6,
        DECISIONS[2]: "<script>document.title='hacked'</script>",
    }
    joint = made.joint
    assert joint is not None
    hostile = {"P-0003": "<img src=x onerror=alert(1)>" + "x" * 90}
    outputs = replace(
        made,
        joint=replace(
            joint,
            physicians=tuple(
                replace(row, physician=hostile.get(row.physician, row.physician))
                for row in joint.physicians
            ),
            by_physician=tuple(
                replace(row, physician=hostile.get(row.physician, row.physician))
                for row in joint.by_physician
            ),
        ),
        request=replace(made.request, labels=tuple(labels.items())),
    )
    pages = {"sheet": as_html(one, width="sheet"), "several": as_html(report(outputs))}
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, "utf-8")
    return {name: folder / f"{name}.html" for name in pages}


@pytest.mark.parametrize("name", ["sheet", "several"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_opens_offline_fits_and_is_accessible(
    browser: Any, files: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    visit = Visit(browser, files[name], width, color_scheme=scheme)
    page = visit.page
    assert visit.complaints == []
    assert visit.requests == [visit.address]
    assert page.title().startswith("How consistently")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    seen = "[...document.querySelectorAll('main svg')].filter(each => each.clientWidth > 0)"
    outside = (
        f"{seen}.flatMap(svg => [...svg.querySelectorAll('text,circle,rect')].filter(part => {{"
        "const a = part.getBoundingClientRect(), b = svg.getBoundingClientRect();"
        "return a.left < b.left - 1 || a.right > b.right + 1;"
        "}).map(part => part.outerHTML))"
    )
    assert page.evaluate(outside) == []
    leave_few_of_a_kind(page)
    assert all_problems(page) == []
