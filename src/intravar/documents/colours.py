"""The colours that every page and chart shares, on white and on black."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


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
    "figure": Look("#0b5c8f", "#7cc0f2"),
    "figure-ground": Look("#f7f7f9", "#1e1e23"),
    "comment": Look("#56565c", "#a9a9b2"),
    "comment-ground": Look("#ffffff", "#16161a"),
    "card": Look("#f7f7f9", "#1e1e23"),
}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


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
