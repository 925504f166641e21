"""Every number in the page is the stored one."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from intravar.study.report.canvas import Canvas
from intravar.study.report.figures import figures_of
from intravar.study.report.stored_results import read_results
from intravar.study.report.table_grids import number_text
from study.report.reading import Page, rows_of


@pytest.fixture(params=["score2_folder", "whole_folder", "hostile_folder"])
def folder(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def page(folder: Path) -> Page:
    return Page.of((folder / "report.html").read_text("utf-8"))


def test_tables_hold_the_stored_cells_and_print_them_rounded(folder: Path, page: Page) -> None:
    results = read_results(folder)
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
    scores = read_results(folder).first_draw
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
    results = read_results(folder)
    first = results.conditions[0]
    expected = set(
        results.first_draw.filter(pl.col("condition") == first)["score"].drop_nulls().to_list()
    )
    shown = [float(cell.value) for cell in page.cells if cell.table == "physician-table"]
    assert shown
    constant = results.of(first, ["constant"])["score"][0]
    assert expected - {constant} <= set(shown)


def test_figures_draw_the_stored_scores(folder: Path, page: Page) -> None:
    data = page.data
    stored = {
        (row["condition"], row["method"], row["physician"]): row
        for row in read_results(folder).first_draw.iter_rows(named=True)
    }
    points = [
        row
        for dataset in data["datasets"].values()
        for row in rows_of(dataset)
        if "physician" in row and "score" in row
    ]
    assert len(points) > 100
    for point in points:
        row = stored[point["condition"], point["method"], point["physician"]]
        for name in ("score", "low", "high", "oracle", "delta", "n_patients", "n_pairs"):
            assert point[name] == row[name]
        assert point["d_star"] == row["d_star"]
        assert point["group"] == row["group"]


def test_figures_of_tables_draw_the_stored_cells(whole_folder: Path) -> None:
    page = Page.of((whole_folder / "report.html").read_text("utf-8"))
    results = read_results(whole_folder)
    for figure, table in (("window-size", "window_size"), ("passes", "passes")):
        names = page.data["figures"][figure]["wide"]["datasets"]
        drawn = [row for name in names for row in rows_of(page.data["datasets"][name])]
        drawn = [row for row in drawn if "published" in row]
        expected = results.tables[table].filter(pl.col("method").is_in(results.rate_methods))
        assert [row["value"] for row in drawn] == expected["value"].to_list()
        assert [row["low"] for row in drawn] == expected["low"].to_list()


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
    results = read_results(whole_folder)
    here = (pl.col("column") == column) & (pl.col("method") == "euclidean")
    told = results.tables[table].with_columns(
        pl.when(here).then(0.7654).otherwise("first").alias("first")
    )
    changed = replace(results, tables={**results.tables, table: told})
    (shown,) = [each for each in figures_of(changed) if each.name == figure]
    drawn = json.dumps(shown.specification(changed, Canvas(720)))
    before = json.dumps(shown.specification(results, Canvas(720)))
    assert re.search(r"0\.765", drawn)
    assert not re.search(r"0\.7654|ρ = 0\.765", before)
    if "correlations" not in table:
        assert "0.765" in shown.alternative(changed)


def test_every_dataset_is_used_and_there(page: Page) -> None:
    data = page.data
    used = {
        name
        for figure in data["figures"].values()
        for layout in ("wide", "narrow")
        for name in figure[layout]["datasets"]
    }
    assert used == set(data["datasets"])
    assert "NaN" not in json.dumps(data)
