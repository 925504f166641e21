"""The base of every page: one HTML file that opens offline and fetches nothing.

Scripts, styles and data lie in the page. Its Content-Security-Policy allows these scripts and
styles by their hashes and nothing else. Text is escaped unless the template's author, never the
data, says otherwise.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from markupsafe import Markup

from intravar.documents.colours import INKS, Look, style_of
from intravar.wording import USUAL, Words

_BASE = "intravar.documents"
# In the text of a template: what programs read, not people.
_FOR_PROGRAMS = re.compile(
    r"(\b(?:id|class|for|href|name|scope|role|type|aria-(?:describedby|labelledby|controls)"
    r'|data-[\w-]+)="[^"]*|<code>[^<]*)'
)


def render_html(
    package: str,
    name: str,
    content: Mapping[str, Any],
    *,
    filters: Mapping[str, Callable[..., str]] | None = None,
    looks: Mapping[str, Look] | None = None,
    libraries: Sequence[str] = (),
    parts: Sequence[str] = (),
    words: Words = USUAL,
) -> str:
    """Return a page that extends `base.html.j2`.

    Parameters
    ----------
    package
        Package whose folder `templates` holds `NAME.html.j2`.
    name
        Name of the page.
    content
        What the template shows; a name that is missing is an error.
    filters
        How the template writes numbers.
    looks
        Colours of its own, beside those that every page has.
    libraries
        Scripts that go before the page's own.
    parts
        Which styles and scripts of the folder the page has, `PART.css` and `PART.js`; those of
        its own name by default.
    words
        What whoever asked calls things; the template's own text is said in them, and `said` says
        what else is ours.
    """
    style = style_of(INKS | dict(looks or {}))
    style += _text(_BASE, "base.css") + _text(_BASE, "charts.css")
    own = parts or (name,)
    style += "".join(_text(package, f"{part}.css") for part in own)
    script = _text(_BASE, "base.js") + "".join(_text(package, f"{part}.js") for part in own)
    scripts = [*libraries, script]
    page: str = (
        _environment(package, filters or {}, words)
        .get_template(f"{name}.html.j2")
        .render(
            dict(content),
            policy=policy(scripts, [style]),
            style=Markup(style),
            scripts=[Markup(script) for script in scripts],
            version=version("intravar"),
        )
    )
    return page


class _TheirWords(Extension):
    """Says the text of a template, never its data, in the words of whoever asked."""

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        """Pass the template on, its text in other words."""
        words = self.environment.globals["words"]
        escaped = words.escaped() if isinstance(words, Words) else USUAL
        for token in stream:
            if token.type == "data":
                parts = _FOR_PROGRAMS.split(token.value)
                parts[::2] = [escaped.said(part) for part in parts[::2]]
                yield Token(token.lineno, token.type, "".join(parts))
            else:
                yield token


def _environment(
    package: str, filters: Mapping[str, Callable[..., str]], words: Words
) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(_BASE)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update({"said": words.said, **filters})
    environment.globals["words"] = words
    environment.add_extension(_TheirWords)
    return environment


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Return a Content-Security-Policy that allows these scripts and styles alone.

    Examples
    --------
    >>> policy([], ["a{}"]).partition("; ")[0]
    "default-src 'none'"
    """
    script_hashes = " ".join(_hash(text) for text in scripts)
    style_hashes = " ".join(_hash(text) for text in styles)
    return (
        f"default-src 'none'; script-src {script_hashes}; style-src {style_hashes}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def script_json(data: Any) -> Markup:
    r"""Return JSON that cannot end the script element it stands in.

    Examples
    --------
    >>> str(script_json("</script>"))
    '"\\u003c/script\\u003e"'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def _text(package: str, name: str) -> str:
    return files(package).joinpath("templates", name).read_text("utf-8")
