"""Screens as HTML: templates, colours and the one script that they share."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

from intravar.app.draft import CONDITIONS, FIELDS, OPERATORS, READING, USES
from intravar.app.places import key_of, size_words
from intravar.documents.colours import INKS, style_of
from intravar.version import __version__

#: The steps of the way, for whoever wants to know where they are.
STEPS = ("Table", "Columns", "Check", "Measure", "Result")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("intravar.app"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"size": size_words, "key": key_of}
    environment.globals |= {"steps": STEPS, "version": __version__, "n_conditions": CONDITIONS}
    environment.globals |= {"operators": OPERATORS, "uses": USES}
    environment.globals |= {"fields": FIELDS, "reading": READING}
    return environment


def screen(name: str, /, status: int = 200, **content: Any) -> HTMLResponse:
    """Return a screen."""
    template = _environment().get_template(f"{name}.html.j2")
    return HTMLResponse(template.render(content), status)


@cache
def style() -> str:
    """Return the style of all screens: that of the pages, and the app's own."""
    base = files("intravar.documents").joinpath("templates", "base.css").read_text("utf-8")
    return style_of(INKS) + base + _own("app.css")


@cache
def script() -> str:
    """Return the script of all screens."""
    return _own("app.js")


def _own(name: str) -> str:
    return files("intravar.app").joinpath("templates", name).read_text("utf-8")
