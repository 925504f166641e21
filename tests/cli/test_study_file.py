"""A study in a file: the request that a result carries measures it again."""

import polars as pl

from own_tables import COLUMNS, FAST, Run, refused


def test_a_study_file_measures_the_same(run: Run, table: pl.DataFrame) -> None:
    """The request that a result carries measures it again; another one does not overwrite it."""
    asked = ["measure", "patients.csv", *COLUMNS, *FAST, "--out"]
    assert run(*asked, "one").code == 0
    assert run("measure", "one/request.toml", "--out", "two").code == 0
    tables = [pl.read_csv(f"{out}/physicians.csv").drop("physician") for out in ("one", "two")]
    assert sorted(tables[0].rows(), key=str) == sorted(tables[1].rows(), key=str)
    assert run(*asked, "one").code == 0  # the same request again
    words = refused(run, *asked, "one", "--seed", "4")
    assert "holds the result of another request (other --seed)" in words
    assert words.endswith("or overwrite it with --replace")
    assert run(*asked, "one", "--seed", "4", "--replace").code == 0
    assert run("check", "one/request.toml").code == 0
