"""Pictures of a page as they are on paper: with colours, and a size, of their own.

In a page the style sheet colours them. A file that is no page has none, so that the same rules are
put into the picture, with the colours of light.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from importlib.resources import files

from intravar.documents.colours import INKS, Look
from intravar.errors import InputError

#: What comes with typst: the same letters on every machine.
FONT = "Libertinus Serif"
PAPERS = {"a4": "a4", "letter": "us-letter"}
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_BLOCK = re.compile(r"@[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_VARIABLE = re.compile(r"var\(--([\w-]+)\)")
_FAMILY = re.compile(r"system-ui[^;}]*")
_OPENING = re.compile(r"<svg\b[^>]*>")
_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def style_on_paper(css: str, looks: Mapping[str, Look]) -> str:
    """Return the rules of a style sheet that a picture needs, with colours instead of names.

    Rules for some screens only, and for what a mouse does, are left out.

    Examples
    --------
    >>> css = ".point { fill: var(--one); } a:hover { x: y; } @media print { b { x: y; } }"
    >>> style_on_paper(css, {"one": Look("#00f", "#ff0")})
    '.point{fill: #00f;}'
    """
    plain = _BLOCK.sub("", _COMMENT.sub("", css))
    found = []
    for selector, body in _RULE.findall(plain):
        if ":" in selector:
            continue
        coloured = _VARIABLE.sub(lambda name: _colour(name[1], looks), body)
        found.append(f"{selector.strip()}{{{_FAMILY.sub(_quoted(), coloured).strip()}}}")
    return "".join(found)


def _quoted() -> str:
    return f"'{FONT}'"


def _colour(name: str, looks: Mapping[str, Look]) -> str:
    look = (INKS | dict(looks)).get(name)
    return look.light if look else "currentColor"


def paper_size(name: str) -> str:
    """Return what typst calls a paper."""
    if name not in PAPERS:
        raise InputError(f"unknown paper '{name}'; there are {', '.join(PAPERS)}")
    return PAPERS[name]


def template_text(package: str, name: str) -> str:
    """Return a template's text."""
    return files(package).joinpath("templates", name).read_text("utf-8")


def on_paper(svg: str, style: str) -> str:
    """Return a picture with its style and its size in it.

    Examples
    --------
    >>> on_paper('<svg viewBox="0 0 20 10"><g/></svg>', "g{}")
    '<svg viewBox="0 0 20 10" width="20" height="10"><style>g{}</style><g/></svg>'
    """
    opening = _OPENING.match(svg)
    box = _BOX.search(opening[0]) if opening else None
    if opening is None or box is None:
        raise ValueError("a picture begins with <svg> and has a viewBox")
    head = f'{opening[0][:-1]} width="{box[1]}" height="{box[2]}">'
    return f"{head}<style>{style}</style>{svg[opening.end() :]}"


def words_in(svg: str, element: str = "desc") -> str:
    """Return what a picture says to those who cannot see it, or its title.

    Examples
    --------
    >>> words_in("<svg><title>Dots</title><desc>Ten dots &lt; 5</desc></svg>")
    'Ten dots < 5'
    >>> words_in("<svg><title>Dots</title><desc>Ten dots &lt; 5</desc></svg>", "title")
    'Dots'
    """
    found = re.search(rf"<{element}>(.*?)</{element}>", svg, re.DOTALL)
    return unescape(found[1]) if found else ""


def colour_of(style: str, name: str) -> str:
    """Return the colour that a class of the style sheet stands for.

    Examples
    --------
    >>> style = ".line,.x .limit{fill: none; stroke: #00f;}rect.bar{fill: #f00;}"
    >>> [colour_of(style, name) for name in ("bar", "line", "limit")]
    ['#f00', '#00f', '#00f']
    """
    told = [
        colour
        for selectors, body in _RULE.findall(style)
        if any(each.strip().endswith(f".{name}") for each in selectors.split(","))
        for colour in re.findall(r"(?:stroke|fill|background): (#[0-9a-fA-F]{3,6})", body)
    ]
    return told[-1] if told else INKS["soft"].light
