"""The base of every page: one HTML file that opens offline and fetches nothing.

Its Content-Security-Policy allows its own scripts and styles, by their hashes, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
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
) -> str:
    """Return a page that extends `base.html.j2`: `NAME.html.j2` of a package's folder `templates`.

    A name that `content` misses is an error. `looks` are colours beside those that every page has.
    Its own style and script are `NAME.css` and `NAME.js`.
    """
    style = style_of(INKS | dict(looks or {})) + template_text("base.css")
    style += template_text("charts.css") + template_text(f"{name}.css", package)
    script = template_text("base.js") + template_text(f"{name}.js", package)
    template = environment(package, filters).get_template(f"{name}.html.j2")
    page: str = template.render(
        dict(content),
        policy=policy(script, style),
        style=Markup(style),
        script=Markup(script),
        version=version("intravar"),
    )
    return page


def environment(
    package: str, filters: Mapping[str, Callable[..., Any]] | None = None
) -> Environment:
    """Return what renders the templates of a package, and those of every page."""
    templates = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(_BASE)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(filters or {})
    return templates


def policy(script: str, style: str) -> str:
    """Return a Content-Security-Policy that allows this script and this style alone."""

    def hashed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; script-src {hashed(script)}; style-src {hashed(style)}; "
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
