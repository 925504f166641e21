"""Read a page back as a browser would, without one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any


@dataclass
class Element:
    """An element; its text is what lies between two places of all the texts of its page."""

    name: str
    attributes: dict[str, str]
    texts: list[str] = field(repr=False)
    begin: int
    end: int | None = None

    @property
    def text(self) -> str:
        return "".join(self.texts[self.begin : self.end])


@dataclass
class Cell:
    """A number in a table: the exact one, and what is printed."""

    table: str
    row: str
    value: str
    text: str
    published: bool


@dataclass
class Page(HTMLParser):
    """All elements of a page, its text, and the numbers in its tables."""

    elements: list[Element] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []
        self._texts: list[str] = []
        self._table = self._row = ""

    @classmethod
    def of(cls, html: str) -> Page:
        page = cls()
        page.feed(html)
        page.close()
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        element = Element(tag, attributes, self._texts, len(self._texts))
        self.elements.append(element)
        if tag == "table":
            self._table = element.attributes.get("data-table", element.attributes.get("id", ""))
        if tag not in ("meta", "input", "br", "img"):
            self._open.append(element)
        else:
            element.end = element.begin

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open[-1].name != tag:
            self._open.pop().end = len(self._texts)
        if not self._open:
            return
        element = self._open.pop()
        element.end = len(self._texts)
        if tag == "th" and element.attributes.get("scope") == "row":
            self._row = element.text
        if tag == "data":
            published = element.attributes.get("class") == "published"
            self.cells.append(
                Cell(self._table, self._row, element.attributes["value"], element.text, published)
            )

    def all(self, name: str) -> list[Element]:
        return [element for element in self.elements if element.name == name]

    @property
    def data(self) -> Any:
        (found,) = [e for e in self.all("script") if e.attributes.get("id") == "data"]
        return json.loads(found.text)

    @property
    def visible_text(self) -> str:
        return self.all("body")[0].text


@cache
def page_of(folder: Path) -> Page:
    """Return the page in a folder, read once for all tests; they change nothing in it."""
    return Page.of((folder / "report.html").read_text("utf-8"))
