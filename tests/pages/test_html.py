"""Every page stands on one base: a strict policy, strict templates, light and dark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import UndefinedError

import intravar.pages
from intravar.pages.colours import INKS, style_of
from intravar.pages.html import render_html

PAGES = Path(intravar.pages.__file__).parent


@pytest.mark.parametrize("page", ["study/templates/study", "measurement/templates/measurement"])
def test_pages_extend_the_base_and_style_with_its_colours_alone(page: str) -> None:
    template = (PAGES / f"{page}.html.j2").read_text("utf-8")
    assert template.startswith('{% extends "base.html.j2" %}')
    # Neither a page of its own, nor text that is not escaped, nor a style that the policy forbids.
    assert not re.search(r"<!doctype|<html|<head|\|\s*safe|\bstyle=", template)
    style = (PAGES / f"{page}.css").read_text("utf-8")
    assert not re.search(r"#[0-9a-fA-F]{3,6}\b(?![^{]*\{)", style)


def test_what_a_template_lacks_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="manifest"):
        render_html("intravar.pages.study", "study", {})


def test_paper_is_light_and_a_choice_outweighs_the_system() -> None:
    style = style_of(INKS)
    assert style.startswith(f":root{{color-scheme:light;--ink:{INKS['ink'].light};")
    screen = style.partition("@media")[2]
    assert INKS["ink"].dark in screen
    assert style.index("prefers-color-scheme") < style.index("[data-theme=light]")


def test_nothing_is_imported_inside_functions_but_the_extra() -> None:
    """Altair and vl-convert are an extra: what needs them is imported when a report is made."""
    late = {
        (path.name, found)
        for path in PAGES.rglob("*.py")
        for found in re.findall(r"^ +(?:from|import) ([\w.]+)", path.read_text("utf-8"), re.M)
    }
    assert late == {
        ("report_files.py", "intravar.pages.study.study_page"),
        ("report_files.py", "intravar.pages.study.static_figures"),
    }
