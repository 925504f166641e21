from .plot import (
    HEIGHT,
    NARROW,
    WIDE,
    Dot,
    Drawing,
    Plot,
    label_lines,
    round_ticks,
    text_width,
)
from .rows import Labelled, row_plot

__all__ = [
    "HEIGHT",
    "NARROW",
    "WIDE",
    "Dot",
    "Drawing",
    "Labelled",
    "Plot",
    "label_lines",
    "round_ticks",
    "row_plot",
    "text_width",
]
