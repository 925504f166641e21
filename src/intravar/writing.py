"""Writing files so that a reader never meets half of one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from intravar.errors import InputError


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
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
