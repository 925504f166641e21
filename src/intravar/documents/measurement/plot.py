"""Small SVG pictures without a library: axes, points, bars; colours come from the page's style."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from markupsafe import Markup

from intravar.wording import USUAL, Words

#: Widths of a picture in pixels: on a desk and on a telephone.
WIDE, NARROW, HEIGHT = 640, 350, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 14, 14, 46
#: Marks up to which each says its numbers by itself; beyond, the script reads them off the table.
MOST_HINTS = 300


@dataclass
class Drawing:
    """An SVG picture.

    Parameters
    ----------
    width, height
        In pixels.
    parts
        Its elements, the lowest first.
    """

    width: int = WIDE
    height: int = HEIGHT
    parts: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    def add(self, element: str, /, **values: object) -> None:
        """Add an element; values are escaped, and sentences of ours said in their words."""
        self.parts.append((element, values))

    def write(self, text: str, at: tuple[float, float], kind: str, anchor: str = "middle") -> None:
        """Write a text with its middle at this height."""
        self.add(
            '<text class="{kind}" x="{a}" y="{b}" text-anchor="{anchor}">{text}</text>',
            kind=kind,
            a=round(at[0], 1),
            b=round(at[1] + 4, 1),
            anchor=anchor,
            text=text,
        )

    def box(
        self, corner: tuple[float, float], size: tuple[float, float], hint: str, kind: str
    ) -> None:
        """Add a rectangle in pixels."""
        self.add(
            '<rect class="{kind}" x="{a}" y="{b}" width="{w}" height="{h}">'
            "<title>{hint}</title></rect>",
            kind=kind,
            a=round(corner[0], 1),
            b=round(corner[1], 1),
            w=round(max(size[0], 0.5), 1),
            h=round(max(size[1], 0.5), 1),
            hint=hint,
        )

    def svg(self, title: str, alternative: str, words: Words = USUAL) -> Markup:
        """Return the picture with what it shows in words, for those who cannot see it.

        Names of axes and hints are sentences of ours; labels are not.
        """
        head = Markup(
            '<svg class="{kind}" viewBox="0 0 {w} {h}" role="img" xmlns="http://www.w3.org/2000/svg">'
            "<title>{title}</title><desc>{alternative}</desc>"
        ).format(
            w=self.width,
            h=self.height,
            kind={WIDE: "wide", NARROW: "narrow"}.get(self.width, "small"),
            title=title,
            alternative=alternative,
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


@dataclass
class Plot(Drawing):
    """An SVG picture with linear axes.

    Parameters
    ----------
    x, y
        Ranges of the two axes.
    left
        Margin in pixels.
    """

    x: tuple[float, float] = (0, 1)
    y: tuple[float, float] = (0, 1)
    left: int = LEFT

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixels of a point."""
        across = (x - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        up = (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return (
            round(self.left + across * (self.width - self.left - RIGHT), 1),
            round(self.height - BOTTOM - up * (self.height - TOP - BOTTOM), 1),
        )

    def point(
        self,
        at: tuple[float, float],
        hint: str = "",
        kind: str = "point",
        *,
        who: int | None = None,
        radius: float = 4,
    ) -> None:
        """Add a point; it says its numbers when pointed at, and whom it stands for."""
        a, b = self.place(*at)
        title = "<title>{hint}</title>" if hint else ""
        self.add(
            f'<circle class="{{kind}}"{{who}} cx="{{a}}" cy="{{b}}" r="{{r}}">{title}</circle>',
            kind=kind,
            who="" if who is None else Markup(' data-p="{}"').format(who),
            a=a,
            b=b,
            r=radius,
            hint=hint,
        )

    def line(self, points: list[tuple[float, float]], kind: str = "line") -> None:
        """Add a line through points."""
        text = " ".join("{},{}".format(*self.place(x, y)) for x, y in points)
        self.add('<polyline class="{kind}" points="{text}"/>', kind=kind, text=text)

    def band(self, points: list[tuple[float, float, float]], kind: str = "band") -> None:
        """Add the area between two values at every place."""
        edge = [(x, low) for x, low, _ in points] + [(x, high) for x, _, high in points[::-1]]
        text = " ".join("{},{}".format(*self.place(x, y)) for x, y in edge)
        self.add('<polygon class="{kind}" points="{text}"/>', kind=kind, text=text)

    def finder(self, x: str, y: str | float) -> None:
        """Leave a place where a script may mark one physician by columns of the table.

        Parameters
        ----------
        x, y
            Columns that the axes show; a number is a height that does not depend on who it is.
        """
        (left, bottom), (right, top) = self.place(0, 0), self.place(1, 1)
        if not isinstance(y, str):
            _, bottom = self.place(0, y)
        self.add(
            '<g class="finder" data-x="{x}" data-left="{left}" data-across="{across}" '
            'data-y="{y}" data-bottom="{bottom}" data-up="{up}"/>',
            x=x,
            left=left,
            across=round(right - left, 3),
            y=y if isinstance(y, str) else "",
            bottom=bottom,
            up=round(top - bottom, 3) if isinstance(y, str) else 0,
        )

    def bar(self, x: tuple[float, float], y: tuple[float, float], hint: str, kind: str) -> None:
        """Add a rectangle between two values on both axes."""
        (a, b), (c, d) = self.place(x[0], y[1]), self.place(x[1], y[0])
        self.box((a, b), (c - a, d - b), hint, kind)

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
            self.write(f"{tick:g}", (a, b + 12), "tick")
        for tick in round_ticks(*self.y) if y_ticks else ():
            a, b = self.place(self.x[0], tick)
            self.add(
                '<line class="grid" x1="{a}" x2="{r}" y1="{b}" y2="{b}"/>',
                a=a,
                b=b,
                r=self.width - RIGHT,
            )
            self.write(f"{tick:g}", (a - 6, b), "tick", "end")
        middle = (self.left + self.width - RIGHT) / 2
        self._name(x_name, f"translate({middle:g} {self.height - 8})")
        if y_name:
            down = (self.height - BOTTOM + TOP) / 2
            self._name(y_name, f"translate(14 {down:g}) rotate(-90)")

    def _name(self, name: str, place: str) -> None:
        self.add(
            '<text class="name" text-anchor="middle" transform="{place}">{name}</text>',
            place=place,
            name=name,
        )


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
