"""Take the documents' pictures of pages from stored results, in a browser.

python scripts/doc_pictures.py study results/quick docs/pictures
python scripts/doc_pictures.py measurement strokes docs/pictures
python scripts/doc_pictures.py first mine docs/pictures
python scripts/doc_pictures.py app folder docs/pictures

"first" takes page one of the README's measurement. "app" starts the app on an empty folder,
measures its example there and takes its screens.
The first needs the report as page and SVG (`intravar report results/quick --format html,svg`).
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

FIGURES = ("overview", "score2-panels", "continuum")
PICTURES = {"physicians-picture": "physicians", "love": "love"}


def opened(browser: Browser, report: Path, width: int, height: int, scheme: str = "light") -> Page:
    """Return the open page."""
    page = browser.new_page(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page.goto(report.resolve().as_uri())
    return page


def take_study(browser: Browser, folder: Path, out: Path) -> None:
    """Take the first screen, a picked physician, dark and narrow; copy three figures."""
    report = folder / "report.html"
    for name, width, height, scheme, anchor in (
        ("page-light", 1000, 760, "light", None),
        ("page-dark", 1000, 1000, "dark", "score2-panels"),
        ("page-narrow", 390, 800, "light", "score2-panels"),
        ("page-picked", 1000, 880, "light", "score2-panels"),
    ):
        page = opened(browser, report, width, height, scheme)
        page.wait_for_selector("html[data-ready]")
        if name == "page-picked":
            page.locator(f"#{anchor} .mark-symbol path").nth(9).click()
        if anchor:
            page.evaluate(f"document.getElementById('{anchor}').scrollIntoView()")
            page.wait_for_timeout(1000)
        page.screenshot(path=out / f"{name}.png")
    for figure in FIGURES:
        shutil.copy(folder / "figures" / f"{figure}.svg", out)


def take_measurement(browser: Browser, folder: Path, out: Path) -> None:
    """Take page one on a desk, in the dark and on a telephone, and three pictures."""
    report = folder / "report.html"
    for name, width, height, scheme in (
        ("findings", 1280, 800, "light"),
        ("dark", 1280, 800, "dark"),
        ("phone", 390, 844, "light"),
    ):
        opened(browser, report, width, height, scheme).screenshot(path=out / f"measure-{name}.png")
    page = opened(browser, report, 1280, 800)
    for anchor, name in PICTURES.items():
        page.locator(f"figure#{anchor}").screenshot(path=out / f"measure-{name}.png")


def take_first(browser: Browser, folder: Path, out: Path) -> None:
    """Take page one, down to what comes after it."""
    page = opened(browser, folder / "report.html", 1280, 1200)
    box = page.locator(".cards").first.bounding_box()
    height = 0 if box is None else box["y"] + box["height"]
    page.screenshot(
        path=out / "own-data.png", clip={"x": 0, "y": 0, "width": 1280, "height": height + 16}
    )


def take_app(browser: Browser, folder: Path, out: Path) -> None:
    """Start the app with its example, and take the screens on the way."""
    command = [sys.executable, "-m", "intravar", "app", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as app:
        assert app.stdout is not None
        address = app.stdout.readline().removeprefix("open: ").strip()
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.set_default_timeout(600_000)

        def take(name: str) -> None:
            page.screenshot(path=out / f"app-{name}.png")

        page.goto(address)
        take("choose")
        page.get_by_role("button", name="Open the example").click()
        page.locator("#choices").wait_for()
        take("columns")
        page.get_by_role("button", name="Check these choices").click()
        page.get_by_text("Nothing has been measured").wait_for()
        take("check")
        page.get_by_role("button", name="Measure", exact=True).click()
        page.locator("#steps li").nth(2).wait_for()
        take("run")
        page.get_by_role("link", name="See the result").click()
        page.frame_locator("iframe").locator("h1").first.wait_for()
        take("result")
        page.get_by_role("link", name="Review pairs").click()
        page.get_by_role("button", name="Draw them and begin").click()
        page.get_by_role("heading", name="Pair 1 of").wait_for()
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme="dark")
        take("review")
        page.get_by_role("button", name="Close the app").click()


KINDS: dict[str, Callable[[Browser, Path, Path], None]] = {
    "study": take_study,
    "measurement": take_measurement,
    "first": take_first,
    "app": take_app,
}


def main() -> int:
    """Take the pictures of the kind named first, from the folder named second."""
    kind, folder, out = sys.argv[1:]
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            KINDS[kind](browser, Path(folder), Path(out))
        finally:
            browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
