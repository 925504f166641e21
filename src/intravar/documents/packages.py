"""The packages of the extra `files`; what needs them is imported when a file is made."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from importlib.util import find_spec

from intravar.errors import InputError, unknown_name

#: By format the packages that make it. Pictures in a text are drawn by typst as well.
NEEDED = {"html": (), "pdf": ("typst",), "xlsx": ("xlsxwriter",), "docx": ("docx", "typst")}
#: What these packages are called where they are installed from.
_CALLED = {"docx": "python-docx"}


def parse_formats(asked: str | Iterable[str], known: Collection[str]) -> list[str]:
    """Return formats that were asked for, in a list or with commas between, each once.

    Examples
    --------
    >>> parse_formats("html, svg", ["html", "svg", "pdf"])
    ['html', 'svg']
    """
    named = asked.split(",") if isinstance(asked, str) else asked
    formats = [name.strip().lower() for name in named if name.strip()]
    listed = ", ".join(known)
    for name in formats:
        if name not in known:
            raise unknown_name("format", name, known, remedy=f"there are {listed}")
    if not formats:
        raise InputError(f"no format named; there are {listed}")
    return list(dict.fromkeys(formats))


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
