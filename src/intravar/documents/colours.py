"""The colours that every page and chart shares, on white and on black, and pictures for paper."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from intravar.documents.charts import LINES
from intravar.wording import declared_in


class Look(NamedTuple):
    """How something is shown on white and on black, and with which mark."""

    light: str
    dark: str
    shape: str = "circle"


_DECLARED = declared_in(__package__, "looks")
#: Text, lines and grounds; and what is shown in pictures and notes.
INKS, LOOKS = (
    {name: Look(*pair) for name, pair in _DECLARED[part].items()} for part in ("inks", "looks")
)


def style_of(looks: Mapping[str, Look]) -> str:
    """Return colours as custom properties: `ink` becomes `var(--ink)`; paper is light."""
    light, dark = (
        f"color-scheme:{theme};"
        + "".join(f"--{name}:{getattr(look, theme)};" for name, look in looks.items())
        for theme in ("light", "dark")
    )
    return (
        f":root{{{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        f"@media screen{{:root[data-theme=light]{{{light}}}:root[data-theme=dark]{{{dark}}}}}\n"
    )


#: What comes with typst: the same letters on every machine.
FONT = "Libertinus Serif"
_VARIABLE = re.compile(r"var\(--([\w-]+)\)")
_FAMILY = re.compile(r"system-ui[^;}]*")


def on_paper(svg: str, looks: Mapping[str, Look], centimetres: float | None = None) -> str:
    """Return a picture that stands alone, with its style and the light colours in it.

    A file of its own also needs a size: so many `centimetres` wide, and as high as it is drawn.

    Examples
    --------
    >>> picture = on_paper('<svg viewBox="0 0 20 10"><g fill="var(--ink)"/></svg>', {})
    >>> picture.partition("<style>")[0], picture.partition("</style>")[2]
    ('<svg viewBox="0 0 20 10">', '<g fill="#1c1c1e"/></svg>')
    """
    css = files("intravar.documents").joinpath("templates", "charts.css").read_text("utf-8")
    opening, _, marks = str(svg).partition(">")
    if centimetres is not None:
        _, _, wide, high = map(float, opening.partition('viewBox="')[2].partition('"')[0].split())
        opening += f' width="{centimetres:g}cm" height="{centimetres * high / wide:.3f}cm"'
    every = INKS | dict(looks)
    return _VARIABLE.sub(
        lambda name: every[name[1]].light if name[1] in every else "currentColor",
        f"{opening}><style>{_FAMILY.sub(repr(FONT), css)}</style>{marks}",
    )


#: What a key draws as a dot; what is no line either is a box.
_DOTS = ("point", "hollow", "alike", "one-way", "other-way", "own", "peer", "all")


@cache
def key_mark(look: str) -> str:
    """Return what a key names as a picture for paper, with the marks of the chart."""
    names = [look] if look.startswith("point") else look.split()
    first, wide, shape = names[0].split()[0], 12 * len(names), '<path d="M2 1h8v8h-8z"/>'
    if first in LINES:
        wide, shape = 22, '<path d="M0 5h20"/>'
    elif first in _DOTS:
        shape = '<circle cx="6" cy="5" r="3.8"/>'
    marks = "".join(
        f'<g class="{name}" transform="translate({12 * at} 0)">{shape}</g>'
        for at, name in enumerate(names)
    )
    return on_paper(f'<svg viewBox="0 0 {wide} 10">{marks}</svg>', LOOKS)
