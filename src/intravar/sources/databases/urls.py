"""URLs of databases: what may be shown of them, and what cannot be told apart in them.

A password may hold characters that mean something else in a URL. What is shown is therefore built
from the parts that are known not to be a password, never from the URL less what looks like one.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, unquote

from intravar.errors import InputError

#: Stands for what is not shown.
HIDDEN = "…"
#: Schemes whose URL is the path of a file.
FILE_SCHEMES = ("duckdb", "sqlite")
_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):/+(.*)$", re.DOTALL)
_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/+[^\s'\"]+")
_USER = re.compile(r"^[\w.%+-]*$")
_HOSTS = re.compile(
    r"^(?:(?:[\w.%-]*|\[[0-9A-Fa-f:.%]*\])(?::\d*)?)(?:,(?:[\w.%-]*|\[[0-9A-Fa-f:.%]*\])(?::\d*)?)*$"
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
    source = source.strip()
    found = _URL.match(source)
    if found is None:
        return _SECRET_WORDS.sub(rf"\1\2{HIDDEN}", source)
    scheme, rest = found.groups()
    slashes = source[len(scheme) + 1 : len(source) - len(rest)]
    if scheme.lower() in FILE_SCHEMES:
        return source
    if not slashes.startswith("//"):
        return f"{scheme}:{slashes}{HIDDEN}"
    rest = slashes[2:] + rest
    parts = _parts(rest)
    if parts is None:
        return f"{scheme}://{HIDDEN}"
    user, at, host, path = parts
    return f"{scheme}://{user}{at}{host}{path}"


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
    text = _IN_TEXT.sub(lambda found: without_password(found[0]), text)
    return _SECRET_WORDS.sub(rf"\1\2{HIDDEN}", text)


def check_server_url(url: str) -> None:
    """Refuse a URL in which the password cannot be told from the rest."""
    rest = url.partition("://")[2]
    if _parts(rest) is not None:
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


def refuse_connection_strings(source: str) -> None:
    """Refuse `host=... password=...`, which would otherwise pass for the name of a file."""
    if _SECRET_WORDS.search(source) or re.search(r"\b(host|dbname)\s*=", source):
        raise InputError(
            "connection strings such as 'host=... dbname=...' are not read; give "
            "postgresql://user@host/db"
        )


def _parts(rest: str) -> tuple[str, str, str, str] | None:
    """Split what follows '://' into user, '@', host and path; None where that is not certain."""
    before, at, after = rest.partition("@")
    if "@" in after or (at and "/" in before):
        return None
    user, after = (before.partition(":")[0], after) if at else ("", rest)
    found = re.match(r"^([^/?#]*)(/[^?#]*)?(?:[?#].*)?$", after, re.DOTALL)
    if found is None or not _USER.match(user) or not _HOSTS.match(found[1]):
        return None
    return user, at, found[1], found[2] or ""


def _secrets(source: str) -> list[str]:
    """Return what may be a password in a URL, the longest first."""
    rest = source.partition("://")[2]
    found = set()
    if ":" in rest and "@" in rest:
        # The password begins after the first colon; it may end at any '@'.
        after = rest.partition(":")[2]
        ends = [place for place, letter in enumerate(after) if letter == "@"]
        found |= {after[:end] for end in ends}
        found |= {part for each in list(found) for part in re.split(r"[@/?#:]", each)}
    for name, value in parse_qsl(rest.partition("?")[2]):
        if name in ("password", "sslpassword", "passfile"):
            found.add(value)
    found |= {unquote(each) for each in found}
    return sorted((each for each in found if len(each) > 1), key=len, reverse=True)
