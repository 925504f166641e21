"""Which files the app may open, where it writes, and what lies there."""

from __future__ import annotations

import base64
import binascii
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from intravar.errors import InputError
from intravar.publication.files import SUMMARY, read_published
from intravar.publication.folders import private_folder
from intravar.publication.results import Published
from intravar.writing import make_folder, make_private_folder

#: Endings of files that are offered as tables; a request's file holds all choices.
TABLES = (
    *(".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".parquet", ".toml"),
    *(".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"),
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


@dataclass(frozen=True)
class Entry:
    """Something in a folder that can be opened."""

    name: str
    path: Path
    kind: Literal["folder", "table", "measurement"]
    size: int = 0


@dataclass(frozen=True)
class Measured:
    """A measurement that lies in a folder."""

    folder: Path
    title: str
    when: str
    verdict: str

    @property
    def key(self) -> str:
        """The folder as part of an address."""
        return key_of(self.folder)


def key_of(folder: Path) -> str:
    """Return a path as one part of an address.

    Examples
    --------
    >>> path_of(key_of(Path("/data/mine")))
    '/data/mine'
    """
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
            found = [entry for entry in map(self._entry, folder.iterdir()) if entry]
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"cannot look into '{folder}': {reason}") from error
        ordered = sorted(found, key=lambda each: (each.kind != "folder", each.name.lower()))
        return ordered[:MOST_LISTED]

    def _entry(self, path: Path) -> Entry | None:
        hidden = path.name.startswith(".") or path.name.endswith(("-private", "-unfinished"))
        try:
            inside = not path.is_symlink() or bool(self.allowed(path))
            if hidden or not inside:
                return None
            if path.is_dir():
                kind: Literal["folder", "measurement"] = (
                    "measurement" if is_measurement(path) else "folder"
                )
                return Entry(path.name, path, kind)
            if path.is_file() and path.name.lower().endswith(TABLES):
                return Entry(path.name, path, "table", path.stat().st_size)
        except (OSError, OutsideError):
            pass
        return None

    def measurements(self, folder: Path | None = None) -> list[Measured]:
        """Return the measurements that lie in a folder, the newest first; the results' if none."""
        place = folder or self.results
        paths = place.iterdir() if place.is_dir() else ()
        found = []
        for path in paths:
            if path.name.startswith(".") or not is_measurement(path):
                continue
            with suppress(InputError):  # what cannot be read is not listed
                stored = read_published(path)
                verdict = stored.first.verdict if stored.joint is None else SEVERAL
                when = datetime.fromtimestamp((path / SUMMARY).stat().st_mtime)
                told = f"{when:%Y-%m-%d %H:%M}"
                found.append(Measured(path, path.name, told, verdict))
        return sorted(found, key=lambda each: each.when, reverse=True)

    def opened(self, key: str) -> tuple[Path, Published]:
        """Return the folder of an address and what it publishes, of one decision or several."""
        folder = self.allowed(path_of(key))
        return folder, read_published(folder)

    def new_result(self, name: str) -> Path:
        """Return a folder for a new result that is not taken, named nearly as asked."""
        make_private_folder(self.results)
        plain = plain_name(name) or "measurement"
        for number in range(1, 10_000):
            path = self.results / (plain if number == 1 else f"{plain}-{number}")
            if not path.exists() and not private_folder(path).exists():
                return path
        raise InputError(f"'{self.results}' has too many results of the name '{plain}'")

    def room_for(self, size: int) -> None:
        """Refuse an upload that the disk has no room for."""
        make_private_folder(self.results)
        for place in (self.results, tempfile.gettempdir()):  # it passes through the latter
            free = shutil.disk_usage(place).free
            if size > free - LEFT_FREE:
                raise InputError(
                    f"the file has {size_words(size)} and the disk of '{place}' has "
                    f"{size_words(free)} left; make room, or choose the file from the list instead "
                    "of copying it"
                )

    def tables(self) -> Path:
        """Return the private folder of uploaded tables."""
        make_folder(self.results)
        return make_private_folder(self.results / "tables")


def plain_name(name: str) -> str:
    """Return a name that every system takes for a file.

    Examples
    --------
    >>> plain_name("../a b/c?.csv"), plain_name("..")
    ('a b-c-.csv', '')
    """
    return _NAME.sub("-", name).strip(" .-")[:80]


def is_measurement(folder: Path) -> bool:
    """Tell whether a folder holds a measurement."""
    return (folder / SUMMARY).is_file()


def size_words(size: float) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> size_words(512), size_words(1_400_000), size_words(2e9)
    ('512 bytes', '1.4 MB', '2.0 GB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size:.0f} bytes"
