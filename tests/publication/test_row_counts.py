"""Counts of missing values and dropped rows do not show one patient more or less."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest

import intravar
from intravar.publication.checks import published_check
from intravar.publication.disclosure import published_of
from intravar.publication.hiding import about_count
from intravar.publication.pseudonyms import Pseudonyms

KEYS = [bytes([number]) * 32 for number in range(60)]
ROWS = 900


def table(n_missing: int = 0, n_undecided: int = 0, *, n_rows: int = ROWS) -> pl.DataFrame:
    """Return rows with so many ages missing, and so many more without a decision."""
    random = np.random.default_rng(4)
    row = np.arange(n_rows + n_undecided)
    age = random.integers(30, 90, len(row)).astype(float)
    drug = random.integers(0, 2, len(row))
    frame = pl.DataFrame({"doctor": [f"D{each % 9}" for each in row], "age": age, "drug": drug})
    return frame.with_columns(
        age=pl.when(pl.Series(row >= n_missing)).then(pl.col("age")),
        drug=pl.when(pl.Series(row < n_rows)).then(pl.col("drug")),
    )


def point_of(key: bytes) -> Callable[[str], float]:
    secret: Callable[[str], float] = Pseudonyms(key, {}).secret
    return secret


def counts_told(frame: pl.DataFrame, key: bytes, **options: Any) -> tuple[str, ...]:
    """Return all that is published of missing values and of rows that were left out."""
    checked = intravar.check(frame, physician="doctor", decision="drug", **options)
    found = published_check(checked, point=point_of(key))
    missing = [column.missing for column in found.columns]
    return (*missing, found.missing, *found.dropped)


@pytest.mark.parametrize("smallest", [3, 11, 40])
def test_whoever_knows_all_other_rows_hardly_ever_learns_of_one_more(smallest: int) -> None:
    """The attacker knows the count of the others, and sees what is told under another point."""
    points = (np.arange(400) + 0.5) / 400
    for count in range(smallest + 1, 700):
        without, with_one = (
            [about_count(count + more, point, smallest) for point in points] for more in (0, 1)
        )
        for seen, possible in ((without, set(with_one)), (with_one, set(without))):
            telling = np.mean([each not in possible for each in seen])
            assert telling <= 1 / 24 + 1 / 400


@pytest.mark.parametrize("policy", ["indicator", "impute"])
def test_one_more_missing_value_is_published_as_likely_as_none(policy: str) -> None:
    """The counts that moved from 200 to 201, under sixty keys."""
    seen = [{counts_told(table(n), key, missing=policy) for key in KEYS} for n in (205, 206)]
    assert seen[0] == seen[1]
    assert len(seen[0]) > 1
    assert not any("205" in str(each) or "206" in str(each) for each in seen[0] | seen[1])


def test_one_more_row_without_a_decision_is_published_as_likely_as_none() -> None:
    seen = [{counts_told(table(0, n), key) for key in KEYS} for n in (490, 491)]
    assert seen[0] == seen[1]


@pytest.mark.parametrize(("n_missing", "n_undecided"), [(1, 0), (0, 1), (11, 0), (0, 11)])
def test_none_and_few_are_published_alike(n_missing: int, n_undecided: int) -> None:
    for several in (False, True):
        told = [
            published_check(
                intravar.check(frame, physician="doctor", decision="drug"),
                several=several,
                point=point_of(KEYS[0]),
            )
            for frame in (table(), table(n_missing, n_undecided))
        ]
        one, other = ((each.columns, each.missing, each.dropped) for each in told)
        assert one == other


def test_the_check_of_the_owner_of_the_data_stays_exact() -> None:
    checked = intravar.check(table(205), physician="doctor", decision="drug")
    missing = {each.column: each.missing for each in published_check(checked).columns}
    assert missing["age"] == "205"


def test_nothing_is_rounded_where_nothing_is_hidden() -> None:
    assert "205" in counts_told(table(205), KEYS[0], smallest_cell=1)


def test_pairs_of_two_decisions_do_not_tell_who_misses_one() -> None:
    """Of nine physicians one misses one decision, one misses two and the others none."""
    frame = table().with_columns(
        second=pl.Series(np.random.default_rng(6).integers(0, 2, ROWS), dtype=pl.Int64)
    )
    of = pl.col("doctor").cum_count().over("doctor")
    lost = ((pl.col("doctor") == "D3") & (of <= 1)) | ((pl.col("doctor") == "D5") & (of <= 2))
    frame = frame.with_columns(second=pl.when(~lost).then("second"))
    found = intravar.measure(
        frame,
        physician="doctor",
        decision=["drug", "second"],
        method="euclidean",
        min_reliability=0.0,
    )
    names = {f"D{number}": f"D{number}" for number in range(9)}
    published = published_of(found, names, partial(lambda _: 0.5))
    for decision in published.decisions:
        rows = {row.physician: row for row in decision.physicians}
        for name in ("D3", "D5"):
            assert rows[name].n_patients is None
            assert rows[name].n_pairs is None
            for figure in (rows[name].discordance, rows[name].low, rows[name].high):
                assert figure is None or figure == round(figure, 2)
        for row in decision.physicians:  # nor do those who miss none
            assert row.n_pairs is None or row.n_patients is not None
