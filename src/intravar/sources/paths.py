"""Files that a user named: whether they are there, and what is packed in them."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from pathlib import Path

from intravar.errors import InputError, did_you_mean
from intravar.sources.databases.urls import without_password
from intravar.text import shortened


def existing(path: Path) -> Path:
    """Return a path if something is there; say what else is near if not."""
    try:
        if path.exists():
            return path
    except (OSError, ValueError) as error:  # too long a name, or a zero byte in it
        raise unreadable(path, error) from error
    raise InputError(f"file '{shown(path)}' does not exist{_nearby(path)}")


def unreadable(path: Path, error: Exception) -> InputError:
    """Word the error for a path that the system does not let us read."""
    return InputError(f"cannot read '{shown(path)}': {getattr(error, 'strerror', None) or error}")


def shown(path: Path) -> str:
    """Return a path fit for a message; a mistyped URL is a path too, and may hold a password."""
    return shortened(without_password(str(path)), 200)


def _nearby(path: Path) -> str:
    """Name the file of the same folder that the user may have meant."""
    if not path.parent.is_dir():
        return f"; nor does the folder '{shown(path.parent)}'"
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return ""
    return did_you_mean(path.name, names)


GZIP_MAGIC = b"\x1f\x8b"
#: No table shrinks to a smaller part of itself than one in this many.
LARGEST_RATIO = 300
#: Below this many bytes it does not matter.
HARMLESS = 256 * 2**20


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, unpacked if it is gzipped."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from error
    return _gunzip(path, data) if data.startswith(GZIP_MAGIC) else data


def _gunzip(path: Path, data: bytes) -> bytes:
    largest = max(HARMLESS, LARGEST_RATIO * len(data))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            unpacked = file.read(largest + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"'{path}' is not a whole gzip file ({error}); was its copy cut short?"
        ) from error
    if len(unpacked) > largest:
        raise InputError(_bomb(str(path)))
    return unpacked


def read_member(archive: zipfile.ZipFile, member: str) -> bytes:
    """Return the bytes of a file in a zip archive."""
    entry = archive.getinfo(member)
    if entry.file_size > max(HARMLESS, LARGEST_RATIO * entry.compress_size):
        raise InputError(_bomb(f"{archive.filename}: {member}"))
    try:
        return archive.read(entry)
    except RuntimeError as error:  # also the class of a compression that Python does not know
        raise InputError(
            f"'{member}' in '{archive.filename}' cannot be unpacked ({error}); unpack the archive "
            "yourself and give the folder"
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise InputError(
            f"'{member}' in '{archive.filename}' is damaged ({error}); was its copy cut short?"
        ) from error


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open a zip archive."""
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        raise InputError(
            f"'{path}' is not a whole zip archive ({error}); was its copy cut short?"
        ) from error


def _bomb(name: str) -> str:
    return (
        f"'{name}' unpacks to more than {LARGEST_RATIO} times its size, as no table does; unpack "
        "it yourself if you trust it"
    )
