"""The pictures of a sheet: one's own figure among unnamed peers, in rows, and noise as a bar."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from intravar.documents.measurement.plot import round_ticks
from intravar.documents.measurement.row_plots import text_width

#: Widths in pixels: on a desk or on paper, and on a telephone.
WIDTHS = {"wide": 640, "narrow": 350}
#: Pixels left and right of what is drawn, of the lane for one's own figure, and of the axis.
SIDE, LANE, AXIS = 24, 58, 42
#: Height for peers' dots, and the radius of one.
STACK, RADIUS = 74, 4.5
BAR = 26
#: Height of a row, and of its text.
ROW, TEXT = 36, 15
#: With fewer peers than this a dot without a name is as good as one with it.
FEWEST_PEERS = 5
NOISE = {
    "level": "some say yes more often than others",
    "pattern": "they weigh patients differently",
    "occasion": "the same one would decide otherwise another time, or for reasons not recorded",
}


class Own(NamedTuple):
    """One's own figure of a hundred pairs, with its interval."""

    value: float
    low: float
    high: float


def strip(
    own: Own, peers: Sequence[float], axis: str, words: str, kind: str = "wide"
) -> Markup | None:
    """Draw one's own figure with its interval above the dots of the others.

    Parameters
    ----------
    own
        One's own figure, of a hundred.
    peers
        Those of the others as published, of a hundred; they are rounded to whole ones, and nobody
        is named.
    axis, words
        What the axis shows, and what the picture says to those who cannot see it.
    kind
        Which of the :data:`WIDTHS`.

    Returns
    -------
    Markup or None
        Nothing where the others are too few to be unnamed.

    Examples
    --------
    >>> strip(Own(20, 10, 30), [1, 2, 3, 4], "of 100", "") is None
    True
    """
    if len(peers) < FEWEST_PEERS:
        return None
    stacked = Counter(round(value) for value in peers)
    scale = _Scale(WIDTHS[kind], max(50, *stacked, round(own.high) + 1))
    radius = min(RADIUS, STACK / (2 * max(stacked.values())), scale.across(1) - scale.across(0))
    base = LANE + STACK
    parts = scale.axis(base, axis, top=24)
    for value, count in sorted(stacked.items()):
        parts += [
            _element(
                '<circle class="peer" cx="{a}" cy="{b}" r="{r}"/>',
                a=scale.across(value),
                b=round(base - (2 * place + 1) * radius, 2),
                r=round(radius, 2),
            )
            for place in range(count)
        ]
    parts += _own(own, scale)
    return _svg(kind, base + AXIS, parts, "Your figure among the others", words)


def _own(own: Own, scale: _Scale) -> list[Markup]:
    low, high, at = (scale.across(value) for value in (own.low, own.high, own.value))
    edge = 66  # half of the label
    middle = min(max(at, edge), scale.width - edge)
    label = f"you: {own.value:.0f} [{own.low:.0f}, {own.high:.0f}]"
    return [
        _element(
            '<text class="you" x="{a}" y="16" text-anchor="middle">{label}</text>',
            a=middle,
            label=label,
        ),
        _element('<line class="interval" x1="{a}" x2="{b}" y1="34" y2="34"/>', a=low, b=high),
        _element('<circle class="own" cx="{a}" cy="34" r="7"/>', a=at),
    ]


class SheetRow(NamedTuple):
    """A row: what it is, one's own figure of a hundred, that of all, and what stands without one.

    Examples
    --------
    >>> SheetRow("2023", Own(20, 10, 30), 25).told
    'you 20 [10, 30], all 25'
    >>> SheetRow("2024", None, None, "at most 0.25").told
    'you at most 0.25'
    """

    label: str
    own: Own | None
    all: float | None
    instead: str = "not shown"

    @property
    def told(self) -> str:
        """The row's figures in words."""
        own = self.own
        mine = self.instead if own is None else f"{own.value:.0f} [{own.low:.0f}, {own.high:.0f}]"
        return f"you {mine}" + ("" if self.all is None else f", all {self.all:.0f}")


def rows_picture(
    rows: Sequence[SheetRow], axis: str, title: str, words: str, kind: str = "wide"
) -> Markup:
    """Draw a row for each decision, level or period: one's own figure, and a ring for all.

    Parameters
    ----------
    rows
        From the top.
    axis, title, words
        What the axis shows; the picture's name; what it says to those who cannot see it.
    kind
        Which of the :data:`WIDTHS`.
    """
    highest = max((row.own.high for row in rows if row.own is not None), default=0.0)
    scale = _Scale(WIDTHS[kind], max(50.0, highest, *(row.all or 0.0 for row in rows)))
    base = ROW * len(rows) + 4
    parts = scale.axis(base, axis)
    for place, row in enumerate(rows):
        top = ROW * place
        room = scale.width - 2 * SIDE - text_width(row.told) - 20
        label = row.label
        while label and text_width(f"{label}…") > room:
            label = label[:-1]
        shown = row.label if label == row.label else f"{label}…"
        edges = (SIDE + 4, "start"), (scale.width - SIDE - 4, "end")
        for text, (at, anchor) in zip((shown, row.told), edges, strict=True):
            parts.append(
                _element(
                    '<text class="row" x="{a}" y="{b}" text-anchor="{anchor}">{text}</text>',
                    a=at,
                    b=top + TEXT,
                    anchor=anchor,
                    text=text,
                )
            )
        parts += _marks(row, scale, top + TEXT + 11)
    return _svg(kind, base + AXIS, parts, title, words)


def _marks(row: SheetRow, scale: _Scale, height: float) -> list[Markup]:
    found = []
    if row.own is not None:
        low, high, at = (scale.across(end) for end in (row.own.low, row.own.high, row.own.value))
        line = '<line class="interval" x1="{a}" x2="{b}" y1="{h}" y2="{h}"/>'
        found.append(_element(line, a=low, b=high, h=height))
        found.append(_element('<circle class="own" cx="{a}" cy="{h}" r="5"/>', a=at, h=height))
    if row.all is not None:
        ring = '<circle class="all" cx="{a}" cy="{h}" r="6"/>'
        found.append(_element(ring, a=scale.across(row.all), h=height))
    return found


class NoiseSlice(NamedTuple):
    """A part of the noise: how many of a hundred patients, and what it is in words."""

    kind: str
    of_hundred: float
    words: str


def noise_shares(noise: Mapping[str, Any] | None, why: Mapping[str, str]) -> list[NoiseSlice]:
    """Return the parts of the noise; none where it was not taken apart.

    Parameters
    ----------
    noise
        As in `summary.json`: variances by component.
    why
        By component what it is, in words.
    """
    if not noise or any(noise.get(name, {}).get("value") is None for name in NOISE):
        return []
    found = []
    for name in NOISE:
        part = 200 * noise[name]["value"]
        count = "fewer than 1" if round(part) == 0 else f"{round(part)}"
        found.append(NoiseSlice(name, part, f"{count}: {why[name]}"))
    return found


def noise_bar(parts: Sequence[NoiseSlice], axis: str, kind: str = "wide") -> Markup | None:
    """Draw why two physicians decide differently for one patient, as one bar."""
    if not parts:
        return None
    scale = _Scale(WIDTHS[kind], max(50.0, sum(part.of_hundred for part in parts)))
    drawn, at = [_box("rest", SIDE, scale.width - SIDE)], 0.0
    for part in parts:
        drawn.append(_box(part.kind, scale.across(at), scale.across(at + part.of_hundred)))
        at += part.of_hundred
    drawn += scale.axis(BAR, axis)
    told = "; ".join(part.words for part in parts)
    return _svg(kind, BAR + AXIS, drawn, "Why two decide differently", f"{axis}: {told}.")


def _box(kind: str, start: float, stop: float) -> Markup:
    return _element(
        '<rect class="{kind}" x="{a}" y="0" width="{w}" height="{h}"/>',
        kind=kind,
        a=start,
        w=round(max(stop - start, 0.5), 1),
        h=BAR,
    )


class _Scale(NamedTuple):
    """An axis from zero to the right."""

    width: int
    end: float

    def across(self, value: float) -> float:
        """Return the pixels of a value."""
        return round(SIDE + value / self.end * (self.width - 2 * SIDE), 1)

    def axis(self, base: float, name: str, top: float = 0) -> list[Markup]:
        """Draw lines and numbers below this height, and what they are."""
        parts = [
            _element(
                '<line class="grid" x1="{a}" x2="{a}" y1="{t}" y2="{b}"/>'
                '<text class="tick" x="{a}" y="{c}" text-anchor="middle">{tick}</text>',
                a=self.across(tick),
                t=top,
                b=base + 3,
                c=base + 16,
                tick=f"{tick:g}",
            )
            for tick in round_ticks(0, self.end)
        ]
        named = '<text class="name" x="{a}" y="{b}" text-anchor="middle">{name}</text>'
        return [*parts, _element(named, a=self.width / 2, b=base + 34, name=name)]


def _element(text: str, /, **values: object) -> Markup:
    return Markup(text).format(**values)


def _svg(kind: str, height: float, parts: Sequence[Markup], title: str, words: str) -> Markup:
    head = _element(
        '<svg class="{kind}" viewBox="0 0 {w} {h}" role="img" xmlns="http://www.w3.org/2000/svg">'
        "<title>{title}</title><desc>{words}</desc>",
        kind=kind,
        w=WIDTHS[kind],
        h=round(height),
        title=title,
        words=words,
    )
    return Markup("").join([head, *parts, Markup("</svg>")])
