"""The packages of the extra `files`, and typst: from a template and data to a PDF, or to pictures.

What is shown comes in as data and is never read as markup; the same content gives the same file.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any, cast

from intravar.documents.colours import FONT
from intravar.errors import InputError, unknown_name

#: By format the packages that make it. Pictures in a text are drawn by typst as well.
NEEDED = {
    "pdf": ("typst",),
    "png": ("typst",),
    "xlsx": ("xlsxwriter",),
    "docx": ("docx", "typst"),
}
#: Fixed timestamp: the same content gives the same file.
CREATED = datetime.datetime(2000, 1, 1)
#: What these packages are called where they are installed from.
_CALLED = {"docx": "python-docx"}


def parse_formats(asked: str | Iterable[str], known: Collection[str]) -> list[str]:
    """Return formats that were asked for, in a list or with commas between, each once.

    Say so if one is not known, or if a package that makes it is missing, and how to get it.
    """
    named = asked.split(",") if isinstance(asked, str) else asked
    formats = [name.strip().lower() for name in named if name.strip()]
    listed = ", ".join(known)
    for name in formats:
        if name not in known:
            raise unknown_name("format", name, known, remedy=f"there are {listed}")
    if not formats:
        raise InputError(f"no format named; there are {listed}")
    if without := [name for name in formats if lacking([name])]:
        raise InputError(
            f"{', '.join(without)} needs {', '.join(lacking(without))}; get it with: "
            'pip install "intravar[files]"'
        )
    return list(dict.fromkeys(formats))


def lacking(formats: Iterable[str]) -> list[str]:
    """Return the packages that some formats need and that are not installed."""
    wanted = dict.fromkeys(package for name in formats for package in NEEDED.get(name, ()))
    return [_CALLED.get(name, name) for name in wanted if find_spec(name) is None]


#: Dots per inch of a picture.
PPI = 200
_PICTURE = b"""
#set page(width: auto, height: auto, margin: 0pt, fill: white)
#image(bytes(sys.inputs.data), format: "svg")
"""


def portable(template: str, content: Mapping[str, Any]) -> bytes:
    """Return a PDF of a typst file that reads `json(bytes(sys.inputs.data))`; `font` is added."""
    data = json.dumps(dict(content) | {"font": FONT}, ensure_ascii=False)
    return _compiled(template.encode(), data, "pdf")


def drawn(svg: str, form: str = "png") -> bytes:
    """Return a picture as PNG or as PDF."""
    return _compiled(_PICTURE, svg, form)


def _compiled(source: bytes, data: str, form: str) -> bytes:
    import typst

    return typst.compile(
        source,
        format=cast(Any, form),
        sys_inputs={"data": data},
        font_paths=_fonts(),
        ppi=PPI,
        timestamp=0,
    )


@cache
def _fonts() -> Any:
    # Letters that the font which comes along does not have are looked for in the system.
    import typst

    return typst.Fonts()
