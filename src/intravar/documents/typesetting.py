"""Write a document as PDF, and pictures, by typst; and which packages the formats need.

What is shown comes in as data and is never read as markup; the same content gives the same file.
"""

import datetime
import json
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, cast

from intravar.documents.blocks import Block, Document, Figure, Note, Section, SideBySide
from intravar.documents.colours import FONT, INKS, LOOKS, key_mark, on_paper
from intravar.documents.html import template_text
from intravar.errors import InputError, unknown_name
from intravar.tables import MOST_WIDE, Table

#: By format the packages that make it. Pictures in a text are drawn by typst as well.
NEEDED = {
    "pdf": ("typst",),
    "png": ("typst",),
    "xlsx": ("xlsxwriter",),
    "docx": ("docx", "typst"),
}
#: What these packages are called where they are installed from.
_CALLED = {"docx": "python-docx"}
#: Papers, and what typst calls them.
PAPERS = {"a4": "a4", "letter": "us-letter"}
#: Fixed timestamp: the same content gives the same file.
CREATED = datetime.datetime(2000, 1, 1)
#: Colours of notes, by their look.
_NOTES = INKS | LOOKS
#: Dots per inch of a picture.
PPI = 200
_PICTURE = """
#set page(width: auto, height: auto, margin: 0pt, fill: white)
#image(bytes(sys.inputs.data), format: "svg")
"""


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


def paper_size(name: str) -> str:
    """Return what typst calls a paper."""
    if name not in PAPERS:
        raise InputError(f"unknown paper '{name}'; there are {', '.join(PAPERS)}")
    return PAPERS[name]


def as_pdf(document: Document, paper: str = "a4") -> bytes:
    """Return a document as PDF, on paper as typst calls it."""
    content = {**vars(document), "paper": paper, "font": FONT, "blocks": _listed(document.blocks)}
    return _compiled(template_text("document.typ"), json.dumps(content, ensure_ascii=False), "pdf")


def drawn(svg: str, form: str = "png") -> bytes:
    """Return a picture as PNG or as PDF."""
    return _compiled(_PICTURE, svg, form)


def _compiled(source: str, data: str, form: str) -> bytes:
    import typst

    fonts, inputs = _fonts(), {"data": data}
    options: Any = {"format": form, "sys_inputs": inputs, "font_paths": fonts, "ppi": PPI}
    return cast(bytes, typst.compile(source.encode(), timestamp=0, **options))


@cache
def _fonts() -> Any:
    # Letters that the font which comes along does not have are looked for in the system.
    import typst

    return typst.Fonts()


def _listed(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Return blocks in a form that fits into JSON."""
    return [part for block in blocks for part in _plain_run(block)]


def _plain_run(block: Block) -> list[dict[str, Any]]:
    """Return a block; figures side by side in rows of two or three, or one beside a table."""
    if not isinstance(block, SideBySide):
        return [_plain(block)]
    if isinstance(block.blocks[0], Section):
        return [{"kind": "cards", "blocks": _listed(block.blocks)}]
    n_figures, n = sum(isinstance(each, Figure) for each in block.blocks), len(block.blocks)
    if n < 2 or not n_figures or n_figures < n != 2:
        return _listed(block.blocks)
    step = 2 if n in (2, 4) else 3
    parts = [_plain(each, narrow=True) for each in block.blocks]
    rows = [parts[at : at + step] for at in range(0, n, step)]
    return [{"kind": "beside", "across": step, "blocks": row} for row in rows]


def _plain(block: Block, *, narrow: bool = False) -> dict[str, Any]:
    content = {"kind": type(block).__name__.lower(), **vars(block)}
    if isinstance(block, Table):
        table = block.on("paper")
        return {
            "kind": "table",
            "dense": len(table.rows) > MOST_WIDE,
            "caption": table.caption,
            "heads": [column.heading for column in table.columns],
            "shares": [column.share for column in table.columns],
            "words": [at for at, column in enumerate(table.columns) if column.words],
            "rows": [[cell.text for cell in row.cells] for row in table.rows],
        }
    if isinstance(block, Figure):
        return content | {
            "svgs": [],
            "svg": on_paper(block.svgs[-1 if block.half or narrow else 0], LOOKS),
            "key": [{"mark": key_mark(look), "words": words} for look, words in block.key],
        }
    if isinstance(block, Note) and block.look in _NOTES:
        content["ink"] = _NOTES[block.look].light
        content["ground"] = _NOTES[f"{block.look}-ground"].light
    if "blocks" in content:
        content["blocks"] = _listed(content["blocks"])
    return content
