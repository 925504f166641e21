"""Large tables gone through a piece at a time: the same rows as read at once, from every source."""

import gzip
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from every_source import WRITERS, as_postgresql
from intravar.errors import InputError
from intravar.preparation.check import checked
from intravar.preparation.sample import draw, take_census
from intravar.request import Request
from intravar.sources import databases, read_source
from intravar.sources.reading import ROW, scan_source
from intravar.sources.texts import text_forms
from postgres import server


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    random = np.random.default_rng(0)
    return pl.DataFrame(
        {
            "doctor": [f"{number % 7:03d}" for number in range(500)],
            "drug": random.integers(0, 2, 500),
            "age": random.integers(20, 90, 500),
            "weight": random.normal(70, 10, 500).round(1),
            "ward": random.choice(["north", "south"], 500),
        }
    )


def counted(lazy: Any) -> list[tuple[Any, ...]]:
    census = take_census(lazy.lazy, lazy.n_rows, "doctor", ["drug"])
    return [
        *zip(
            census.named.to_list(),
            census.n_patients.tolist(),
            census.counts[0].n_for.tolist(),
            strict=True,
        )
    ]


@pytest.mark.parametrize("kind", [*WRITERS, "PostgreSQL"])
def test_the_same_from_every_source(
    kind: str, table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(databases, "AT_A_TIME", 90)
    expected = [
        *table.group_by("doctor").agg(pl.len(), pl.col("drug").sum()).sort("doctor").iter_rows()
    ]

    def compared(source: Any, options: dict[str, Any]) -> None:
        spool = tmp_path / "rows"
        spool.mkdir()
        found = scan_source(source, lambda: spool, least=100, **options)
        if found is None:  # what is read as a whole is said by whoever reads it
            assert read_source(source, as_text=["doctor"], **options).table.height == 500
            return
        assert found.n_rows == 500
        assert counted(found) == expected
        rows = found.lazy.select(ROW).collect()[ROW]
        assert sorted(rows.to_list()) == list(range(500))
        assert scan_source(source, lambda: spool, least=500, **options) is None

    if kind == "PostgreSQL":
        with server(tmp_path / "server") as url:
            compared(*given(as_postgresql(url)(table, tmp_path)))
    else:
        compared(*given(WRITERS[kind](table, tmp_path)))


def test_a_batch_with_an_empty_column(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that have no value do not tell what a column holds."""
    monkeypatch.setattr(databases, "AT_A_TIME", 90)
    late = table.with_columns(pl.when(pl.int_range(pl.len()) >= 100).then(pl.col("weight")))
    with server(tmp_path / "server") as url:
        source, options = as_postgresql(url)(late, tmp_path)
        scanned = scan_source(source, lambda: tmp_path, least=100, **options)
    assert scanned is not None
    assert scanned.lazy.collect()["weight"].null_count() == 100


def given(written: Any) -> tuple[Any, dict[str, Any]]:
    """Return a source and how to read it."""
    return written if isinstance(written, tuple) else (written, {})


@pytest.mark.parametrize("kind", ["gzip", "utf-16", "old Mac", "separator line", "binary"])
def test_text_that_must_be_read_as_a_whole(kind: str, table: pl.DataFrame, tmp_path: Path):
    path, text = tmp_path / "patients.csv", table.write_csv()
    content = {
        "gzip": gzip.compress(text.encode()),
        "utf-16": text.encode("utf-16"),
        "old Mac": text.replace("\n", "\r").encode(),
        "separator line": b"sep=,\n" + text.encode(),
        "binary": b"\x00\x01" * 100,
    }[kind]
    path.write_bytes(content)
    assert scan_source(path, lambda: tmp_path, least=100) is None


def test_a_ragged_line_is_said_by_whoever_reads_it(table: pl.DataFrame, tmp_path: Path):
    path = tmp_path / "patients.csv"
    lines = table.write_csv().splitlines()
    lines[300] += ",one,more"
    path.write_text("\n".join(lines))
    for _ in range(2):
        with pytest.raises(InputError, match="7 fields in line 301"):
            checked(path, Request(physician="doctor", decision="drug", sample=1_000))
        path.write_text("\n".join([*lines, *lines[1:], *lines[1:]]))


def test_a_population_that_cannot_be(table: pl.DataFrame, tmp_path: Path):
    path = tmp_path / "patients.csv"
    pl.concat([table] * 3).write_csv(path)
    asked = Request(physician="doctor", decision="drug", sample=1_000, where="hight > 3")
    with pytest.raises(InputError, match="column 'hight'; did you mean 'weight'"):
        checked(path, asked)


def test_a_lot_moves_nobody(table: pl.DataFrame):
    """Whoever is drawn stays drawn when other physicians join, or rows change places."""
    found = scan_source(table, Path, least=100)
    assert found is not None
    census = take_census(found.lazy, found.n_rows, "doctor", ["drug"])
    assert set(draw(census, 200, 1)[0]) <= set(draw(census, 400, 1)[0])
    shuffled = scan_source(table.sample(fraction=1, shuffle=True, seed=2), Path, least=100)
    assert shuffled is not None
    again, _ = draw(take_census(shuffled.lazy, shuffled.n_rows, "doctor", ["drug"]), 200, 1)
    assert again.tolist() == draw(census, 200, 1)[0].tolist()


def test_columns_of_any_name() -> None:
    """`self` is what libraries call an argument of their own."""
    table = pl.DataFrame({"doctor": ["a", "b"] * 50, "drug": [0, 1] * 50, "self": ["1.5"] * 100})
    lazy = table.with_columns(pl.lit(date(2020, 1, 1)).alias("exprs")).lazy()
    assert text_forms(lazy, ["doctor", "drug"])["self"].kind == "number"
    assert read_source(table.rename({"self": "exprs", "drug": "self"})).table.width == 3


@pytest.mark.parametrize(
    "broken",
    [
        pl.LazyFrame({"doctor": ["a"], "drug": [1]}).select("doctor", "drug", "age"),
        pl.LazyFrame({"doctor": ["a"], "drug": [1]}).with_columns(pl.col("doctor").cast(pl.Int64)),
        pl.scan_csv("there is no such file.csv"),
    ],
)
def test_a_query_that_fails_is_said_to_fail(broken: pl.LazyFrame) -> None:
    with pytest.raises(InputError, match="the frame cannot be read"):
        checked(broken, Request(physician="doctor", decision="drug"))
