"""Keyed pseudonyms: the same physician gets the same one under the same key, nobody else can tell.

A plain hash of a name is no protection: whoever has a list of names can hash them all.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from intravar.errors import InputError

KEY_BYTES = 32
SHORTEST = 6
KEY_FILE = "key.json"


@dataclass(frozen=True)
class Pseudonyms:
    """A secret key and the names it was used for.

    Attributes
    ----------
    key
        Secret; whoever has it and a name can work out the pseudonym.
    by_name
        Pseudonym of every physician.
    """

    key: bytes
    by_name: dict[str, str]

    @classmethod
    def of(cls, names: Iterable[str], key: bytes | None = None) -> Pseudonyms:
        """Give every name a pseudonym.

        Examples
        --------
        >>> given = Pseudonyms.of(["Ada", "Ben"], key=b"secret").by_name
        >>> given["Ada"] != given["Ben"]
        True
        """
        secret = secrets.token_bytes(KEY_BYTES) if key is None else key
        listed = list(dict.fromkeys(names))
        digests = {
            name: hmac.new(secret, name.encode("utf-8"), hashlib.sha256).hexdigest().upper()
            for name in listed
        }
        length = SHORTEST
        while len({digest[:length] for digest in digests.values()}) < len(listed):
            length += 1
        return cls(secret, {name: f"P-{digest[:length]}" for name, digest in digests.items()})

    def names(self) -> dict[str, str]:
        """Return the name behind every pseudonym."""
        return {pseudonym: name for name, pseudonym in self.by_name.items()}

    def write(self, path: Path) -> None:
        """Write key and names to a file that only its owner may read."""
        text = json.dumps(
            {
                "what": "secret key of the pseudonyms, and the names behind them; keep it apart",
                "key": self.key.hex(),
                "physicians": self.names(),
            },
            indent=1,
            ensure_ascii=False,
        )
        write_private(path, text.encode("utf-8"))


def read_key(path: Path) -> bytes:
    """Return the key of a file that :meth:`Pseudonyms.write` wrote."""
    try:
        return bytes.fromhex(json.loads(path.read_text("utf-8"))["key"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"'{path}' is not a key file of intravar; move it away to make a new one"
        ) from error


def write_private(path: Path, content: bytes) -> None:
    """Write a file that nobody but its owner may read, not even for a moment."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(content)
