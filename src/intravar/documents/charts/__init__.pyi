from .bins import histogram
from .paper import on_paper
from .plot import (
    HEIGHT,
    NARROW,
    WIDE,
    Drawing,
    LegendEntry,
    Plot,
    label_lines,
    round_ticks,
    text_width,
)
from .rows import RowPlot, bar_plot, panels, row_plot

__all__ = [
    "HEIGHT",
    "NARROW",
    "WIDE",
    "Drawing",
    "LegendEntry",
    "Plot",
    "RowPlot",
    "bar_plot",
    "histogram",
    "label_lines",
    "on_paper",
    "panels",
    "round_ticks",
    "row_plot",
    "text_width",
]
