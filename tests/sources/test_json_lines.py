"""Tables in JSON lines."""

import gzip
from pathlib import Path

import pytest

from intravar import InputError
from intravar.sources import read_source
from intravar.sources.reading import scan_source

LINES = """{"doctor": "A", "drug": 1, "age": 50.5, "seen": "2020-01-31"}
{"doctor": "B", "drug": 0, "age": null, "seen": "2021-02-01"}

{"drug": 1, "doctor": "A", "seen": "2022-03-01", "town": "Köln\u2028Süd"}
"""


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.jsonl.gz"])
def test_a_row_per_line_with_keys_in_any_order(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(LINES.encode()) if name.endswith("gz") else LINES.encode())

    table = read_source(path).table

    assert table["doctor"].to_list() == ["A", "B", "A"]
    assert table["age"].to_list() == [50.5, None, None]
    assert table["seen"].dtype.is_temporal()
    assert table["town"].null_count() == 2


def test_long_whole_numbers_stay_exact(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"id": 12345678901234567890, "x": 1}\n{"id": 12345678901234567891, "x": 2}\n')

    table = read_source(path, as_text=["id"]).table

    assert table["id"].to_list() == ["12345678901234567890", "12345678901234567891"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": 1, "b": 2}\n{"a": 1, \n', "has a line 2 that is not JSON"),
        ('{"a": 1, "b": 2}\n[1, 2]\n', "has no object in line 2"),
        ("\n \n", "is empty"),
        ('{"a": 1, " a": 2}\n', "has two columns 'a'"),
        ("[" * 100_000, "has a line 1 that is not JSON"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)

    with pytest.raises(InputError, match=words):
        read_source(path)


def test_other_encodings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes('{"a": "ü", "b": 1}'.encode("cp1252"))

    with pytest.raises(InputError, match="is not UTF-8, which JSON lines are"):
        read_source(path)


def test_they_are_not_taken_for_text_in_a_large_table(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": 2}\n' * 10)

    assert scan_source(path, lambda: tmp_path, least=1) is None


def test_json_under_another_name_is_told_how_to_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"a": 1, "b": 2}\n')

    with pytest.raises(InputError, match=r"is JSON, not a table; .* a file called \.jsonl"):
        read_source(path)
