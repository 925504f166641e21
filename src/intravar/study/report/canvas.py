"""What figures are plotted on: its width, its colours, and the style that all of them share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import altair as alt
import polars as pl

from intravar.documents.colours import FONT, INKS
from intravar.study.report.palette import GROUPS, looks_of

#: Any chart of Altair; its own types lose track of which one after a method or two.
Chart: TypeAlias = Any

#: Widths of a figure in pixels: on a desk, on a telephone, and on paper (18 cm).
WIDE, NARROW, PAPER = 840, 330, 720
_NARROW_BELOW = 500
#: vl-convert brings its own fonts; a static figure looks the same on every machine with them.
PRINT_FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


@dataclass(frozen=True)
class Canvas:
    """A ground to plot on.

    Parameters
    ----------
    width
        Width of the figure in pixels.
    live
        Whether colours are names that the page resolves, so that one figure serves light and
        dark; otherwise they are the light ones.
    """

    width: int = PAPER
    live: bool = False
    _datasets: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def narrow(self) -> bool:
        """Whether panels go below each other."""
        return self.width < _NARROW_BELOW

    def ink(self, name: str) -> str:
        """Return one of the colours of text, lines and grounds."""
        return f"var(--{name})" if self.live else INKS[name].light

    def group_colours(self) -> list[str]:
        """Return the colours of the physician groups."""
        return [
            f"var(--group-{position})" if self.live else look.light
            for position, look in enumerate(GROUPS, 1)
        ]

    def method_colours(self, methods: Sequence[str], shown: Sequence[str]) -> list[str]:
        """Return the colours of the methods shown, out of all methods of the study."""
        names = list(methods)
        if self.live:
            return [f"var(--{token(names, method)})" for method in shown]
        return [looks_of(names)[method].light for method in shown]

    def data(self, frame: pl.DataFrame) -> alt.NamedData:
        """Keep a table for the figure; undefined numbers become null."""
        floats = [name for name, kind in frame.schema.items() if kind.is_float()]
        return self.rows(frame.with_columns(pl.col(floats).fill_nan(None)).to_dicts())

    def rows(self, rows: list[dict[str, Any]]) -> alt.NamedData:
        """Keep rows for the figure; Altair would copy them with every layer that uses them."""
        name = hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()[:16]
        self._datasets[name] = rows
        return alt.NamedData(name=name)

    def finish(self, chart: Chart) -> dict[str, Any]:
        """Return the specification of a figure in the style that all share."""
        spec: dict[str, Any] = chart.to_dict(validate=False)
        spec["config"] = self._config()
        spec["datasets"] = dict(self._datasets)
        spec["background"] = "transparent" if self.live else self.ink("ground")
        spec["padding"] = 4
        return spec

    def _config(self) -> dict[str, Any]:
        ink, soft, line = self.ink("ink"), self.ink("soft"), self.ink("line")
        font = FONT if self.live else PRINT_FONT
        words = {"labelColor": soft, "titleColor": ink, "labelFontSize": 11, "titleFontSize": 11}
        return {
            "aria": False,
            "font": font,
            "view": {"stroke": None},
            "concat": {"spacing": 26},
            "facet": {"spacing": 22},
            "title": {
                "color": ink,
                "subtitleColor": soft,
                "fontSize": 12,
                "fontWeight": 600,
                "subtitleFontSize": 11,
                "anchor": "start",
                "frame": "group",
                "offset": 8,
            },
            "axis": words
            | {
                "titleFontWeight": "normal",
                "gridColor": self.ink("faint"),
                "domainColor": line,
                "tickColor": line,
                "tickSize": 4,
                "labelPadding": 4,
                "titlePadding": 8,
                "labelLimit": 170,
            },
            "axisX": {"labelFlush": False},
            "header": words | {"titleFontWeight": "normal", "labelFontWeight": 600},
            "legend": words
            | {
                "titleFontWeight": "normal",
                "symbolSize": 70,
                "orient": "bottom",
                "labelLimit": 170,
            },
            "text": {"color": ink, "fontSize": 11},
        }


def token(methods: Sequence[str], method: str) -> str:
    """Return the name of a method's colour in the page; it holds no text from the data."""
    return f"method-{list(methods).index(method) + 1}" if method in methods else method
