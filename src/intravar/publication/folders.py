"""A measurement as folders: one to hand on, and a private one beside it.

Both are written beside their places first. Then one small file, the commit, is put beside them:
from that moment on the new result counts, and whoever comes next finishes what was interrupted.
Each folder lists its files with their digests; nothing that is not in such a list is replaced or
removed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

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
        if asked is not None and source and before != source_name(source):
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


def source_name(source: str) -> str:
    """Return what may be told of a source: an address, or a file without its folders."""
    return source if "://" in source else Path(source).name


def write_folders(out: Path, public: Mapping[str, bytes], private: Mapping[str, bytes]) -> None:
    """Put a new result into both folders, or into neither."""
    with _alone(out):
        try:
            for (kind, target), files in zip(_targets(out), (public, private), strict=True):
                part = _beside(target, "part")
                part.mkdir(mode=0o700 if kind == "private" else 0o755)
                listed = {name: [digest(content)] for name, content in files.items()}
                listing = {LISTING: _listed(kind, listed).encode()}
                for name, content in {**files, **listing}.items():
                    _put(part / name, content, kind)
            _beside(out, "commit").touch()
        except BaseException:
            recover(out)
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
                for kind, target in _targets(out):
                    _refuse_foreign(target, kind)
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
    for kind, target in _targets(out):
        part, old = _beside(target, "part"), _beside(target, "old")
        if commit.exists() and part.is_dir():
            if target.is_dir():
                os.replace(target, old)
            os.replace(part, target)
        if commit.exists() and old.is_dir():
            # What was put beside it in the meantime moves to the new one.
            foreign = {*_foreign(old, kind), *LITTER} & set(os.listdir(old)) - {LISTING}
            for name in foreign:
                if not (target / name).exists():
                    os.replace(old / name, target / name)
    commit.unlink(missing_ok=True)
    for _, target in _targets(out):
        for left in ("part", "old"):
            shutil.rmtree(_beside(target, left), ignore_errors=True)


def _targets(out: Path) -> tuple[tuple[Kind, Path], ...]:
    return ("measurement", out), ("private", private_folder(out))


def _beside(path: Path, suffix: str) -> Path:
    absolute = path.absolute()
    return absolute.with_name(f".{absolute.name}.intravar.{suffix}")


def _listed(kind: Kind, files: Mapping[str, list[str]]) -> str:
    named = {name: digests[0] for name, digests in files.items()}
    return json.dumps({"what": kind, "files": named}, indent=1, ensure_ascii=False)
