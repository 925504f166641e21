"""A real browser for the tests of pages: Chromium, offline, and axe-core for accessibility."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import Any

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


def serious_problems(page: Any, left_out: str = "[]", rules: str = "undefined") -> list[Any]:
    """Return what axe-core finds serious or critical in an open page."""
    return [
        problem[1:]
        for problem in all_problems(page, left_out, rules)
        if problem[0] in ("serious", "critical")
    ]


def all_problems(page: Any, left_out: str = "[]", rules: str = "undefined") -> list[Any]:
    """Return all that axe-core finds in an open page, and how grave it is."""
    page.evaluate(_axe() + "; undefined")
    options = f"{{runOnly: {rules}, resultTypes: ['violations']}}"
    found = page.evaluate(f"axe.run({{exclude: {left_out}}}, {options})")
    return [
        (problem["impact"], problem["id"], [node["target"] for node in problem["nodes"]][:3])
        for problem in found["violations"]
    ]


def leave_rows_of_a_kind(page: Any) -> None:
    """Of rows with the same elements, classes and styles leave three: axe looks at each anew."""
    page.evaluate(
        """() => {
            for (const body of document.querySelectorAll('tbody')) {
                const seen = {};
                for (const row of [...body.rows]) {
                    const inside = [row, ...row.querySelectorAll('*')];
                    const kind = inside.map(e => e.tagName + e.className + e.style.cssText).join();
                    if ((seen[kind] = (seen[kind] || 0) + 1) > 3) row.remove();
                }
            }
        }"""
    )


@cache
def _axe() -> str:
    """Return axe-core; the package from PyPI carries its script."""
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")
