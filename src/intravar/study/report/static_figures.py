"""Figures for paper: SVG, PNG and PDF of the same specifications that the page plots."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import vl_convert

from intravar.study.report.canvas import PAPER, Canvas
from intravar.study.report.figures import figures_of
from intravar.study.report.stored_results import Results

#: Pixels of a PNG per pixel of the figure: 300 a inch at 18 cm.
_SCALE = 3.0
#: The version of Vega-Lite that Altair writes, as vl-convert names it.
_VERSION = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def static_figures(results: Results, formats: list[str]) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of every figure in every format."""
    for figure in figures_of(results):
        spec = figure.specification(results, Canvas(PAPER))
        if "svg" in formats:
            svg = vl_convert.vegalite_to_svg(spec, vl_version=_VERSION)
            yield f"{figure.name}.svg", svg.encode()
        if "png" in formats:
            png = vl_convert.vegalite_to_png(spec, vl_version=_VERSION, scale=_SCALE)
            yield f"{figure.name}.png", png
        if "pdf" in formats:
            yield f"{figure.name}.pdf", vl_convert.vegalite_to_pdf(spec, vl_version=_VERSION)
