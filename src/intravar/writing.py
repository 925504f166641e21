"""Writing files so that a reader never meets half of one, and knowing again which are ours.

A file is ours if its content is what we noted when we wrote it: intravar overwrites and removes
these and no others. The note is made before the file is put in its place, so that a crash between
the two leaves nothing that we would not know again.
"""

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from intravar.errors import InputError, machine_fault

#: Whether this system can keep a file to its owner by permissions of the file itself.
KNOWS_OWNERS = os.name == "posix"


def check_writable(folder: Path) -> None:
    """Say so if no file can be made in a folder; nothing is left in it.

    Permissions do not tell: root may write anywhere, but not into /proc or onto a read-only disk.
    """
    trial = folder / f".intravar.{secrets.token_hex(4)}.part"
    try:
        trial.touch()
        trial.unlink()
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot write into folder '{folder}': {reason}") from error


def checked_target(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file that can be written, or say why it cannot; nothing is written."""
    target = _named_file(path)
    check_writable(target.parent)
    return target


def _named_file(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"folder '{target.parent}' does not exist; make it first")
    if target.is_dir():
        raise InputError(f"'{target}' is a folder; name a file in it")
    return target


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside the target to write to; rename it onto the target if all went well.

    Raises
    ------
    InputError
        If the folder does not exist, the target is a folder, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "note.txt") as beside:
    ...         _ = beside.write_text("done")
    ...     (Path(folder) / "note.txt").read_text()
    'done'
    """
    target = _named_file(path)
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        # Opening first turns an unwritable folder into one clear error, whoever writes later.
        beside.touch()
        yield beside
        os.replace(beside, target)
    except InputError:
        raise
    except Exception as error:
        # A library that writes by itself words a full disk in its own way.
        own = (error.strerror or str(error)) if isinstance(error, OSError) else None
        if words := own or machine_fault(error):
            raise InputError(f"cannot write '{target}': {words}") from error
        raise
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


#: A file that was being written: `.NAME.12345678.part`.
_UNFINISHED = re.compile(r"\..+\.[0-9a-f]{8}\.part")


def sweep(folder: str | os.PathLike[str]) -> None:
    """Remove what a killed run was writing into a folder; call it when no run can be writing."""
    with suppress(OSError):
        for path in Path(folder).iterdir():
            if _UNFINISHED.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                path.unlink(missing_ok=True)


def make_folder(folder: str | os.PathLike[str]) -> Path:
    """Make a folder if it is not there, or say why it cannot be made."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InputError(f"'{path}' is a file; a folder is needed there, move it away") from error
    except OSError as error:
        raise InputError(f"cannot make folder '{path}': {error.strerror or error}") from error
    return path


def make_private_folder(folder: str | os.PathLike[str]) -> Path:
    """Make a folder that nobody but its owner may look into, if it is not there."""
    path = make_folder(folder)
    make_private(path)
    return path


def write_private(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file that nobody but its owner may read, not even for a moment.

    Where files have no owners of their own (see :data:`KNOWS_OWNERS`) the file is as private as
    its folder, and :func:`privacy_words` says so.
    """
    # O_BINARY keeps Windows from turning every newline into two characters.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        # A file that was there keeps its permissions through opening.
        make_private(path)
        file.write(content)


def make_private(path: str | os.PathLike[str]) -> None:
    """Let nobody but the owner read a file or look into a folder, where the system knows owners."""
    if KNOWS_OWNERS:
        os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)


def privacy_words(path: str | os.PathLike[str]) -> str | None:
    """Return what to tell a user about a private file that the system cannot keep private."""
    if KNOWS_OWNERS:
        return None
    return (
        f"this system does not keep files to their owner; see to it that nobody else can read "
        f"'{os.fspath(path)}'"
    )


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
            # What is there now is ours as well until the new file has taken its place.
            self._known[name] = [checksum(beside)]
            with suppress(OSError):
                self._known[name].append(checksum(path))
            self._save()

    def write_all(
        self,
        files: Mapping[str, bytes],
        write: Callable[[Path, bytes], object] = Path.write_bytes,
    ) -> list[Path]:
        """Write files, of which all are checked before the first is written; return their paths."""
        self.check(files)
        for name, content in files.items():
            with self.writing(name) as beside:
                write(beside, content)
        return [self.folder / name for name in files]

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
        listing = json.loads(path.read_text("utf-8"))
        if what is not None and listing["what"] != what:
            return {}
        return {
            name: [digests] if isinstance(digests, str) else [str(each) for each in digests]
            for name, digests in listing["files"].items()
            # A name that leads out of the folder is none that we wrote.
            if isinstance(digests, str | list)
            and not Path(name).is_absolute()
            and ".." not in Path(name).parts
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
