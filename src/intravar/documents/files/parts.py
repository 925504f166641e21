"""What a document is made of, whichever file it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from markupsafe import Markup


@dataclass(frozen=True)
class SectionHeading:
    """A heading; level 1 is a section."""

    text: str
    level: int = 1


@dataclass(frozen=True)
class Passage:
    """A paragraph of text; a quiet one says how to read what stands beside it."""

    text: str
    quiet: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True)
class PlainTable:
    """A table of texts.

    Attributes
    ----------
    caption
        What it holds.
    heads
        Over its columns.
    rows
        One text per column.
    shares
        Width of each column beside the others; columns of words get more.
    words
        Positions of the columns that hold words and begin on the left.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    shares: Sequence[float]
    words: Sequence[int] = (0,)


@dataclass(frozen=True)
class FramedPicture:
    """A picture, with its caption and what it shows in words for those who cannot see it.

    Attributes
    ----------
    svg
        As pages have it, without colours of its own.
    title, words
        Its name, and what it shows.
    caption
        How to read it.
    key
        What its colours stand for: class of the style sheet and words.
    half
        Whether two of them stand side by side.
    """

    svg: Markup
    title: str
    words: str
    caption: str
    key: Sequence[tuple[str, str]] = ()
    half: bool = False


@dataclass(frozen=True)
class NewPage:
    """What follows begins a page."""


DocumentPart: TypeAlias = SectionHeading | Passage | Bullets | PlainTable | FramedPicture | NewPage


@dataclass(frozen=True)
class WholeDocument:
    """A document: title, a line under it, and its parts."""

    title: str
    about: str
    parts: Sequence[DocumentPart] = field(default=())
