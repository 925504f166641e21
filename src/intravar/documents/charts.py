"""Charts as SVG: axes, marks, bands, rows and bins, without a library.

A chart opens offline, says in words what it shows (`title` and `desc`), and is the same picture in
a page, in a PDF and in Word. Colours are names (`var(--one)`): a page resolves them for light and
dark, :func:`~intravar.documents.colours.on_paper` puts the light ones into a picture that
stands alone. Marks look as a class of `charts.css` says (`point`, `hollow`, `line`, `limit`,
`band`, `fill` ...); `colour` names another colour, for instance that of a method.

Examples
--------
>>> plot = Plot(640, 300, x=(0, 1000), y=(0, 0.5))
>>> plot.axes("patients", "error")
>>> plot.line([(100, 0.4), (400, 0.2), (900, 0.1)], colour="accent")
>>> "<desc>The error falls" in plot.svg("Error by size", "The error falls to 0.1.")
True

A labelled row per name is :func:`row_plot`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from markupsafe import Markup

from intravar.arrays import FloatArray
from intravar.text import shortened

#: Pixels of letters that are narrow or broad.
WIDTHS = dict.fromkeys("ijlft.,:;'|!I ()[]", 4.2) | dict.fromkeys("mwMW@%", 10.5)


def text_width(text: str) -> float:
    """Estimate the pixels of a text in the pictures' type, rather too many than too few."""
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
        self.add('<polyline {} points="{}"/>', _look(kind, colour), text)

    def band(self, points: Sequence[tuple[float, float, float]]) -> None:
        """Add the area between two values at every place."""
        edge = [(x, low) for x, low, _ in points] + [(x, high) for x, _, high in points[::-1]]
        text = " ".join("{},{}".format(*self.place(x, y)) for x, y in edge)
        self.add('<polygon class="band" points="{}"/>', text)

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
        x_ticks, y_ticks = (
            [(tick, f"{tick:g}") for tick in round_ticks(*ends)] if given is None else given
            for ends, given in ((self.x, x_ticks), (self.y, y_ticks))
        )
        for tick, text in x_ticks:
            a, b = self.place(tick, self.y[0])
            self.add(GRID, a, a, self.top, b)
            self.write(text, (a, b + 12), "tick")
        for tick, text in y_ticks:
            a, b = self.place(self.x[0], tick)
            self.add(GRID, a, self.width - RIGHT, b, b)
            self.write(text, (a - 6, b), "tick", "end")
        rightmost = self.width - text_width(x_name) / 2  # a long name stays in the picture
        middle = min((self.left + self.width - RIGHT) / 2, max(rightmost, self.width / 2))
        names = [(x_name, f"translate({middle:g} {self.height - 8})")]
        if y_name:
            down = (self.height - self.bottom + self.top) / 2
            names.append((y_name, f"translate(14 {down:g}) rotate(-90)"))
        for name, place in names:
            text = '<text class="name" text-anchor="middle" transform="{}">{}</text>'
            self.add(text, place, name)


def round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers between two values."""
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw * 0.99)
    first = np.ceil(low / step - 1e-9)
    count = int(np.floor(high / step + 1e-9) - first) + 1
    return [round(float((first + n) * step), 10) + 0.0 for n in range(max(count, 1))]


#: Letters of a label at the most: of a dot, and of a row.
LONGEST, LONGEST_OF_ROW = 30, 44
#: Pixels of a lane of labels, of the stack of dots, and the largest radius.
LANE, STACK, RADIUS = 17, 84, 5.0


def dot_plot(dots: Sequence[Dot], width: int, axis: str, *, end: float, step: float = 1.0) -> Plot:
    """Plot a dot for everybody from 0 to `end`; labels stand above, none over another.

    Values that round to the same multiple of `step` stand above each other.
    """
    dots = [dot._replace(label=shortened(dot.label, LONGEST)) for dot in dots]
    taken: list[float] = []  # where the labels of every lane end
    labels: dict[Dot, Point] = {}
    for dot in sorted((dot for dot in dots if dot.label), key=lambda each: each.value):
        half, place = text_width(dot.label) / 2, min(round(dot.value / step) * step, end)
        at = RIGHT + place / end * (width - 2 * RIGHT)
        at = min(max(at, half + 2), width - 2 - half)  # it does not leave the picture
        lane = next((n for n, last in enumerate(taken) if at - half > last + 8), len(taken))
        taken[lane : lane + 1] = [at + half]
        labels[dot] = at, 8 + LANE * lane
    top = LANE * len(taken) + 6
    places = Counter(round(dot.value / step) for dot in dots)
    most = max(places.values(), default=1)
    radius = max(1.2, min(RADIUS, STACK / (2 * most), 0.48 * step / end * (width - 2 * RIGHT)))
    pitch = min(2 * radius, (STACK - 2 * radius) / most)  # a stack of thousands is a line
    height = round(top + pitch * most + 2 * radius + 8 + BOTTOM)
    plot = Plot(width, height, x=(0, end), left=RIGHT, top=top)
    plot.axes(axis, y_ticks=())
    stacked: Counter[int] = Counter()
    for dot in sorted(dots, key=lambda each: each.kind):
        place = round(dot.value / step)
        a, base = plot.place(min(place * step, end), 0)
        b = round(base - stacked[place] * pitch - radius, 1)
        stacked[place] += 1
        if dot.label:
            at, down = labels[dot]
            plot.add(GRID, a, a, down + 6, b)
            plot.write(dot.label, (at, down), "label")
        plot.mark((a, b), dot.hint, dot.kind, who=dot.who, radius=round(radius, 1))
    return plot


#: Marks up to which each is drawn. A wide picture has 570 pixels between its ends: beyond, marks
#: side by side have less than a pixel each, and those on a plane hide others.
MOST_SINGLE = 500


def in_bins(values: FloatArray, step: float) -> list[tuple[float, float, int]]:
    """Count shares in bins from a low to below a high end, those without any left out."""
    edges = np.round(np.arange(round(1 / step) + 1) * step, 10)
    counts, _ = np.histogram(values, edges)
    bins = zip(edges.tolist(), edges[1:].tolist(), counts.tolist(), strict=False)
    return [(low, high, number) for low, high, number in bins if number]


def histogram(
    values: FloatArray,
    width: int,
    names: tuple[str, str],
    counted: Callable[[int], str],
    *,
    step: float = 0.01,
    reach: float = 0.0,
    unit: float = 1.0,
) -> Plot:
    """Plot how many have which share, with room above the bars for a mark.

    `names` are what the share is and what is counted, which `counted` says, such as "3 physicians";
    the axis goes to `reach` at least, and a share of 1 is a `unit` on it: 100 for "of 100".
    """
    bins = in_bins(values, step)
    right = max(reach, unit * bins[-1][1])
    plot = Plot(width, x=(0, right), y=(0, 1.15 * max(number for _, _, number in bins)))
    plot.axes(*names)
    for low, high, number in bins:
        ends = f"{unit * low:.3g} to {'' if high == 1 else 'below '}{unit * high:.3g}"
        hint = f"{ends}: {counted(number)}"
        plot.bar((unit * low, unit * high), (0, number), hint, "fill")
    return plot


#: Height of a row, and of a line of its label; room for labels by width.
ROW, LINE = 24, 16
LABELS = 180, 110


class Labelled(NamedTuple):
    """A row: its label, its dots, and the ends of a line.

    What dots say follows the label. `instead` is said where a dot is missing: a line is a bar then.
    """

    label: str
    dots: Sequence[Dot] = ()
    low: float | None = None
    high: float | None = None
    instead: str = ""

    @property
    def in_words(self) -> str:
        """The row in words."""
        parts = filter(None, (self.instead, *(dot.hint for dot in self.dots)))
        return f"{self.label}: {', '.join(parts)}"

    @property
    def lines(self) -> list[Point]:
        """The ends of its line; none where they are not known."""
        return [] if self.low is None or self.high is None else [(self.low, self.high)]


def known_dot(value: float | None, *look: Any, **more: Any) -> list[Dot]:
    """Return a dot; none where its value is not known."""
    return [] if value is None else [Dot(value, *look, **more)]


def row_plot(
    rows: Sequence[Labelled],
    axis: str,
    width: int = NARROW,
    *,
    most: float | None = None,
    unit: float = 1,
) -> Plot:
    """Plot a labelled row per name; values begin with zero or the lowest.

    The axis ends with `most`, or a little behind the largest value; a 1 is a `unit` on it.
    """
    values = [0.0, *(unit * dot.value for row in rows for dot in row.dots)]
    values += [unit * end for row in rows for ends in row.lines for end in ends]
    end = 1.05 * max(values) if most is None else most
    names = [shortened(row.label, LONGEST_OF_ROW) for row in rows]
    room = min(max(map(text_width, names)) + 1, LABELS[width != WIDE])
    labels = [label_lines(name, room) for name in names]
    height = max(ROW, LINE * max(map(len, labels)) + 8)
    plot = Plot(
        width,
        height * len(rows) + TOP + BOTTOM,
        x=(min(values), end or 1.0),
        y=(len(rows) + 0.5, 0.5),
        left=round(room) + 16,
    )
    plot.axes(axis, y_ticks=())
    for at, (row, lines) in enumerate(zip(rows, labels, strict=True), 1):
        _, middle = plot.place(0, at)
        for n, line in enumerate(lines):
            down = middle + LINE * (n - (len(lines) - 1) / 2)
            plot.write(line, (plot.left - 8, down), "label", "end")
        for low, high in row.lines:
            ends = unit * low, unit * high
            if row.instead:
                plot.bar(ends, (at + 8 / height, at - 8 / height), row.in_words, "fill")
            else:
                plot.line([(end, at) for end in ends], "interval")
        for dot in row.dots:
            look = {"who": dot.who, "radius": dot.radius}
            plot.point((unit * dot.value, at), f"{row.label}: {dot.hint}", dot.kind, **look)
    return plot


def bar_plot(
    axis: str, rows: Sequence[tuple[str, float]], *, most: float | None = None, unit: str = ""
) -> Plot:
    """Plot a bar per labelled row, in the width of half a page."""
    digits = ".0f" if unit else ".3g"
    bars = [Labelled(name, (), 0, max(value, 0), f"{value:{digits}}{unit}") for name, value in rows]
    return row_plot(bars, axis, most=max(value for _, value in rows) if most is None else most)
