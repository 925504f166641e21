"""Text, workbooks and databases as people keep them."""

import gzip
import sqlite3
from pathlib import Path

import polars as pl
import pytest

import intravar
from intravar import InputError
from intravar.sources import read_source
from intravar.sources.plain import from_rows

TEXT = "doctor;age;weight\n007;50;70,5\n008;61;80\n"


def test_separator_and_decimal_comma_are_found(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(TEXT)
    found = read_source(file, as_text=["doctor"])
    assert found.table.rows() == [("007", 50, 70.5), ("008", 61, 80.0)]
    assert found.notes == ("separator ';'", "decimal commas in weight")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("packed", [False, True])
def test_every_separator_packed_or_not(tmp_path: Path, separator: str, packed: bool) -> None:
    text = f'doctor{separator}"a{separator}b"\nx{separator}1\n'.encode()
    file = tmp_path / ("t.csv.gz" if packed else "t.csv")
    file.write_bytes(gzip.compress(text) if packed else text)
    name = f"a{separator}b".replace("\t", " ")
    assert read_source(file).table.to_dicts() == [{"doctor": "x", name: 1}]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes("doctor,größe\nJosé,1\n".encode(encoding))
    told = encoding if encoding in ("cp1252", "latin-1") else None
    assert read_source(file, encoding=told).table.to_dicts() == [{"doctor": "José", "größe": 1}]


def test_what_stands_for_missing(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,NA\n,2\nNaN,.\n")
    assert read_source(file).table.rows() == [(1, None), (None, 2), (None, None)]


def test_a_line_with_too_many_fields_is_named(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(InputError, match="has 3 fields in line 3 where the header has 2"):
        read_source(file)


def test_named_separators(tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_text("a\tb\n1\t2\n")
    assert read_source(file, separator="tab").table.width == 2
    with pytest.raises(InputError, match="separator '::' is not one character"):
        read_source(file, separator="::")


def test_an_unnamed_first_column_gets_a_name(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(",a\n0,5\n1,6\n")
    assert read_source(file).table.columns == ["index", "a"]


def test_workbooks(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    file = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(file) as book:
        for sheet in ("first", "second"):
            page = book.add_worksheet(sheet)
            page.write_row(0, 0, ["a", "b"])
            page.write_row(1, 0, [1, sheet])
        twice = book.add_worksheet("twice")
        twice.write_row(0, 0, ["a", "a"])
        twice.write_row(1, 0, [1, 2])
    assert read_source(file).table["b"].to_list() == ["first"]
    assert read_source(file, sheet="second").table["b"].to_list() == ["second"]
    with pytest.raises(InputError, match="has no sheet 'x'; it has 'first', 'second', 'twice'"):
        read_source(file, sheet="x")
    with pytest.raises(InputError, match="has two columns 'a'"):
        read_source(file, sheet="twice")
    file.write_bytes(b"no workbook")
    with pytest.raises(InputError, match="is not a readable workbook"):
        read_source(file)


@pytest.mark.parametrize("cover", [[["Cardiology, 2024"]], [["title", "year"], ["visits", 2024]]])
def test_a_workbook_with_a_cover_sheet_names_its_sheets(
    tmp_path: Path, cover: list[list[object]]
) -> None:
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    file = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(file) as book:
        page = book.add_worksheet("cover")
        for row, cells in enumerate(cover):
            page.write_row(row, 0, cells)
        page = book.add_worksheet("visits")
        page.write_row(0, 0, ["doctor", "drug", "age"])
        page.write_row(1, 0, ["A", 1, 50])

    with pytest.raises(InputError) as met:
        intravar.check(file, physician="doctor", decision="drug")

    ending = "; this is sheet 'cover', the workbook also has 'visits': choose with --sheet"
    assert met.value.on_command_line.endswith(ending)
    assert read_source(file, sheet="visits").notes == ("sheet 'visits' ('cover' not read)",)


def test_sqlite_keeps_text_among_numbers(tmp_path: Path) -> None:
    file = tmp_path / "t.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE one (a, b)")
        connection.executemany("INSERT INTO one VALUES (?, ?)", [(1, 2.5), ("x", 3)])
    connection.close()
    assert read_source(file).table.rows() == [("1", 2.5), ("x", 3.0)]
    with pytest.raises(InputError, match="unknown table 'on'; did you mean 'one'"):
        read_source(file, table="on")
    with pytest.raises(InputError, match="the query failed: no such column: c"):
        read_source(file, query="SELECT c FROM one")
    with pytest.raises(InputError, match="the query is refused .not authorized.: it may read this"):
        read_source(file, query="DELETE FROM one")
    with pytest.raises(InputError, match="give table or query, not both") as met:
        read_source(file, table="one", query="SELECT 1")
    assert met.value.on_command_line == "give --table or --query, not both"


def test_several_tables_must_be_chosen_from(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "t.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE one AS SELECT 1 AS a, 2 AS b")
        connection.execute("CREATE TABLE two AS SELECT 1.5::DECIMAL(5, 2) AS a, 2 AS b")
    with pytest.raises(
        InputError, match=r"has 2 tables \(one, two\); choose one with table"
    ) as met:
        read_source(file)
    assert met.value.on_command_line.endswith("choose one with --table or --query")
    assert read_source(file, table="two").table.schema["a"] == pl.Float64
    with pytest.raises(InputError, match="the query failed"):
        read_source(file, query=f"SELECT * FROM read_csv('{__file__}')")  # nothing else is read


def test_two_columns_of_one_name() -> None:
    with pytest.raises(InputError, match="the query has two columns 'a'"):
        from_rows(["a", "a"], [(1, 2)])


def test_what_is_not_a_table() -> None:
    with pytest.raises(InputError, match="a int is not a table; give a path or a data frame"):
        read_source(5)
