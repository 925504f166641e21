"""A real browser for the tests of pages: Chromium, offline, and axe-core for accessibility."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Self

CHROMIUM = os.environ.get("INTRAVAR_CHROMIUM") or next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def launched() -> Iterator[Any]:
    """Start the browser, and stop it in the end."""
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            yield found
        finally:
            found.close()


class Visit:
    """A file that is open, and all that it asked for or complained of.

    One page serves all visits of a browser: a new one takes three times as long as a look.
    """

    def __init__(
        self,
        browser: Any,
        file: Path,
        width: int = 1280,
        *,
        color_scheme: str = "light",
        script: bool = True,
    ) -> None:
        self.page = _page(browser, script)
        self.page.set_viewport_size({"width": width, "height": 800})
        self.page.emulate_media(media="null", color_scheme=color_scheme)
        self.page.mouse.move(0, 0)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.heard = {
            "console": lambda message: self.complaints.append(message.text),
            "pageerror": lambda error: self.complaints.append(str(error)),
            "request": lambda request: self.requests.append(request.url),
        }
        for event, hear in self.heard.items():
            self.page.on(event, hear)
        self.address = file.resolve().as_uri()
        self.page.goto(self.address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for event, hear in self.heard.items():
            self.page.remove_listener(event, hear)


@cache
def _page(browser: Any, script: bool) -> Any:
    return browser.new_context(java_script_enabled=script).new_page()


def serious_problems(page: Any, rules: str = "undefined") -> list[Any]:
    """Return what axe-core finds serious or critical in an open page."""
    return [
        problem[1:]
        for problem in all_problems(page, rules)
        if problem[0] in ("serious", "critical")
    ]


def all_problems(page: Any, rules: str = "undefined") -> list[Any]:
    """Return all that axe-core finds in an open page, and how grave it is."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(_axe() + "; undefined")
    # Only what is looked at is handed over: what axe passed is long, and is checked on arrival.
    options = f"{{runOnly: {rules}, resultTypes: ['violations']}}"
    found: list[list[Any]] = page.evaluate(
        f"""axe.run({options}).then(told => told.violations.map(problem =>
            [problem.impact, problem.id, problem.nodes.slice(0, 3).map(node => node.target)]))"""
    )
    return [tuple(problem) for problem in found]


def leave_few_of_a_kind(page: Any) -> None:
    """Of rows, and of marks of a picture, that look alike leave two: axe looks at each anew."""
    page.evaluate(
        """() => {
            const kind = e => [e.tagName, e.getAttribute('class'), e.style.cssText,
                e.getAttribute('fill'), e.getAttribute('stroke'), e.getAttribute('role'),
                e.getAttribute('tabindex'), [...e.attributes].map(a => a.name)].join();
            const leave = (elements, kinds) => {
                const seen = {};
                for (const each of elements) {
                    const name = kinds(each);
                    if ((seen[name] = (seen[name] || 0) + 1) > 2) each.remove();
                }
            };
            for (const body of document.querySelectorAll('tbody'))
                leave([...body.rows], row => [row, ...row.querySelectorAll('*')].map(kind).join());
            for (const svg of document.querySelectorAll('svg'))
                leave([...svg.querySelectorAll('circle, path, rect, line')], kind);
        }"""
    )


@cache
def _axe() -> str:
    """Return axe-core; the package from PyPI carries its script."""
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
