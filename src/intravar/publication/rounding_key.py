"""The user's secret key, from which the points follow from which published figures are rounded.

A figure over all patients is rounded from a point that nobody else can tell (see
:mod:`intravar.publication.hiding`). Were that point drawn anew for every result, whoever measures
the same table ten times would publish ten roundings, and their mean would be close to the exact
figure. So the point is a keyed hash (HMAC-SHA-256) of the data:

* The same data give the same point under the same key, in whichever folder and with whichever
  request, so that repeated results give nothing to average.
* The hash needs a key: without one, a reader who knows all patients but one could try every
  decision of that patient, compute the point for each and compare.
* Other data give another point. A point that could be learned from a public table, measured under
  the same key, tells nothing about another table.

The key belongs to the user and lies in a file in the user's configuration folder. Every private
folder holds a key that is derived from it for the physicians of that result, so that `--key`
repeats a result on another computer and tells nothing about the user's other results.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

from filelock import FileLock

from intravar.errors import InputError
from intravar.publication.pseudonyms import KEY_BYTES, read_key
from intravar.writing import make_private_folder, whole_file, write_private

#: Names another file for the key, for example one that a team shares.
VARIABLE = "INTRAVAR_KEY_FILE"
FILE = "rounding-key.json"
WHAT = "secret key of the rounding of published figures; keep it, and keep it apart"
#: Seconds to wait for another process that makes the key.
PATIENCE = 30


def rounding_key(names: Iterable[str]) -> bytes | None:
    """Return the key for a result about these physicians, derived from the user's key.

    Parameters
    ----------
    names
        Names of all physicians in the data.

    Returns
    -------
    bytes or None
        None if the user's key cannot be stored, as in an account without a home folder.

    Raises
    ------
    InputError
        If the file of the key holds none, or cannot be made where the variable says.
    """
    key = user_key()
    if key is None:
        return None
    return _digest(key, json.dumps(sorted(set(names))))


def user_key() -> bytes | None:
    """Return the user's key, which is made when it is first needed; None if it cannot be stored."""
    path = key_file()
    try:
        if not path.is_file():
            _make(path)
    except (OSError, InputError) as error:
        if os.environ.get(VARIABLE):
            raise InputError(
                f"the key file '{path}' cannot be made ({error}); name another file in the "
                f"environment variable {VARIABLE}"
            ) from error
        warnings.warn(
            f"the secret key of rounding cannot be kept in '{path}' ({error}), so the same result "
            f"in another folder can be rounded differently; name a file that can be written in the "
            f"environment variable {VARIABLE}",
            stacklevel=2,
        )
        return None
    return read_key(path)


def key_file() -> Path:
    """Return the file of the user's key."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    if sys.platform == "win32":
        folder = os.environ.get("APPDATA") or os.path.expanduser("~/AppData/Roaming")
    elif sys.platform == "darwin":
        folder = os.path.expanduser("~/Library/Application Support")
    else:
        folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(folder) / "intravar" / FILE


def _make(path: Path) -> None:
    """Write a new key, unless another process has just done so."""
    if not path.parent.is_dir():
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        make_private_folder(path.parent)
    content = json.dumps({"what": WHAT, "key": secrets.token_hex(KEY_BYTES)}, indent=1)
    with FileLock(path.with_name(f".{path.name}.lock"), timeout=PATIENCE):
        if not path.is_file():
            with whole_file(path) as beside:
                write_private(beside, content.encode())


def _digest(key: bytes, about: str) -> bytes:
    return hmac.new(key, b"rounding\x00" + about.encode("utf-8"), hashlib.sha256).digest()
