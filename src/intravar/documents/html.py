"""The base of every page: one HTML file that opens offline and fetches nothing.

Its Content-Security-Policy allows its own scripts and styles, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from intravar.documents.colours import INKS, Look, style_of

_BASE = "intravar.documents"


def render_html(
    package: str,
    name: str,
    content: Mapping[str, Any],
    *,
    filters: Mapping[str, Callable[..., Any]] | None = None,
    looks: Mapping[str, Look] | None = None,
    parts: Sequence[str] = (),
    scripts: Sequence[str] | None = None,
) -> str:
    """Return a page that extends `base.html.j2`: `NAME.html.j2` of a package's folder `templates`.

    A name that `content` misses is an error. `looks` are colours beside those that every page has.
    It has the styles and scripts of its `parts`, `PART.css` and `PART.js` (those of its own name by
    default), or other `scripts`.
    """
    parts = parts or (name,)
    style = style_of(INKS | dict(looks or {}))
    style += template_text("base.css") + template_text("charts.css")
    style += "".join(template_text(f"{part}.css", package) for part in parts)
    script = template_text("base.js")
    for part in parts if scripts is None else scripts:
        script += template_text(f"{part}.js", package)
    template = environment(package, filters).get_template(f"{name}.html.j2")
    page: str = template.render(
        dict(content),
        policy=policy([script], [style]),
        style=Markup(style),
        script=Markup(script),
        version=version("intravar"),
    )
    return page


def environment(
    package: str, filters: Mapping[str, Callable[..., Any]] | None = None
) -> Environment:
    """Return what renders the templates of a package, and those of every page."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(_BASE)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(filters or {})
    return made


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Return a Content-Security-Policy that allows these scripts and styles alone."""

    def hashed(texts: Sequence[str]) -> str:
        digests = (hashlib.sha256(text.encode()).digest() for text in texts)
        return " ".join(f"'sha256-{base64.b64encode(each).decode()}'" for each in digests)

    return (
        f"default-src 'none'; script-src {hashed(scripts)}; style-src {hashed(styles)}; "
        "base-uri 'none'; form-action 'none'"
    )


def script_json(data: Any) -> Markup:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def template_text(name: str, package: str = _BASE) -> str:
    """Return a template's text."""
    return files(package).joinpath("templates", name).read_text("utf-8")
