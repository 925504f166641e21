import json
from pathlib import Path

import pytest

from intravar.errors import InputError
from intravar.writing import NAME, Ledger


def write(ledger: Ledger, name: str, text: str) -> None:
    with ledger.writing(name) as beside:
        beside.write_text(text)


def test_what_was_written_is_ours_until_it_changes(tmp_path: Path) -> None:
    write(Ledger(tmp_path), "tables/a.csv", "one")
    write(Ledger(tmp_path), "tables/a.csv", "two")
    assert Ledger(tmp_path).is_ours("tables/a.csv")
    (tmp_path / "tables" / "a.csv").write_text("my notes")
    with pytest.raises(InputError, match=r"a\.csv' would be overwritten"):
        write(Ledger(tmp_path), "tables/a.csv", "three")
    assert (tmp_path / "tables" / "a.csv").read_text() == "my notes"


def test_clear_takes_ours_and_leaves_the_rest(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    for name in ("a.json", "figures/a.svg", "tables/a.csv"):
        write(ledger, name, name)
    (tmp_path / "figures" / "mine.svg").write_text("mine")
    (tmp_path / "a.json").write_text("changed by hand")
    Ledger(tmp_path).clear()
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert left == {"a.json", "figures", "figures/mine.svg"}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_crash_leaves_nothing_that_is_not_known_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Killed between the note and the file, or right after: both are ours."""
    write(Ledger(tmp_path), "a.csv", "old")
    saved = Ledger._save

    def crash(ledger: Ledger) -> None:
        if moment == "after":
            saved(ledger)
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "_save", crash)
    with pytest.raises(KeyboardInterrupt):
        write(Ledger(tmp_path), "a.csv", "new")
    monkeypatch.undo()
    assert Ledger(tmp_path).is_ours("a.csv")
    write(Ledger(tmp_path), "a.csv", "newer")
    assert (tmp_path / "a.csv").read_text() == "newer"


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"files": 3}', '{"files": {"a.csv": 3}}', '{"files": {"a.csv": [null]}}'],
)
def test_a_damaged_ledger_proves_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).write_text(content)
    (tmp_path / "a.csv").write_text("mine")
    Ledger(tmp_path).clear()
    assert (tmp_path / "a.csv").read_text() == "mine"


def test_a_ledger_cannot_point_out_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    write(Ledger(tmp_path), "precious.txt", "precious")
    known = json.loads((tmp_path / NAME).read_text())["files"]["precious.txt"]
    absolute = str(tmp_path / "precious.txt")
    text = json.dumps({"files": {"../precious.txt": known, absolute: known}})
    (folder / NAME).write_text(text)
    Ledger(folder).clear()
    assert (tmp_path / "precious.txt").exists()


def test_a_link_is_not_followed_to_what_it_points_at(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.csv").write_text("mine")
    (tmp_path / "a.csv").symlink_to(tmp_path / "elsewhere.csv")
    with pytest.raises(InputError, match="would be overwritten"):
        write(Ledger(tmp_path), "a.csv", "ours")
    assert (tmp_path / "elsewhere.csv").read_text() == "mine"
