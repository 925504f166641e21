"""Tables whose sample does not look like the rest: what is counted is what memory counts."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from intravar.errors import InputError
from intravar.estimators.evidence import no_differences
from intravar.preparation.check import Check, checked
from intravar.preparation.sample import Census, as_measured, part_by_lot, rows_of, take_census
from intravar.request import Request
from intravar.runs.buckets import SCHEMA, Others, Parts
from intravar.sources.reading import ROW

ASKED: dict[str, Any] = {"physician": "doctor", "decision": "statin", "sample": 1_000}


def patients(seed: int = 0, n: int = 4_000, doctors: int = 80) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    age = random.integers(40, 90, n)
    return pl.DataFrame(
        {
            "doctor": [f"d{number:03d}" for number in random.integers(0, doctors, n)],
            "age": age,
            "bp": random.normal(130, 15, n).round(1),
            "statin": (random.random(n) < age / 120).astype(int),
        }
    )


def _census(table: pl.DataFrame) -> Census:
    return take_census(table.with_row_index(ROW).lazy(), table.height, "doctor", ["statin"])


def large(source: Any, **options: Any) -> Check:
    return checked(source, Request(**ASKED | options))


def in_memory(source: Any, **options: Any) -> Check:
    return checked(source, Request(**ASKED | options | {"sample": 10_000_000}))


def read(found: Check) -> dict[str, tuple[int, int]]:
    """Return patients of everybody, and those decided for, by the sample and by the recipe."""
    observed = found.prepared.observed
    parts = [observed]
    if found.beyond is not None:
        census, recipe = found.beyond.census, found.prepared.recipe
        parts = [observed.take(np.flatnonzero(_is_whole(found)))]
        for some in np.array_split(found.beyond.unread, 5):
            rows = rows_of(census, some).collect()
            table = as_measured(census, found.beyond.counts, rows)
            applied = recipe.apply(table.select(pl.exclude(r"^intravar: .*$")))
            if applied is not None:
                parts.append(applied[0].observed)
    return {
        str(name): (int((part.code == at).sum()), int(part.decision[part.code == at].sum()))
        for part in parts
        for at, name in enumerate(part.physicians)
    }


def _is_whole(found: Check) -> Any:
    assert found.beyond is not None
    beyond, named = found.beyond, found.beyond.census.named
    whole = set(named[beyond.codes[beyond.whole]].cast(pl.String).to_list())
    observed = found.prepared.observed
    inside = np.array([str(name) in whole for name in observed.physicians])
    return inside[observed.code]


def same(source: Any, **options: Any) -> Check:
    """Count everybody both ways."""
    found = large(source, **options)
    assert read(found) == read(in_memory(source, **options))
    return found


def test_a_population_that_the_sample_holds():
    found = same(patients(), where="age >= 82")
    assert found.beyond is None


def test_a_column_that_is_empty_beyond_the_sample():
    table = patients()
    inside = set(map(str, large(table).prepared.observed.physicians))
    random = np.random.default_rng(0)
    lab = [random.normal() if doctor in inside else None for doctor in table["doctor"]]
    same(table.with_columns(pl.Series("lab", lab)), missing="drop")


def test_one_huge_panel_and_thousands_of_tiny_ones():
    huge = patients(1, 5_000).with_columns(doctor=pl.lit("huge"))
    tiny = patients(2, 6_000, 2_000)
    found = large(pl.concat([huge, tiny]))
    sizes = np.bincount(found.prepared.observed.code)
    assert sizes.max() >= 50


@pytest.mark.parametrize("seed", range(3))
def test_a_part_of_a_panel_of_many_alike_is_like_the_panel(seed: int):
    """Rows that are alike are not drawn, or left out, together."""
    random = np.random.default_rng(seed)
    n = 40_000
    table = pl.DataFrame(
        {
            "doctor": ["huge"] * n,
            "smoker": random.integers(0, 2, n),
            "male": random.integers(0, 2, n),
            "statin": (random.random(n) < 0.4).astype(int),
        }
    )
    census = _census(table)
    drawn = part_by_lot(census, census.rows, np.array([0]), 8_000, seed).collect()
    assert drawn.height == pytest.approx(8_000, abs=6 * np.sqrt(8_000))
    shuffled = _census(table.sample(n, shuffle=True))
    again = part_by_lot(shuffled, shuffled.rows, np.array([0]), 8_000, seed).collect()
    held = ["smoker", "male", "statin"]
    assert drawn.select(held).sort(held).equals(again.select(held).sort(held))
    for name in held:
        whole = float(table[name].mean())  # type: ignore[arg-type]
        assert float(drawn[name].mean()) == pytest.approx(whole, abs=5 * 0.5 / np.sqrt(8_000))  # type: ignore[arg-type]


def test_rows_of_a_table_that_was_read_as_a_whole():
    """Pandas, and most without a decision: everybody fits the sample, and rows are counted once."""
    table = patients(n=12_000).with_columns(
        pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.col("statin")).alias("statin")
    )
    found = large(table.to_pandas(), where="age >= 50", sample=3_000)
    assert found.beyond is None
    rows = found.prepared.rows
    assert (rows % 5 == 0).all()
    assert (table["age"][rows] >= 50).all()


def test_a_decision_that_one_physician_takes():
    rare = (pl.col("doctor") == "d010") & (pl.col("age") > 60)
    same(patients().with_columns(statin=rare.cast(pl.Int64)))


@pytest.mark.parametrize("name", ["intravar: row", "intravar: physician", "intravar: bucket"])
def test_names_of_our_own_are_refused(name: str, tmp_path: Path):
    table = patients().with_columns(pl.col("age").alias(name))
    table.write_parquet(tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        with pytest.raises(InputError, match=f"column '{name}' has a name that intravar gives"):
            large(source)


def test_a_population_by_a_column_that_tells_late_how_it_is_written(tmp_path: Path):
    table = patients(3, 8_000)
    cost = np.random.default_rng(0).integers(1_000, 9_000, table.height)
    written = [f"{each // 1000}.{each % 1000:03d}" for each in cost]
    written[-50:] = [f"{each},50" for each in written[-50:]]
    path = tmp_path / "t.csv"
    table.with_columns(pl.Series("cost", written)).write_csv(path)
    same(path, where="cost > 4000")


def test_buckets_are_read_as_the_sample_is(tmp_path: Path):
    """Points separate thousands, and days come first; few rows tell."""
    table = patients(4)
    inside = set(map(str, large(table).prepared.observed.physicians))
    telling = pl.Series([doctor in inside for doctor in table["doctor"]])
    random = np.random.default_rng(0)
    cost, day = random.integers(1_000, 9_000, table.height), random.integers(1, 13, table.height)
    texts = pl.DataFrame(
        {
            "cost": [
                f"{each // 1000}.{each % 1000:03d}" + (",50" if tells else "")
                for each, tells in zip(cost, telling, strict=True)
            ],
            "seen": [
                f"{each + 12 if tells else each:02d}/03/2020"
                for each, tells in zip(day, telling, strict=True)
            ],
        }
    )
    path = tmp_path / "t.csv"
    pl.concat([table, texts], how="horizontal").write_csv(path)
    found = large(path)
    assert found.beyond is not None
    recipe = found.prepared.recipe
    census = found.beyond.census
    codes = np.setdiff1d(np.arange(len(census.named)), found.beyond.codes)
    rows = as_measured(census, found.beyond.counts, rows_of(census, codes).collect())
    applied = recipe.apply(rows.select(pl.exclude(r"^intravar: .*$")))
    assert applied is not None
    portion, _ = applied
    at = portion.observed.names.index("cost")
    assert portion.observed.covariates[:, at].min() >= 1_000
    assert "seen" in {each.name for each in recipe.codings}


@pytest.mark.parametrize("times", [2, 3])
def test_a_table_of_copies_of_itself(times: int):
    coarse = patients(5).with_columns(
        age=(pl.col("age") > 65).cast(pl.Int64), bp=(pl.col("bp") > 130).cast(pl.Int64)
    )
    same(pl.concat([coarse] * times))


def test_numbers_of_rows_are_no_covariate():
    table = patients().with_row_index("visit")
    found = same(table)
    assert "visit" not in found.prepared.covariates
    same(pl.concat([table, table.with_columns(visit=pl.col("visit") + 4_000)]))


def test_patients_who_come_again():
    table = patients()
    random = np.random.default_rng(0)
    ids = random.integers(0, 3_000, table.height)
    same(table.with_columns(pl.Series("patient_id", ids)))
    same(table.with_columns(pl.Series("patient_id", [f"p{each}" for each in ids])))


def test_a_part_under_another_number_is_not_used(tmp_path: Path):
    parts = Parts(tmp_path / "unfinished", {})
    parts.open()
    nobody = pl.DataFrame()
    panels = pl.DataFrame(schema=SCHEMA)
    others = Others(panels, no_differences(), nobody, nobody, nobody, nobody, {}, {})
    parts.keep(2, {"statin": others})
    assert parts.kept(2) is not None
    for path in (tmp_path / "unfinished" / "read").glob("bucket-000002*"):
        (path.parent / path.name.replace("000002", "000001")).write_bytes(path.read_bytes())
    assert parts.kept(1) is None
    parts.close(finished=True)
