"""Whatever holds the cohort, in whatever order, measuring it gives the same to the last bit."""

import sqlite3
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import intravar
from intravar import Cohort, Measurement
from intravar.estimators import Observed, make_estimator
from intravar.measurement import halves
from intravar.panels import in_content_order
from omop_writer import DRUG, covariates_of, omop_frames, write_csv_folder
from postgres import server, write_table

METHOD = "learned-weights"


@pytest.fixture(scope="module", autouse=True)
def halved_once() -> Iterator[None]:
    """One deal into halves depends on order, or not, as three do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(halves, "SPLITS", 1)
        yield


@pytest.fixture(scope="module")
def cohort() -> Cohort:
    return intravar.simulate("score2", n_patients=1500, n_physicians=6, random_state=3)


@pytest.fixture(scope="module")
def expected(cohort: Cohort) -> pl.DataFrame:
    return make_estimator(METHOD).fit_observed(in_order(cohort)).profile_.sort("physician")


def in_order(cohort: Cohort) -> Observed:
    """Bring a cohort into the order in which every table is measured."""
    columns = sorted(cohort.covariate_names)
    table = cohort.to_polars().sort("physician", *columns, "decision")
    given = Observed.of(table.select(columns), table["decision"], table["physician"])
    return in_content_order(given)[0]


def measured(source: Any, **options: Any) -> Measurement:
    columns: dict[str, Any] = {"physician": "physician", "decision": "decision", "method": METHOD}
    return intravar.measure(source, **(columns | options))


def assert_same_table(source: Any, cohort: Cohort, **options: Any) -> None:
    """Compare what the estimators would get, to the last bit; the rest follows from it."""
    columns: dict[str, Any] = {"physician": "physician", "decision": "decision"}
    found = intravar.check(source, **(columns | options)).prepared.observed
    expected = in_order(cohort)
    assert found.names == expected.names
    assert not found.blocks
    np.testing.assert_array_equal(found.covariates, expected.covariates)
    np.testing.assert_array_equal(found.decision, expected.decision)
    np.testing.assert_array_equal(found.code, expected.code)


def assert_same(found: Measurement, expected: pl.DataFrame) -> None:
    assert found.physicians["physician"].to_list() == expected["physician"].to_list()
    np.testing.assert_array_equal(found.physicians["discordance"], expected["score"])
    np.testing.assert_array_equal(found.physicians["n_pairs"], expected["n_pairs"])
    np.testing.assert_array_equal(found.physicians["n_patients"], expected["n_patients"])


def test_files(cohort: Cohort, expected: pl.DataFrame, tmp_path: Path) -> None:
    for suffix in ("csv", "parquet"):
        cohort.write(tmp_path / f"cohort.{suffix}")
        assert_same_table(tmp_path / f"cohort.{suffix}", cohort)
    assert_same(measured(tmp_path / "cohort.csv"), expected)


@pytest.mark.parametrize("method", ["euclidean", "learned-weights", "lpa-guided", "latent-rule"])
def test_order_changes_nothing(method: str) -> None:
    table = intravar.simulate("score2", n_patients=300, n_physicians=6, random_state=8).to_polars()
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1).select(sorted(table.columns)[::-1])
    one, other = (measured(each, method=method).physicians for each in (table, shuffled))
    assert one.equals(other)


def test_a_folder_of_parts(cohort: Cohort, tmp_path: Path) -> None:
    table = cohort.to_polars()
    for part in range(3):
        table[part * 500 : (part + 1) * 500].write_parquet(tmp_path / f"part-{part}.parquet")
    assert_same_table(tmp_path, cohort)


def test_frames(cohort: Cohort) -> None:
    assert_same_table(cohort.to_polars(), cohort)
    assert_same_table(cohort.to_polars().lazy(), cohort)
    assert_same_table(cohort.to_pandas(), cohort)
    assert_same_table(cohort.to_polars().to_arrow(), cohort)


def test_workbook(cohort: Cohort, tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    pytest.importorskip("xlsxwriter")
    # Workbooks keep 15 digits; numbers that need no more come back as they were.
    table = cohort.to_polars().with_columns(pl.selectors.float().round(6))
    table.write_excel(tmp_path / "cohort.xlsx")
    assert_same_table(tmp_path / "cohort.xlsx", Cohort.from_polars(table))


def test_duckdb(cohort: Cohort, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "cohort.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.register("handed_over", cohort.to_polars().to_arrow())
        connection.execute("CREATE TABLE patients AS SELECT * FROM handed_over")
    assert_same_table(file, cohort)
    assert_same_table(f"duckdb://{file}", cohort, query="SELECT * FROM patients")


def test_sqlite(cohort: Cohort, tmp_path: Path) -> None:
    table = cohort.to_polars()
    with sqlite3.connect(tmp_path / "cohort.db") as connection:
        names = ", ".join(f'"{name}"' for name in table.columns)
        connection.execute(f"CREATE TABLE patients ({names})")
        marks = ", ".join("?" * table.width)
        connection.executemany(f"INSERT INTO patients VALUES ({marks})", table.rows())
    connection.close()
    assert_same_table(tmp_path / "cohort.db", cohort, table="patients")


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server(tmp_path_factory.mktemp("postgres")) as url:
        yield url


def test_postgresql(cohort: Cohort, postgres: str) -> None:
    write_table(postgres, "patients", cohort.to_polars())
    assert_same_table(postgres, cohort, table="patients")
    assert_same_table(postgres, cohort, query="SELECT * FROM patients")


def omop_table(source: Any, cohort: Cohort, **options: Any) -> pl.DataFrame:
    """Build the patients, with providers named as the cohort's physicians are."""
    found = intravar.omop_patients(source, drug=[DRUG], covariates=covariates_of(cohort), **options)
    named = pl.format("P{}", pl.col("provider_id").cast(pl.String).str.zfill(2))
    return found.table.select(
        *cohort.covariate_names,
        named.alias("physician"),
        pl.col("treated").alias("decision"),
    )


def test_omop_from_csv_and_zip(cohort: Cohort, tmp_path: Path) -> None:
    folder = write_csv_folder(cohort, tmp_path / "cdm")
    assert_same_table(omop_table(folder, cohort), cohort)
    with zipfile.ZipFile(tmp_path / "cdm.zip", "w") as archive:
        for file in folder.rglob("*.csv"):
            archive.write(file, file.relative_to(folder))
    assert_same_table(omop_table(tmp_path / "cdm.zip", cohort), cohort)


def test_omop_from_duckdb(cohort: Cohort, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "omop.duckdb")) as connection:
        connection.execute("CREATE SCHEMA cdm")
        for name, frame in omop_frames(cohort).items():
            connection.register("handed_over", frame.to_arrow())
            connection.execute(f"CREATE TABLE cdm.{name.upper()} AS SELECT * FROM handed_over")
            connection.unregister("handed_over")
    assert_same_table(omop_table(tmp_path / "omop.duckdb", cohort, schema="cdm"), cohort)


def test_omop_from_postgresql(cohort: Cohort, postgres: str) -> None:
    for name, frame in omop_frames(cohort).items():
        write_table(postgres, name, frame)
    assert_same_table(omop_table(postgres, cohort), cohort)


# --- the default method ---


@pytest.fixture(scope="module")
def small() -> Cohort:
    return intravar.simulate("score2", n_patients=900, n_physicians=6, random_state=8)


@pytest.fixture(scope="module")
def latent(small: Cohort) -> pl.DataFrame:
    return make_estimator("latent-rule").fit_observed(in_order(small)).profile_.sort("physician")


@pytest.fixture(scope="module")
def duckdb_file(small: Cohort, tmp_path_factory: pytest.TempPathFactory) -> Path:
    duckdb = pytest.importorskip("duckdb")
    file: Path = tmp_path_factory.mktemp("duckdb") / "small.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.register("handed_over", small.to_polars().to_arrow())
        connection.execute("CREATE TABLE patients AS SELECT * FROM handed_over")
    return file


def source_of(kind: str, cohort: Cohort, folder: Path, request: pytest.FixtureRequest) -> Any:
    """Write the cohort to a source of this kind."""
    if kind == "omop":
        return omop_table(write_csv_folder(cohort, folder / "cdm"), cohort)
    if kind == "duckdb":
        return request.getfixturevalue("duckdb_file")
    if kind == "postgresql":
        url: str = request.getfixturevalue("postgres")
        write_table(url, "small", cohort.to_polars())
        return url
    cohort.write(folder / f"cohort.{kind}")
    return folder / f"cohort.{kind}"


@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb", "postgresql", "omop"])
def test_the_latent_rule_is_given_the_same(
    kind: str, small: Cohort, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    source = source_of(kind, small, tmp_path, request)
    options = {"table": "small"} if kind == "postgresql" else {}
    assert_same_table(source, small, method="latent-rule", **options)


def test_latent_rule(latent: pl.DataFrame, duckdb_file: Path) -> None:
    table = measured(duckdb_file, method="latent-rule").physicians
    assert table["physician"].to_list() == latent["physician"].to_list()
    np.testing.assert_array_equal(table["discordance"], latent["score"])
    for name in ("n_patients", "p_high", "p_low", "discrimination"):
        np.testing.assert_array_equal(table[name], latent[name])
    # A measurement adds what two halves of the patients show, and the range of levels.
    # Ends are put together around the score, which may cost the last bit.
    assert (table["low"] <= latent["score_low"] + 1e-15).all()
    assert (table["high"] >= latent["score_high"] - 1e-15).all()


def test_what_is_written_is_what_was_measured(
    cohort: Cohort, expected: pl.DataFrame, tmp_path: Path
) -> None:
    found = measured(cohort.to_polars(), smallest_cell=1, min_reliability=0)
    intravar.write_measurement(found, tmp_path / "out", show_names=True)
    written = pl.read_parquet(tmp_path / "out" / "physicians.parquet")
    both = written.join(expected, on="physician")
    assert both.height == expected.height
    np.testing.assert_array_equal(both["discordance"], both["score"])
    table = pl.read_csv(tmp_path / "out" / "physicians.csv")
    np.testing.assert_array_equal(table["discordance"], written["discordance"])
