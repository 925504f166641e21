"""Copies of rows and patients who come again are found; patients alike by chance are not."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

import intravar
from intravar import InputError, Request, check
from intravar.arrays import IntArray
from intravar.preparation.duplicates import (
    AGAIN,
    COPIES,
    find_repeated_rows,
    learn_copies,
)
from intravar.preparation.kinds import assign_roles
from intravar.publication import check_lines


def cohort(n: int = 400, n_physicians: int = 8) -> pl.DataFrame:
    made = intravar.simulate("score2", n_patients=n, n_physicians=n_physicians, random_state=3)
    return made.to_polars(truth=False)


def coarse(n: int = 600, n_physicians: int = 6) -> pl.DataFrame:
    random = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "physician": random.integers(0, n_physicians, n),
            "decision": random.integers(0, 2, n),
            "sex": random.choice(["f", "m"], n),
            "old": random.integers(0, 2, n),
            "admitted": random.integers(0, 3, n),
        }
    )


class Repeated(NamedTuple):
    group: IntArray
    n_copies: int
    n_again: int


def found(table: pl.DataFrame, patient: str | None = None) -> Repeated:
    roles = assign_roles(
        table.columns, Request(physician="physician", decision="decision", patient=patient)
    )
    return Repeated(*find_repeated_rows(table, roles, learn_copies(table, roles)[0]))


def test_nothing_is_found_where_nothing_is() -> None:
    for table in (cohort(), coarse()):
        result = found(table)
        assert (result.n_copies, result.n_again, len(np.unique(result.group))) == (
            0,
            0,
            table.height,
        )


@pytest.mark.parametrize("table", [cohort(), coarse()], ids=["fine", "coarse"])
def test_a_table_five_times_over(table: pl.DataFrame) -> None:
    n = table.height
    five = pl.concat([table] * 5).with_columns(pl.int_range(5 * n).alias("row_id"))
    result = found(five.sample(fraction=1, shuffle=True, seed=1))
    assert result.n_copies == 4 * n
    assert (np.bincount(result.group) == 5).all()


def test_traits_of_the_physician_do_not_make_patients_alike() -> None:
    table = coarse().with_columns(
        (pl.col("physician") * 1.7).alias("years in practice"), pl.lit("x").alias("clinic")
    )
    assert found(table).n_copies == 0


def test_some_copies_among_others() -> None:
    table = cohort()
    result = found(pl.concat([table, table[:30]]))
    assert result.n_copies == 30
    np.testing.assert_array_equal(result.group[400:], np.arange(30))


@pytest.mark.parametrize("name", ["patient_id", "person id", "nhs_no", "MRN", "patientId"])
def test_visits_of_one_patient(name: str) -> None:
    table = cohort().with_columns((pl.int_range(400) // 2).alias(name))
    result = found(table)
    assert (result.n_again, result.n_copies) == (200, 0)
    np.testing.assert_array_equal(result.group, np.arange(400) // 2)


def test_whoever_has_no_number_is_a_patient_apart() -> None:
    table = cohort().with_columns(
        pl.when(pl.int_range(400) < 10).then(None).otherwise(7).alias("patient_id")
    )
    assert found(table).group.max() == 10
    with pytest.raises(InputError, match="there is no column 'x'"):
        found(table, patient="x")
    assert found(table.rename({"patient_id": "x"}), patient="x").group.max() == 10


def _visits(n: int = 300) -> pl.DataFrame:
    """Return a table in which every patient has two rows."""
    random = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "doctor": random.integers(0, 3, n),
            "drug": random.integers(0, 2, n),
            "age": random.normal(60, 9, n),
            "patient_id": np.arange(n) // 2,
        }
    )


def test_all_visits_of_identified_patients_are_used_by_default() -> None:
    table = _visits()

    prepared = check(table, physician="doctor", decision="drug").prepared

    assert prepared.observed.n_patients == table.height
    assert not prepared.dropped
    patient = table["patient_id"].to_numpy()[prepared.rows]
    assert prepared.observed.patient is not None
    pairs = np.column_stack([patient, prepared.observed.patient])
    assert len(np.unique(pairs, axis=0)) == len(np.unique(patient))


def test_methods_that_pair_rows_use_one_visit_of_every_patient() -> None:
    table = _visits()
    asked = {"physician": "doctor", "decision": "drug", "method": "euclidean"}

    prepared = check(table, **asked).prepared

    assert prepared.observed.n_patients == table.select("doctor", "patient_id").n_unique()
    with pytest.raises(InputError, match="several visits of one patient"):
        check(table, **asked, patient="patient_id", repeated="all")


@pytest.mark.parametrize("ids", ["long", "leading zeros", "exponents"])
def test_identifiers_of_patients_are_texts(ids: str, tmp_path: Path) -> None:
    n = 400
    random = np.random.default_rng(1)
    written = {
        "long": [str(40_000_000_000_000_000_000 + i) for i in range(n)],
        "leading zeros": [f"{'0' * (1 + i % 2)}{160 + i // 2}" for i in range(n)],
        "exponents": [f"{160 + i // 2}{'E0' * (i % 2)}" for i in range(n)],
    }
    table = pl.DataFrame(
        {
            "physician": random.integers(0, 4, n),
            "decision": random.integers(0, 2, n),
            "age": random.normal(60, 9, n),
            "patient_id": written[ids],
        }
    )
    table.write_csv(tmp_path / "t.csv")

    for source in (tmp_path / "t.csv", table):
        asked = {"physician": "physician", "decision": "decision", "repeated": "once"}
        prepared = check(source, **asked).prepared
        assert prepared.observed.n_patients == n
        assert prepared.observed.patient is None


def test_every_patient_of_a_physician_counts_once() -> None:
    n = 300
    table = _visits(n)
    asked = {"physician": "doctor", "decision": "drug", "repeated": "once"}
    once = check(table, **asked).prepared
    pairs = table.select("doctor", "patient_id")
    assert once.observed.n_patients == pairs.n_unique()
    assert once.dropped == {AGAIN: n - pairs.n_unique()}
    assert check(table, **asked | {"repeated": "all"}).prepared.observed.n_patients == n
    named = table.rename({"patient_id": "whoever"})
    assert check(named, **asked, patient="whoever").prepared.observed.n_patients == pairs.n_unique()
    five = check(pl.concat([table] * 5), **asked).prepared
    np.testing.assert_array_equal(five.observed.covariates, once.observed.covariates)
    shuffled = check(table.sample(fraction=1.0, shuffle=True, seed=1), **asked).prepared
    np.testing.assert_array_equal(shuffled.observed.covariates, once.observed.covariates)


def test_what_describes_physicians_makes_no_copies() -> None:
    """A designed study: every taster tastes the same few things several times."""
    rows = np.arange(400)
    table = pl.DataFrame(
        {
            "taster": rows // 10,
            "sure": rows * 7 % 3 // 2,
            "product": rows % 2,
            "trait": rows // 10 % 7,
            "other": rows // 10 % 11,
        }
    )
    found = check(table, physician="taster", decision="sure").prepared
    assert found.dropped == {}


def site_mix(n: int = 4_000, n_physicians: int = 10, n_columns: int = 4) -> pl.DataFrame:
    """Few coarse columns that go together and differ between physicians: alike by chance."""
    random = np.random.default_rng(7)
    who = random.integers(0, n_physicians, n)
    frail = random.normal(who / 2, 1, n)
    columns = {
        f"finding {place}": np.digitize(frail + random.normal(0, 0.5, n), [-1, 0, 1, 2, 3])
        for place in range(n_columns)
    }
    return pl.DataFrame({"physician": who, "decision": (frail > 2).astype(int), **columns})


@pytest.mark.parametrize("n_physicians", [1, 2, 10, 100])
@pytest.mark.parametrize("n_columns", [1, 2, 4, 6])
def test_patients_alike_by_chance_are_no_copies(n_physicians: int, n_columns: int) -> None:
    table = site_mix(n_physicians=n_physicians, n_columns=n_columns)
    assert found(table).n_copies == 0


@pytest.mark.parametrize("copied", [5, 100, 400])
def test_copies_among_rows_of_which_some_are_alike_by_chance(copied: int) -> None:
    """With a fine column beside coarse ones hardly anybody is alike by chance."""
    random = np.random.default_rng(8)
    table = site_mix().with_columns(age=pl.Series(random.normal(60, 9, 4_000).round(1)))
    assert found(table).n_copies == 0
    alike = table.height - table.n_unique()
    assert found(pl.concat([table, table[:copied]])).n_copies >= copied or copied < 3 * alike


def test_what_was_decided_is_said() -> None:
    asked = {"physician": "physician", "decision": "decision"}
    coarse = check(site_mix(), **asked)
    assert "they count as different patients" in coarse.prepared.about_copies
    assert not coarse.prepared.warnings
    table = cohort(n=2_000)
    twice = check(pl.concat([table, table[:120]]), **asked)
    assert "they count as copies" in twice.prepared.about_copies
    assert "would give no:" not in twice.prepared.about_copies
    assert twice.prepared.warnings[0].startswith("6% of the table's rows were left out")
    lines = "\n".join(check_lines(twice))
    assert "about 120 pairs of rows are the same" in lines


def test_copies_of_the_whole_table_are_counted() -> None:
    table = cohort(n=3_000, n_physicians=30)
    more = pl.concat([table, table.filter(pl.col("age") > 70)])
    n_copies = more.height - table.height
    asked = {"physician": "physician", "decision": "decision"}
    whole = check(more, **asked).prepared.dropped
    sampled = check(more, sample=1_000, **asked)
    assert sampled.beyond is not None
    assert sampled.prepared.dropped == whole == {COPIES: n_copies}
