"""Which files the app may open, where it writes, and what lies there.

Every file that a screen reads or hands over passes :meth:`Places.allowed`, which follows all links
and refuses what lies outside the allowed folders.

Below the folder of results there are four: `results` holds one folder per measurement, and the
name of a measurement is a name in there. Uploaded tables, requests and logs lie in `uploads`,
`requests` and `logs` beside it, so that no measurement can be given the folder of uploads.
"""

import base64
import binascii
import errno
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
from intravar.publication.files import LISTING, SUMMARY, private_folder, read_published
from intravar.text import shortened
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
#: Letters of a path that a message repeats.
MOST_SHOWN = 200
#: Entries of a folder that are listed.
MOST_LISTED = 500
RESULTS = "intravar-results"
#: Letters and bytes of a name; what is written beside a result has a longer name.
LONGEST_NAME = 80
LONGEST_NAME_BYTES = 150
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

    def allowed(self, given: str | os.PathLike[str], *, also: Sequence[Path] = ()) -> Path:
        """Return a path with all links followed, or refuse it if it lies outside.

        Parameters
        ----------
        given
            A full path.
        also
            Folders that are allowed beside those of the app.
        """
        path = Path(given)
        if not path.is_absolute() or "\x00" in str(given):
            raise OutsideError(
                f"'{shortened(str(given), MOST_SHOWN)}' is not a full path; choose a file from the "
                "list"
            )
        resolved = Path(os.path.realpath(path))
        folders = (*self.folders, self.results, *also)
        if not any(resolved.is_relative_to(folder) for folder in folders):
            listed = ", ".join(f"'{folder}'" for folder in self.folders)
            raise OutsideError(
                f"'{shortened(str(given), MOST_SHOWN)}' lies outside the folders that this app may "
                f"open ({listed}); move the file there, or start the app with its folder: intravar "
                "app FOLDER"
            )
        _refuse_unusable(resolved)
        return resolved

    def allowed_measurement(self, given: str | os.PathLike[str]) -> Path:
        """Return the folder of a measurement, or refuse it if a file of it lies outside.

        Screens, documents and sheets read any file of the folder and of the private one.
        """
        folder = self.allowed(given)
        if (folder / SUMMARY).is_file():
            for place in (folder, self.allowed(private_folder(folder))):
                for path in _content(place):
                    self.allowed(path)
        return folder

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
        # Earlier versions put measurements into the folder of results itself.
        places = (self._own("results"), self.results) if folder is None else (folder,)
        measured = []
        for path in chain.from_iterable(map(_content, places)):
            # What is none, or cannot be read, is not listed.
            with suppress(InputError, OSError):
                if not path.name.startswith("."):
                    allowed = self.allowed_measurement(path)
                    measured.append(_measured(allowed, (allowed / SUMMARY).stat().st_mtime))
        return sorted(measured, key=lambda each: each.when, reverse=True)

    def new_result(self, name: str) -> Path:
        """Return a folder for a new result that is not taken, named nearly as asked."""
        return _not_taken(self._made("results"), plain_name(name) or "measurement")

    def same_result(self, given: str) -> Path:
        """Return the folder of a measurement that is repeated; it may be one of results only."""
        folder = self.allowed(given)
        if any(folder.is_relative_to(self._own(name)) for name in ("uploads", "requests", "logs")):
            raise OutsideError(f"'{given}' is not a folder of results; start from the first screen")
        return folder

    def new_table(self, name: str) -> Path:
        """Return a file for an uploaded table that is not taken, named nearly as it was."""
        stem, ending = split_ending(name)
        # A dot in the name would look like the beginning of the ending.
        return _not_taken(self.uploads(), plain_name(stem) or "table", ending)

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

    def uploads(self) -> Path:
        """Return the private folder of uploaded tables."""
        return self._made("uploads")

    def request_file(self, result: Path) -> Path:
        """Return the file for the request of a result."""
        return self._made("requests") / f"{result.name}.toml"

    def log_file(self, result: Path) -> Path:
        """Return the file for the log of a result."""
        return self._made("logs") / f"{result.name}.log"

    def _made(self, name: str) -> Path:
        """Return one of the app's own folders; it is made if it is not there."""
        make_private_folder(self.results)
        return make_private_folder(self._own(name))

    def _own(self, name: str) -> Path:
        """Return the path of one of the app's own folders, another if a measurement has it.

        Earlier versions and the command line may have measured under this very name.
        """
        paths = chain([self.results / name], (self.results / f"{name}-{n}" for n in count(2)))
        return next(self.allowed(path) for path in paths if not _is_result(path))


def _content(folder: Path) -> list[Path]:
    """Return what lies in a folder; nothing if it is none or cannot be looked into."""
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _refuse_unusable(path: Path) -> None:
    """Refuse a path that no file can have."""
    try:
        path.lstat()
    except OSError as error:
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            raise InputError(
                f"a path of {len(str(path)):,} letters cannot be opened "
                f"({error.strerror}); choose a file from the list"
            ) from error
    except ValueError as error:  # letters that no file name can hold
        raise OutsideError(
            "this path holds letters that no file name has; choose a file from the list"
        ) from error


def _is_result(folder: Path) -> bool:
    """Tell whether a folder holds a measurement, or is the private one of a measurement."""
    places = (folder, private_folder(folder))
    return any((place / file).exists() for place in places for file in (LISTING, SUMMARY))


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
    short = _NAME.sub("-", name).strip(" .-")[:LONGEST_NAME]
    # Letters of some scripts take three bytes each, and a name may have 255 bytes at most.
    whole_letters = short.encode()[:LONGEST_NAME_BYTES].decode(errors="ignore")
    return whole_letters.rstrip(" .-")


def split_ending(name: str) -> tuple[str, str]:
    """Split the name of a table file into its stem and the ending that tells its kind.

    Examples
    --------
    >>> split_ending("visits 2024.1.csv.gz"), split_ending("visits"), split_ending("a.PARQUET")
    (('visits 2024.1', '.csv.gz'), ('visits', ''), ('a', '.PARQUET'))
    """
    fitting = [ending for ending in TABLES if name.lower().endswith(ending)]
    ending = name[-max(map(len, fitting)) :] if fitting else plain_ending(Path(name).suffix)
    return name.removesuffix(ending), ending


def plain_ending(ending: str) -> str:
    """Return an unknown ending if it is short and plain, else none."""
    return ending if re.fullmatch(r"\.\w{1,10}", ending, re.ASCII) else ""
