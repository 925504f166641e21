"""Tables: the numbers are what their definitions say, and the paper's stand beside them."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

from intravar.study.grids import markdown, shown_interval, text_grid
from intravar.study.simulation import conditions_of, window_of
from intravar.study.tables import (
    Column,
    build_tables,
    cell,
    percentile_interval,
    printed_cell,
    row_median,
    spearman,
)
from intravar.study.units import SCORE_SCHEMA

METHODS = ("oracle", "euclidean", "learned-weights", "glmm", "constant")


def invented(conditions, replicates=1, seed=0, physicians=20):
    """Scores of invented methods, so that every table has something to say."""
    random = np.random.default_rng(seed)
    rows = []
    for condition in conditions:
        for replicate in range(replicates):
            truth = np.repeat([0, 0.18, 0.32, 0.42, 0.5], physicians // 5)
            truth = truth + random.normal(0, 0.01, physicians)
            for method in METHODS:
                shift = {"euclidean": 0.08, "learned-weights": 0.02, "glmm": 1}.get(method, 0)
                score = truth + shift + random.normal(0, 0.02, physicians) * (shift != 0)
                score = np.full(physicians, 0.3) if method == "constant" else score
                rows += [
                    (
                        condition,
                        replicate,
                        method,
                        f"P{j:02d}",
                        1 + j // (physicians // 5),
                        score[j],
                        None,
                        None,
                        truth[j],
                        None if method == "glmm" else score[j] - truth[j],
                        truth[j],
                        0.8 * truth[j],
                        500,
                        200,
                        None,
                    )
                    for j in range(physicians)
                ]
    return pl.DataFrame(rows, schema=SCORE_SCHEMA, orient="row")


RUNS = pl.DataFrame(
    {
        "condition": ["score2"],
        "replicate": [0],
        "method": ["glmm"],
        "seconds": [0.5],
        "memory_mb": [100.0],
        "versions": ["{}"],
        "error": pl.Series([None], dtype=pl.String),
    }
)


@pytest.fixture(scope="module")
def scores():
    names = list(conditions_of("paper"))
    return invented(names)


@pytest.fixture(scope="module")
def tables(scores):
    return build_tables(scores, RUNS)


def value(table, method, column, what="value"):
    return table.filter(method=method, column=column)[what].item()


def test_groups(scores, tables):
    table = tables["score2_groups"]
    rows = scores.filter(condition="score2", method="euclidean")
    for group in range(1, 6):
        here = rows.filter(group=group)["score"].to_numpy()
        assert value(table, "euclidean", f"group{group}") == pytest.approx(here.mean())
        draws = np.random.default_rng(42).integers(4, size=(2000, 4))
        low, high = np.percentile(here[draws].mean(axis=1), (2.5, 97.5))
        assert value(table, "euclidean", f"group{group}", "low") == pytest.approx(low)
        assert value(table, "euclidean", f"group{group}", "high") == pytest.approx(high)
    delta = (rows["score"] - rows["oracle"]).to_numpy()
    assert value(table, "euclidean", "mean_delta") == pytest.approx(delta.mean())
    mcse = value(table, "euclidean", "mean_delta", "mcse")
    assert mcse == pytest.approx(delta.std(ddof=1) / np.sqrt(20))
    expected = spearmanr(rows["score"], rows["oracle"]).statistic
    assert value(table, "euclidean", "spearman_oracle") == pytest.approx(expected)
    assert value(table, "euclidean", "group1", "published") == 0.221
    assert value(table, "constant", "spearman_oracle") is None
    assert "mean_delta" not in table.filter(method="glmm")["column"].to_list()
    assert "mean_delta" not in table.filter(method="oracle")["column"].to_list()
    assert tables["glmm_groups"]["method"].unique().to_list() == ["glmm"]


def test_cross_experiment_covers_91_conditions(scores, tables):
    deltas = (
        scores.filter(pl.col("method") == "learned-weights")
        .filter(~pl.col("condition").is_in(["continuous", "copula", "lognormal"]))
        .group_by("condition", maintain_order=True)
        .agg((pl.col("score") - pl.col("oracle")).mean().alias("delta"))
    )
    assert deltas.height == 91
    delta = deltas["delta"].to_numpy()
    table = tables["cross_experiment"]
    assert value(table, "learned-weights", "mean_delta") == pytest.approx(delta.mean())
    assert value(table, "learned-weights", "mean_abs_delta") == pytest.approx(np.abs(delta).mean())
    assert value(table, "learned-weights", "median_delta") == pytest.approx(np.median(delta))
    positive = 100 * (delta > 0).mean()
    assert value(table, "learned-weights", "percent_positive") == pytest.approx(positive)
    assert value(table, "learned-weights", "mean_abs_delta", "published") == 0.027


def test_first_draw_is_kept_beside_the_mean():
    scores = invented(["score2", "copula"], replicates=3)
    tables = build_tables(scores, RUNS)
    first = scores.filter(replicate=0, condition="copula")
    here = first.filter(method="euclidean")
    for table in ("copula_groups", "condition_deltas"):
        row = tables[table].filter(condition="copula", method="euclidean", column="mean_delta")
        assert row["draws"].item() == 3
        assert row["first"].item() == pytest.approx((here["score"] - here["oracle"]).mean())
        assert row["first"].item() != row["value"].item()
    row = tables["condition_errors"].filter(condition="copula", method="euclidean")
    assert row["first"].item() == pytest.approx((here["score"] - here["oracle"]).abs().mean())
    rho = spearmanr(here["score"], first.filter(method="glmm")["score"]).statistic
    found = tables["copula_correlations"].filter(method="euclidean", column="glmm")
    assert found["first"].item() == pytest.approx(rho)
    assert "glmm" not in tables["condition_deltas"]["method"].to_list()


def test_windows_and_passes(scores, tables):
    windows = {name: window_of(name) for name in conditions_of("paper")}
    wide = [name for name, window in windows.items() if window and window[1] >= 7]
    assert len(wide) == 12
    here = scores.filter(pl.col("condition").is_in(wide) & (pl.col("method") == "euclidean"))
    expected = (here["score"] - here["oracle"]).mean()
    assert value(tables["window_size"], "euclidean", "w7_9") == pytest.approx(expected)
    assert value(tables["window_size"], "euclidean", "w7_9", "published") == 0.086
    assert tables["passes"]["column"].unique().sort().to_list() == ["pass1", "pass2"]


def test_only_windows_of_the_paper_count_as_its_windows() -> None:
    ours = ["score2", "pass1-w9-p1", "pass2-w2-p3"]
    alone = build_tables(invented(ours), RUNS)
    beside = build_tables(invented([*ours, "pass1-w9-p9", "pass3-w1-p1", "my-w1-p1"]), RUNS)
    for name in ("cross_experiment", "window_size", "passes"):
        assert alone[name].equals(beside[name])


def test_grid():
    scores = invented(["grid-n5000-j100", "grid-n30000-j5"], replicates=4)
    table = build_tables(scores, RUNS)["grid"]
    row = table.filter(condition="grid-n5000-j100", method="euclidean")
    assert row["draws"].item() == 4
    assert row["published"].item() == 0.03
    assert table.filter(method="learned-weights")["published"].drop_nulls().to_list() == [-0.109]


def test_rank_correlations(scores, tables):
    table = tables["rank_correlations"]
    assert "constant" not in table["method"].to_list()
    assert value(table, "oracle", "oracle") == 1.0
    assert value(table, "oracle", "glmm") == value(table, "glmm", "oracle")


def test_several_draws_give_a_standard_error_and_an_interval_for_one_draw():
    scores = invented(["score2"], replicates=12)
    row = build_tables(scores, RUNS)["score2_groups"].filter(
        method="euclidean", column="mean_delta"
    )
    assert row["draws"].item() == 12
    assert row["mcse"].item() < 0.005
    low, high = row["draw_low"].item(), row["draw_high"].item()
    assert low < row["value"].item() < high
    assert row["inside"].item() == (low - 0.0005 <= 0.081 <= high + 0.0005)


def test_a_prediction_interval_holds_the_next_draw():
    """95 % of new draws fall into the interval that earlier draws give."""
    random = np.random.default_rng(0)
    inside = []
    for _ in range(2000):
        draws = random.normal(size=11)
        rows = pl.DataFrame({"replicate": range(10), "x": draws[:10]})
        found = cell("c", "m", Column("x", "x"), rows)
        inside.append(found["draw_low"] <= draws[10] <= found["draw_high"])
    assert np.mean(inside) == pytest.approx(0.95, abs=0.015)


def test_bootstrap_leaves_out_what_is_undefined():
    assert percentile_interval([0.1, np.nan, 0.3]).value == pytest.approx(0.2)
    assert np.isnan(percentile_interval([np.nan]).value)
    assert percentile_interval([0.2, 0.9, 0.3], row_median).value == 0.3


def test_spearman_edges():
    assert np.isnan(spearman(np.array([1.0, 1.0]), np.array([1.0, 2.0])))
    assert np.isnan(spearman(np.array([1.0, np.nan]), np.array([1.0, 2.0])))
    random = np.random.default_rng(0)
    a, b = random.integers(0, 5, 30).astype(float), random.normal(size=30)
    assert spearman(a, b) == pytest.approx(spearmanr(a, b).statistic)


def test_published():
    assert printed_cell("cross_experiment", "rf-proximity", "mean_delta").value == -0.033
    assert printed_cell("window_size", "euclidean", "score2").value == 0.081
    assert printed_cell("score2_groups", "oracle", "mean_delta") is None
    assert printed_cell("score2_groups", "nobody", "group1") is None
    assert printed_cell("lognormal_groups", "glmm", "spearman_oracle").value == 0.98
    assert printed_cell("continuum", "genetic-mahalanobis", "spearman_d_star") is None
    assert printed_cell("pass1-w1-p1", "glmm", "spearman_oracle") is None


def test_rendering(tables):
    for name, table in tables.items():
        heading, rows = text_grid(table)
        assert all(len(row) == len(heading) for row in rows), name
        text = markdown(table)
        assert text.count("\n") == len(rows) + 2
    text = markdown(tables["score2_groups"])
    assert "(0.221)" in text
    assert "undefined" in text


def test_an_empty_study_has_no_tables():
    assert build_tables(invented([]), RUNS.clear()) == {}


def test_recovery_of_d_star():
    scores = invented(["continuous", "stress-graded"], replicates=3)
    half = pl.when(pl.col("method") == "glmm").then(None).otherwise(0.05)
    scores = scores.with_columns(low=pl.col("score") - half, high=pl.col("score") + half)
    tables = build_tables(scores, RUNS)
    coverage = tables["recovery_coverage"]
    here = scores.filter(condition="stress-graded", method="learned-weights", replicate=0)
    held = ((here["low"] <= here["d_star"]) & (here["d_star"] <= here["high"])).mean()
    row = coverage.filter(condition="stress-graded", method="learned-weights")
    assert row["draws"].item() == 3
    assert 0 <= held <= 1
    assert row["value"].item() == pytest.approx(
        np.mean(
            [
                ((d["low"] <= d["d_star"]) & (d["d_star"] <= d["high"])).mean()
                for _, d in scores.filter(
                    condition="stress-graded", method="learned-weights"
                ).group_by("replicate")
            ]
        )
    )
    assert coverage["column"].unique().to_list() == ["coverage"]
    # What aims at comparable patients is scored against them, and the table says so.
    excess = tables["recovery_comparable_excess"]
    assert "latent-rule" not in excess["method"].to_list()
    row = excess.filter(condition="stress-graded", method="learned-weights")
    aimed = scores.filter(condition="stress-graded", method="learned-weights")
    assert row["value"].item() == pytest.approx((aimed["score"] - aimed["comparable"]).mean())
    assert excess["column"].unique().to_list() == ["mean_excess"]
    assert "glmm" not in tables["recovery_delta"]["method"].to_list()
    assert "glmm" in tables["recovery_spearman"]["method"].to_list()
    heading, rows = text_grid(tables["recovery_delta"])
    assert heading[:3] == ["condition", "Oracle", "Euclidean"]
    assert [row[0] for row in rows] == ["continuous", "stress-graded"]
    assert rows[0][2][0] in "+-"
    trust = tables["recovery_trust"]
    assert trust["condition"].to_list() == ["continuous", "stress-graded"]
    assert trust["euclidean"].to_list() == ["ranks", "ranks"]
    assert trust["glmm"].to_list() == ["ranks", "ranks"]
    assert "constant" not in trust.columns
    assert "Latent" not in markdown(trust)


def test_ranges_end_where_the_measure_does():
    drawn = {"draws": 3, "value": 0.9, "draw_low": -0.3, "draw_high": 1.4}
    assert shown_interval({**drawn, "column": "group3", "method": "glmm"}) == (0.0, 1.4)
    assert shown_interval({**drawn, "column": "group3", "method": "euclidean"}) == (0.0, 1.0)
    assert shown_interval({**drawn, "column": "coverage", "method": "glmm"}) == (0.0, 1.0)
    assert shown_interval({**drawn, "column": "percent_positive", "method": "glmm"}) == (0.0, 1.4)
    assert shown_interval({**drawn, "column": "mean_delta", "method": "euclidean"}) == (-0.3, 1.0)
    for column in ("mean_abs_delta", "mean_physician_error"):
        assert shown_interval({**drawn, "column": column, "method": "euclidean"}) == (0.0, 1.0)
