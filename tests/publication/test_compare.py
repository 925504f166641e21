"""Two stored measurements side by side: by what was published, or by both private folders."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import intravar
from intravar.errors import InputError
from intravar.measurement.columns import typed
from intravar.publication.files import files_of, parquet_bytes
from intravar.publication.folders import write_folders
from intravar.publication.pseudonyms import Pseudonyms
from intravar.publication.results import PhysicianRow, rows_of
from made_published import made_published

REQUEST = intravar.Request(physician="doctor", decision="statin")
NAMES = ["Ada", "Ben", "Cleo"]


def figures(shift: float) -> pl.DataFrame:
    value = [0.1 + shift, 0.2 + shift, 0.3 + shift]
    low, high = ([each + by for each in value] for by in (-0.02, 0.02))
    return typed({"physician": NAMES, "discordance": value, "low": low, "high": high})


def stored(out: Path, key: bytes, shift: float) -> Path:
    """Write a measurement that publishes the figures of all but Ada."""
    pseudonyms = Pseudonyms.of(NAMES, key)
    table, ends = figures(shift), ("discordance", "low", "high")
    called = pl.col("physician").replace_strict(pseudonyms.by_name)
    shown = table.with_columns(
        called,
        *(pl.when(pl.col("physician") != "Ada").then(pl.col(name)) for name in ends),
        reportable=pl.col("physician") != "Ada",
    ).sort("physician")
    made = made_published(pseudonyms.by_name.values(), REQUEST)
    published = replace(
        made, decisions=(replace(made.first, physicians=rows_of(shown, PhysicianRow)),)
    )
    private = {
        "key.json": pseudonyms.as_json().encode(),
        "figures.parquet": parquet_bytes(table),
    }
    write_folders(out, files_of(published), private)
    return out


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    first = stored(tmp_path / "first", b"one key of sixteen bytes", 0.0)
    return first, stored(tmp_path / "second", b"another of sixteen bytes", 0.1)


def test_private_folders_compare_everybody_by_name(folders: tuple[Path, Path]) -> None:
    found = intravar.compare(*folders, exact=True)
    assert found.physicians["physician"].to_list() == NAMES
    assert found.physicians["change"].to_list() == [0.1, 0.1, 0.1]
    assert any("do not hand this on" in note for note in found.notes)


def test_else_figures_are_those_that_were_published(folders: tuple[Path, Path]) -> None:
    found = intravar.compare(*folders)
    assert found.physicians.height == 2
    assert not set(NAMES) & set(found.physicians["physician"])
    assert any("matched by the names" in note for note in found.notes)
    assert any("1 in both have no value" in note for note in found.notes)


def test_without_a_private_folder_exact_figures_are_refused(folders: tuple[Path, Path]) -> None:
    (folders[1].with_name("second-private") / "figures.parquet").unlink()
    with pytest.raises(InputError, match="exact figures of .*second' are kept in .*leave exact"):
        intravar.compare(*folders, exact=True)
    for folder in folders:
        (folder.with_name(f"{folder.name}-private") / "key.json").unlink()
    with pytest.raises(InputError, match="no physician is in both measurements"):
        intravar.compare(*folders)
