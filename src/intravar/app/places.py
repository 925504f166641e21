"""Which files the app may open, where it writes, and what lies there."""

import base64
import binascii
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Literal, NamedTuple

from jinja2.filters import do_filesizeformat

from intravar.errors import InputError
from intravar.publication.files import SUMMARY, private_folder, read_published
from intravar.writing import make_private_folder

#: Endings of files that are offered as tables; a request's file holds all choices.
TABLES = (
    *(".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".parquet", ".toml"),
    *(".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"),
    *(".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt"),
    *(".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"),
    *(".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db"),
)
#: Disk space that an upload leaves free, in bytes.
LEFT_FREE = 500_000_000
#: Entries of a folder that are listed.
MOST_LISTED = 500
RESULTS = "intravar-results"
SEVERAL = "several decisions together"
_NAME = re.compile(r"[^\w .,()+-]+")


class OutsideError(InputError):
    """A path that the app may not open."""


class Entry(NamedTuple):
    """Something in a folder that can be opened."""

    path: Path
    kind: Literal["folder", "table", "measurement"]
    size: int = 0


class Measured(NamedTuple):
    """A measurement that lies in a folder: when it was made, and its verdict."""

    folder: Path
    when: str
    verdict: str


def key_of(folder: Path) -> str:
    """Return a path as one part of an address."""
    return base64.urlsafe_b64encode(os.fsencode(folder)).decode().rstrip("=")


def path_of(key: str) -> str:
    """Return the path of a part of an address."""
    try:
        return os.fsdecode(base64.urlsafe_b64decode(key + "=" * (-len(key) % 4)))
    except (binascii.Error, ValueError) as error:
        raise OutsideError("this address names no folder; go back to the first screen") from error


class Places:
    """The folders that may be opened, with everything below, and the one that results go to.

    By default measurements and uploaded tables are written in the first folder.
    """

    def __init__(self, folders: Sequence[Path], results: Path | None = None) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise InputError(f"'{folder}' is not a folder; name one that the app may open")
        self.folders = tuple(dict.fromkeys(folder.resolve() for folder in folders))
        self.results = (results or self.folders[0] / RESULTS).resolve()

    def allowed(self, given: str | os.PathLike[str]) -> Path:
        """Return a path with all links followed, or refuse it if it lies outside."""
        path = Path(given)
        if not path.is_absolute() or "\x00" in str(given):
            raise OutsideError(f"'{given}' is not a full path; choose a file from the list")
        resolved = Path(os.path.realpath(path))
        if not any(resolved.is_relative_to(each) for each in (*self.folders, self.results)):
            listed = ", ".join(f"'{folder}'" for folder in self.folders)
            raise OutsideError(
                f"'{given}' lies outside the folders that this app may open ({listed}); move the "
                "file there, or start the app with its folder: intravar app FOLDER"
            )
        return resolved

    def parent(self, folder: Path) -> Path | None:
        """Return the folder above, unless it may not be opened."""
        above = folder.parent
        return above if any(above.is_relative_to(each) for each in self.folders) else None

    def entries(self, folder: Path) -> list[Entry]:
        """Return what can be opened in a folder: folders first, by name."""
        try:
            entries = [entry for entry in map(self._entry, folder.iterdir()) if entry]
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"cannot look into '{folder}': {reason}") from error
        entries.sort(key=lambda each: (each.kind != "folder", each.path.name.lower()))
        return entries[:MOST_LISTED]

    def _entry(self, path: Path) -> Entry | None:
        if path.name.startswith(".") or path.name.endswith(("-private", "-unfinished")):
            return None
        with suppress(OSError, OutsideError):
            self.allowed(path)
            if path.is_dir():
                return Entry(path, "measurement" if (path / SUMMARY).is_file() else "folder")
            if path.is_file() and path.name.lower().endswith(TABLES):
                return Entry(path, "table", path.stat().st_size)
        return None

    def measurements(self, folder: Path | None = None) -> list[Measured]:
        """Return the measurements that lie in a folder, the newest first; the results' if none."""
        place = folder or self.results
        measured = []
        for path in place.iterdir() if place.is_dir() else ():
            # What is none, or cannot be read, is not listed.
            with suppress(InputError, OSError):
                if not path.name.startswith("."):
                    measured.append(_measured(path, (path / SUMMARY).stat().st_mtime))
        return sorted(measured, key=lambda each: each.when, reverse=True)

    def new_result(self, name: str) -> Path:
        """Return a folder for a new result that is not taken, named nearly as asked."""
        return _not_taken(make_private_folder(self.results), plain_name(name) or "measurement")

    def new_table(self, name: str) -> Path:
        """Return a file for an uploaded table that is not taken, named nearly as it was."""
        stem, dot, endings = (plain_name(name) or "table").partition(".")
        return _not_taken(self.tables(), stem, dot + endings)

    def room_for(self, size: int) -> None:
        """Refuse an upload that the disk has no room for."""
        make_private_folder(self.results)
        for place in (self.results, tempfile.gettempdir()):  # it passes through the latter
            free = shutil.disk_usage(place).free
            if size > free - LEFT_FREE:
                has, left = do_filesizeformat(size), do_filesizeformat(free)
                raise InputError(
                    f"the file has {has} and the disk of '{place}' has {left} left; make room, or "
                    "choose the file from the list instead of copying it"
                )

    def tables(self) -> Path:
        """Return the private folder of uploaded tables."""
        return make_private_folder(self.results / "tables")


@lru_cache(maxsize=1_000)
def _measured(folder: Path, changed: float) -> Measured:
    """Return a measurement; it is read again once its folder has changed."""
    stored = read_published(folder)
    verdict = stored.first.verdict if stored.joint is None else SEVERAL
    return Measured(folder, f"{datetime.fromtimestamp(changed):%Y-%m-%d %H:%M}", verdict)


def _not_taken(folder: Path, stem: str, endings: str = "") -> Path:
    """Return a path in a folder that nothing has, with a number if need be."""
    behind = chain([""], (f"-{number}" for number in count(2)))
    paths = (folder / f"{stem}{each}{endings}" for each in behind)
    return next(each for each in paths if not each.exists() and not private_folder(each).exists())


def plain_name(name: str) -> str:
    """Return a name that every system takes for a file.

    Examples
    --------
    >>> plain_name("../a b/c?.csv"), plain_name("..")
    ('a b-c-.csv', '')
    """
    return _NAME.sub("-", name).strip(" .-")[:80]
