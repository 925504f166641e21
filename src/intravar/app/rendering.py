"""Screens as HTML: templates, colours and the one script that they share."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from intravar.app.draft import CONDITIONS, FIELDS, OPERATORS, READING, USES
from intravar.app.places import key_of
from intravar.documents.colours import INKS, style_of
from intravar.documents.html import environment, template_text
from intravar.version import __version__

#: The steps of the way, for whoever wants to know where they are.
STEPS = ("Table", "Columns", "Check", "Measure", "Result")


@cache
def _environment() -> Environment:
    templates = environment("intravar.app", {"key": key_of})
    templates.globals |= {"steps": STEPS, "version": __version__, "n_conditions": CONDITIONS}
    templates.globals |= {
        "operators": OPERATORS,
        "uses": USES,
        "fields": FIELDS,
        "reading": READING,
    }
    return templates


def screen(name: str, /, status: int = 200, **content: Any) -> HTMLResponse:
    """Return a screen."""
    template = _environment().get_template(f"{name}.html.j2")
    return HTMLResponse(template.render(content), status)


def style(request: Request) -> Response:
    """Return the style of all screens: that of the pages, and the app's own."""
    text = style_of(INKS) + template_text("base.css") + template_text("app.css", "intravar.app")
    return Response(text, media_type="text/css")


def script(request: Request) -> Response:
    """Return the script of all screens."""
    return Response(template_text("app.js", "intravar.app"), media_type="text/javascript")
