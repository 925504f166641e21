"""The colours that every page and chart shares, on white and on black, and pictures for paper."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from intravar.documents.charts import LINES


class Look(NamedTuple):
    """How something is shown on white and on black, and with which mark."""

    light: str
    dark: str
    shape: str = "circle"


#: Text, lines and grounds. All text reaches a contrast of 4.5 on the grounds it stands on.
INKS = {
    "ink": Look("#1c1c1e", "#ececee"),
    "soft": Look("#56565c", "#a9a9b2"),
    "line": Look("#c9c9cf", "#4a4a52"),
    "faint": Look("#ececf0", "#2c2c32"),
    "ground": Look("#ffffff", "#16161a"),
    "accent": Look("#0b5c8f", "#7cc0f2"),
    "alarm": Look("#9b1c1c", "#ffb4b4"),
    "alarm-ground": Look("#fdecec", "#3a1719"),
}
#: What is shown first, second and so on in a picture; how grave a verdict is, and its ground.
LOOKS = {
    "one": Look("#0b62a4", "#69b3f0"),
    "two": Look("#c77400", "#f0b04f"),
    "three": Look("#7a7f87", "#9aa3ad"),
    "four": Look("#aa3333", "#f08a8a"),
    "on-one": Look("#ffffff", "#10141a"),
    "on-two": Look("#1c1c1e", "#10141a"),
    "good": Look("#13653a", "#8fdcae"),
    "good-ground": Look("#e8f5ed", "#14291c"),
    "care": Look("#7a4a00", "#f3c775"),
    "care-ground": Look("#fdf3e2", "#2f2512"),
    "card": Look("#f7f7f9", "#1e1e23"),
}


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
