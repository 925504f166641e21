"""SVG drawings and plots with two axes, and the width of their texts; a page has the colours."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from markupsafe import Markup

#: Pixels of letters that are narrow or broad.
WIDTHS = dict.fromkeys("ijlft.,:;'|!I ()[]", 4.2) | dict.fromkeys("mwMW@%", 10.5)


def text_width(text: str) -> float:
    """Estimate the pixels of a text in the pictures' type, rather too many than too few.

    Examples
    --------
    >>> text_width("ill") < text_width("WHO") < text_width("血圧計")
    True
    """
    return sum(
        13.0
        if unicodedata.east_asian_width(letter) in "WF"
        else WIDTHS.get(letter, 8.6 if letter.isupper() else 7.1)
        for letter in text
    )


def label_lines(text: str, room: float) -> list[str]:
    """Break a label into lines, between words where that is possible.

    Examples
    --------
    >>> label_lines("systolic blood pressure at admission", 120)
    ['systolic blood', 'pressure at', 'admission']
    """
    lines = [""]
    for word in re.findall(r"[^ _/-]*[ _/-]|[^ _/-]+", text):  # what splits stays before it
        if text_width(lines[-1] + word.rstrip()) <= room:
            lines[-1] += word
            continue
        if lines[-1]:
            lines.append("")
        for letter in word:
            if text_width(lines[-1] + letter) > room:
                lines.append("")
            lines[-1] += letter
    return [line.strip() for line in lines if line.strip()] or [text]


#: Two values, or two numbers of pixels; the ends of an axis.
Point: TypeAlias = tuple[float, float]
#: The name of a colour; None for that of the style sheet.
Colour: TypeAlias = str | None
#: Widths of a picture in pixels: on a desk and on a telephone.
WIDE, NARROW, HEIGHT = 640, 350, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 14, 46
GRID = '<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/>'


class Dot(NamedTuple):
    """A value, what it says when pointed at, how it looks, whom it stands for, and its label."""

    value: float
    hint: str = ""
    kind: str = "point"
    who: int | None = None
    label: str = ""
    radius: float = 4


#: Marks that are lines: a colour is that of the line.
LINES = ("line", "limit", "outer", "interval", "range")


def _look(kind: str, colour: Colour) -> Markup:
    """Return the class of a mark; with a colour of its own the rest of the class's look alone."""
    if colour is None:
        return Markup('class="{}"').format(kind)
    part = "stroke" if kind in (*LINES, "hollow") else "fill"
    return Markup('class="painted-{}" {}="var(--{})"').format(kind, part, colour)


@dataclass
class Drawing:
    """An SVG picture of a size in pixels; its elements are `parts`, the lowest first."""

    width: int = WIDE
    height: int = HEIGHT
    parts: list[Markup] = field(default_factory=list)

    def add(self, element: str, /, *values: object, **named: object) -> None:
        """Add an element; values are escaped."""
        self.parts.append(Markup(element).format(*values, **named))

    def write(self, text: str, at: Point, kind: str, anchor: str = "middle") -> None:
        """Write a text with its middle at this height."""
        element = '<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>'
        self.add(element, kind, round(at[0], 1), round(at[1] + 4, 1), anchor, text)

    def box(self, corner: Point, size: Point, hint: str, kind: str, colour: Colour = None) -> None:
        """Add a rectangle in pixels."""
        place = (round(each, 1) for each in (*corner, max(size[0], 0.5), max(size[1], 0.5)))
        element = '<rect {} x="{}" y="{}" width="{}" height="{}"><title>{}</title></rect>'
        self.add(element, _look(kind, colour), *place, hint)

    def mark(
        self,
        at: Point,
        hint: str = "",
        kind: str = "point",
        *,
        who: int | None = None,
        radius: float = 4,
        colour: Colour = None,
        shape: str = "circle",
    ) -> None:
        """Add a circle, or an outline in a square from -1 to 1, that says its numbers and whose."""
        title = Markup("<title>{}</title>").format(hint) if hint else ""
        person = "" if who is None else Markup(' data-p="{}"').format(who)
        if shape == "circle":
            element = '<circle {}{} cx="{}" cy="{}" r="{}">{}</circle>'
            self.add(element, _look(kind, colour), person, *at, radius, title)
        else:
            element = '<path {}{} transform="translate({} {}) scale({})" d="{}">{}</path>'
            self.add(element, _look(kind, colour), person, *at, radius, shape, title)

    def svg(self, title: str, alternative: str) -> Markup:
        """Return the picture with what it shows in words, for those who cannot see it."""
        kind = "narrow" if self.width == NARROW else "wide" if self.width >= WIDE else "small"
        head = Markup(
            '<svg class="{}" viewBox="0 0 {} {}" role="img" xmlns="http://www.w3.org/2000/svg">'
            "<title>{}</title><desc>{}</desc>"
        ).format(kind, self.width, self.height, title, alternative)
        return Markup("").join([head, *self.parts, Markup("</svg>")])


@dataclass
class Plot(Drawing):
    """An SVG picture with two axes, `x` and `y`."""

    x: Point = (0, 1)
    y: Point = (0, 1)
    left: int = LEFT
    top: int = TOP
    bottom: int = BOTTOM

    def place(self, x: float, y: float) -> Point:
        """Return the pixels of a point."""
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return (
            round(self.left + across * (self.width - self.left - RIGHT), 1),
            round(self.height - self.bottom - up * (self.height - self.top - self.bottom), 1),
        )

    def point(self, at: Point, hint: str = "", kind: str = "point", **look: Any) -> None:
        """Add a mark at two values, with the looks of :meth:`mark`."""
        self.mark(self.place(*at), hint, kind, **look)

    def line(self, points: Sequence[Point], kind: str = "line", colour: Colour = None) -> None:
        """Add a line through points."""
        text = " ".join("{},{}".format(*self.place(x, y)) for x, y in points)
        self.add('<polyline {look} points="{text}"/>', look=_look(kind, colour), text=text)

    def interval(
        self,
        at: float,
        low: float,
        high: float,
        *,
        upright: bool = True,
        kind: str = "interval",
        colour: Colour = None,
    ) -> None:
        """Add a line from a low to a high value, upright or lying."""
        ends = [(at, low), (at, high)] if upright else [(low, at), (high, at)]
        self.line(ends, kind, colour)

    def band(
        self,
        points: Sequence[tuple[float, float, float]],
        kind: str = "band",
        colour: Colour = None,
    ) -> None:
        """Add the area between two values at every place."""
        edge = [(x, low) for x, low, _ in points] + [(x, high) for x, _, high in points[::-1]]
        text = " ".join("{},{}".format(*self.place(x, y)) for x, y in edge)
        self.add('<polygon {look} points="{text}"/>', look=_look(kind, colour), text=text)

    def bar(self, x: Point, y: Point, hint: str, kind: str, colour: Colour = None) -> None:
        """Add a rectangle between two values on both axes."""
        (a, b), (c, d) = self.place(x[0], y[1]), self.place(x[1], y[0])
        self.box((a, b), (c - a, d - b), hint, kind, colour)

    def finder(self, x: str, y: str | float) -> None:
        """Leave a place where a script may mark one physician by the columns that the axes show.

        A number is a height that does not depend on who it is.
        """
        across = (self.width - self.left - RIGHT) / (self.x[1] - self.x[0])
        upward = (self.top + self.bottom - self.height) / (self.y[1] - self.y[0])
        left, bottom = self.place(0, 0 if isinstance(y, str) else y)
        up = (y, bottom, round(upward, 4)) if isinstance(y, str) else ("", bottom, 0)
        self.add(
            '<g class="finder" data-x="{}" data-left="{}" data-across="{}" '
            'data-y="{}" data-bottom="{}" data-up="{}"/>',
            *(x, left, round(across, 4), *up),
        )

    def axes(
        self,
        x_name: str,
        y_name: str = "",
        *,
        x_ticks: Sequence[tuple[float, str]] | None = None,
        y_ticks: Sequence[tuple[float, str]] | None = None,
    ) -> None:
        """Add both axes with what they show.

        Ticks are places with labels, for instance of groups; round numbers by default.
        """
        for tick, text in _labelled(self.x) if x_ticks is None else x_ticks:
            a, b = self.place(tick, self.y[0])
            self.add(GRID, a, a, self.top, b)
            self.write(text, (a, b + 12), "tick")
        for tick, text in _labelled(self.y) if y_ticks is None else y_ticks:
            a, b = self.place(self.x[0], tick)
            self.add(GRID, a, self.width - RIGHT, b, b)
            self.write(text, (a - 6, b), "tick", "end")
        rightmost = self.width - text_width(x_name) / 2  # a long name stays in the picture
        middle = min((self.left + self.width - RIGHT) / 2, max(rightmost, self.width / 2))
        self._name(x_name, f"translate({middle:g} {self.height - 8})")
        if y_name:
            down = (self.height - self.bottom + self.top) / 2
            self._name(y_name, f"translate(14 {down:g}) rotate(-90)")

    def _name(self, name: str, place: str) -> None:
        text = '<text class="name" text-anchor="middle" transform="{place}">{name}</text>'
        self.add(text, place=place, name=name)


def _labelled(ends: Point) -> list[tuple[float, str]]:
    return [(tick, f"{tick:g}") for tick in round_ticks(*ends)]


def round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers between two values.

    Examples
    --------
    >>> round_ticks(0, 0.5)
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
    """
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.99)
    first = np.ceil(low / step - 1e-9)
    count = int(np.floor(high / step + 1e-9) - first) + 1
    return [round(float((first + n) * step), 10) + 0.0 for n in range(max(count, 1))]
