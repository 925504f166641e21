"""Every number in the page is the stored one."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import polars as pl
import pytest

from intravar.study.grids import number_text
from intravar.study.report.figures import figures_of
from intravar.study.report.marks import WIDE
from intravar.study.results import read_study
from study.report.reading import Page, page_of

HINT = re.compile(r"<(?:circle|path)[^>]*><title>(.*?)</title>", re.DOTALL)


@pytest.fixture(params=["score2_folder", "whole_folder", "hostile_folder"])
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def page(folder: Path) -> Page:
    return page_of(folder)


def test_tables_hold_the_stored_cells_and_print_them_rounded(folder: Path, page: Page) -> None:
    results = read_study(folder)
    seen = 0
    for name, table in results.tables.items():
        ours = [cell for cell in page.cells if cell.table == name and not cell.published]
        if name == "recovery_trust":
            verdicts = [value for row in table.iter_rows() for value in row[1:]]
            assert [cell.text for cell in ours] == verdicts
            continue
        if name == "seconds":
            expected = [value for row in table.iter_rows() for value in row[1:]]
        else:
            expected = table["value"].to_list()
        found = [float(cell.value) if cell.value else None for cell in ours]
        assert found == expected, name
        paper = [float(cell.value) for cell in page.cells if cell.table == name and cell.published]
        if name != "seconds":
            assert paper == table["published"].drop_nulls().to_list(), name
        seen += len(found)
    assert seen > 50


def test_printed_text_is_the_number_rounded(page: Page) -> None:
    for cell in page.cells:
        if cell.value == "":
            assert cell.text in ("undefined", "all", "ranks", "no")
            continue
        value, text = float(cell.value), cell.text.replace(",", "")
        digits = len(text.partition(".")[2])
        assert text == number_text(value, digits, text[0] in "+−"), cell


def test_physicians_hold_the_stored_scores(folder: Path, page: Page) -> None:
    scores = read_study(folder).first_draw
    held = page.data["physicians"]
    assert set(held) == set(scores["condition"])
    for (condition, method), rows in scores.group_by("condition", "method"):
        found = held[str(condition)]
        ordered = rows.sort("physician")
        assert found["physician"] == ordered["physician"].to_list()
        assert found["oracle"] == ordered["oracle"].to_list()
        assert found["d_star"] == ordered["d_star"].to_list()
        assert found["n_patients"] == ordered["n_patients"].to_list()
        if method not in ("oracle", "constant"):
            assert found["scores"][method] == ordered["score"].to_list()
            assert found["low"][method] == ordered["low"].to_list()
            assert found["high"][method] == ordered["high"].to_list()


def test_physician_table_without_script_shows_the_first_condition(folder: Path, page: Page) -> None:
    results = read_study(folder)
    first = results.conditions[0]
    expected = set(
        results.first_draw.filter(pl.col("condition") == first)["score"].drop_nulls().to_list()
    )
    shown = [float(cell.value) for cell in page.cells if cell.table == "physician-table"]
    assert shown
    constant = results.of(first, ["constant"])["score"][0]
    assert expected - {constant} <= set(shown)


def hints_of(folder: Path, name: str) -> list[str]:
    """Return what the marks of a figure say when they are pointed at."""
    results = read_study(folder)
    (figure,) = [each for each in figures_of(results) if each.name == name]
    return [unescape(text) for text in HINT.findall(figure.svg(WIDE))]


def test_figures_show_the_stored_scores(folder: Path) -> None:
    results = read_study(folder)
    hints = hints_of(folder, "score2-panels")
    shown = results.of("score2", results.methods).filter(pl.col("score").is_not_null())
    assert shown.height > 100
    for row in shown.iter_rows(named=True):
        title = "discordance" if row["method"] in results.rate_methods else "overdispersion"
        begin = f"{row['physician']}, {row['label']}: {title} {number_text(row['score'])}"
        (first, *_) = [hint for hint in hints if hint.startswith(begin)]
        assert f"{row['n_patients']:,} patients" in first
        if row["low"] is not None:
            assert f"95 % {number_text(row['low'])} to {number_text(row['high'])}" in first


@pytest.mark.parametrize(
    ("figure", "table"), [("window-size", "window_size"), ("passes", "passes")]
)
def test_figures_of_tables_show_the_stored_cells(
    whole_folder: Path, figure: str, table: str
) -> None:
    results = read_study(whole_folder)
    hints = hints_of(whole_folder, figure)
    expected = results.tables[table].filter(pl.col("method").is_in(results.rate_methods))
    assert len(hints) == expected.height
    for row, hint in zip(expected.iter_rows(named=True), hints, strict=True):
        assert hint.startswith(f"{results.label(row['method'])}, ")
        assert f": {number_text(row['value'], signed=True)}" in hint
        if row["low"] is not None:
            assert f"95 % {number_text(row['low'], signed=True)}" in hint


@pytest.mark.parametrize(
    ("figure", "table", "column"),
    [
        ("score2-panels", "score2_groups", "mean_delta"),
        ("score2-panels", "rank_correlations", "mahalanobis"),
        ("copula-panels", "copula_correlations", "mahalanobis"),
        ("continuum", "continuum", "spearman_d_star"),
        ("cross-experiment", "condition_deltas", "mean_delta"),
    ],
)
def test_figures_compute_nothing_again(
    whole_folder: Path, figure: str, table: str, column: str
) -> None:
    """A number that only the stored table holds is the number that is shown and told."""
    results = read_study(whole_folder)
    here = (pl.col("column") == column) & (pl.col("method") == "euclidean")
    told = results.tables[table].with_columns(
        pl.when(here).then(0.7654).otherwise("first").alias("first")
    )
    changed = replace(results, tables={**results.tables, table: told})
    before, shown = (
        each for study in (results, changed) for each in figures_of(study) if each.name == figure
    )
    drawn = shown.svg(WIDE)
    assert re.search(r"0\.765", drawn)
    assert drawn.count("0.765") > before.svg(WIDE).count("0.765")
    if "correlations" not in table:
        assert "0.765" in shown.alternative


def test_a_page_holds_no_undefined_number(page: Page) -> None:
    assert "NaN" not in json.dumps(page.data)
    assert not [e for e in page.all("circle") if "nan" in e.attributes["cx"]]
