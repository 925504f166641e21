from .bins import histogram
from .labels import label_lines, text_width
from .panels import panels
from .paper import on_paper
from .plot import HEIGHT, NARROW, WIDE, Drawing, LegendEntry, Plot, round_ticks
from .rows import RowPlot, bar_plot, row_plot

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
