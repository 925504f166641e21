"""The page stands alone, keeps hostile names harmless, and fits what was run."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from intravar.documents.html import script_json
from intravar.study.report.figures import FIGURES
from intravar.study.report.page import study_page
from intravar.study.results import read_study
from study.report.conftest import HOSTILE
from study.report.made_results import make_results
from study.report.reading import Page, page_of

#: The name of the format of figures; nothing fetches it.
NOT_FETCHED = ("http://www.w3.org/",)


def read(folder: Path) -> tuple[str, Page]:
    return (folder / "report.html").read_text("utf-8"), page_of(folder)


def test_whole_study_is_small_enough(whole_folder: Path) -> None:
    assert (whole_folder / "report.html").stat().st_size < 5_000_000


def test_nothing_is_fetched(whole_folder: Path) -> None:
    html, page = read(whole_folder)
    for element in page.elements:
        for name in ("src", "srcset", "data", "poster", "action", "formaction", "background"):
            assert name not in element.attributes, element.name
        target = element.attributes.get("href", "#")
        assert target.startswith("#")
        assert element.name not in ("link", "iframe", "object", "embed", "img", "base")
    for address in re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s\"'`)]*", html):
        assert address.startswith(NOT_FETCHED) or f"https:{address}".startswith(NOT_FETCHED), (
            address
        )


def test_policy_allows_the_page_itself_alone(score2_folder: Path) -> None:
    html, page = read(score2_folder)
    (policy,) = [
        e.attributes["content"]
        for e in page.all("meta")
        if e.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    assert "unsafe" not in policy
    assert html.index("Content-Security-Policy") < html.index("<style")
    scripts = [e for e in page.all("script") if e.attributes.get("type") != "application/json"]
    for kind, elements in (("script-src", scripts), ("style-src", page.all("style"))):
        hashes = [
            base64.b64encode(hashlib.sha256(e.text.encode()).digest()).decode() for e in elements
        ]
        assert rules[kind].split() == [f"'sha256-{value}'" for value in hashes]


def test_hostile_names_stay_text(hostile_folder: Path) -> None:
    _, page = read(hostile_folder)
    assert [e.attributes.get("type") for e in page.all("script")] == ["application/json", None]
    assert not page.all("img")
    for element in page.elements:
        assert not [name for name in element.attributes if name.startswith("on")]
    text = page.visible_text
    for name in HOSTILE.values():
        assert name in text, name
    held = page.data["physicians"]
    assert HOSTILE["pass1-w1-p1"] in held
    assert set(HOSTILE.values()) - {HOSTILE["pass1-w1-p1"], HOSTILE["mutual-information"]} <= set(
        held["score2"]["physician"]
    )


def test_json_cannot_leave_its_script() -> None:
    text = script_json({"</script>": "<!-- & \u2028"})
    assert not set("<>&\u2028") & set(text)


def test_page_has_only_what_was_run(score2_folder: Path, whole_folder: Path) -> None:
    _, small = read(score2_folder)
    _, whole = read(whole_folder)
    assert set(small.data["figures"]) == {
        "overview",
        "score2-panels",
        "recovery",
        "pearson-residuals",
        "calibration",
    }
    assert set(whole.data["figures"]) == set(FIGURES)
    assert "latent-rule" in [method["name"] for method in whole.data["methods"]]


@pytest.mark.parametrize("methods", [("euclidean",), ("glmm",)])
def test_one_method_alone_makes_a_page(tmp_path: Path, methods: tuple[str, ...]) -> None:
    folder = make_results(tmp_path / "one", ["score2", "continuous", "copula"], methods=methods)
    page = Page.of(study_page(read_study(folder)))
    assert "overview" in page.data["figures"]


def test_a_study_whose_ranks_are_all_tied_makes_a_page(score2_folder: Path) -> None:
    results = read_study(score2_folder)
    tables = {n: table for n, table in results.tables.items() if n != "rank_correlations"}
    page = study_page(replace(results, tables=tables))
    assert "Delta per physician" in page
    assert "Rank correlation (Spearman)" not in page


def test_model_alone_on_window_and_grid(tmp_path: Path) -> None:
    folder = make_results(
        tmp_path / "glmm",
        ["pass1-w1-p1", "pass2-w1-p1", "grid-n5000-j5"],
        methods=("glmm",),
        replicates=2,
    )
    assert set(Page.of(study_page(read_study(folder))).data["figures"]) == {"overview"}


def test_every_figure_has_words_and_every_table_has_headings(whole_folder: Path) -> None:
    _, page = read(whole_folder)
    plots = [e for e in page.elements if "data-figure" in e.attributes]
    assert len(plots) == len(page.data["figures"])
    pictures = page.all("svg")
    assert len(pictures) == 2 * len(plots)  # one for a desk, one for a telephone
    assert all(picture.attributes["role"] == "img" for picture in pictures)
    assert all(re.search(r"\d", words.text) for words in page.all("desc"))
    assert len(page.all("desc")) == len(pictures)
    assert all(e.attributes["scope"] in ("col", "row") for e in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    levels = [int(e.name[1]) for e in page.elements if re.fullmatch(r"h[1-6]", e.name)]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))


def test_provenance_tells_how_to_run_it_again(score2_folder: Path) -> None:
    _, page = read(score2_folder)
    results = read_study(score2_folder)
    text = page.visible_text
    assert results.manifest["command"] in text
    for name, number in results.manifest["versions"].items():
        assert f"{name} {number}" in text
    for row in results.manifest["data_generating_mechanisms"]["conditions"]:
        assert str(row["seed"]) in text
    assert re.search(r"[0-9a-f]{64}", text)


def test_undefined_scores_are_listed(whole_folder: Path) -> None:
    _, page = read(whole_folder)
    assert "no pair within the caliper" in page.visible_text
