"""Pseudonyms under a secret key, and who is meant by a name or a pseudonym.

Without a key, whoever has a list of names could work out all of them.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from intravar.errors import InputError, unknown_name
from intravar.text import clean_name

KEY_BYTES = 32
#: A shorter key could be guessed.
FEWEST_KEY_BYTES = 16
KEY_FILE = "key.json"
#: Letters and digits that cannot be taken for each other.
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH = 8


@dataclass(frozen=True)
class Pseudonyms:
    """A secret key, from which whoever knows a name knows the pseudonym, and these by name.

    Figures are rounded by a key of their own, which stays the same when pseudonyms change: see
    :mod:`intravar.publication.rounding_key`. Without one it is the key of the pseudonyms.
    """

    key: bytes
    by_name: dict[str, str]
    rounding: bytes | None = None

    @classmethod
    def of(
        cls, names: Iterable[str], key: bytes | None = None, rounding: bytes | None = None
    ) -> Pseudonyms:
        """Give every name a pseudonym."""
        listed = list(dict.fromkeys(names))
        secret = secrets.token_bytes(KEY_BYTES) if key is None else key
        by_name = {name: pseudonym(name, secret) for name in listed}
        if len(set(by_name.values())) == len(listed):
            return cls(secret, by_name, rounding)
        if key is None:
            return cls.of(listed, rounding=rounding)
        raise InputError(
            "two names get the same pseudonym under this key; measure with another one"
        )

    def secret(self, about: str) -> float:
        """Return a number from 0 to 1 that stays the same under the key and that nobody can tell.

        Examples
        --------
        >>> round(Pseudonyms(b"sixteen bytes or more", {}).secret("Ada"), 3)
        0.246
        """
        # What comes before the name keeps it apart from the pseudonym.
        key = self.rounding or self.key
        digest = hmac.new(key, b"secret\x00" + about.encode("utf-8"), hashlib.sha256).digest()
        return int.from_bytes(digest[:6], "big") / 2**48

    def as_json(self) -> str:
        """Return key and names as the content of a key file."""
        content = {
            "what": "secret key of the pseudonyms, and the names behind them; keep it apart",
            "key": self.key.hex(),
            "rounding": (self.rounding or self.key).hex(),
            # In the order of the pseudonyms.
            "physicians": dict(sorted((each, name) for name, each in self.by_name.items())),
        }
        return json.dumps(content, indent=1, ensure_ascii=False)


def pseudonym(name: str, key: bytes) -> str:
    """Return the pseudonym of a name: forty bits of a keyed hash.

    Examples
    --------
    >>> pseudonym("Ada", b"sixteen bytes or more")
    'P-D4ZV-R2C2'
    """
    digest = int.from_bytes(hmac.new(key, name.encode("utf-8"), hashlib.sha256).digest()[:5], "big")
    letters = "".join(ALPHABET[digest >> 5 * at & 31] for at in range(LENGTH))
    return f"P-{letters[:4]}-{letters[4:]}"


def readable(path: Path) -> bool:
    """Tell whether a file is there and may be looked at."""
    try:
        return path.is_file() and os.access(path, os.R_OK)
    except OSError:
        return False


def read_key(path: Path) -> bytes:
    """Return the key of a key file."""
    return _key_in(path, _read(path, "key"))


def read_rounding_key(path: Path) -> bytes:
    """Return the key by which the figures of a measurement were rounded, from its key file.

    Earlier versions rounded by the key of the pseudonyms.
    """
    stored = _read(path, "rounding")
    return read_key(path) if stored is None else _key_in(path, stored)


def _key_in(path: Path, stored: Any) -> bytes:
    """Return a key from what a key file holds."""
    key = b""
    with suppress(TypeError, ValueError):
        key = bytes.fromhex(stored)
    if len(key) < FEWEST_KEY_BYTES:
        raise _no_key_file(path)
    return key


def read_names(path: Path) -> dict[str, str]:
    """Return the names behind the pseudonyms of a key file."""
    names = _read(path, "physicians")
    if not isinstance(names, dict):
        raise _no_key_file(path)
    return {str(pseudonym): str(name) for pseudonym, name in names.items()}


def _read(path: Path, field: str) -> Any:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise _no_key_file(path) from error
    return content.get(field) if isinstance(content, dict) else None


def _no_key_file(path: Path) -> InputError:
    return InputError(f"'{path}' is not a key file of intravar; move it away to make a new one")


def as_known(given: str, names: Collection[str]) -> str:
    """Return a name as a measurement has it: without what nobody sees, unless it has that."""
    return given if given in names else clean_name(given)


@dataclass(frozen=True)
class Addresses:
    """The physicians of a stored measurement: what they are called there, and their names.

    There are no names where the private folder is not at hand.
    """

    published: Sequence[str]
    names: Mapping[str, str]
    decider: str = "physician"

    @classmethod
    def of(cls, published: Sequence[str], private: Path, decider: str) -> Addresses:
        """Read the names of a private folder, where there is one that can be read."""
        key = private / KEY_FILE
        return cls(published, read_names(key) if readable(key) else {}, decider)

    def published_name(self, given: str) -> str:
        """Return what a physician is called in what was handed on, from a name or a pseudonym."""
        given = as_known(given, [*self.published, *self.names, *self.names.values()])
        pseudonyms = [pseudonym for pseudonym, name in self.names.items() if name == given]
        for candidate in (given, *pseudonyms, self.names.get(given, given)):
            if candidate in self.published:
                return candidate
        raise unknown_name(self.decider, given, self.published, remedy="physicians.csv lists them")

    def name_of(self, published_name: str) -> str:
        """Return the name of a physician."""
        if published_name in self.names:
            return self.names[published_name]
        if published_name in self.names.values():
            return published_name
        raise InputError(
            f"the name of '{published_name}' is not known here; names lie in the private folder "
            "beside the measurement, make the sheets where it was measured"
        )
