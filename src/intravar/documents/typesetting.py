"""From a template and data to a PDF, or to pictures: typst, which needs no browser.

The template is ours; what is shown comes in as data and is never read as markup. Nothing is
fetched, and the same content gives the same file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from intravar.documents.charts.paper import FONT

#: Dots per inch of a picture.
PPI = 200
_PICTURE = b"""
#set page(width: auto, height: auto, margin: 0pt, fill: white)
#image(bytes(sys.inputs.data), format: "svg")
"""


def portable(template: str, content: Mapping[str, Any]) -> bytes:
    """Return a PDF.

    Parameters
    ----------
    template
        Text of a typst file that reads `json(bytes(sys.inputs.data))`.
    content
        What it shows; `font` is added.
    """
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
