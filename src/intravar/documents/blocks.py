"""What a document is made of, whichever file it becomes: one tree of blocks, four writers.

Where formats must differ (a table to sort, a workbook with sheets) the writer decides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from markupsafe import Markup

from intravar.documents.charts import NARROW, WIDE, Drawing, Labelled, row_plot
from intravar.tables import Table
from intravar.wording import Words, declared_in

#: Fixed texts of documents, with places for the words of whoever asked.
TOLD: dict[str, Any] = declared_in(__package__, "words")
#: What a mark stands for: class of the style sheet, and words.
Key: TypeAlias = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is a section. `anchor` is its place in a page, `short` its name there."""

    text: str
    level: int = 1
    anchor: str = ""
    short: str = ""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; a quiet one says how to read what stands beside it."""

    text: str
    quiet: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list of sentences, with numbers where their order matters."""

    items: Sequence[str]
    numbered: bool = False


@dataclass(frozen=True)
class Note:
    """A sentence that must not be missed, such as the verdict: "good", "care" or "alarm"."""

    strong: str
    text: str
    look: str = "care"


@dataclass(frozen=True)
class Figure:
    """A chart: its anchor in a page, its name, and what it shows for those who cannot see it.

    `reading` stands below it and says how to read it. Of the pictures, in one width or two, a page
    shows the one that fits, and paper the first. Two that are `half` stand side by side on paper.
    """

    name: str
    title: str
    alternative: str
    reading: str
    svgs: Sequence[Markup]
    key: Key = ()
    half: bool = False


def charted(
    name: str,
    words: Words,
    plot: Callable[[int], Drawing] | Drawing,
    *,
    key: Key | None = None,
    hidden: Collection[str] = (),
    **values: object,
) -> Figure:
    """Return a chart under the texts that `words.toml` has for it, with `values` in their places.

    `plot` draws it in both widths, or is drawn. Its text says in words what it shows, and how to
    read it unless its `reading` does; a title that is not `over` it stands in a heading. `hidden`
    are entries of its key that it does not show.
    """
    texts = {"text": "{text}", "over": True, "key": {}, **TOLD["figures"][name]}
    title, text = (words.fill(texts[part], **values) for part in ("title", "text"))
    reading = words.fill(texts["reading"], **values) if "reading" in texts else text
    drawn = [plot] if isinstance(plot, Drawing) else [plot(width) for width in (WIDE, NARROW)]
    svgs = [each.svg(title, text) for each in drawn]
    if key is None:
        entries = [(look, what) for look, what in texts["key"].items() if look not in hidden]
        key = [(look, words.fill(what, **values)) for look, what in entries]
    half = drawn[0].width == NARROW
    return Figure(name, title if texts["over"] else "", text, reading, svgs, key, half)


def row_figure(
    name: str,
    words: Words,
    rows: Sequence[Labelled],
    axis: str,
    *,
    most: float | None = None,
    unit: float = 100,
    **values: Any,
) -> Figure:
    """Return a chart with a labelled row per name, which says in words what its marks say."""
    plot = partial(row_plot, rows, axis, most=most, unit=unit)
    text = f"{'; '.join(row.in_words for row in rows)}."
    return charted(name, words, plot, text=text, **values)


def told(sentence: str, words: Words, /, **values: object) -> str:
    """Return a sentence of `words.toml`, with `values` in its places."""
    return words.fill(TOLD["sentences"][sentence], **values)


@dataclass(frozen=True)
class Section:
    """Blocks under a title of their own.

    Its `look` is "card", or "wide" (a card of the second column), side by side with other cards;
    "annex" is what few want to read, closed in a page until asked for; an "appendix" is open, and
    begins a new page on paper. With an `anchor` the list of sections has it as `short`.
    """

    title: str
    blocks: Sequence[Block]
    look: str = "card"
    anchor: str = ""
    short: str = ""


@dataclass(frozen=True)
class SideBySide:
    """Blocks that need not stand below each other; cards are the first screen."""

    blocks: Sequence[Block]


Block: TypeAlias = Heading | Paragraph | Bullets | Note | Table | Figure | Section | SideBySide


@dataclass(frozen=True)
class Document:
    """A document: title, a line under it, and its blocks."""

    title: str
    about: str
    blocks: Sequence[Block]


def block_list(*parts: Block | str | None) -> list[Block]:
    """Return blocks in a list: a text is a paragraph, and what is empty is left out."""
    return [Paragraph(part) if isinstance(part, str) else part for part in parts if part]


def walk(blocks: Sequence[Block]) -> Iterator[Block]:
    """Go through blocks and what stands within them, in order."""
    for block in blocks:
        yield block
        yield from walk(getattr(block, "blocks", ()))


def within(block: Block, at: int) -> Block:
    """Return a block that stands in a document again: under another name, and less to do with."""
    match block:
        case Heading():
            return Heading(block.text, block.level + 1)
        case Figure():
            return replace(block, name=f"{block.name}-{at}")
        case Table():
            return replace(block, name=f"{block.name} {at}", interactive=False)
        case Section() | SideBySide():
            return replace(block, blocks=[within(each, at) for each in block.blocks])
    return block


def tables(document: Document) -> list[Table]:
    """Return the tables of a document, in order."""
    return [block for block in walk(document.blocks) if isinstance(block, Table)]


def text_lines(blocks: Sequence[Block]) -> Iterator[tuple[str, str]]:
    """Return the text of blocks line by line, each with what it belongs to."""
    for block in walk(blocks):
        yield from lines_of(block)


def lines_of(block: Block) -> Iterator[tuple[str, str]]:
    """Return the text of one block, without what stands within it."""
    match block:
        case Heading(text=title) | Section(title=title):
            yield title, ""
        case Paragraph(text=text):
            yield "", text
        case Note(strong=strong, text=text):
            yield strong, text
        case Bullets(items=items):
            yield from (("", item) for item in items)
        case Table(name=name, caption=caption):
            yield "", f"{caption} (sheet {name})".strip()
        case Figure(title=title, alternative=description, reading=reading):
            yield title, f"{description} {'' if reading in description else reading}".strip()
