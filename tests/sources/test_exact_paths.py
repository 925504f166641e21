"""A path names exactly one file: characters with a meaning in a shell have none here."""

import ast
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from intravar.sources import read_source
from intravar.sources.omop.tables import OmopTables
from intravar.sources.reading import scan_source

ROOT = Path(__file__).parents[2]
#: A name that a shell would expand, and the name that it would be expanded to.
EXPANDED = [("data[1]", "data1"), ("q?", "qx"), ("s*", "sz"), ("[!a]", "b"), ("a[!b]*", "ac")]
RIGHT = pl.DataFrame({"doctor": ["right", "right"], "drug": [0, 1]})
WRONG = pl.DataFrame({"doctor": ["wrong", "wrong"], "drug": [1, 1]})

Write = Callable[[pl.DataFrame, Path], Path]


def write_parquet(table: pl.DataFrame, stem: Path) -> Path:
    path = stem.with_name(f"{stem.name}.parquet")
    with path.open("wb") as file:
        table.write_parquet(file)
    return path


def write_csv(table: pl.DataFrame, stem: Path) -> Path:
    path = stem.with_name(f"{stem.name}.csv")
    path.write_text(table.write_csv())
    return path


def write_parts(table: pl.DataFrame, stem: Path) -> Path:
    stem.mkdir()
    write_parquet(table, stem / "part")
    return stem


@pytest.mark.parametrize("write", [write_parquet, write_csv, write_parts])
@pytest.mark.parametrize(("name", "neighbour"), EXPANDED)
def test_a_table_is_read_from_the_path_that_was_given(
    tmp_path: Path, write: Write, name: str, neighbour: str
) -> None:
    write(WRONG, tmp_path / neighbour)
    path = write(RIGHT, tmp_path / name)

    table = read_source(path).table

    assert table["doctor"].to_list() == ["right", "right"]


@pytest.mark.parametrize("write", [write_parquet, write_csv, write_parts])
@pytest.mark.parametrize(("name", "neighbour"), EXPANDED)
def test_a_large_table_is_scanned_from_the_path_that_was_given(
    tmp_path: Path, write: Write, name: str, neighbour: str
) -> None:
    write(WRONG, tmp_path / neighbour)
    path = write(RIGHT, tmp_path / name)

    scanned = scan_source(path, lambda: tmp_path, least=0)

    assert scanned is not None
    assert scanned.lazy.collect()["doctor"].to_list() == ["right", "right"]


@pytest.mark.parametrize("write", [write_parquet, write_csv])
def test_omop_tables_are_read_from_the_folder_that_was_given(tmp_path: Path, write: Write) -> None:
    for folder, person in (("cdm1", 1), ("cdm[1]", 2)):
        (tmp_path / folder).mkdir()
        write(pl.DataFrame({"person_id": [person]}), tmp_path / folder / "person")

    table = OmopTables(tmp_path / "cdm[1]").read("person", ["person_id"])

    assert table["person_id"].to_list() == [2]


def test_a_tilde_is_a_name_and_not_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "~").mkdir()
    write_parquet(RIGHT, tmp_path / "~" / "t")

    table = read_source(Path("~/t.parquet")).table

    assert table["doctor"].to_list() == ["right", "right"]


READERS = {
    f"{verb}_{kind}"
    for verb in ("read", "scan")
    for kind in ("parquet", "csv", "csv_batched", "ipc", "ipc_stream", "ndjson", "json", "delta")
} | {"read_excel", "read_ods", "read_avro", "scan_iceberg", "scan_lines", "read_lines"}


def direct_readers(path: Path) -> list[str]:
    """Return the polars readers that a module names, by attribute or by import."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in ("pl", "polars") and node.attr in READERS:
                found.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.attr}")
        elif isinstance(node, ast.ImportFrom) and node.module == "polars":
            names = {alias.name for alias in node.names} & READERS
            found += [f"{path.relative_to(ROOT)}:{node.lineno} {name}" for name in sorted(names)]
    return found


def test_every_module_reads_table_files_by_their_exact_path() -> None:
    folders = [ROOT / name for name in ("src", "benchmarks", "scripts")]
    modules = [path for folder in folders for path in sorted(folder.rglob("*.py"))]

    found = {path.name: direct_readers(path) for path in modules if path.stem != "table_files"}

    assert {name: readers for name, readers in found.items() if readers} == {}
