"""A real browser goes the whole way: choose, map, check, run, read, download, review, compare."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import polars as pl
import pytest

import intravar
from browsing import CHROMIUM, all_problems, launched

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
WAIT = 120_000
#: Seconds within which a screen answers, also while a measurement runs.
SOON = 0.3
#: The public tables of docs/reading.md; where they are not at hand, one like them is made.
PUBLIC = Path(os.environ.get("INTRAVAR_TABLES") or Path(__file__).parents[3] / "shared" / "data")


@dataclass(frozen=True)
class Table:
    """A table of somebody's, and what is said about it on the way."""

    file: str
    physician: str
    decision: str
    condition: tuple[str, str, str]
    leak: str
    words: tuple[str, str]


BYPASS = Table(
    *("azpro.csv", "hospital", "procedure"), ("age75", "=", "1"), "los", ("hospital", "hospitals")
)
STROKES = Table(
    *("strokes.csv", "stroke team", "thrombolysis"),
    ("age", ">=", "41"),
    "minutes to needle",
    ("team", "teams"),
)


def table_in(folder: Path) -> Table:
    """Put a table into a folder, a public one if there is one."""
    if (PUBLIC / BYPASS.file).is_file():
        # It is sorted by the length of stay: its rows would tell reviewers the decision.
        rows = pl.read_csv(PUBLIC / BYPASS.file).sample(fraction=1, shuffle=True, seed=1)
        rows.write_csv(folder / BYPASS.file)
        return BYPASS
    strokes(folder / STROKES.file)
    return STROKES


def strokes(path: Path) -> None:
    """Write a table with what real ones have: names with spaces, missing values, a leak, a ;."""
    random = np.random.default_rng(5)
    n, teams = 400, 8
    age = random.integers(40, 95, n)
    severity = random.integers(0, 30, n)
    late = random.random(n) < 0.3
    leaning = np.linspace(-1.5, 1.5, teams)[np.arange(n) % teams]
    logit = 0.15 * (severity - 12) - 2.5 * late - 0.03 * (age - 70) + leaning
    treated = random.random(n) < 1 / (1 + np.exp(-logit))
    table = pl.DataFrame(
        {
            "stroke team": [f"Team {at % teams + 1}" for at in range(n)],
            "age": age,
            "severity": [None if at % 37 == 0 else value for at, value in enumerate(severity)],
            "arrived late": np.where(late, "yes", "no"),
            "minutes to needle": np.where(treated, random.integers(20, 90, n), -10),
            "thrombolysis": np.where(treated, "yes", "no"),
        }
    )
    table.write_csv(path, separator=";")


@dataclass
class Seen:
    """An open browser page, and what it asked for."""

    page: Any
    address: str
    hosts: set[str] = field(default_factory=set)
    errors: list[str] = field(default_factory=list)
    screens: set[str] = field(default_factory=set)

    @property
    def home(self) -> str:
        """The first screen."""
        return self.address.partition("?")[0]

    def look(self, *, narrow: bool = True) -> None:
        """Look at a screen as people do: axe finds nothing, nothing is cut off."""
        for width, scheme in ((1280, "light"), (390, "dark")) if narrow else ((1280, "light"),):
            self.page.set_viewport_size({"width": width, "height": 844})
            self.page.emulate_media(color_scheme=scheme)
            title = self.page.title()
            assert all_problems(self.page) == [], (title, width)
            wide = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wide <= 0, (title, width)
        self.page.set_viewport_size({"width": 1280, "height": 844})
        self.page.emulate_media(color_scheme="light")
        self.screens.add(self.page.url)

    def press(self, name: str) -> None:
        """Press a button, as somebody without a mouse does."""
        self.page.get_by_role("button", name=name, exact=True).first.focus()
        self.page.keyboard.press("Enter")

    def downloaded(self, role: str, name: str) -> tuple[str, Path]:
        with self.page.expect_download(timeout=WAIT) as found:
            self.page.get_by_role(role, name=name).click()
        return found.value.suggested_filename, Path(found.value.path())


@pytest.fixture
def seen(tmp_path: Path) -> Iterator[Seen]:
    tables = tmp_path / "intravar-results" / "uploads"
    tables.mkdir(parents=True)
    # The example, smaller: it is made only if it is not there.
    cohort = intravar.simulate("stress-two-camps", n_patients=300, n_physicians=4)
    cohort.to_polars().write_csv(tables / "example.csv")
    command = [sys.executable, "-m", "intravar", "app", str(tmp_path), "--no-browser", "--demo"]
    app = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert app.stdout is not None
    address = app.stdout.readline().removeprefix("open: ").strip()
    try:
        with launched() as browser:
            found = Seen(browser.new_page(), address)
            found.page.set_default_timeout(WAIT)
            found.page.on("request", lambda sent: found.hosts.add(urlsplit(sent.url).netloc))
            found.page.on("pageerror", lambda error: found.errors.append(str(error)))
            yield found
            found.page.goto(found.home)
            found.press("Close the app")
            found.page.get_by_role("heading", name="The app is closed").wait_for()
        assert app.wait(60) == 0
        assert app.stderr is not None
        assert app.stderr.read() == ""
    finally:
        app.kill()
        app.wait()
        app.stdout.close()


def see_the_demo(seen: Seen) -> None:
    """The printed address leads to the example, which is being measured."""
    page = seen.page
    page.goto(seen.address)
    assert "token" not in page.url
    page.locator("#steps li").first.wait_for()
    seen.look()
    page.get_by_role("link", name="See the result").click()
    page.frame_locator("iframe").locator("h1").first.wait_for()


def choose_a_table(seen: Seen, folder: Path) -> Table:
    """Drop the file, take another mapping, leave out the leak."""
    page, table = seen.page, table_in(folder)
    page.goto(seen.home)
    seen.look()
    page.set_input_files("#file", folder / table.file)
    seen.press("Open this file")
    page.locator("#choices").wait_for()
    assert page.get_by_label("Who decides", exact=True).input_value() == table.physician
    assert page.get_by_label("What was decided", exact=True).input_value() == table.decision
    column, comparison, value = table.condition
    page.get_by_label("Column of condition 1").select_option(column)
    page.get_by_label("Comparison of condition 1").select_option(comparison)
    page.get_by_label("Value of condition 1").fill(value)
    page.get_by_label("What is decided for").fill(table.decision)
    page.get_by_label("Whoever decides, one and several").fill(table.words[0])
    seen.press("Check these choices")
    alert = page.get_by_role("alert").inner_text()
    assert "“Whoever decides, one and several”" in alert
    assert ",".join(table.words) in alert
    page.get_by_label("Whoever decides, one and several").fill(",".join(table.words))
    seen.look()
    seen.press("Check these choices")
    page.get_by_text("These columns may give the decision away").wait_for()
    assert page.get_by_role("checkbox", name=table.leak).is_checked()
    seen.look(narrow=False)
    seen.press("Leave the ticked columns out")
    page.get_by_text("Nothing has been measured").wait_for()
    assert page.get_by_role("alert").count() == 0
    assert f"{column} {comparison} {value}" in page.inner_text("main")
    return table


def take_home(seen: Seen, table: Table) -> None:
    """Read the page and download what there is."""
    page = seen.page
    framed = page.frame_locator("iframe")
    framed.locator("h1").first.wait_for()
    seen.look()
    assert table.words[1] in framed.locator("body").inner_text()
    name, workbook = seen.downloaded("link", "Excel, the tables")
    assert name.endswith(".xlsx")
    assert zipfile.is_zipfile(workbook)
    name, study = seen.downloaded("link", "study.toml")
    assert "after = [" in study.read_text()
    name, sheet = seen.downloaded("button", "Download the sheet")
    assert sheet.stat().st_size > 1000
    name, archive = seen.downloaded("link", "a sheet for everybody")
    assert len(zipfile.ZipFile(archive).namelist()) >= 8
    assert "intravar measure" in page.locator("pre").inner_text()
    seen.press("Explain")
    page.get_by_text("People can be recognised").wait_for()
    seen.look(narrow=False)
    seen.press("I may see them: show the cases")
    page.get_by_text("CASE-LEVEL").wait_for()
    seen.look(narrow=False)
    page.get_by_role("link", name="Back to the result").click()


def review_ten_pairs(seen: Seen, table: Table) -> None:
    """Answer with the keyboard; close the tab in the middle; see the answer."""
    page = seen.page
    page.get_by_role("link", name="Review pairs").click()
    page.get_by_label("Pairs to draw").select_option("30")
    seen.look(narrow=False)
    seen.press("Draw them and begin")
    page.get_by_role("heading", name="Pair 1 of 30").wait_for()
    seen.look()
    assert table.physician not in page.inner_text("main")
    assert table.decision not in page.inner_text("main")
    place = page.url
    for at in range(10):
        page.get_by_role("heading", name=f"Pair {at + 1} of 30").wait_for()
        page.wait_for_load_state("load")  # keys are heard once the page's script runs
        page.keyboard.press("d" if at % 3 == 0 else "c")
        page.get_by_text(f"{29 - at} left.").wait_for()
        if at == 5:
            page.goto("about:blank")
            page.goto(place)
    seen.press("See what the answers tell")
    page.get_by_text("10 pairs judged").wait_for()
    told = page.inner_text("main")
    assert "20 left" in told
    assert "that reviewers found comparable" in told
    seen.look(narrow=False)


def seconds(page: Any, place: str) -> float:
    """Return how long a screen takes to answer, if only that something is being done."""
    begun = time.perf_counter()
    assert page.request.get(place).status in (200, 202), place
    return time.perf_counter() - begun


def measure_once_more(seen: Seen) -> None:
    """Measure some patients of the example; every screen seen so far answers meanwhile."""
    page = seen.page
    page.goto(seen.home)
    seen.press("Open the example")
    page.locator("#choices").wait_for()
    assert "'decision' is named like a decision;" in page.inner_text("main")
    page.get_by_label("Column of condition 1").select_option("age")
    page.get_by_label("Comparison of condition 1").select_option(">=")
    page.get_by_label("Value of condition 1").fill("45")
    seen.press("Check these choices")
    page.get_by_label("Pseudonyms").select_option(label="as in example")
    seen.press("Measure")
    page.locator("#steps li").first.wait_for()
    for place in sorted(seen.screens):
        assert any(seconds(page, place) < SOON for _ in range(5)), place
    assert page.request.get(page.url).text().count("Stop") == 1, "the measurement ended too soon"
    page.get_by_role("link", name="See the result").click()
    page.get_by_label("What changed since").select_option(label="example")
    seen.press("Compare")
    page.get_by_role("heading", name="What changed").wait_for()
    together, each = page.get_by_role("table").all()
    assert together.get_by_role("row").count() == 2  # too few patients to tell parts of noise
    assert each.get_by_role("row").count() == 5
    seen.look()


def test_from_a_file_to_the_answer(seen: Seen, tmp_path: Path) -> None:
    page = seen.page
    see_the_demo(seen)
    table = choose_a_table(seen, tmp_path)
    name = page.get_by_label("Name of the result").input_value()
    seen.press("Measure")
    page.get_by_role("link", name="See the result").click()
    take_home(seen, table)
    review_ten_pairs(seen, table)
    measure_once_more(seen)
    page.goto(seen.home)
    page.get_by_label("Compare", exact=True).select_option(label=name)
    page.get_by_label("with", exact=True).select_option(label="example")
    seen.press("Compare")
    assert "no physician is in both" in page.get_by_role("alert").inner_text()
    seen.look(narrow=False)
    assert seen.errors == []
    assert {host for host in seen.hosts if host} == {urlsplit(seen.address).netloc}
    private = tmp_path / "intravar-results" / "results" / f"{name}-private"
    assert {path.stat().st_mode & 0o077 for path in private.iterdir()} == {0}
