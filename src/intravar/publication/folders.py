"""A measurement as folders: one to hand on, and a private one beside it.

Both are written beside their places first. Then one small file, the commit, is put beside them:
from that moment on the new result counts, and whoever comes next finishes what was interrupted.
Each folder lists its files with their digests; nothing that is not in such a list is replaced or
removed.
"""

from __future__ import annotations

import glob
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from filelock import FileLock, Timeout

from intravar.errors import InputError, option
from intravar.publication.files import read_asked
from intravar.request import Request
from intravar.wording import Sentence
from intravar.writing import (
    as_listed,
    check_writable,
    digest,
    read_listing,
    whole_file,
    write_private,
)

Kind = Literal["measurement", "private"]
LISTING = "intravar.json"
#: What lies in the private folder: cases and who is in them.
CASES_FILE, PATIENTS_FILE = "cases.parquet", "patients.parquet"
#: Pairs that reviewers may be shown; exact figures of everybody, in one decision and together.
PAIRS_FILE, FIGURES_FILE, JOINT_FILE = "pairs.parquet", "figures.parquet", "joint.parquet"
#: The pairs of a review and the answers, in the private folder.
REVIEW_FILE = "review.json"
#: Files that systems put into folders by themselves.
LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")
#: Room for what is written behind it while a result is not yet in its place.
LONGEST_NAME = 180
_TOKEN = re.compile(r"[0-9a-f]{8}")


class Place(NamedTuple):
    """A folder, and where its next content lies until it counts."""

    kind: Kind
    target: Path
    part: Path
    old: Path


def private_folder(out: Path) -> Path:
    """Return the folder of what must not be handed on."""
    absolute = out.absolute()
    return absolute.with_name(f"{absolute.name}-private")


def unfinished_folder(out: Path) -> Path:
    """Return the folder of what is finished before all is."""
    absolute = out.absolute()
    return absolute.with_name(f"{absolute.name}-unfinished")


def file_of(name: str, at: int) -> str:
    """Return the private file of a decision: "cases.parquet", then "cases-2.parquet"."""
    stem, _, suffix = name.rpartition(".")
    return name if at == 0 else f"{stem}-{at + 1}.{suffix}"


def checked_out(
    out: str | os.PathLike[str],
    request: Request | None = None,
    source: str = "",
    *,
    replace: bool = False,
) -> Path:
    """Return the folder to write to, or say why it cannot be; nothing is written yet."""
    path = Path(out)
    if ".." in path.parts:
        raise InputError(
            f"output '{out}' climbs out of its folder with '..'; give its full path instead"
        )
    if "\x00" in str(out) or not path.name:
        raise InputError(f"output {str(out)!r} is not the name of a folder")
    if len(os.fsencode(path.name)) > LONGEST_NAME:
        raise InputError(
            f"the name of output '{path.name[:40]}...' is too long; give one of at most "
            f"{LONGEST_NAME} characters"
        )
    with _alone(path):
        pass
    if request is not None and not replace:
        before, asked = read_asked(path) or ("", None)
        other: list[object] = [] if asked is None else [*map(option, request.differences(asked))]
        if asked is not None and source and before != shown_source(source):
            other.insert(0, "source")
        if other:
            raise InputError(
                "'{}' holds the result of another request (other {}); name another folder "
                "with {}, or overwrite it with {}",
                path,
                Sentence(", ".join("{}" for _ in other), *other),
                option("out"),
                option("replace"),
            )
        if (private_folder(path) / REVIEW_FILE).exists():
            raise InputError(
                "pairs of '{}' were drawn for a review, which would be lost; name another "
                "folder with {}, or drop the review with {}",
                path,
                option("out"),
                option("replace"),
            )
    return path


def _refuse_foreign(folder: Path, kind: Kind) -> None:
    """Refuse a folder that holds anything but what was written there as this kind of result."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError("'{}' is not a folder; name another with {}", folder, option("out"))
    for name in _foreign(folder, kind):
        what, away = f"'{name}', which is not a result of intravar", "it"
        if not (folder / LISTING).exists() and read_asked(folder) is not None:
            what, away = "a result of an older version of intravar", "it and its private folder"
        remedy = Sentence("name another folder with {}, or move {} away", option("out"), away)
        raise InputError("'{}' holds {}; {}", folder, what, remedy)


def _foreign(folder: Path, kind: Kind) -> list[str]:
    """Return what lies in a folder and was not written there, or was changed since."""
    if not folder.is_dir():
        return []
    listed = read_listing(folder / LISTING, kind)
    return sorted(
        entry.name
        for entry in folder.iterdir()
        if entry.name not in (LISTING, *LITTER) and not as_listed(entry, listed.get(entry.name, ()))
    ) or ([] if listed or not (folder / LISTING).exists() else [LISTING])


def shown_source(source: str) -> str:
    """Return what may be told of a source: an address, or a file without its folders."""
    return source if "://" in source else Path(source).name


def write_folders(out: Path, public: Mapping[str, bytes], private: Mapping[str, bytes]) -> None:
    """Put a new result into both folders, or into neither."""
    with _alone(out):
        token = secrets.token_hex(4)
        places = _places(out, token)
        try:
            for place, files in zip(places, (public, private), strict=True):
                place.part.mkdir(mode=0o700 if place.kind == "private" else 0o755)
                listed = {name: [digest(content)] for name, content in files.items()}
                listing = {LISTING: _listed(place.kind, listed).encode()}
                for name, content in {**files, **listing}.items():
                    _put(place.part / name, content, place.kind)
            with whole_file(_beside(out, "commit")) as commit:
                commit.write_text(token, "ascii")
        except BaseException:
            for place in places:
                shutil.rmtree(place.part, ignore_errors=True)
            raise
        recover(out)


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Keep other measurements from the same folders, which hold nothing but finished results."""
    lock = _beside(out, "lock")
    try:
        if not lock.parent.is_dir():
            raise InputError(f"folder '{lock.parent}' does not exist; make it first")
        check_writable(lock.parent)
        with FileLock(lock, timeout=0):
            try:
                recover(out)
                _refuse_foreign(out, "measurement")
                _refuse_foreign(private_folder(out), "private")
                yield
            finally:
                with suppress(OSError):  # Windows keeps a file that is open
                    lock.unlink(missing_ok=True)
    except Timeout as error:
        raise InputError(f"another measurement is writing to '{out}'; wait for it") from error
    except OSError as error:
        raise InputError(f"cannot write '{out}': {error.strerror or error}") from error


def add_files(folder: Path, files: Mapping[str, bytes], kind: Kind = "measurement") -> None:
    """Write more files into a folder of a measurement, or the same ones again."""
    listed = read_listing(folder / LISTING, kind)
    for name in files:  # all of them before the first is written
        present = folder / name
        if present.exists() and not as_listed(present, listed.get(name, ())):
            raise InputError(f"'{present}' was changed or is not of intravar; move it away")
    for name, content in files.items():
        listed |= {name: [digest(content)]}
        listing = _listed(kind, listed).encode()
        for target, written in ((folder / name, content), (folder / LISTING, listing)):
            with whole_file(target) as beside:
                _put(beside, written, kind)


def _put(path: Path, content: bytes, kind: Kind) -> None:
    if kind == "private":
        write_private(path, content)
    else:
        path.write_bytes(content)


def recover(out: Path) -> None:
    """Finish what was committed and interrupted; take away what was not committed."""
    commit = _beside(out, "commit")
    token = commit.read_bytes().decode("ascii", "replace") if commit.is_file() else ""
    if _TOKEN.fullmatch(token):
        for place in _places(out, token):
            if place.part.is_dir():
                if place.target.is_dir():
                    os.replace(place.target, place.old)
                os.replace(place.part, place.target)
            if place.old.is_dir():  # what was put beside it in the meantime moves to the new one
                foreign = {*_foreign(place.old, place.kind), *LITTER} & set(os.listdir(place.old))
                for name in foreign - {LISTING}:
                    if not (place.target / name).exists():
                        os.replace(place.old / name, place.target / name)
                shutil.rmtree(place.old, ignore_errors=True)
        commit.unlink()
    for left in commit.parent.glob(f".{glob.escape(commit.name)}.????????.part"):
        left.unlink(missing_ok=True)
    for target in (out.absolute(), private_folder(out)):
        for left in target.parent.glob(f".{glob.escape(target.name)}.intravar-????????.*"):
            if left.suffix in (".part", ".old"):
                shutil.rmtree(left, ignore_errors=True)


def _beside(out: Path, suffix: str) -> Path:
    absolute = out.absolute()
    return absolute.with_name(f".{absolute.name}.{suffix}")


def _places(out: Path, token: str) -> tuple[Place, Place]:
    def place(kind: Kind, target: Path) -> Place:
        stem = f".{target.name}.intravar-{token}"
        part, old = target.with_name(f"{stem}.part"), target.with_name(f"{stem}.old")
        return Place(kind, target, part, old)

    return place("measurement", out.absolute()), place("private", private_folder(out))


def _listed(kind: Kind, files: Mapping[str, list[str]]) -> str:
    named = {name: found[0] for name, found in files.items()}
    return json.dumps({"what": kind, "files": named}, indent=1, ensure_ascii=False)
