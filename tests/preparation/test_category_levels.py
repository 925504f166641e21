"""Categories with many levels: numbers of levels, what the check says, leaks."""

import json

import numpy as np
import polars as pl

from intravar.preparation.check import check
from intravar.preparation.coding import learn_codings, number_levels
from intravar.preparation.kinds import Column
from intravar.preparation.leaks import find_leaks
from intravar.publication.checks import published_check
from intravar.publication.files import plain


def codes(n_levels: int, rows_each: int) -> pl.Series:
    return pl.Series("dx", [f"D{level:04d}" for level in range(n_levels)] * rows_each)


def category(values: pl.Series) -> Column:
    return Column(values.name, "category", values)


def table(n: int, n_levels: int) -> pl.DataFrame:
    random = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "physician": np.arange(n) % 10,
            "decision": random.integers(0, 2, n),
            "age": random.normal(size=n),
            "dx": [f"D{level:04d}" for level in random.integers(0, n_levels, n)],
        }
    )


def note_of(frame: pl.DataFrame, **options: object) -> str:
    found = published_check(check(frame, physician="physician", decision="decision", **options))
    return next(column.note for column in found.columns if column.column == "dx")


def test_every_level_has_a_number_that_does_not_depend_on_the_rows_read() -> None:
    column = category(codes(100, 12))
    codings = learn_codings([column], "indicator")
    part = category(pl.Series("dx", ["D0042", "D0007", "D0042"]))

    whole = number_levels(codings, [column])["dx"]
    read = number_levels(codings, [part])["dx"]

    assert len(set(whole[:100].tolist())) == 100
    assert read.tolist() == [whole[42], whole[7], whole[42]]


def test_levels_that_were_not_known_have_negative_numbers_of_their_own() -> None:
    column = category(codes(100, 12))
    codings = learn_codings([column], "indicator")
    new = category(pl.Series("dx", ["new", None, "other", "new"]))

    numbers = number_levels(codings, [new])["dx"]

    assert (numbers < 0).all()
    assert numbers[0] == numbers[3]
    assert len(set(numbers.tolist())) == 3


def test_a_category_with_few_levels_has_no_numbers() -> None:
    one_rare = pl.concat([codes(6, 50), pl.Series("dx", ["rare"] * 3)])

    assert not learn_codings([category(codes(20, 50))], "impute")[0].numbered
    assert not learn_codings([category(one_rare)], "impute")[0].numbered


def test_missing_levels_are_a_level() -> None:
    values = pl.concat([codes(60, 12), pl.Series("dx", [None] * 50, dtype=pl.String)])
    codings = learn_codings([category(values)], "indicator")

    numbers = number_levels(codings, [category(values)])["dx"]

    assert numbers[-1] == 0  # the most frequent one


def test_patients_carry_their_levels() -> None:
    frame = table(1000, 100)

    observed = check(frame, physician="physician", decision="decision").prepared.observed

    assert observed.category_names == ("dx",)
    assert observed.categories is not None
    assert len(np.unique(observed.categories)) == frame["dx"].n_unique()
    assert observed.take(np.arange(5)).categories.tolist() == observed.categories[:5].tolist()


def test_the_check_reports_pooled_levels_and_their_share_of_rows() -> None:
    frame = table(1000, 100)
    counts = frame["dx"].value_counts().sort("count", "dx", descending=[True, False])["count"]
    share = counts[19:].sum() / 10

    found = published_check(check(frame, physician="physician", decision="decision"))

    note = next(column.note for column in found.columns if column.column == "dx")
    n_pooled = len(counts) - 19 if (counts >= 11).sum() >= 20 else int((counts < 11).sum())
    assert f"{n_pooled} levels pooled" in note
    assert "predictions tell apart" in note
    if (counts >= 11).sum() >= 20:
        assert f"({share:.0f} % of rows)" in note
    assert note in json.dumps(plain(found))


def test_a_small_number_of_pooled_rows_is_not_published() -> None:
    frame = table(600, 4).with_row_index()
    rare = pl.when(pl.col("index") < 6).then(pl.format("rare {}", "index")).otherwise("dx")
    frame = frame.with_columns(dx=rare).drop("index")

    assert "6 levels pooled (few rows)" in note_of(frame)
    assert "6 levels pooled (1 % of rows)" in note_of(frame, smallest_cell=1)


def test_a_rare_level_that_gives_the_decision_away_is_found() -> None:
    levels = codes(300, 10)
    decided = np.tile(np.arange(300) % 2, 10).astype(np.int8)

    leaks = find_leaks([category(levels)], decided, "drug")

    assert [leak.column for leak in leaks] == ["dx"]
    assert leaks[0].certain


def test_levels_that_carry_nothing_are_no_leak() -> None:
    decided = np.random.default_rng(2).integers(0, 2, 3000).astype(np.int8)

    assert not find_leaks([category(codes(300, 10))], decided, "drug")


def test_a_text_that_differs_in_most_rows_is_still_an_identifier() -> None:
    frame = table(1000, 100).with_columns(dx=pl.Series([f"N{n}" for n in range(1000)]))

    prepared = check(frame, physician="physician", decision="decision").prepared

    assert prepared.observed.categories is None
    assert next(each.kind for each in prepared.columns if each.column == "dx") == "identifier"
