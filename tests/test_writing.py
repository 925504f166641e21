import errno
import os
import stat
from pathlib import Path

import pytest

from intravar.errors import InputError
from intravar.writing import KNOWS_OWNERS, privacy_words, whole_file, write_private


def write_half(path: Path, error: BaseException) -> None:
    with whole_file(path) as beside:
        beside.write_text("half")
        raise error


def test_writes_the_whole_file(tmp_path: Path) -> None:
    with whole_file(tmp_path / "a.txt") as beside:
        beside.write_text("done")
        assert not (tmp_path / "a.txt").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "done"


def test_replaces_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    with whole_file(str(tmp_path / "a.txt")) as beside:
        beside.write_text("new")
        assert (tmp_path / "a.txt").read_text() == "old"
    assert (tmp_path / "a.txt").read_text() == "new"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_write_leaves_what_was_there(
    tmp_path: Path, interruption: type[BaseException]
) -> None:
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(interruption):
        write_half(tmp_path / "a.txt", interruption())
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_failed_write_is_an_input_error_that_names_the_file(tmp_path: Path) -> None:
    full = OSError(28, "No space left on device")
    with pytest.raises(InputError, match=r"cannot write .*a\.txt.*No space left"):
        write_half(tmp_path / "a.txt", full)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_rename_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: object, target: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(InputError, match="Permission denied"), whole_file(tmp_path / "a.txt"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_error_without_a_system_text_still_says_something(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="odd"), whole_file(tmp_path / "a.txt"):
        raise OSError("odd")


def test_refuses_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"), whole_file(tmp_path / "no" / "a.txt"):
        pass


def test_refuses_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(InputError, match="is a folder"), whole_file(tmp_path / "a.txt"):
        pass


def test_refuses_a_folder_without_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root writes anywhere, so the refusal is played."""

    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(InputError, match="Permission denied"), whole_file(tmp_path / "a.txt"):
        pass


def test_a_private_file_is_private_from_the_first_byte(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("was readable")
    path.chmod(0o644)
    write_private(path, b"one\ntwo")
    assert path.read_bytes() == b"one\ntwo"
    if KNOWS_OWNERS:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert privacy_words(path) is None


def test_a_system_without_owners_is_said_aloud(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("intravar.writing.KNOWS_OWNERS", False)
    monkeypatch.delattr(os, "fchmod", raising=False)
    write_private(tmp_path / "key", b"one")
    assert str(tmp_path / "key") in (privacy_words(tmp_path / "key") or "")


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs the proc file system")
def test_refuses_a_file_system_that_takes_no_files() -> None:
    with pytest.raises(InputError, match="cannot write"), whole_file("/proc/intravar.txt"):
        pass


def test_what_the_machine_lacks_is_said(tmp_path: Path) -> None:
    """Also where a library words it: polars tells a full disk in its own way."""
    for error in (MemoryError(), RuntimeError("No space left on device (os error 28)")):
        with pytest.raises(InputError, match=r"cannot write '.*a\.txt': (there is not|no space)"):
            write_half(tmp_path / "a.txt", error)
    assert list(tmp_path.iterdir()) == []
