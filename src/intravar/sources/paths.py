"""Paths that a user named: whether something is there, and what to say if not."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from intravar.errors import NEAR, InputError
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
    nearest = get_close_matches(path.name, names, n=1, cutoff=NEAR)
    return f"; did you mean '{nearest[0]}'?" if nearest else ""
