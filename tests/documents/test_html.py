"""Every page stands on one base: a strict policy, strict templates, light and dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

import intravar.documents
from intravar.documents.charts import round_ticks, text_width
from intravar.documents.colours import INKS, key_mark, style_of
from intravar.documents.html import render_html

PAGES = Path(intravar.documents.__file__).parent


TEMPLATES = [path for path in PAGES.glob("**/*.html.j2") if path.name != "base.html.j2"]
STYLES = sorted(path for path in PAGES.parent.glob("**/templates/*.css") if path.name != "base.css")


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_templates_are_pages_on_the_base_or_parts_of_one(template: Path) -> None:
    text = template.read_text("utf-8")
    assert text.startswith('{% extends "base.html.j2" %}') or any(
        f'"{template.name}"' in other.read_text("utf-8")
        for other in TEMPLATES
        if other.parent == template.parent
    )
    # Neither a page of its own, nor text that is not escaped, nor a style that the policy forbids.
    assert not re.search(r"<!doctype|<html|<head\b|\|\s*safe|\bstyle=", text)


@pytest.mark.parametrize("style", STYLES, ids=lambda path: path.name)
def test_styles_have_no_colours_but_those_of_the_base(style: Path) -> None:
    assert not re.search(r"#[0-9a-fA-F]{3,6}\b(?![^{]*\{)", style.read_text("utf-8"))


def test_what_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="manifest"):
        render_html("intravar.study.report", "study", {})


def test_paper_is_light_and_a_choice_outweighs_the_system() -> None:
    style = style_of(INKS)
    assert style.startswith(f":root{{color-scheme:light;--ink:{INKS['ink'].light};")
    screen = style.partition("@media")[2]
    assert INKS["ink"].dark in screen
    assert style.index("prefers-color-scheme") < style.index("[data-theme=light]")


@pytest.mark.parametrize(
    ("look", "drawn"),
    [
        ("hollow", "<circle"),
        ("point out", "<circle"),
        ("interval", '<path d="M0 5h20"'),
        ("fill", '<path d="M2 1h8v8h-8z"'),
    ],
)
def test_keys_on_paper_look_like_their_marks(look: str, drawn: str) -> None:
    mark = key_mark(look)
    assert f'class="{look}"' in mark
    assert mark.count(drawn) == 1
    assert "var(" not in mark
    assert key_mark("one-way other-way").count("<circle") == 2


def test_nothing_is_imported_inside_functions_but_the_extras() -> None:
    """typst, docx and xlsxwriter are extras; so are, for most, several decisions and Word."""
    late = {
        (path.name, found)
        for path in PAGES.rglob("*.py")
        for found in re.findall(r"^ +(?:from|import) ([\w.]+)", path.read_text("utf-8"), re.M)
        if found.partition(".")[0] not in ("docx", "typst", "xlsxwriter")
    }
    assert late == {
        ("handover.py", "intravar.documents.word"),
        ("report.py", "intravar.documents.measurement.joint"),
    }


def test_wider_letters_take_more_room_and_ticks_are_round():
    assert text_width("ill") < text_width("WHO") < text_width("血圧計")
    assert round_ticks(0, 0.5) == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
