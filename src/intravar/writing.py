"""Writing files so that a reader never meets half of one."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot write '{target}': {reason}") from error
    except InputError:
        raise
    except Exception as error:
        # A library that writes by itself words a full disk in its own way.
        if words := machine_fault(error):
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

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_private(Path(folder) / "key.json", b"secret")
    ...     (Path(folder) / "key.json").read_bytes()
    b'secret'
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
    """Return what to tell a user about a private file that the system cannot keep private.

    Examples
    --------
    >>> privacy_words("key.json") is None or "key.json" in privacy_words("key.json")
    True
    """
    if KNOWS_OWNERS:
        return None
    return (
        f"this system does not keep files to their owner; see to it that nobody else can read "
        f"'{os.fspath(path)}'"
    )
