"""Findings follow the numbers, whichever way they point."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from intravar.study.report import page as found
from intravar.study.results import Study, read_study
from study.report.made_results import make_results


@pytest.fixture
def results(score2_folder: Path) -> Study:
    return read_study(score2_folder)


def with_deltas(results: Study, deltas: dict[str, float]) -> Study:
    """Return the results with other mean deltas on SCORE2."""
    table = results.tables["score2_groups"]
    here = pl.col("column") == "mean_delta"
    new = pl.col("method").replace_strict(deltas, default=0.0, return_dtype=pl.Float64)
    kept = table.filter(~here | pl.col("method").is_in(deltas))
    changed = kept.with_columns(pl.when(here).then(new).otherwise("value").alias("value"))
    return replace(results, tables={"score2_groups": changed})


def test_closest_and_farthest(results: Study) -> None:
    text = found.closeness(with_deltas(results, {"euclidean": -0.2, "mahalanobis": 0.01}))
    assert text
    assert "Mahalanobis misses the true discordance by +0.010" in text
    assert "the least of 2 methods; Euclidean misses it by −0.200" in text


@pytest.mark.parametrize(
    ("deltas", "expected"),
    [
        ((0.1, 0.2), "2 see more inconsistency than there is, 0 see less, 0 lie"),
        ((-0.1, -0.2), "0 see more inconsistency than there is, 2 see less, 0 lie"),
        ((0.1, -0.2), "1 see more inconsistency than there is, 1 see less, 0 lie"),
        ((0.1, 0.001), "1 see more inconsistency than there is, 0 see less, 1 lie within 0.005"),
    ],
)
def test_direction(results: Study, deltas: tuple[float, float], expected: str) -> None:
    first, second = deltas
    text = found.closeness(with_deltas(results, {"euclidean": first, "mahalanobis": second}))
    assert text
    assert expected in text


def test_one_method_is_not_the_closest_of_one(results: Study) -> None:
    text = found.closeness(with_deltas(results, {"euclidean": 0.1}))
    assert text
    assert "the least" not in text
    assert "Euclidean misses" in text


def test_without_tables_nothing_is_claimed(results: Study) -> None:
    bare = replace(results, tables={})
    assert found.closeness(bare) is None
    assert found.order_kept(bare) is None
    assert found.across(bare) is None
    assert found.against_paper(bare) is None


def test_constant_that_wins_is_told(results: Study) -> None:
    errors = results.tables["condition_errors"].with_columns(
        pl.when(pl.col("method") == "constant").then(0.0).otherwise("value").alias("value")
    )
    tables = {**results.tables, "condition_errors": errors}
    text = found.against_constant(replace(results, tables=tables))
    assert text
    assert "off by 0.000" in text
    assert "0 of 7 methods do better" in text


def test_agreement_with_the_paper_is_counted(results: Study) -> None:
    cells = results.tables["score2_groups"]
    compared = cells["inside"].drop_nulls()
    text = found.against_paper(replace(results, tables={"score2_groups": cells}))
    assert text
    assert f"Of {len(compared)} published figures" in text
    assert f"{compared.sum()} lie in the 95 % interval" in text


def test_failures_and_undefined_scores_are_told(whole_folder: Path, results: Study) -> None:
    assert found.left_out(results) is None
    text = found.left_out(read_study(whole_folder))
    assert text
    assert "are undefined" in text
    runs = results.runs.with_columns(pl.lit("ValueError: no").alias("error"))
    failed = found.left_out(replace(results, runs=runs))
    assert failed
    assert f"{runs.height} of {runs.height} runs failed" in failed


def test_means_over_draws_are_called_so(tmp_path: Path) -> None:
    folder = make_results(tmp_path / "results", replicates=3)
    text = " ".join(found.findings(read_study(folder)))
    assert "(mean of 3 draws)" in text
    assert "where 95 % of single draws of ours fall" in text
    assert "95 % interval" not in text
    grid = read_study(folder).grid("score2_groups")
    assert "Means over 3 draws." in grid.note
    assert "the range that holds 95 % of single draws" in grid.note
