"""What a user named: files and databases, what is packed in them, and what may be shown of them.

A password may hold characters that mean something else in a URL. What is shown is therefore built
from the parts that are known not to be a password, never from the URL less what looks like one.
"""

import gzip
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import traceback
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, unquote

from intravar.errors import InputError, did_you_mean
from intravar.text import shortened
from intravar.version import __version__


def existing(path: Path) -> Path:
    """Return a path if something is there; say what else is near if not."""
    nearby = ""
    try:
        if path.exists():
            return path
    except (OSError, ValueError) as error:  # too long a name, or a zero byte in it
        raise unreadable(path, error) from error
    if not path.parent.is_dir():
        nearby = f"; nor does the folder '{shown(path.parent)}'"
    else:
        with suppress(OSError):
            nearby = did_you_mean(path.name, [entry.name for entry in path.parent.iterdir()])
    raise InputError(f"file '{shown(path)}' does not exist{nearby}")


def unreadable(path: Path, error: Exception) -> InputError:
    """Word the error for a path that the system does not let us read."""
    return InputError(f"cannot read '{shown(path)}': {getattr(error, 'strerror', None) or error}")


def shown(path: Path) -> str:
    """Return a path fit for a message; a mistyped URL is a path too, and may hold a password."""
    return shortened(without_password(str(path)), 200)


def regular_file(source: Any, folder: Callable[[], Path]) -> Any:
    """Return a source that can be read more than once: a pipe is copied into a file.

    A table is read twice, once to see what it is. A pipe such as `/dev/stdin` or a process
    substitution of the shell can be read only once. Other sources are returned as they are.

    Parameters
    ----------
    source
        A path or any other source.
    folder
        Returns a private folder for the copy; called only if one is needed.
    """
    if not isinstance(source, str | os.PathLike) or "://" in str(source):
        return source
    path = Path(source)
    try:
        is_pipe = stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return source  # the reader reports why it cannot be read
    if not is_pipe:
        return source
    copy = Path(tempfile.mkdtemp(dir=folder())) / path.name
    with path.open("rb") as pipe, copy.open("xb") as file:
        shutil.copyfileobj(pipe, file)
    return copy


Kind = Literal["postgresql", "duckdb", "sqlite"]
SQLITE_MAGIC = b"SQLite format 3\x00"
DUCKDB_MAGIC = b"DUCK"  # after eight bytes of checksum
_SCHEMES: dict[str, Kind] = {kind: kind for kind in get_args(Kind)} | {"postgres": "postgresql"}
_SUFFIXES: dict[str, Kind] = {
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}


def database_kind(source: str | os.PathLike[str]) -> Kind | None:
    """Tell a database by its URL, its suffix or its first bytes; None for anything else."""
    text = str(source)
    scheme, separator, _ = text.partition("://")
    if separator and scheme.isascii() and "/" not in scheme:
        if scheme.lower() not in _SCHEMES:
            raise InputError(
                f"'{without_password(text)}' has the scheme '{scheme}', which is not read; give a "
                "file or postgresql://, duckdb:// or sqlite://"
            )
        return _SCHEMES[scheme.lower()]
    path = Path(text)
    try:
        if path.is_file():
            with path.open("rb") as file:
                beginning = file.read(16)
            if beginning == SQLITE_MAGIC:
                return "sqlite"
            return "duckdb" if beginning[8:12] == DUCKDB_MAGIC else None
    except (OSError, ValueError):
        return None  # whoever reads the file says why it cannot be read
    # It would otherwise pass for the name of a file.
    is_one = _SECRET_WORDS.search(text) or re.search(r"\b(host|dbname)\s*=", text)
    if is_one and (not path.parent.is_dir() or "=" in text):
        raise InputError(
            "connection strings such as 'host=... dbname=...' are not read; give "
            "postgresql://user@host/db"
        )
    return _SUFFIXES.get(path.suffix.lower())


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
        raise unreadable(path, error) from error
    if not data.startswith(GZIP_MAGIC):
        return data
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
    except (RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        # A runtime error is that of a password, or of a compression that Python does not know.
        locked = isinstance(error, RuntimeError)
        remedy = "unpack it yourself and give the folder" if locked else "was its copy cut short?"
        raise InputError(
            f"'{member}' in '{archive.filename}' cannot be unpacked ({error}); {remedy}"
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


#: Stands for what is not shown.
HIDDEN = "…"
#: Schemes whose URL is the path of a file.
FILE_SCHEMES = ("duckdb", "sqlite")
_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):(/{1,2})(.*)$", re.DOTALL)
_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+[^\s'\"]+")
_HOST = r"(?:[\w.%-]*|\[[0-9A-Fa-f:.%]*\])(?::\d*)?"
#: What follows '://', where it is certain which part is the password.
_SERVER = re.compile(
    rf"^(?:([\w.%+-]*)(?::[^@/]*)?(@))?({_HOST}(?:,{_HOST})*)(/[^?#@]*)?(?:[?#][^@]*)?$", re.DOTALL
)
_SECRET_WORDS = re.compile(
    r"\b(pass\w*|pwd|secret|token|sslpassword)(\s*=\s*)('[^']*'|\"[^\"]*\"|[^\s&;]+)", re.IGNORECASE
)


def without_password(source: str) -> str:
    """Return the name of a source fit to be shown, written or logged.

    Examples
    --------
    >>> without_password("postgresql://ann:secret@host/db?password=secret")
    'postgresql://ann@host/db'
    >>> without_password("postgresql://ann:se?cr#et@host/db")
    'postgresql://ann@host/db'
    >>> without_password("postgresql://ann:se/cr@et@host/db")
    'postgresql://…'
    >>> without_password("patients.csv")
    'patients.csv'
    """
    url = _URL.match(source.strip())
    if url is None:
        return _SECRET_WORDS.sub(rf"\1\2{HIDDEN}", source.strip())
    scheme, slashes, rest = url.groups()
    if scheme.lower() in FILE_SCHEMES:
        return source.strip()
    certain = _SERVER.match(rest) if slashes == "//" else None
    known = HIDDEN if certain is None else "".join(part or "" for part in certain.groups())
    return f"{scheme}:{slashes}{known}"


def scrubbed(text: str, *sources: str) -> str:
    """Return a text without the passwords that it quotes: of URLs in it, and of sources.

    Examples
    --------
    >>> scrubbed("cannot reach postgresql://ann:secret@host/db now")
    'cannot reach postgresql://ann@host/db now'
    >>> scrubbed('invalid port "se"', "postgresql://ann:se/cret@host/db")
    'invalid port "…"'
    """
    for source in sources:
        if "://" in source:
            text = text.replace(source, without_password(source))
            for secret in _secrets(source):
                text = text.replace(secret, HIDDEN)
    text = _IN_TEXT.sub(lambda match: without_password(match[0]), text)
    return _SECRET_WORDS.sub(rf"\1\2{HIDDEN}", text)


def defect_lines(error: BaseException) -> list[str]:
    """Write the log of a defect; return what to tell the user, without a traceback."""
    text = "".join(traceback.format_exception(error))
    log = f"intravar {__version__}, Python {sys.version}\n{' '.join(sys.argv)}\n\n{text}"
    summary = scrubbed(f"{type(error).__name__}: {error}", *sys.argv)
    words = f"this is a defect of intravar, not of your input: {summary}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="intravar-", suffix=".log", delete=False, encoding="utf-8"
        ) as file:
            file.write(scrubbed(log, *sys.argv))
    except OSError:
        return [words, scrubbed(text, *sys.argv)]
    return [words, f"please report it with {file.name}"]


def check_server_url(url: str) -> None:
    """Refuse a URL in which the password cannot be told from the rest."""
    rest = url.partition("://")[2]
    if _SERVER.match(rest):
        return
    if rest.count("@") > 1 or ("@" in rest and "/" in rest.partition("@")[0]):
        raise InputError(
            f"in the URL {without_password(url)} the password cannot be told from the host: write "
            "'@' as %40, '/' as %2F and ':' as %3A, or leave the password to PGPASSWORD or "
            "~/.pgpass"
        )
    raise InputError(
        f"the URL {without_password(url)} is not understood; write postgresql://user@host:port/db"
    )


def _secrets(source: str) -> list[str]:
    """Return what may be a password in a URL, the longest first."""
    rest = source.partition("://")[2]
    # The password begins after the first colon; it may end at any '@'.
    after = rest.partition(":")[2]
    secrets = {after[: at.start()] for at in re.finditer("@", after)}
    secrets |= {part for each in secrets for part in re.split(r"[@/?#:]", each)}
    asked = parse_qsl(rest.partition("?")[2])
    secrets |= {value for name, value in asked if name in ("password", "sslpassword", "passfile")}
    secrets |= {unquote(each) for each in secrets}
    return sorted((each for each in secrets if len(each) > 1), key=len, reverse=True)
