"""Which files of a folder intravar wrote: it overwrites and removes these and no others.

A file is ours if its content is what we noted when we wrote it. The note is made before the file
is put in its place, so that a crash between the two leaves nothing that we would not know again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from intravar.errors import InputError
from intravar.writing import make_folder, whole_file

NAME = "written.json"
_WHAT = "files that intravar wrote into this folder, with checksums; it touches no others"


class Ledger:
    """The files that intravar wrote into a folder; the ledger lies in it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> ledger = Ledger(folder)
    >>> with ledger.writing("ours.txt") as beside:
    ...     _ = beside.write_text("ours")
    >>> _ = (folder / "yours.txt").write_text("yours")
    >>> ledger.is_ours("ours.txt"), ledger.is_ours("yours.txt")
    (True, False)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._known = read_listing(self.folder / NAME)

    def is_ours(self, name: str) -> bool:
        """Tell whether a file is there and is as we wrote it."""
        return name == NAME or as_listed(self.folder / name, self._known.get(name, ()))

    def check(self, names: Iterable[str]) -> None:
        """Refuse to go on, naming it, if one of the files is there and is not ours."""
        for name in names:
            path = self.folder / name
            if (path.exists() or path.is_symlink()) and not self.is_ours(name):
                raise InputError(
                    f"'{path}' would be overwritten, but it was not written by intravar or was "
                    "changed since; move it away or name another folder with --out"
                )

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """Yield a path to write to; it becomes the file of the name, if that is ours to write."""
        self.check([name])
        path = self.folder / name
        make_folder(path.parent)
        with whole_file(path) as beside:
            yield beside
            self._note(name, checksum(beside))

    def clear(self) -> None:
        """Remove every file that is ours, and folders that are empty then; leave all others."""
        folders = set()
        for name in list(self._known):
            path = self.folder / name
            if self.is_ours(name):
                path.unlink()
                folders |= {self.folder / parent for parent in Path(name).parents}
        for folder in sorted(folders - {self.folder}, key=lambda each: -len(each.parts)):
            with suppress(OSError):  # not empty: something of the user's is in it
                folder.rmdir()
        self._known = {}
        with suppress(OSError):
            (self.folder / NAME).unlink()

    def _note(self, name: str, digest: str) -> None:
        # What is there now is ours as well until the new file has taken its place.
        current = [digest]
        with suppress(OSError):
            current.append(checksum(self.folder / name))
        self._known[name] = current
        self._save()

    def _save(self) -> None:
        with whole_file(self.folder / NAME) as beside:
            beside.write_text(json.dumps({"what": _WHAT, "files": self._known}, indent=1), "utf-8")


def as_listed(path: Path, digests: Iterable[str]) -> bool:
    """Tell whether a file is there and holds what is listed of it."""
    try:
        return path.is_file() and checksum(path) in digests
    except OSError:
        return False


def digest(content: bytes) -> str:
    """Return the SHA-256 of what a file holds."""
    return hashlib.sha256(content).hexdigest()


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def record_checksum(record: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a record that is kept as JSON."""
    return digest(json.dumps(record, sort_keys=True).encode())


def read_listing(path: Path, what: str | None = None) -> dict[str, list[str]]:
    """Return the files that a list names with their digests; a damaged list proves nothing.

    `what` is what the folder must hold by its list; anything by default.
    """
    try:
        found = json.loads(path.read_text("utf-8"))
        if what is not None and found["what"] != what:
            return {}
        return {
            name: [digests] if isinstance(digests, str) else [str(each) for each in digests]
            for name, digests in found["files"].items()
            # A name that leads out of the folder is none that we wrote.
            if isinstance(digests, str | list) and _stays_inside(name)
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _stays_inside(name: str) -> bool:
    return not Path(name).is_absolute() and ".." not in Path(name).parts
