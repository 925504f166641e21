"""The whole assessment of a profile."""

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.errors import InputError
from intravar.inference import assess, share_interval

COLUMNS = [
    "physician",
    "n_patients",
    "score",
    "low",
    "high",
    "shrunken",
    "shrunken_low",
    "shrunken_high",
    "reliability",
    "rank",
    "rank_low",
    "rank_high",
    "p_worst_tenth",
    "reason",
]


def profile_of(share, n, **columns):
    share, n = np.asarray(share, dtype=float), np.asarray(n)
    found = share_interval(share * n, n)
    names = [f"P{number}" for number in range(len(share))]
    return pl.DataFrame({"physician": names, "score": share, **found._asdict(), **columns})


@pytest.mark.parametrize("name", ["Euclidean", "GeneticMahalanobis", "GLMM"])
def test_estimators(name):
    cohort = intravar.simulate("score2", n_patients=1000, n_physicians=10, random_state=1)
    model = getattr(intravar.estimators, name)().fit(*cohort.observed())
    found = assess(model, level=0.9)
    table = found.table
    assert table.columns == COLUMNS
    assert table["low"].equals(model.interval(0.9)["score_low"])
    assert found.scale == model.scale
    assert 0 < found.rankability < 1
    assert table["reliability"].is_between(0, 1).all()
    assert (table["shrunken_low"] <= table["shrunken"]).all()
    assert table["shrunken"].std() < table["score"].std()
    assert table["rank"].sum() == pytest.approx(55)
    assert "10 of 10 physicians assessed" in str(found)


def test_undefined_physicians_keep_their_reason():
    profile = profile_of(
        [0.1, np.nan, 0.4, 0.2], [50, 0, 50, 40], reason=[None, "no pair", None, None]
    ).with_columns(pl.col("score").fill_nan(None))
    profile = profile.with_columns(
        standard_error=pl.when(pl.col("physician") == "P3").then(None).otherwise("standard_error")
    )
    table = assess(profile).table
    assert table["reason"].to_list() == [None, "no pair", None, "the score has no standard error"]
    for column in COLUMNS[5:13]:
        assert table[column].is_null().to_list() == [False, True, False, True]
    assert table["rank"].drop_nulls().sum() == pytest.approx(3)
    assert table["n_patients"].null_count() == 4


def test_few_physicians():
    nobody = assess(profile_of([np.nan], [0]))
    assert nobody.table["shrunken"].to_list() == [None]
    assert np.isnan(nobody.rankability)
    one = assess(profile_of([0.3], [60]))
    assert one.table["shrunken"].item() == pytest.approx(0.3, abs=0.01)
    assert one.table["rank"].item() == 1
    assert one.table["reliability"].item() is None
    assert one.table["p_worst_tenth"].item() is None
    assert "rankability unknown" in str(one)
    two = assess(profile_of([0.1, 0.5], [60, 60])).table
    assert two["rank"][0] < two["rank"][1]


def test_equal_physicians_cannot_be_ranked():
    found = assess(profile_of([0.25] * 12, [40] * 12))
    assert found.rankability == 0
    assert found.table["rank"].to_list() == pytest.approx([6.5] * 12)
    assert found.table["rank_high"].max() == 12


def test_plain_numbers_and_missing_columns():
    profile = pl.DataFrame(
        {
            "physician": ["a", "b"],
            "score": [-1, 3],
            "low": [-2, 2],
            "high": [0, 4],
            "standard_error": [0.5, 0.5],
        }
    )
    found = assess(profile, scale="plain")
    assert found.mean == pytest.approx(1)
    assert found.table["score"].to_list() == [-1, 3]
    with pytest.raises(InputError, match="no column low, high"):
        assess(profile.drop("low", "high"))


def test_many_physicians():
    random = np.random.default_rng(0)
    table = assess(profile_of(random.beta(4, 10, 5_000).round(2), np.full(5_000, 60))).table
    assert table["p_worst_tenth"].sum() == pytest.approx(500)


def test_same_seed_same_table():
    profile = profile_of([0.1, 0.2, 0.3], [30, 30, 30])
    assert assess(profile).table.equals(assess(profile).table)
