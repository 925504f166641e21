"""Small SVG pictures without a library: axes, points, bars; colours come from the page's style."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup

from intravar.errors import theirs
from intravar.wording import USUAL, Words

#: Widths of a picture in pixels: on a desk and on a telephone.
WIDE, NARROW, HEIGHT = 640, 350, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 14, 46
#: Height of a labelled row; the room for its label and the letters that fit there, by width.
ROW = 22
LABELS = {WIDE: (190, 26), NARROW: (120, 15)}


@dataclass
class Plot:
    """An SVG picture with linear axes.

    Parameters
    ----------
    x, y
        Ranges of the two axes.
    width, height
        In pixels; the width is `WIDE` or `NARROW`.
    labelled
        Whether rows have labels, which need room on the left.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    width: int = WIDE
    height: int = HEIGHT
    labelled: bool = False
    parts: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    @property
    def left(self) -> int:
        """Left margin in pixels."""
        return LABELS[self.width][0] if self.labelled else LEFT

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixels of a point."""
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return (
            round(self.left + across * (self.width - self.left - RIGHT), 1),
            round(self.height - BOTTOM - up * (self.height - TOP - BOTTOM), 1),
        )

    def add(self, element: str, /, **values: object) -> None:
        """Add an element; values are escaped, and sentences of ours said in their words."""
        self.parts.append((element, values))

    def point(self, x: float, y: float, hint: str, kind: str = "point") -> None:
        """Add a point that says its numbers when pointed at."""
        a, b = self.place(x, y)
        self.add(
            '<circle class="{kind}" cx="{a}" cy="{b}" r="4"><title>{hint}</title></circle>',
            kind=kind,
            a=a,
            b=b,
            hint=hint,
        )

    def line(self, points: list[tuple[float, float]], kind: str = "line") -> None:
        """Add a line through points."""
        text = " ".join("{},{}".format(*self.place(x, y)) for x, y in points)
        self.add('<polyline class="{kind}" points="{text}"/>', kind=kind, text=text)

    def bar(self, x: tuple[float, float], y: tuple[float, float], hint: str, kind: str) -> None:
        """Add a rectangle between two values on both axes."""
        (a, b), (c, d) = self.place(x[0], y[1]), self.place(x[1], y[0])
        self.add(
            '<rect class="{kind}" x="{a}" y="{b}" width="{w}" height="{h}">'
            "<title>{hint}</title></rect>",
            kind=kind,
            a=a,
            b=b,
            w=round(max(c - a, 0.5), 1),
            h=round(max(d - b, 0.5), 1),
            hint=hint,
        )

    def label(self, y: float, text: str) -> None:
        """Write a label beside the vertical axis."""
        _, b = self.place(self.x[0], y)
        longest = LABELS[self.width][1]
        shown = text if len(text) <= longest else f"{text[: longest - 1]}…"
        self.add(
            '<text class="label" x="{a}" y="{b}" text-anchor="end" dominant-baseline="middle">'
            "{shown}<title>{text}</title></text>",
            a=self.left - 6,
            b=b,
            shown=shown,
            text=text,
        )

    def axes(
        self, x_name: str, y_name: str = "", *, y_ticks: bool = True, count: int | None = None
    ) -> None:
        """Add both axes with round numbers; an axis that counts has whole ones up to the count."""
        ticks = round_ticks(*self.x)
        if count is not None:
            ticks = [tick for tick in ticks if tick == round(tick) and 1 <= tick <= count]
        for tick in ticks:
            a, b = self.place(tick, self.y[0])
            self.add('<line class="grid" x1="{a}" x2="{a}" y1="{t}" y2="{b}"/>', a=a, b=b, t=TOP)
            self.add(
                '<text class="tick" x="{a}" y="{b}" text-anchor="middle">{tick}</text>',
                a=a,
                b=b + 16,
                tick=f"{tick:g}",
            )
        for tick in round_ticks(*self.y) if y_ticks else ():
            a, b = self.place(self.x[0], tick)
            self.add(
                '<line class="grid" x1="{a}" x2="{r}" y1="{b}" y2="{b}"/>',
                a=a,
                b=b,
                r=self.width - RIGHT,
            )
            self.add(
                '<text class="tick" x="{a}" y="{b}" text-anchor="end" '
                'dominant-baseline="middle">{tick}</text>',
                a=a - 6,
                b=b,
                tick=f"{tick:g}",
            )
        middle = (self.left + self.width - RIGHT) / 2
        self.add(
            '<text class="name" x="{a}" y="{b}" text-anchor="middle">{name}</text>',
            a=middle,
            b=self.height - 8,
            name=x_name,
        )
        if y_name:
            down = (self.height - BOTTOM + TOP) / 2
            self.add(
                '<text class="name" transform="translate(14 {down}) rotate(-90)" '
                'text-anchor="middle">{name}</text>',
                down=down,
                name=y_name,
            )

    def svg(self, title: str, alternative: str, words: Words = USUAL) -> Markup:
        """Return the picture with what it shows in words, for those who cannot see it.

        Names of axes and hints are sentences of ours; labels are not.
        """
        head = Markup(
            '<svg class="{kind}" viewBox="0 0 {w} {h}" role="img" xmlns="http://www.w3.org/2000/svg">'
            "<title>{title}</title><desc>{words}</desc>"
        ).format(
            w=self.width,
            h=self.height,
            kind="wide" if self.width == WIDE else "narrow",
            title=title,
            words=alternative,
        )
        shown = (
            Markup(element).format(
                **{
                    key: words.said(str(value)) if key in ("hint", "name") else value
                    for key, value in values.items()
                }
            )
            for element, values in self.parts
        )
        return Markup("").join([head, *shown, Markup("</svg>")])


def row_plot(rows: int, most: float, width: int) -> Plot:
    """Return a plot with one labelled row below the other and values from zero to the right."""
    height = ROW * rows + TOP + BOTTOM
    return Plot((0, most), (rows + 0.5, 0.5), width, height, labelled=True)


def bar_plot(axis: str, rows: list[tuple[str, float]], width: int) -> Plot:
    """Plot a bar per labelled row."""
    plot = row_plot(len(rows), max((value for _, value in rows), default=0) or 1.0, width)
    plot.axes(axis, y_ticks=False)
    for position, (name, value) in enumerate(rows, 1):
        plot.label(position, name)
        across, down = (0, max(value, 0.0)), (position + 0.35, position - 0.35)
        plot.bar(across, down, f"{theirs(name)}: {value:.3g}", "bar")
    return plot


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
