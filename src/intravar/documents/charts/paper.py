"""Pictures that stand alone: with the page's rules, the colours of light and a size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from intravar.documents.colours import INKS, LOOKS, Look

#: What comes with typst: the same letters on every machine.
FONT = "Libertinus Serif"
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_BLOCK = re.compile(r"@[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_VARIABLE = re.compile(r"var\(--([\w-]+)\)")
_FAMILY = re.compile(r"system-ui[^;}]*")
_OPENING = re.compile(r"<svg\b[^>]*>")
_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def style_on_paper(css: str, looks: Mapping[str, Look]) -> str:
    """Return the rules of a style sheet that a picture needs, with colours instead of names."""
    plain = _BLOCK.sub("", _COMMENT.sub("", css))
    rules = []
    for selector, body in _RULE.findall(plain):
        if ":" not in selector:
            coloured = _coloured(body, looks)
            rules.append(f"{selector.strip()}{{{_FAMILY.sub(repr(FONT), coloured).strip()}}}")
    return "".join(rules)


def _coloured(text: str, looks: Mapping[str, Look]) -> str:
    every = INKS | dict(looks)
    return _VARIABLE.sub(
        lambda name: every[name[1]].light if name[1] in every else "currentColor", text
    )


def chart_style(looks: Mapping[str, Look]) -> str:
    """Return what colours charts on paper."""
    css = files("intravar.documents").joinpath("templates", "charts.css").read_text("utf-8")
    return style_on_paper(css, looks)


def on_paper(svg: str, looks: Mapping[str, Look]) -> str:
    """Return a picture with its style, its colours and its size in it.

    Examples
    --------
    >>> picture = on_paper('<svg viewBox="0 0 20 10"><g fill="var(--ink)"/></svg>', {})
    >>> picture.partition("<style>")[0]
    '<svg viewBox="0 0 20 10" width="20" height="10">'
    >>> picture.endswith('<g fill="#1c1c1e"/></svg>')
    True
    """
    opening = _OPENING.match(svg)
    box = _BOX.search(opening[0]) if opening else None
    if opening is None or box is None:
        raise ValueError("a picture begins with <svg> and has a viewBox")
    head = f'{opening[0][:-1]} width="{box[1]}" height="{box[2]}">'
    return f"{head}<style>{chart_style(looks)}</style>{_coloured(svg[opening.end() :], looks)}"


@cache
def key_colour(look: str) -> str:
    """Return the colour on paper of what a key names: that of its last class with one."""
    name = look.split()[-1]
    told = [
        colour
        for selectors, body in _RULE.findall(chart_style(LOOKS))
        if any(each.strip().endswith(f".{name}") for each in selectors.split(","))
        for colour in re.findall(r"(?:stroke|fill|background): (#[0-9a-fA-F]{3,6})", body)
    ]
    return told[-1] if told else INKS["soft"].light
