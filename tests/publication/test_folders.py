"""Nothing of a user's is lost, and both folders count from one moment on."""

import json
import os
import shutil
from pathlib import Path

import pytest
from filelock import FileLock

from intravar import InputError, Request
from intravar.publication import files as folders
from intravar.publication.files import add_files, checked_out, recover, write_folders

REQUEST = Request(physician="doctor", decision="drug")
SUMMARY = json.dumps({"what": "measurement", "source": "t.csv", "request": REQUEST.as_dict()})


def content(text: str) -> tuple[dict[str, bytes], dict[str, bytes]]:
    return {"summary.json": SUMMARY.encode(), "a.txt": text.encode()}, {"key.json": text.encode()}


def state(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def texts(folder: Path) -> tuple[str, str]:
    return (folder / "res/a.txt").read_text(), (folder / "res-private/key.json").read_text()


def test_a_new_result_takes_the_place_of_the_old_one(tmp_path: Path) -> None:
    for text in ("one", "two"):
        write_folders(tmp_path / "res", *content(text))
        assert texts(tmp_path) == (text, text)
    assert sorted(os.listdir(tmp_path)) == ["res", "res-private"]


@pytest.mark.parametrize("where", ["res", "res-private"])
def test_what_the_user_put_there_stays(tmp_path: Path, where: str) -> None:
    write_folders(tmp_path / "res", *content("one"))
    for name in ("notes.txt", "a.txt", "key.json"):
        shutil.rmtree(tmp_path / "res")
        shutil.rmtree(tmp_path / "res-private")
        write_folders(tmp_path / "res", *content("one"))
        (tmp_path / where / name).write_text("the user's own")
        before = state(tmp_path)
        with pytest.raises(InputError, match=f"holds '{name}', which is not a result of intravar"):
            write_folders(tmp_path / "res", *content("two"))
        with pytest.raises(InputError, match="move it away"):
            checked_out(tmp_path / "res")
        assert state(tmp_path) == before


def test_a_folder_of_an_older_version_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "res").mkdir()
    (tmp_path / "res" / "summary.json").write_text('{"what": "measurement"}', "utf-8")
    said = "holds a result of an older version of intravar; .* move it and its private folder away"
    with pytest.raises(InputError, match=said):
        checked_out(tmp_path / "res")


def test_a_folder_called_private_is_not_taken_for_the_private_one(tmp_path: Path) -> None:
    write_folders(tmp_path / "foo-private", *content("one"))
    before = state(tmp_path)
    with pytest.raises(InputError, match="which is not a result of intravar"):
        checked_out(tmp_path / "foo")
    with pytest.raises(InputError, match="which is not a result of intravar"):
        write_folders(tmp_path / "foo", *content("two"))
    assert state(tmp_path) == before


def test_files_of_the_system_do_not_matter_and_are_kept(tmp_path: Path) -> None:
    write_folders(tmp_path / "res", *content("one"))
    (tmp_path / "res" / ".DS_Store").write_text("litter")
    write_folders(tmp_path / "res", *content("two"))
    assert texts(tmp_path) == ("two", "two")
    assert (tmp_path / "res" / ".DS_Store").exists()


class Killed(BaseException):
    """Stands for kill -9: nothing is cleaned up after it."""


@pytest.mark.parametrize("step", range(20))
def test_killed_at_any_moment_both_folders_are_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    write_folders(tmp_path / "res", *content("old"))
    left = step

    def dying(function):  # type: ignore[no-untyped-def]
        def call(*arguments, **options):  # type: ignore[no-untyped-def]
            nonlocal left
            left -= 1
            if left < 0:
                raise Killed
            return function(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", dying(os.replace))
        patch.setattr(folders, "_put", dying(folders._put))
        patch.setattr(folders, "_foreign", dying(folders._foreign))
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        try:
            write_folders(tmp_path / "res", *content("new"))
            finished = True
        except Killed:
            finished = False
    recover(tmp_path / "res")
    assert texts(tmp_path) in {("old", "old"), ("new", "new")}
    assert not finished or texts(tmp_path) == ("new", "new")
    write_folders(tmp_path / "res", *content("next"))
    assert texts(tmp_path) == ("next", "next")
    assert sorted(os.listdir(tmp_path)) == ["res", "res-private"]


def test_what_an_older_version_left_is_taken_away(tmp_path: Path) -> None:
    """It had names by lot; whatever else begins like that stays."""
    write_folders(tmp_path / "res", *content("old"))
    ours = [".res.intravar-0123abcd.part", ".res-private.intravar-0123abcd.part"]
    others = [".res.intravar-mine.part", ".res2.intravar-0123abcd.part", ".res.0123abcd.part"]
    for name in (*ours, *others):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("half")
    write_folders(tmp_path / "res", *content("new"))
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "res", "res-private"])


def test_a_full_disk_leaves_the_old_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folders(tmp_path / "res", *content("old"))
    before = state(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("intravar.writing.write_private", full)
    with pytest.raises(InputError, match="No space left on device"):
        write_folders(tmp_path / "res", *content("new"))
    assert state(tmp_path) == before
    assert sorted(os.listdir(tmp_path)) == ["res", "res-private"]


def test_another_request_is_not_overwritten(tmp_path: Path) -> None:
    write_folders(tmp_path / "res", *content("one"))
    assert checked_out(tmp_path / "res", REQUEST, "t.csv") == tmp_path / "res"
    other = Request(physician="doctor", decision="drug", query="SELECT 1", random_state=2)
    with pytest.raises(InputError, match=r"another request \(other query, random_state\)"):
        checked_out(tmp_path / "res", other, "t.csv")
    with pytest.raises(InputError, match=r"another request \(other source\)"):
        checked_out(tmp_path / "res", REQUEST, "u.csv")
    assert checked_out(tmp_path / "res", other, "u.csv", replace=True) == tmp_path / "res"


@pytest.mark.parametrize("name", ["x" * 300, "a\x00b", "a/../b", ""])
def test_impossible_names_are_refused_in_words(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        checked_out(f"{tmp_path}/{name}" if name else "")


def test_one_more_file(tmp_path: Path) -> None:
    write_folders(tmp_path / "res", *content("one"))
    for text in (b"page", b"page again"):
        add_files(tmp_path / "res", {"report.html": text})
        assert (tmp_path / "res/report.html").read_bytes() == text
    checked_out(tmp_path / "res")
    (tmp_path / "res/report.html").write_text("edited")
    with pytest.raises(InputError, match="was changed or is not of intravar"):
        add_files(tmp_path / "res", {"report.pdf": b"new", "report.html": b"page"})
    assert not (tmp_path / "res/report.pdf").exists()


def test_whoever_writes_is_alone(tmp_path: Path) -> None:
    write_folders(tmp_path / "res", *content("one"))
    lock = tmp_path / ".res.intravar.lock"
    part = tmp_path / ".res.intravar.part"
    with FileLock(lock):
        part.mkdir()
        for attempt in (
            lambda: checked_out(tmp_path / "res"),
            lambda: write_folders(tmp_path / "res", *content("two")),
        ):
            with pytest.raises(InputError, match="another measurement is writing"):
                attempt()
            assert lock.exists()
            assert part.exists()
    checked_out(tmp_path / "res")
    assert not part.exists()


def test_what_only_looks_like_a_leftover_stays(tmp_path: Path) -> None:
    mine = tmp_path / ".res.20240101.old"
    mine.mkdir()
    commit = tmp_path / ".res.commit"
    commit.write_bytes(b"\xff\xfe")
    checked_out(tmp_path / "res")
    assert mine.exists()
    assert commit.exists()


@pytest.mark.parametrize("step", range(6))
def test_a_crash_while_files_are_added_leaves_nothing_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Neither a file that was not there before, nor the other content of one that was."""
    out = tmp_path / "res"
    write_folders(out, *content("one"))
    put, left = folders._put, iter(range(step))

    def until(path: Path, content: bytes, kind: folders.Kind) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        put(path, content, kind)

    monkeypatch.setattr(folders, "_put", until)
    with pytest.raises(KeyboardInterrupt):
        add_files(out, {"summary.json": b"[]", "report.html": b"page"})
    monkeypatch.undo()
    checked_out(out)
    add_files(out, {"summary.json": b"[1]", "report.html": b"another"})
    named = json.loads((out / "intravar.json").read_text())["files"]
    assert all(isinstance(each, str) for each in named.values())
