"""Write a document as a page: one HTML file that opens offline and fetches nothing.

Its Content-Security-Policy allows its own scripts and styles, by their hashes, and nothing else.
The rows of a very long table are packed for a script that shows some at a time: every column is its
different texts, the lowest value first, and which of them each row has.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from intravar.documents.blocks import Block, Document, tables, walk
from intravar.documents.charts import MOST_SINGLE
from intravar.documents.colours import INKS, LOOKS, Look, style_of
from intravar.tables import Cell, Table
from intravar.wording import USUAL, Words

_BASE = "intravar.documents"
#: Rows that are shown at once where there are too many for all, and without a script.
ROWS_AT_ONCE = 100
#: Rows up to which a table is printed with the page; a longer one has a page of its own.
MOST_PRINTED = 40


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
    hashes = (hashlib.sha256(text.encode()).digest() for text in (script, style))
    allowed = (f"'sha256-{base64.b64encode(each).decode()}'" for each in hashes)
    policy = "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'"
    page: str = template.render(
        dict(content),
        policy=policy.format(*allowed),
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


def script_json(data: Any) -> Markup:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def template_text(name: str, package: str = _BASE) -> str:
    """Return a template's text."""
    return files(package).joinpath("templates", name).read_text("utf-8")


def sort_value(cell: Cell) -> Any:
    """Return what a cell is sorted by; "" where it holds nothing, None where by its text."""
    if cell.text == "–":
        return ""
    return cell.value if cell.order is None else cell.order


def packed_rows(table: Table) -> Markup | None:
    """Return the rows as JSON for the page; None where there are few enough to stand in it."""
    if len(table.rows) <= MOST_SINGLE:
        return None

    def order(cell: Cell) -> tuple[bool, bool, float, str]:
        value = sort_value(cell)  # numbers, then words, then what is no value
        number = isinstance(value, int | float)
        return value == "", not number, value if number else 0.0, cell.text.casefold()

    columns = []
    for at, column in enumerate(table.columns):
        cells = [row.cells[at] for row in table.rows]
        texts = sorted({cell.text: order(cell) for cell in cells}.items(), key=lambda each: each[1])
        place = {text: n for n, (text, _) in enumerate(texts)}
        columns.append(
            {
                "name": column.name,
                "kind": column.kind,
                "texts": list(place),
                "empty": sum(not nothing for _, (nothing, *_) in texts),  # those behind it
                "at": [place[cell.text] for cell in cells],
            }
        )
    who, shown = [row.p for row in table.rows], [int(row.shown) for row in table.rows]
    return script_json({"size": ROWS_AT_ONCE, "who": who, "shown": shown, "columns": columns})


_FILTERS = {"kind": lambda block: type(block).__name__, "sorted_by": sort_value}


def as_fragment(blocks: Sequence[Block]) -> str:
    """Return blocks as a part of a page that somebody else makes; nothing in it needs a script."""
    template = environment(_BASE, _FILTERS).get_template("blocks.html.j2")
    content = {"on": lambda table: table.on("page"), "packed": lambda table: None}
    return str(template.make_module(content).show(blocks))  # type: ignore[attr-defined]


def as_html(
    document: Document,
    words: Words = USUAL,
    *,
    where: str = "page",
    width: str = "",
    links: tuple[tuple[str, str], ...] = (),
) -> str:
    """Return a document as a page, in the words of whoever asked for the few around a table.

    Tables show the columns of `where`: "page", or "whole" for all of them. The `width` of a narrow
    page is "sheet". `links` are files beside the page, each with what it holds.
    """
    columns_shown = {id(table): table.on(where) for table in tables(document)}
    packed = {key: packed_rows(table) for key, table in columns_shown.items() if table.interactive}
    content: dict[str, Any] = {
        "document": document,
        "words": words,
        "headings": [block for block in walk(document.blocks) if getattr(block, "short", "")],
        "interactive": bool(packed),
        "on": lambda table: columns_shown[id(table)],
        "packed": lambda table: packed.get(id(table)),
        "first_rows": ROWS_AT_ONCE,
        "most_printed": MOST_PRINTED,
        "width": width,
        "links": links,
        "whole": where == "whole",
    }
    return render_html(_BASE, "document", content, filters=_FILTERS, looks=LOOKS)
