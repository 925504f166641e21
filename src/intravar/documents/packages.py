"""The packages of the extra `files`; what needs them is imported when a file is made."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from intravar.errors import InputError

#: By format the packages that make it. Pictures in a text are drawn by typst as well.
NEEDED = {"html": (), "pdf": ("typst",), "xlsx": ("xlsxwriter",), "docx": ("docx", "typst")}
#: What these packages are called where they are installed from.
_CALLED = {"docx": "python-docx"}


def lacking(formats: Iterable[str]) -> list[str]:
    """Return the packages that some formats need and that are not installed."""
    wanted = dict.fromkeys(package for name in formats for package in NEEDED[name])
    return [_CALLED.get(name, name) for name in wanted if find_spec(name) is None]


def check_packages(formats: Iterable[str]) -> None:
    """Say so if a package is missing, and how to get it."""
    asked = list(formats)
    if missing := lacking(asked):
        raise InputError(
            f"{', '.join(asked)} needs {', '.join(missing)}; get it with: "
            'pip install "intravar[files]"'
        )
