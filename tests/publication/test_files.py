"""What is published is written and read back by one function each; what is not known is refused."""

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import intravar
from intravar.errors import InputError
from intravar.measurement.columns import COLUMNS
from intravar.publication.files import (
    SCHEMA,
    SUMMARY,
    files_of,
    is_published,
    plain,
    read_published,
)
from intravar.publication.results import PhysicianRow
from made_published import made_published

REQUEST = intravar.Request(physician="doctor", decision="statin", labels={"age": "Alter"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in files_of(made_published(["P-1", "P-2"], REQUEST)).items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def changed(file: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads(file.read_text("utf-8"))
    change(content)
    file.write_text(json.dumps(content), "utf-8")


def test_what_is_written_is_read_back(folder: Path) -> None:
    made, read = made_published(["P-1", "P-2"], REQUEST), read_published(folder)
    assert is_published(folder)
    assert plain(read) == plain(made)
    assert read.request == REQUEST
    assert read.first.check == made.first.check
    assert read.first.diagnostics == made.first.diagnostics
    assert read.first.physicians == made.first.physicians
    assert [row.physician for row in read.first.physicians] == ["P-1", "P-2"]


def test_a_row_has_the_columns_that_are_declared() -> None:
    assert [each.name for each in fields(PhysicianRow)] == [each.name for each in COLUMNS]


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        (
            SUMMARY,
            lambda all: all.update(schema=SCHEMA + 1),
            f"field 'schema' is {SCHEMA + 1} and this version knows {SCHEMA}",
        ),
        (
            SUMMARY,
            lambda all: all.update(schema=1),
            rf"is 1 and this version knows {SCHEMA} \(it tells ranges in words",
        ),
        (SUMMARY, lambda all: all.pop("schema"), "field 'schema' is None"),
        (SUMMARY, lambda all: all.update(mood="good"), "field 'mood' is not known"),
        (
            SUMMARY,
            lambda all: all["decisions"][0].pop("verdict"),
            r"field 'decisions\[0\].verdict' is missing",
        ),
        (
            SUMMARY,
            lambda all: all["decisions"][0].update(group="x"),
            r"""field 'decisions\[0\].group' is "x";""",
        ),
        (
            SUMMARY,
            lambda all: all["decisions"][0]["rule"].update(auc="high"),
            r"field 'decisions\[0\].rule.auc' is",
        ),
        (SUMMARY, lambda all: all.update(decisions=[]), "field 'decisions' is empty"),
        (SUMMARY, lambda all: all.update(joint=3), "field 'joint' is 3"),
        (SUMMARY, lambda all: all["request"].update(wish={}), "field 'request' does not fit"),
        (
            SUMMARY,
            lambda all: all["decisions"][0]["check"].update(n_patients=1.5),
            r"field 'decisions\[0\].check.n_patients' is 1.5",
        ),
        (
            SUMMARY,
            lambda all: all["decisions"][0]["diagnostics"].update(agreement=[{"method": "a"}]),
            r"field 'decisions\[0\].diagnostics.agreement\[0\].other' is missing",
        ),
    ],
)
def test_what_is_not_known_is_refused_by_file_field_and_remedy(
    folder: Path, file: str, change: Callable[[dict[str, Any]], Any], words: str
) -> None:
    changed(folder / file, change)
    with pytest.raises(InputError, match=words) as told:
        read_published(folder)
    assert file in str(told.value)
    assert "measure again" in str(told.value)


def test_damaged_files_and_tables_are_refused(folder: Path, tmp_path: Path) -> None:
    table = pl.read_parquet(folder / "physicians.parquet")
    for other, words in (
        (table.drop("rate"), "field 'rate' is missing"),
        (table.with_columns(mood=1), "field 'mood' is not known"),
        (table.with_columns(pl.lit("x").alias("low")), "field 'low' is of type String"),
    ):
        other.write_parquet(folder / "physicians.parquet")
        with pytest.raises(InputError, match=rf"physicians.parquet' does not fit: {words}"):
            read_published(folder)
    (folder / "physicians.parquet").unlink()
    with pytest.raises(InputError, match="physicians.parquet' cannot be read"):
        read_published(folder)
    with pytest.raises(InputError, match="is not the folder of a measurement"):
        read_published(tmp_path / "elsewhere")
