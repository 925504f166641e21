"""Small SVG pictures without a library: axes, points, bars; colours come from the page's style."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup, escape

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 14, 46


@dataclass
class Plot:
    """An SVG picture with linear axes.

    Parameters
    ----------
    title, description
        The text alternative.
    x, y
        Ranges of the two axes.
    height, left
        In pixels; the left margin holds the labels of bars.
    """

    title: str
    description: str
    x: tuple[float, float]
    y: tuple[float, float]
    height: int = HEIGHT
    left: int = LEFT
    parts: list[Markup] = field(default_factory=list)

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixels of a point."""
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return (
            round(self.left + across * (WIDTH - self.left - RIGHT), 1),
            round(self.height - BOTTOM - up * (self.height - TOP - BOTTOM), 1),
        )

    def add(self, element: str, /, **values: object) -> None:
        """Add an element; values are escaped."""
        self.parts.append(Markup(element).format(**values))

    def point(self, x: float, y: float, hint: str, kind: str = "point") -> None:
        """Draw a point that says its numbers when pointed at."""
        a, b = self.place(x, y)
        self.add(
            '<circle class="{kind}" cx="{a}" cy="{b}" r="4"><title>{hint}</title></circle>',
            kind=kind,
            a=a,
            b=b,
            hint=hint,
        )

    def line(self, points: list[tuple[float, float]], kind: str = "line") -> None:
        """Draw a line through points."""
        text = " ".join("{},{}".format(*self.place(x, y)) for x, y in points)
        self.add('<polyline class="{kind}" points="{text}"/>', kind=kind, text=text)

    def bar(self, x: tuple[float, float], y: tuple[float, float], hint: str, kind: str) -> None:
        """Draw a rectangle between two values on both axes."""
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

    def label(self, y: float, text: str, longest: int = 26) -> None:
        """Write a label beside the vertical axis."""
        _, b = self.place(self.x[0], y)
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
        """Draw both axes with round numbers; an axis that counts has whole ones up to the count."""
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
                r=WIDTH - RIGHT,
            )
            self.add(
                '<text class="tick" x="{a}" y="{b}" text-anchor="end" '
                'dominant-baseline="middle">{tick}</text>',
                a=a - 6,
                b=b,
                tick=f"{tick:g}",
            )
        middle = (self.left + WIDTH - RIGHT) / 2
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

    def svg(self) -> Markup:
        """Return the picture."""
        head = Markup(
            '<svg viewBox="0 0 {w} {h}" role="img" xmlns="http://www.w3.org/2000/svg">'
            "<title>{title}</title><desc>{description}</desc>"
        ).format(w=WIDTH, h=self.height, title=self.title, description=self.description)
        return Markup("").join([head, *self.parts, Markup("</svg>")])


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


__all__ = ["Plot", "escape", "round_ticks"]
